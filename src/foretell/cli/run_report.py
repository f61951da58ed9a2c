"""Notes and quarantined events of a run, for standard error and the --quarantine file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import msgspec

from foretell.cli.output import say
from foretell.events.atomic_files import atomic_write
from foretell.events.ingest.quarantine import QuarantinedEvent, quarantine_summary
from foretell.notify.notifications import Notifications


def report(notifications: Notifications) -> None:
    """Print the notes, then a line for each stream with malformed events: how many, why, and where the first is."""
    for note in notifications.notes:
        say(f"note: {note}")
    for line in quarantine_summary(notifications.bad, notifications.totals):
        say(line)


def write_quarantine(events: Iterable[QuarantinedEvent], path: Path) -> None:
    with atomic_write(path) as file:
        file.writelines(msgspec.json.encode(asdict(event)) + b"\n" for event in events)
