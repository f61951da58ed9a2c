"""The commands and their options. What a command needs beyond that, it imports when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli import capacity_command, check_command, format_command, model_commands
from foretell.cli.application import ENGINES, OUTPUT, Quiet, Strict, app, one_of
from foretell.cli.help_format import GroupedCommand
from foretell.cli.input_options import InputArguments, pairs, takes_inputs

#: The application has the commands of all modules once this one is imported.
__all__ = ["app", "capacity_command", "check_command", "format_command", "model_commands"]

_STREAM = "Streaming"


@app.command(
    "run",
    cls=GroupedCommand,
    epilog="""
foretell run watch.ftl --input logins=logins.csv
foretell run watch.ftl --input logins=logins.csv --time logins=sent
foretell run watch.ftl --input logins=logs/ --output matches.csv
foretell run watch.ftl --input logins=auth.log --pattern syslog --year 2026
foretell run watch.ftl --input a=a.csv --input b=b.csv --delimiter 'b=;'
foretell run watch.ftl --input logins=in/ --follow --checkpoint state/
""",
)
@takes_inputs
def run_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file of statements; with --follow also a pipeline file (.toml).", show_default=False
        ),
    ],
    given: InputArguments,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write to a .jsonl, .csv or .parquet file (also .jsonl.gz, .csv.gz). Default: standard output, as "
            "tables on a terminal, else as JSON lines.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    flat: Annotated[
        bool,
        typer.Option(
            "--flat",
            help="Write key, bindings and events as columns of their own; CSV always has them.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Write key, bindings and events of a .parquet file as JSON text, not as structs.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    only: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="Write only the notifications of this statement. Repeatable.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = [],
    page: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page with charts of the most probable estimates and the first matches to this file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write malformed events to this file, as JSON lines.", rich_help_panel=OUTPUT
        ),
    ] = None,
    quiet: Quiet = False,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=one_of,
            help=f"One of {', '.join(ENGINES)}. Default: embedded, or spark for millions of events.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use a model written by `foretell train`, for forecasts and lost events."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Advance time to this point after the last event.")
    ] = None,
    limit: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE",
            help="Set a limit: memory=4GiB, results=4GiB, lane=1000000, engine=10000000, edges=3000, patterns=300, "
            "tables=120, then=refuse or then=drop. Repeatable.",
            show_default=False,
        ),
    ] = [],
    strict: Strict = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Run as a stream on Spark, until stopped.", rich_help_panel=_STREAM)
    ] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the state in this folder.", rich_help_panel=_STREAM)
    ] = None,
    late: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write late events to this file, as JSON lines.", rich_help_panel=_STREAM),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Process what is there, then end.", rich_help_panel=_STREAM)
    ] = False,
) -> None:
    """Run statements over events and write the notifications."""
    if follow:
        from foretell.cli.follow_command import FollowArguments, follow_inputs

        unused = {"--engine": engine not in (None, "spark"), "--until": until, "--strict": strict, "--flat": flat}
        unused |= {"--only": bool(only), "--html": page is not None}
        for option in [name for name, value in unused.items() if value]:
            raise typer.BadParameter("leave it out: --follow does not use it", param_hint=option)
        arguments = FollowArguments(
            file=file,
            output=output,
            checkpoint=checkpoint,
            quarantine=quarantine,
            late=late,
            model=model,
            limits=limit,
            json=json,
            once=once,
            quiet=quiet,
        )
        follow_inputs(arguments, given)
        return
    for option, value in {"--checkpoint": checkpoint, "--once": once, "--late": late}.items():
        if value:
            raise typer.BadParameter("add --follow, or leave this option out", param_hint=option)
    from foretell.cli.run_command import RunArguments, run_finite

    finite = RunArguments(
        file=file,
        engine=engine,
        model=model,
        until=until,
        strict=strict,
        output=output,
        flat=flat,
        json=json,
        only=only or None,
        page=page,
        quarantine=quarantine,
        limits=limit,
        quiet=quiet,
    )
    run_finite(finite, given)


@app.command(
    "serve",
    cls=GroupedCommand,
    epilog="""
