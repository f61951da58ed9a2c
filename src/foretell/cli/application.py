"""The application of the command line, and the options that several commands share."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.help_format import CommandList

app = typer.Typer(
    name="foretell",
    cls=CommandList,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ENGINES = ("embedded", "reference", "spark")
OUTPUT = "Output"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foretell {version('foretell')}")
        raise typer.Exit


@app.callback(
    epilog="""
foretell init logins.csv --output watch.ftl    a first pattern for a file
foretell run watch.ftl --input logins=logins.csv
foretell demo
"""
)
def foretell(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find patterns of events: those that happened, probably happened, or are about to happen."""


def one_of(engine: str | None) -> str | None:
    if engine is not None and engine not in ENGINES:
        raise typer.BadParameter(f"'{engine}' is not one of {', '.join(ENGINES)}")
    return engine


# Options that several commands share.
File = Annotated[Path, typer.Argument(metavar="FILE", help="A file of statements.", show_default=False)]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first value or event that cannot be read.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="Leave the summary and the notes out: print only errors.", rich_help_panel=OUTPUT),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Use only events from this time on.", show_default=False)
]
Before = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Use only events before this time.", show_default=False)
]
