"""Quarantine: malformed events with their places and reasons, and the summary that a user reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from foretell.errors import InputError
from foretell.events.ingest.nulled_values import cause_of, list_causes, shown_reason


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
    return malformed_at(event.source, event.row, event.reason)


def malformed_at(source: str, row: int, reason: str) -> InputError:
    return InputError("bad-event", f"{source}:{row}: {reason}")


def quarantine_summary(quarantined: Sequence[QuarantinedEvent], totals: Iterable[tuple[str, int]]) -> Iterator[str]:
    """A line for each stream with malformed events: how many, the causes, the place of the first.

    `totals` has the number of events read of each stream.
    """
    for stream, total in totals:
        events = [event for event in quarantined if event.stream == stream]
        if events:
            listed = list_causes({_shown(group): len(group) for group in _by_cause(events)})
            first = f"{events[0].source}:{events[0].row}"
            yield f"{stream}: {len(events):,} of {total:,} events set aside: {listed} (the first at {first})"


def _by_cause(events: Iterable[QuarantinedEvent]) -> Iterable[list[QuarantinedEvent]]:
    groups: dict[str, list[QuarantinedEvent]] = {}
    for event in events:
        groups.setdefault(cause_of(event.reason), []).append(event)
    return groups.values()


def _shown(group: Sequence[QuarantinedEvent]) -> str:
    first = group[0].reason
    return shown_reason(first, alike=all(event.reason == first for event in group))
