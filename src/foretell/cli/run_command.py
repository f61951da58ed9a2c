"""`foretell run` on finite inputs: run the statements, write the notifications, and say what happened."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from foretell.api.engine_choice import EngineChoice, choose_engine
from foretell.api.run import run
from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.statements import load
from foretell.cli.input_options import InputArguments
from foretell.cli.limit_options import limits_of
from foretell.cli.notification_table import FirstNotifications, print_tables
from foretell.cli.output import is_terminal, say, shows_to_a_person
from foretell.cli.progress_display import progress
from foretell.cli.run_report import check_events, report, write_quarantine
from foretell.display import counted
from foretell.errors import ForetellWarning
from foretell.events.atomic_files import check_writable
from foretell.events.notification import Notification
from foretell.language.checked import CheckedStatement
from foretell.language.subscriptions import Subscriptions
from foretell.notify.files import FileOutput, JsonLinesOutput, OutputClosedError, standard_output, writing_to
from foretell.notify.notifications import Notifications
from foretell.notify.run_summary import RunSummary
from foretell.notify.written_notifications import DescribedOutput, NotificationOutput

#: With more events a page shows none but those of its matches: the others would have to be read again.
MOST_LANE_EVENTS = 1_000_000


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
    json: bool
    only: Sequence[str] | None
    page: Path | None
    quarantine: Path | None
    limits: Sequence[str]
    quiet: bool


def run_finite(arguments: RunArguments, given: InputArguments) -> None:
    if arguments.file.suffix == ".toml":
        raise typer.BadParameter(f"{arguments.file} is a pipeline file: add --follow", param_hint="FILE")
    _check_files(arguments)
    output = _output(arguments)
    page = None if arguments.page is None else _PageOutput(output)
    since = time.monotonic()
    program = load(arguments.file)
    given = given.with_names(program.sources)
    settings = as_input_settings(given.time_columns(), given.read_options())
    choice = choose_engine(program, given.sources(), settings, arguments.engine)
    if choice.engine == "spark" and not arguments.quiet:
        for note in choice.notes:  # before Spark starts, which takes a while
            say(f"note: {note}")
    try:
        with (
            output if isinstance(output, FileOutput) else nullcontext(),
            _progress(output, on_spark=choice.engine == "spark"),
            warnings.catch_warnings(),
        ):
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
                output=page or output,
            )
            if arguments.quarantine is not None:
                write_quarantine(notifications.bad, arguments.quarantine)
    except OutputClosedError:
        return  # nobody reads the rest
    if page is not None and arguments.page is not None:
        page.add_lanes(program, given, notifications, choice)
        page.page.save(arguments.page)
    if isinstance(output, FirstNotifications):
        _print(output, notifications.summary, quiet=arguments.quiet)
    if not arguments.quiet:
        if arguments.output is not None:
            say(f"wrote {arguments.output} ({counted(len(notifications), 'row')})")
        if arguments.page is not None:
            say(f"wrote {arguments.page}")
        report(notifications, choice, time.monotonic() - since)
    check_events(notifications.summary)


def _check_files(arguments: RunArguments) -> None:
    """Each file that a run writes can be written, and none replaces another."""
    options = {"--output": arguments.output, "--html": arguments.page, "--quarantine": arguments.quarantine}
    written: dict[Path, str] = {}
    for option, file in options.items():
        if file is None:
            continue
        if option != "--output":  # which is checked as it is opened
            check_writable(file)
        if other := written.get(file.resolve()):
            raise typer.BadParameter(f"{other} writes the file {file}, too; name another one", param_hint=option)
        written[file.resolve()] = option


def _output(arguments: RunArguments) -> FileOutput | FirstNotifications | JsonLinesOutput:
    """A file in the format of its ending, else tables for a terminal, else JSON lines."""
    if arguments.output is not None:
        return FileOutput(arguments.output, flat=arguments.flat, json=arguments.json)
    if is_terminal(sys.stdout) and not arguments.flat:
        return FirstNotifications()
    return JsonLinesOutput(standard_output(), flat=arguments.flat)


class _PageOutput:
    """An output that also shows the notifications on a page."""

    def __init__(self, output: NotificationOutput) -> None:
        from foretell.charts.notification_page import NotificationPage  # loads Altair

        self._output, self.page = output, NotificationPage()

    def add_lanes(
        self, program: Subscriptions, given: InputArguments, found: Notifications, choice: EngineChoice
    ) -> None:
        """Show the other events of the lanes, if reading the inputs again is quick."""
        from foretell.charts.lane_history import LaneHistory

        events = sum(found.summary.events.values())
        read_again = choice.engine == "embedded" and all(map(_can_be_read_again, given.sources().values()))
        if read_again and events <= MOST_LANE_EVENTS:
            self.page.lanes = LaneHistory.read(program, given.sources(), given.time_columns(), given.read_options())

    def describe(self, statements: Iterable[CheckedStatement]) -> None:
        known = tuple(statements)
        self.page.describe(known)
        if isinstance(self._output, DescribedOutput):
            self._output.describe(known)

    def write(self, part: Sequence[Notification]) -> None:
        self._output.write(part)
        self.page.write(part)


def _can_be_read_again(source: str) -> bool:
    """Whether an input is a file, a folder or a pattern, and no pipe and no address."""
    path = Path(source)
    return source != "-" and "://" not in source and (not path.exists() or path.is_file() or path.is_dir())


def _progress(output: object, *, on_spark: bool) -> AbstractContextManager[None]:
    """Show the progress, unless lines of notifications come to the same terminal."""
    if isinstance(output, JsonLinesOutput) and is_terminal(sys.stdout):
        return nullcontext()
    return progress("reading the events", on_spark=on_spark)


def _print(found: FirstNotifications, summary: RunSummary, *, quiet: bool) -> None:
    """Print tables to the terminal."""
    from rich.console import Console

    console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
    groups = found.groups()
    # Captured first: rich handles a closed pipe in its own way.
    with console.capture() as shown:
        print_tables(console, groups, summary.notifications)
    with writing_to(standard_output()):
        standard_output().write("".join(f"{line.rstrip()}\n" for line in shown.get().splitlines()).encode())
    if groups and not quiet and shows_to_a_person():
        say("")  # between the tables and the summary
