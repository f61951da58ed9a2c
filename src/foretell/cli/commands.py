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
from foretell.cli.run_report import report, write_quarantine
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
    """Find patterns of events: those that happened, probably happened, or are about to happen."""


def _pairs(items: list[str], option: str, form: str) -> dict[str, str]:
    """Parse options of the form NAME=VALUE, each name once."""
    pairs: dict[str, str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"expected {form}, found '{item}'", param_hint=option)
        if name in pairs:
            raise typer.BadParameter(f"'{name}' occurs twice; give it once", param_hint=option)
        pairs[name] = value
    return pairs


def _one_of(engine: str | None) -> str | None:
    if engine is not None and engine not in ENGINES:
        raise typer.BadParameter(f"'{engine}' is not one of {', '.join(ENGINES)}")
    return engine


# Options that several commands share.
File = Annotated[Path, typer.Argument(help="A file of statements.", show_default=False)]
Inputs = Annotated[
    list[str],
    typer.Option(
        "--input", metavar="STREAM=PATH", help="Read a stream's events from a .jsonl, .csv or .parquet file or folder."
    ),
]
Time = Annotated[
    list[str],
    typer.Option(
        "--time", metavar="STREAM=COLUMN", help="Name the time column of a stream without a STREAM statement."
    ),
]
Tables = Annotated[list[str], typer.Option("--table", metavar="NAME=PATH", help="Read the rows of a FOR EACH table.")]
Strict = Annotated[bool, typer.Option(help="Stop at the first malformed event.")]


@app.command("run")
def run_command(
    file: Annotated[
        Path,
        typer.Argument(help="A file of statements; with --follow also a pipeline file (.toml).", show_default=False),
    ],
    inputs: Inputs = [],
    time: Time = [],
    tables: Tables = [],
    engine: Annotated[
        str | None, typer.Option(callback=_one_of, help=f"One of {', '.join(ENGINES)}. Default: spark.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Use a model written by `foretell train`, for forecasts and lost events.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write to a .jsonl or .parquet file. Default: standard output.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Advance time to this point after the last event.")
    ] = None,
    strict: Strict = False,
    quarantine: Annotated[Path | None, typer.Option(help="Write malformed events to this file, as JSON lines.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Run as a stream on Spark, until stopped.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="--follow: keep the state in this folder.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="--follow: process what is there, then end.")] = False,
) -> None:
    """Run statements over events and write the notifications."""
    sources = _pairs(inputs, "--input", "STREAM=PATH")
    times = _pairs(time, "--time", "STREAM=COLUMN")
    rows = _pairs(tables, "--table", "NAME=PATH")
    if follow:
        _follow(file, sources, times, rows, output, checkpoint, once)
        return
    if checkpoint is not None or once:
        raise typer.BadParameter(
            "add --follow, or leave this option out", param_hint="--checkpoint" if checkpoint else "--once"
        )
    notifications = run(
        load(file),
        sources,
        time=times,
        tables=rows,
        engine=engine,
        model=model,
        until=until,
        strict=strict,
    )
    if quarantine is not None:
        write_quarantine(notifications.bad, quarantine)
    if output is None:
        write_lines(notifications, standard_output())
    else:
        write(notifications, output)
    report(notifications)


def _follow(
    file: Path,
    inputs: dict[str, str],
    time: dict[str, str],
    tables: dict[str, str],
    output: Path | None,
    checkpoint: Path | None,
    once: bool,
) -> None:
    from foretell.cli.pipeline_file import (  # imports Spark, which the other commands do not need
        pipeline_of,
        read_pipeline,
    )
    from foretell.spark.streaming.pipeline import run as run_pipeline

    place = None if checkpoint is None else str(checkpoint)
    if file.suffix == ".toml":
        if inputs or time or tables or output:
            raise typer.BadParameter(
                "leave these out: the pipeline file says them", param_hint="--input, --time, --table, --output"
            )
        pipeline = read_pipeline(file, place)
    else:
        pipeline = pipeline_of(load(file), inputs, time, tables, output, place)
    stream = standard_output()

    def write(line: bytes) -> None:
        stream.write(line)
        stream.flush()

    with writing_to(stream):
        run_pipeline(pipeline, once=once, write=write, log=say)


