"""One result of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BenchResult:
    """`rate` is events a second; for the language an event is a statement. `limit` is the rate of a bare loop; on Spark
    that of reading and shuffling the same events.

    `processor` is the processor time of all processes together, in seconds. `of_plain` is the ratio of this case's
    speed to that of the plain case before it (on Spark: read and shuffle), by processor time. A `note` stands in place
    of the rate: why there is none, or what says more.
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
    processor: float | None = None

    def line(self) -> str:
        """For people."""
        if self.note is not None:
            return f"{self.bench:10} {self.case}: {self.note}"
        matches = "" if self.matches is None else f"   {self.matches:>12,} matches"
        limit, plain = _COMPARED.get(self.bench, ("a bare loop", "the speed without"))
        parts = [
            "" if self.limit is None else f"{self.rate / self.limit:.0%} of {limit}",
            "" if self.processor is None else f"{self.processor:.2f} s of processor time",
            "" if self.of_plain is None else f"{self.of_plain:.0%} of {plain}",
        ]
        more = "".join(f"   ({part})" for part in parts if part)
        return f"{self.bench:10} {self.case:24} {self.rate:>16,.{0 if self.rate >= 100 else 2}f} /s{matches}{more}"


#: What `limit` and `of_plain` are of, by benchmark.
_COMPARED = {"spark": ("read and shuffle", "read and shuffle by processor time")}