foretell serve --demo
foretell serve pipeline.toml
foretell serve pipeline.toml --port 9000 --read-only
foretell serve pipeline.toml --host 0.0.0.0 --token-file token
""",
)
def serve_command(
    file: Annotated[
        Path | None, typer.Argument(metavar="PIPELINE", help="A pipeline file (.toml).", show_default=False)
    ] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Show the page on a year of flights, replayed.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="embedded or spark. Default: embedded where all streams are files or MQTT, else spark.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen on this address. Other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")] = 8765,
    name: Annotated[
        list[str],
        typer.Option(metavar="HOST", help="Another name that browsers use for this service. Repeatable."),
    ] = [],
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the token; or set FORETELL_TOKEN.", show_default=False),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow no changes of statements.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the state in this folder.", show_default=False)
    ] = None,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines", help="Also write notifications to standard output, as JSON lines.", rich_help_panel=OUTPUT
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run a pipeline and show it on a live page: statements, notifications, forecasts, changes."""
    if demo == (file is not None):
        raise typer.BadParameter("give a pipeline file, or --demo", param_hint="PIPELINE")
    if engine not in (None, "embedded", "spark"):
        raise typer.BadParameter(f"'{engine}' is not one of embedded, spark", param_hint="--engine")
    for option, value in {"--engine": engine, "--checkpoint": checkpoint, "--lines": lines}.items():
        if demo and value:
            raise typer.BadParameter("leave it out: --demo does not use it", param_hint=option)
    from foretell.extras import require_extra

    require_extra("page", "foretell serve")
    from foretell.cli.serve_command import ServeArguments, serve

    serve(
        ServeArguments(
            file=file,
            demo=demo,
            engine=engine,
            host=host,
            port=port,
            names=tuple(name),
            token_file=token_file,
            read_only=read_only,
            checkpoint=checkpoint,
            lines=lines,
            quiet=quiet,
        )
    )


@app.command(
    "init",
    cls=GroupedCommand,
    epilog="""
foretell init logins.csv
foretell init auth.log --pattern syslog --year 2026 --output watch.ftl
""",
)
@takes_inputs
def init_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file or folder of events.", show_default=False)],
    given: InputArguments,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the statements to this file. Default: standard output.", rich_help_panel=OUTPUT
        ),
    ] = None,
) -> None:
    """Look at a file of events and write a first STREAM statement and a first pattern for it."""
    from foretell.cli.first_statements import initialize

    initialize(file, given, output)


@app.command(
    "demo",
    cls=GroupedCommand,
    epilog="""
foretell demo
foretell demo --engine embedded --output flights.html
foretell demo --small
""",
)
def demo_command(
    *,
    small: Annotated[
        bool, typer.Option("--small", help="Show the small demonstration on built-in data, in a second.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the report to this file. Default: foretell-demo.html.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=one_of,
            help="spark or embedded. Default: spark, or embedded where there is no Java.",
        ),
    ] = None,
) -> None:
    """Show what Foretell does, on the flights of a year, or on small built-in data where these are not installed."""
    from foretell.cli import demo

    demo.show(demo.DemoArguments(small=small, output=output, engine=engine))


@app.command(
    "explain",
    cls=GroupedCommand,
    epilog="""
foretell explain watch.ftl
foretell explain watch.ftl --format mermaid
foretell explain watch.ftl --format html > watch.html
""",
)
def explain_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file of statements, with a STREAM statement for every stream.", show_default=False
        ),
    ],
    tables: Annotated[
        list[str], typer.Option("--table", metavar="NAME=PATH", help="Read the rows of a FOR EACH table.")
    ] = [],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            metavar="NAME=PATH",
            help="Count how many events of a stream go through Spark's shuffle.",
        ),
    ] = [],
    form: Annotated[str, typer.Option("--format", metavar="NAME", help="text, mermaid, html or json.")] = "text",
    limit: Annotated[
        list[str],
        typer.Option(metavar="NAME=VALUE", help="Explain with this limit: edges=10000, say.", show_default=False),
    ] = [],
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Show what LOSING runs with this model, and in html the probabilities of forecasts.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
) -> None:
    """Print the plan of each statement: which engine runs it and why, its states, and its costs."""
    from foretell.cli import explain
    from foretell.cli.limit_options import limits_of

    tables_given = pairs(tables, "--table", "NAME=PATH")
    events_given = pairs(inputs, "--input", "NAME=PATH")
    explain.show(file, "json" if as_json else form, tables_given, limits_of(limit), model, events_given)


@app.command("lsp", cls=GroupedCommand)
def lsp_command(
    seconds: Annotated[float, typer.Option(metavar="N", min=0.1, help="Check a text for at most so long.")] = 20.0,
    statement_seconds: Annotated[
        float, typer.Option(metavar="N", min=0.1, help="Check one statement for at most so long.")
    ] = 3.0,
) -> None:
    """Run the language server, which editors start: errors, completion and help while statements are typed."""
    from foretell.extras import require_extra

    require_extra("lsp", "foretell lsp")
    from foretell.lsp.server import serve

    serve(seconds=seconds, statement_seconds=statement_seconds)


@app.command(
    "bench",
    cls=GroupedCommand,
    epilog="""
foretell bench engine
foretell bench growth --quick --output charts/
foretell bench spark --events 100000000 --cluster --json
""",
)
def bench_command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The benchmark to run. Default: all.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="growth, forecast, filter, recover, calibration, capacity: a short run."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="growth, forecast, filter, calibration: write a page and figures to this folder."
        ),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=10_000,
            max=1_000_000_000,
            help="spark: how many ticks. Default: 10000000.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="spark: also a stand-alone cluster, started on this machine.")
    ] = False,
) -> None:
    """Run benchmarks."""
    from foretell.bench import registry

    registry.bench(name, as_json=as_json, quick=quick, output=output, events=events, cluster=cluster)
