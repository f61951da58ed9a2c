"""One result of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BenchResult:
    """`rate` is events a second; for the language an event is a statement. `limit` is the rate of a bare loop.

    `of_plain` is the ratio of this case's speed to that of the plain case before it, by processor time. A `note`
    stands in place of the rate: why there is none, or what says more.
    """

    bench: str
    case: str
    events: int
    seconds: float
    rate: float
    matches: int | None = None
    limit: float | None = None
    note: str | None = None
    of_plain: float | None = None

    def line(self) -> str:
        """For people."""
        if self.note is not None:
            return f"{self.bench:10} {self.case}: {self.note}"
        limit = "" if self.limit is None else f"   ({self.rate / self.limit:.0%} of a bare loop)"
        if self.of_plain is not None:
            limit += f"   ({self.of_plain:.0%} of the speed without)"
        matches = "" if self.matches is None else f"   {self.matches:>12,} matches"
        return f"{self.bench:10} {self.case:24} {self.rate:>16,.{0 if self.rate >= 100 else 2}f} /s{matches}{limit}"
