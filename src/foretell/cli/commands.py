"""The commands and their options."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from foretell.api.engine_choice import ENGINES
from foretell.api.run import run
from foretell.arguments.statements import load
from foretell.bench import registry as benchmarks
from foretell.cli import demo as demonstration
from foretell.cli import forecast_commands
from foretell.cli.output import say
from foretell.cli.run_report import report, write_bad
from foretell.notify.files import standard_output, write, write_lines, writing_to

app = typer.Typer(
    name="foretell",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foretell {version('foretell')}")
        raise typer.Exit


@app.callback()
def foretell(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Subscribe to patterns of events: what has happened, what may have, what is about to."""


def _pairs(items: list[str], option: str, form: str) -> dict[str, str]:
    """STREAM=PATH and the like, each name once."""
    pairs: dict[str, str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"expected {form}, found '{item}'", param_hint=option)
        if name in pairs:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint=option)
        pairs[name] = value
    return pairs


def _one_of(engine: str | None) -> str | None:
    if engine is not None and engine not in ENGINES:
        raise typer.BadParameter(f"'{engine}' is not one of {', '.join(ENGINES)}")
    return engine


# What several commands are given.
File = Annotated[Path, typer.Argument(help="The statements.", show_default=False)]
Inputs = Annotated[
    list[str], typer.Option("--input", metavar="STREAM=PATH", help="A stream's events: .jsonl, .csv or .parquet.")
]
Time = Annotated[
    list[str], typer.Option("--time", metavar="STREAM=COLUMN", help="The time column of a stream without STREAM.")
]
Tables = Annotated[list[str], typer.Option("--table", metavar="NAME=PATH", help="The rows of a FOR EACH table.")]
Strict = Annotated[bool, typer.Option(help="Stop at the first malformed event.")]


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(help="The statements; or with --follow a pipeline.", show_default=False)],
    inputs: Inputs = [],
    time: Time = [],
    tables: Tables = [],
    engine: Annotated[
        str | None, typer.Option(callback=_one_of, help=f"One of {', '.join(ENGINES)}; without, spark.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="What was learned: for forecasts, and for lost events.")] = None,
    output: Annotated[Path | None, typer.Option(help="A .jsonl or .parquet file; standard output without.")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Let time go on until then, after the last event.")
    ] = None,
    strict: Strict = False,
    quarantine: Annotated[Path | None, typer.Option(help="Write malformed events there, as JSON lines.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as events come, on Spark.")] = False,
    checkpoint: Annotated[Path | None, typer.Option(metavar="DIR", help="--follow: where its state is kept.")] = None,
    once: Annotated[bool, typer.Option("--once", help="--follow: end when all is read that is there.")] = False,
) -> None:
    """Run statements over events and write the notifications."""
    given = _pairs(inputs, "--input", "STREAM=PATH")
    times = _pairs(time, "--time", "STREAM=COLUMN")
    rows = _pairs(tables, "--table", "NAME=PATH")
    if follow:
        _follow(file, given, times, rows, output, checkpoint, once)
        return
    if checkpoint is not None or once:
        raise typer.BadParameter("only --follow takes it", param_hint="--checkpoint" if checkpoint else "--once")
    found = run(
        load(file),
        given,
        time=times,
        tables=rows,
        engine=engine,
        model=model,
        until=until,
        strict=strict,
    )
    if quarantine is not None:
        write_bad(found.bad, quarantine)
    if output is None:
        write_lines(found, standard_output())
    else:
        write(found, output)
    report(found)


def _follow(
    file: Path,
    inputs: dict[str, str],
    time: dict[str, str],
    tables: dict[str, str],
    output: Path | None,
    checkpoint: Path | None,
    once: bool,
) -> None:
    from foretell.cli.pipeline_file import pipeline_of, read_pipeline  # with Spark, which the others do without
    from foretell.spark.streaming.pipeline import run as run_pipeline

    place = None if checkpoint is None else str(checkpoint)
    if file.suffix == ".toml":
        if inputs or time or tables or output:
            raise typer.BadParameter("the pipeline says it", param_hint="--input, --time, --table, --output")
        pipeline = read_pipeline(file, place)
    else:
        pipeline = pipeline_of(load(file), inputs, time, tables, output, place)
    stream = standard_output()

    def write(line: bytes) -> None:
        stream.write(line)
        stream.flush()

    with writing_to(stream):
        run_pipeline(pipeline, once=once, write=write, say=say)


@app.command("train")
def train_command(
    file: File,
    output: Annotated[Path, typer.Option(help="Where the model goes, a JSON file.", show_default=False)],
    inputs: Inputs = [],
    time: Time = [],
    tables: Tables = [],
    half_life: Annotated[
        float | None, typer.Option(metavar="EVENTS", help="After so many events what was seen counts half; 0: never.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="N|auto", help="How many last events may be the context of a forecast.")
    ] = None,
    features: Annotated[
        list[str], typer.Option("--feature", metavar="CONDITION", help="Tells events apart in contexts: 'temp > 20'.")
    ] = [],
    engine: Annotated[
        str | None, typer.Option(callback=_one_of, help="spark or embedded; without, Spark for files.")
    ] = None,
    strict: Strict = False,
) -> None:
    """Learn from history what forecasts need."""
    given, times = _pairs(inputs, "--input", "STREAM=PATH"), _pairs(time, "--time", "STREAM=COLUMN")
    rows = _pairs(tables, "--table", "NAME=PATH")
    learning = forecast_commands.learning_of(half_life, order, features)
    forecast_commands.train(file, given, times, rows, output, learning, engine, strict=strict)


@app.command("backtest")
def backtest_command(
    file: File,
    inputs: Inputs = [],
    time: Time = [],
    tables: Tables = [],
    model: Annotated[Path | None, typer.Option(help="What was learned; without, it learns as it goes.")] = None,
    horizons: Annotated[
        list[int], typer.Option("--horizon", metavar="EVENTS", help="How far ahead, instead of the statements' own.")
    ] = [],
    confidence: Annotated[
        float, typer.Option(metavar="P", help="How sure the intervals are in which the next match should fall.")
    ] = 0.8,
    page: Annotated[Path | None, typer.Option("--html", help="Write a page with the curves there.")] = None,
    corrected: Annotated[
        Path | None, typer.Option("--recalibrate", metavar="MODEL", help="Write the model there, set right by this.")
    ] = None,
    learn: Annotated[bool, typer.Option("--learn/--no-learn", help="Whether it learns on as it goes.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    strict: Strict = False,
) -> None:
    """Judge forecasts on later events: how good they are, and whether they mean what they say."""
    given, times = _pairs(inputs, "--input", "STREAM=PATH"), _pairs(time, "--time", "STREAM=COLUMN")
    rows = _pairs(tables, "--table", "NAME=PATH")
    forecast_commands.backtest(
        file, given, times, rows, model, horizons, confidence, page, corrected, as_json=as_json, learn=learn,
        strict=strict,
    )  # fmt: skip


@app.command("demo")
def demo_command() -> None:
    """Show what Foretell does, on small data of its own."""
    demonstration.show()


@app.command("explain")
def explain_command(
    file: Annotated[Path, typer.Argument(help="The statements, with STREAM for every stream.", show_default=False)],
    tables: Tables = [],
    form: Annotated[str, typer.Option("--format", help="text, mermaid or json.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Say how statements will run: states, where conditions are judged, what costs."""
    from foretell.cli import explain

    explain.show(file, "json" if as_json else form, _pairs(tables, "--table", "NAME=PATH"))


@app.command("bench")
def bench_command(
    name: Annotated[str | None, typer.Argument(help="Which benchmark; all without.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="growth, forecast: short curves, to see that it works.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="growth, forecast: write NAME.html and pictures there.")
    ] = None,
) -> None:
    """Measure."""
    benchmarks.bench(name, as_json=as_json, quick=quick, output=output)
