"""What a run has to say besides its notifications, and what it set aside, written out where the user wants it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import msgspec

from foretell.app.output import say
from foretell.events.files import replacing
from foretell.events.read import BadEvent
from foretell.notify.notifications import Notifications


def report(found: Notifications) -> None:
    """On standard error, its notes; then a line for each stream with malformed events: how many, why, the first."""
    for note in found.notes:
        say(f"note: {note}")
    for stream, total in found.totals:
        bad = [b for b in found.bad if b.stream == stream]
        if bad:
            reasons = Counter(b.reason for b in bad)
            listed = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(5))
            more = ", …" if len(reasons) > 5 else ""
            say(
                f"{stream}: {len(bad)} of {total} events set aside: {listed}{more}"
                f" (the first at {bad[0].source}:{bad[0].row})"
            )


def write_bad(bad: Iterable[BadEvent], path: Path) -> None:
    with replacing(path) as file:
        file.writelines(msgspec.json.encode(asdict(b)) + b"\n" for b in bad)
