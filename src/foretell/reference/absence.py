"""Silences, `!b` alone: no b for d (A-MEDIAS, Algorithm 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from foretell.reference.lane import Lane, PlacedEvent


def silences(
    lane: Lane, satisfies: Callable[[PlacedEvent], bool], window: int | float, now: int | float
) -> Iterator[tuple[int | float, int | float]]:
    """Start and end of each silence: `window` passed since the lane's first event, the latest b or the one before.

    A b at the very end of the window still breaks the silence: a point in time has passed only when time is later.
    """
    since = lane.events[0].event.end
    breaks = [e.event.end for e in lane.events if satisfies(e)]
    while since + window < now:
        broken = [time for time in breaks if since < time <= since + window]
        if broken:
            since = max(broken)
        else:
            yield since, since + window
            since += window
