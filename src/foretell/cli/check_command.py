"""`foretell check`: its options. What it does is in `check_output`, which loads when the command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.application import OUTPUT, app
from foretell.cli.help_format import GroupedCommand
from foretell.cli.input_options import InputArguments, takes_sample

FORMATS = ("text", "json", "github", "mermaid")


def _one_format(form: str) -> str:
    if form not in FORMATS:
        raise typer.BadParameter(f"'{form}' is not one of {', '.join(FORMATS)}")
    return form


@app.command(
    "check",
    cls=GroupedCommand,
    epilog="""
foretell check watch.ftl
foretell check watch.ftl --costs
foretell check watch.ftl --input logins=logins.csv
foretell check new.ftl --against old.ftl
foretell check *.ftl --format github
""",
)
@takes_sample
def check_statements(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of statements.", show_default=False)],
    given: InputArguments,
    *,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare with the statements of this file: those of the same name, or the only one of each.",
            show_default=False,
        ),
    ] = None,
    costs: Annotated[
        bool, typer.Option("--costs", help="Print notes on costs, too. --input adds figures to them.")
    ] = False,
    graph: Annotated[
        bool,
        typer.Option("--graph", help="Print which streams and attributes each statement reads, and check nothing."),
    ] = False,
    seconds: Annotated[float, typer.Option(metavar="N", help="Decide for at most so long.")] = 60.0,
    statement_seconds: Annotated[
        float, typer.Option(metavar="N", help="Decide about one statement for at most so long.")
    ] = 5.0,
    output_form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            callback=_one_format,
            help="text, json (an object for each file), github (annotations), or mermaid (the --graph as a diagram).",
            rich_help_panel=OUTPUT,
        ),
    ] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.", rich_help_panel=OUTPUT)] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Leave the summary out.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Check whether statements make sense, what they depend on, and what they cost. The exit status is 1 if there are
    findings."""
    from foretell.cli.check_output import CheckRequest, check_files

    if as_json and output_form not in ("text", "json"):
        raise typer.BadParameter(f"leave out --format {output_form}", param_hint="--json")
    request = CheckRequest(
        files=tuple(files),
        against=against,
        costs=costs,
        graph=graph or output_form == "mermaid",
        seconds=seconds,
        statement_seconds=statement_seconds,
        form="json" if as_json else output_form,
        quiet=quiet,
    )
    check_files(request, given)
