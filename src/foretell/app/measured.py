"""One result of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """`rate` is events a second; for the language an event is a statement. `limit` is the rate of a bare loop."""

    bench: str
    case: str
    events: int
    seconds: float
    rate: float
    matches: int | None = None
    limit: float | None = None
