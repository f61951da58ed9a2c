"""`foretell run` on finite inputs: run the statements, write the notifications, and say what happened."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from foretell.api.engine_choice import choose_engine
from foretell.api.run import run
from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.statements import load
from foretell.cli.input_options import InputArguments
from foretell.cli.limit_options import limits_of
from foretell.cli.output import say, shows_to_a_person
from foretell.cli.progress_display import progress
from foretell.cli.run_report import check_events, report, write_quarantine
from foretell.display import counted
from foretell.errors import ForetellWarning
from foretell.notify.files import check_ending, standard_output, write, write_lines, writing_to
from foretell.notify.notifications import Notifications


@dataclass(frozen=True)
class RunArguments:
    """The options of `foretell run` beside those of its inputs."""

    file: Path
    engine: str | None
    model: Path | None
    until: str | None
    strict: bool
    output: Path | None
    flat: bool
    only: Sequence[str] | None
    quarantine: Path | None
    limits: Sequence[str]
    quiet: bool


def run_finite(arguments: RunArguments, given: InputArguments) -> None:
    if arguments.file.suffix == ".toml":
        raise typer.BadParameter(f"{arguments.file} is a pipeline file: add --follow", param_hint="FILE")
    if arguments.output is not None:
        check_ending(arguments.output)
    since = time.monotonic()
    program = load(arguments.file)
    given = given.with_names(program.sources)
    settings = as_input_settings(given.time_columns(), given.read_options())
    choice = choose_engine(program, given.sources(), settings, arguments.engine)
    if choice.engine == "spark" and not arguments.quiet:
        for note in choice.notes:  # before Spark starts, which takes a while
            say(f"note: {note}")
    with progress("reading the events", on_spark=choice.engine == "spark"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ForetellWarning)  # `check_events` makes errors of them
        notifications = run(
            program,
            given.sources(),
            time=given.time_columns(),
            read=given.read_options(),
            tables=given.template_tables(),
            engine=choice.engine,
            model=arguments.model,
            until=arguments.until,
            strict=arguments.strict,
            only=arguments.only,
            limits=limits_of(arguments.limits),
        )
    if arguments.quarantine is not None:
        write_quarantine(notifications.bad, arguments.quarantine)
    _write(notifications, arguments)
    if not arguments.quiet:
        report(notifications, choice, time.monotonic() - since)
    check_events(notifications.summary)


def _write(notifications: Notifications, arguments: RunArguments) -> None:
    """To a file in the format of its ending, else as tables to a terminal, else as JSON lines."""
    if arguments.output is not None:
        write(notifications, arguments.output, flat=arguments.flat)
        if not arguments.quiet:
            say(f"wrote {arguments.output} ({counted(len(notifications), 'row')})")
    elif sys.stdout is not None and sys.stdout.isatty() and not arguments.flat:
        from rich.console import Console

        from foretell.cli.notification_table import print_tables

        console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
        # Captured first: rich handles a closed pipe in its own way.
        with console.capture() as shown:
            print_tables(console, notifications)
        with writing_to(standard_output()):
            standard_output().write("".join(f"{line.rstrip()}\n" for line in shown.get().splitlines()).encode())
        if notifications and not arguments.quiet and shows_to_a_person():
            say("")  # between the tables and the summary
    else:
        write_lines(notifications, standard_output(), flat=arguments.flat)
