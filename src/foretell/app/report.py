"""What was set aside: said on standard error, and written out whole where the user wants it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import msgspec

from foretell.errors import InputError
from foretell.events.read import BadEvent
from foretell.notify.notifications import Notifications


def report_bad(found: Notifications) -> None:
    """A line for each stream with malformed events: how many, why, and where the first is."""
    for stream, total in found.totals:
        bad = [b for b in found.bad if b.stream == stream]
        if bad:
            reasons = Counter(b.reason for b in bad)
            listed = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(5))
            more = ", …" if len(reasons) > 5 else ""
            print(
                f"{stream}: {len(bad)} of {total} events set aside: {listed}{more}"
                f" (the first at {bad[0].source}:{bad[0].row})",
                file=sys.stderr,
            )


def write_bad(bad: Iterable[BadEvent], path: Path) -> None:
    try:
        path.write_bytes(b"".join(msgspec.json.encode(asdict(b)) + b"\n" for b in bad))
    except OSError as error:
        raise InputError("cannot-write", f"cannot write '{path}': {error.strerror or error}") from None
