"""Quarantine: malformed events with their places and reasons, and the summary that a user reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from foretell.errors import InputError


@dataclass(frozen=True)
class QuarantinedEvent:
    """A malformed event: its place (line of a text file, else row, from 1), the reason, and its raw text."""

    stream: str
    source: str
    row: int
    reason: str
    raw: str


def malformed_event(event: QuarantinedEvent) -> InputError:
    """The error for a malformed event where `strict` makes it fatal."""
    return InputError("bad-event", f"{event.source}:{event.row}: {event.reason}")


def quarantine_summary(quarantined: Sequence[QuarantinedEvent], totals: Iterable[tuple[str, int]]) -> Iterator[str]:
    """A line for each stream with malformed events: how many, the reasons, the place of the first.

    `totals` has the number of events read of each stream.
    """
    for stream, total in totals:
        events = [event for event in quarantined if event.stream == stream]
        if events:
            reasons = Counter(event.reason for event in events)
            listed = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(5))
            more = ", …" if len(reasons) > 5 else ""
            first = f"{events[0].source}:{events[0].row}"
            yield f"{stream}: {len(events)} of {total} events set aside: {listed}{more} (the first at {first})"
