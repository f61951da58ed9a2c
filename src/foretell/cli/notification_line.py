"""A notification of a stream in one line of a terminal, in place of a line of JSON that takes three."""

from __future__ import annotations

from typing import Any

import msgspec

from foretell.display import shortened
from foretell.events.estimate_detail import LostStep
from foretell.events.notification import ESTIMATE, lost_text, pairs_text
from foretell.events.types import Type, parse_timestamp


def notification_line(line: bytes, width: int) -> bytes:
    """
    >>> match = b'{"subscription":"guessed","kind":"match","key":{"user":"ann"},"start":"2026-03-01T10:00:00Z",'
    >>> match += b'"end":"2026-03-01T10:01:00Z","bindings":{"failures":3},"events":{"fail":[0,1,2],"ok":3}}'
    >>> notification_line(match, 79)
    b'guessed  2026-03-01 10:00:00 to 10:01:00  user=ann  failures=3\\n'
    """
    row: dict[str, Any] = msgspec.json.decode(line)
    kind = row["kind"]
    chance = "" if kind == "match" or row.get("probability") is None else f" {row['probability']:.3g}"
    details = [row.get("key"), row.get("bindings") or row.get("events")]
    parts = [
        row["subscription"] if kind == "match" else f"{row['subscription']} {kind}{chance}",
        _period(row.get("start"), row.get("end")),
        f"within {row['horizon']}" if row.get("horizon") is not None else "",
        f"id={row['id']}" if row.get("id") is not None else "",
        *(pairs_text(pairs) if isinstance(pairs, dict) else str(pairs or "") for pairs in details),
        _lost(row.get(ESTIMATE), row.get("start")),
    ]
    return f"{shortened(_printable('  '.join(part for part in parts if part)), width)}\n".encode()


def _lost(estimate: object, start: Any) -> str:
    """The lost steps of an estimate.

    >>> _lost({"lost": {"y": {"low": "2026-03-01T10:30:20Z", "high": "2026-03-01T10:30:50Z"}}}, "2026-03-01T10:00:00Z")
    'y lost, 10:30:20 to 10:30:50'
    """
    if not isinstance(estimate, dict):
        return ""
    kind = Type.TIMESTAMP if isinstance(start, str) else Type.FLOAT
    times = {step: [_number(interval[end]) for end in ("low", "high")] for step, interval in estimate["lost"].items()}
    return lost_text([LostStep(step, low, high) for step, (low, high) in times.items()], _number(start), kind)


def _number(time: Any) -> int | float:
    return parse_timestamp(time) if isinstance(time, str) else time


def _printable(text: str) -> str:
    """The text without control characters: values of events must not command the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _period(start: object, end: object) -> str:
    """From the start to the end; of one day its date once.

    >>> _period("2026-03-01T23:59:00Z", "2026-03-02T00:01:00Z"), _period(3, 3), _period(1, 2.5)
    ('2026-03-01 23:59:00 to 2026-03-02 00:01:00', '3', '1 to 2.5')
    """
    if start == end or start is None or end is None:
        return _moment(end if start is None else start)
    first, last = _moment(start), _moment(end)
    day = f"{first[:10]} "
    return f"{first} to {last.removeprefix(day) if isinstance(start, str) else last}"


def _moment(time: object) -> str:
    if time is None:
        return ""
    return time.replace("T", " ").removesuffix("Z") if isinstance(time, str) else f"{time}"
