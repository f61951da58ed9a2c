"""`foretell capacity`: its options. The work and the output are in `capacity_output`, which loads when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.application import OUTPUT, Quiet, app
from foretell.cli.help_format import GroupedCommand


@app.command(
    "capacity",
    cls=GroupedCommand,
    epilog="""
foretell capacity deployment.toml
foretell capacity deployment.toml --html capacity.html
foretell capacity deployment.toml --json
""",
)
def capacity_command(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (.toml).", show_default=False)],
    *,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with charts to this file.", rich_help_panel=OUTPUT),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)] = False,
    quiet: Quiet = False,
) -> None:
    """Say how long notifications take, where the bottleneck is, and at which rate the service breaks down. The exit
    status is 1 if no point of the scenario has a steady state."""
    from foretell.cli.capacity_output import examine

    examine(scenario, page, as_json=as_json, quiet=quiet)