@app.command("train")
def train_command(
    file: File,
    output: Annotated[Path, typer.Option(help="Write the model to this JSON file.", show_default=False)],
    inputs: Inputs = [],
    time: Time = [],
    tables: Tables = [],
    half_life: Annotated[
        float | None,
        typer.Option(metavar="EVENTS", help="Halve the weight of an observation after this many events; 0: never."),
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="N|auto", help="Use up to N preceding events as the context of a forecast.")
    ] = None,
    features: Annotated[
        list[str],
        typer.Option(
            "--feature", metavar="CONDITION", help="Distinguish events in contexts by a condition, such as 'temp > 20'."
        ),
    ] = [],
    engine: Annotated[
        str | None, typer.Option(callback=_one_of, help="spark or embedded. Default: spark for files.")
    ] = None,
    strict: Strict = False,
) -> None:
    """Train a model for forecasts from past events."""
    sources, times = _pairs(inputs, "--input", "STREAM=PATH"), _pairs(time, "--time", "STREAM=COLUMN")
    rows = _pairs(tables, "--table", "NAME=PATH")
    learning = forecast_commands.learning_of(half_life, order, features)
    forecast_commands.train(file, sources, times, rows, output, learning, engine, strict=strict)


@app.command("backtest")
def backtest_command(
    file: File,
    inputs: Inputs = [],
    time: Time = [],
    tables: Tables = [],
    model: Annotated[Path | None, typer.Option(help="Use this model. Default: learn while running.")] = None,
    horizons: Annotated[
        list[int],
        typer.Option(
            "--horizon", metavar="EVENTS", help="Forecast this far ahead, instead of the statements' own horizons."
        ),
    ] = [],
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Confidence level of the intervals for the time of the next match.")
    ] = 0.8,
    page: Annotated[Path | None, typer.Option("--html", help="Write a page with charts to this file.")] = None,
    corrected: Annotated[
        Path | None, typer.Option("--recalibrate", metavar="MODEL", help="Write the recalibrated model to this file.")
    ] = None,
    learn: Annotated[bool, typer.Option("--learn/--no-learn", help="Go on learning while running.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Strict = False,
) -> None:
    """Evaluate forecasts on later events: accuracy, calibration, and false alarms."""
    sources, times = _pairs(inputs, "--input", "STREAM=PATH"), _pairs(time, "--time", "STREAM=COLUMN")
    rows = _pairs(tables, "--table", "NAME=PATH")
    forecast_commands.backtest(
        file,
        sources,
        times,
        rows,
        model,
        horizons=horizons,
        confidence=confidence,
        page=page,
        corrected=corrected,
        as_json=as_json,
        learn=learn,
        strict=strict,
    )


@app.command("demo")
def demo_command() -> None:
    """Show what Foretell does, on small built-in data."""
    demonstration.show()


@app.command("explain")
def explain_command(
    file: Annotated[
        Path, typer.Argument(help="A file of statements, with a STREAM statement for every stream.", show_default=False)
    ],
    tables: Tables = [],
    form: Annotated[str, typer.Option("--format", help="text, mermaid or json.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
) -> None:
    """Print the plan of each statement: which engine runs it and why, its states, and its costs."""
    from foretell.cli import explain

    explain.show(file, "json" if as_json else form, _pairs(tables, "--table", "NAME=PATH"))


@app.command("bench")
def bench_command(
    name: Annotated[str | None, typer.Argument(help="The benchmark to run. Default: all.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="growth, forecast: short curves, to check that it works.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="growth, forecast: write NAME.html and figures to this folder.")
    ] = None,
) -> None:
    """Run benchmarks."""
    benchmarks.bench(name, as_json=as_json, quick=quick, output=output)
