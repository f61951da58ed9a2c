"""What to say of malformed events: of each stream that has some how many, why, and where the first stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from foretell.events.ingest.reader import QuarantinedEvent


def quarantine_summary(bad: Sequence[QuarantinedEvent], totals: Iterable[tuple[str, int]]) -> Iterator[str]:
    """A line for each stream with malformed events; `totals` are the events read of each."""
    for stream, total in totals:
        its = [b for b in bad if b.stream == stream]
        if its:
            reasons = Counter(b.reason for b in its)
            listed = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(5))
            more = ", …" if len(reasons) > 5 else ""
            where = f"{its[0].source}:{its[0].row}"
            yield f"{stream}: {len(its)} of {total} events set aside: {listed}{more} (the first at {where})"
