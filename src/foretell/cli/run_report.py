"""The end of a run for people: notes, and a summary of what was read, set aside and found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import msgspec

from foretell.api.engine_choice import EngineChoice
from foretell.cli.output import say
from foretell.display import counted, duration_text
from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write
from foretell.events.ingest.nulled_values import unreadable_summary
from foretell.events.ingest.quarantine import QuarantinedEvent, quarantine_summary
from foretell.notify.notifications import Notifications
from foretell.notify.run_summary import RunSummary, statement_figures

#: Statements that are listed one by one; of more the rest is counted.
MOST_STATEMENTS = 20


def report(notifications: Notifications, choice: EngineChoice, seconds: float) -> None:
    """Print the notes and the summary to standard error."""
    error = notifications.summary.nothing_to_match
    for note in notifications.notes:
        if not error or not note.startswith(error):  # `check_events` says it
            say(f"note: {note}")
    for line in summary_lines(notifications, choice, seconds):
        say(line)


def check_events(summary: RunSummary) -> None:
    """Raise InputError if there were events, and all of them were set aside."""
    if error := summary.nothing_to_match:
        raise InputError(
            "all-set-aside",
            error,
            hint="look at them with --quarantine FILE; --format, --pattern and --time-format say how to read them",
        )


def summary_lines(notifications: Notifications, choice: EngineChoice, seconds: float) -> Iterator[str]:
    summary = notifications.summary
    for stream, count in summary.events.items():
        yield f"{stream}: {counted(count, 'event')} read" if count else f"{stream}: no events"
    yield from quarantine_summary(notifications.bad, notifications.totals)
    yield from unreadable_summary(notifications.unreadable, notifications.totals)
    yield from _statement_lines(summary)
    why = f" ({choice.reason})" if choice.reason and choice.engine != "embedded" else ""  # that is the usual one
    yield f"{duration_text(seconds)} {choice.place}{why}"


def _statement_lines(summary: RunSummary) -> Iterator[str]:
    names = list(summary.notifications)
    for name in names[:MOST_STATEMENTS]:
        yield f"{name}: {statement_figures(summary, name)}"
    if len(names) > MOST_STATEMENTS:
        yield f"and {counted(len(names) - MOST_STATEMENTS, 'more statement')}"


def write_quarantine(events: Iterable[QuarantinedEvent], path: Path) -> None:
    with atomic_write(path) as file:
        file.writelines(msgspec.json.encode(asdict(event)) + b"\n" for event in events)
