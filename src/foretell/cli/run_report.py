"""The end of a run for people: notes, and a summary of what was read, set aside and found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from foretell.api.engine_choice import EngineChoice
from foretell.cli.notification_table import counted_kind, notification_groups
from foretell.cli.output import say
from foretell.display import counted, duration_text
from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write
from foretell.events.ingest.nulled_values import unreadable_summary
from foretell.events.ingest.quarantine import QuarantinedEvent, quarantine_summary
from foretell.notify.notifications import Notifications

#: Statements that are listed one by one; of more the rest is added up.
MOST_STATEMENTS = 20


def report(notifications: Notifications, statements: Sequence[str], choice: EngineChoice, seconds: float) -> None:
    """Print the notes and the summary to standard error."""
    for note in notifications.notes:
        say(f"note: {note}")
    for line in summary_lines(notifications, statements, choice, seconds):
        say(line)


def check_events(notifications: Notifications) -> None:
    """Raise InputError if there were events, and all of them were set aside."""
    total = sum(count for _, count in notifications.totals)
    if 0 < total == len(notifications.bad):
        raise InputError(
            "all-set-aside",
            f"all {counted(total, 'event')} were set aside: there was nothing to match",
            hint="look at them with --quarantine FILE; --format, --pattern and --time-format say how to read them",
        )


def summary_lines(
    notifications: Notifications, statements: Sequence[str], choice: EngineChoice, seconds: float
) -> Iterator[str]:
    for stream, count in notifications.totals:
        yield f"{stream}: {counted(count, 'event')} read" if count else f"{stream}: no events"
    yield from quarantine_summary(notifications.bad, notifications.totals)
    yield from unreadable_summary(notifications.unreadable, notifications.totals)
    found: dict[str, list[str]] = {name: [] for name in statements}
    for group in notification_groups(notifications, 0):
        found.setdefault(group.subscription, []).append(counted_kind(group.count, group.kind))
    for name in list(found)[:MOST_STATEMENTS]:
        yield f"{name}: {', '.join(found[name]) or 'no matches'}"
    if len(found) > MOST_STATEMENTS:
        yield f"and {counted(len(found) - MOST_STATEMENTS, 'more statement')}"
    why = f" ({choice.reason})" if choice.reason else ""
    yield f"{duration_text(seconds)} {choice.place}{why}"


def write_quarantine(events: Iterable[QuarantinedEvent], path: Path) -> None:
    with atomic_write(path) as file:
        file.writelines(msgspec.json.encode(asdict(event)) + b"\n" for event in events)
