"""What a run has to say besides its notifications, and what it set aside, written out where the user wants it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import msgspec

from foretell.cli.output import say
from foretell.events.atomic_files import atomic_write
from foretell.events.ingest.quarantine import QuarantinedEvent, quarantine_summary
from foretell.notify.notifications import Notifications


def report(found: Notifications) -> None:
    """On standard error, its notes; then a line for each stream with malformed events: how many, why, the first."""
    for note in found.notes:
        say(f"note: {note}")
    for line in quarantine_summary(found.bad, found.totals):
        say(line)


def write_bad(bad: Iterable[QuarantinedEvent], path: Path) -> None:
    with atomic_write(path) as file:
        file.writelines(msgspec.json.encode(asdict(b)) + b"\n" for b in bad)
