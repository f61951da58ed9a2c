"""Outcomes of forecasts: the time from each event to the next match, and whether the data reach far enough to tell.

Each event of a process is a *point*: a forecast made there can be compared with its outcome. The outcome within n
events is positive if one of the lane's next n events completed a match, and within a duration likewise. A point whose
horizon reaches beyond the data is censored, even if a match is seen before the data end: counting only those matches
would make matches look likelier than they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.learn.horizon import Horizon
from foretell.learn.trace import Trace


@dataclass(frozen=True)
class TimesToMatch:
    """For each point the distance to the next match (inf where none follows) and to the end of the data, both in events
    of the lane and in time."""

    events: Floats
    time: Floats
    events_left: Floats
    time_left: Floats

    @property
    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.events, self.time, self.events_left, self.time_left

    def to_match(self, horizon: Horizon) -> Floats:
        return self.time if horizon.events is None else self.events

    def left(self, horizon: Horizon) -> Floats:
        return self.time_left if horizon.events is None else self.events_left

    def happened(self, horizon: Horizon) -> Flags:
        """The points after which a match came within the horizon."""
        return self.to_match(horizon) <= horizon.amount

    def known(self, horizon: Horizon) -> Flags:
        """The points whose horizon lies within the data; all others are censored."""
        return self.left(horizon) >= horizon.amount


def times_to_match(
    process: Ints,
    ordinal: Ints,
    time: Floats,
    matched: Flags,
    *,
    last_ordinal: Ints | None = None,
    last_time: float | None = None,
) -> TimesToMatch:
    """From the columns of a trace, in which the rows of one process are in order.

    `last_ordinal` is for each process the ordinal of its lane's last event. It defaults to the last row of the process,
    which is right for lanes but not for bindings of variables. `last_time` defaults to the latest time of all rows:
    time passes for all lanes alike.

    >>> time, matched = np.array([0.0, 1.0, 4.0, 9.0]), np.array([False, True, False, True])
    >>> times = times_to_match(np.zeros(4, int), np.arange(4), time, matched)
    >>> times.events.tolist(), times.time.tolist(), times.events_left.tolist()
    ([1.0, 2.0, 1.0, inf], [1.0, 8.0, 5.0, inf], [3.0, 2.0, 1.0, 0.0])
    """
    count = len(process)
    if not count:
        return TimesToMatch(*(np.zeros(0) for _ in range(4)))
    order = np.argsort(process, kind="stable")
    owner, number, when = process[order], ordinal[order], np.asarray(time, np.float64)[order]
    # The next row after each that completed a match, by a running minimum from the end.
    positions = np.where(matched[order], np.arange(count), count)
    following = np.append(np.minimum.accumulate(positions[::-1])[::-1][1:], count)
    at = np.minimum(following, count - 1)
    comes = (following < count) & (owner[at] == owner)
    ends = np.append(owner[1:] != owner[:-1], True)
    last = number[ends][np.cumsum(ends) - ends] if last_ordinal is None else last_ordinal[owner]
    end = when.max() if last_time is None else last_time
    columns = np.empty((4, count))
    columns[0, order] = np.where(comes, number[at] - number, np.inf)
    columns[1, order] = np.where(comes, when[at] - when, np.inf)
    columns[2, order] = last - number
    columns[3, order] = end - when
    return TimesToMatch(*columns)


def matched_within(trace: Trace, events: int) -> tuple[Flags, Flags]:
    """For each row, whether a match came within the lane's next `events` events, and whether the outcome is known."""
    horizon = Horizon(events=events)
    times = times_to_match(trace.process, trace.ordinal, trace.time, trace.matched, last_ordinal=trace.last_ordinal)
    return times.happened(horizon), times.known(horizon)
