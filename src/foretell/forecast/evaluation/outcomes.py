"""What came of a forecast: how far the next match was, and whether the data reach far enough to tell.

Each event of a process is a point at which a forecast can be judged. It came true within n events if a match was
completed by one of the next n events of the lane, and within a duration likewise. A point whose horizon reaches beyond
the data is censored, also where a match is seen before that: to count only those would make matches look likelier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats
from foretell.errors import InputError


@dataclass(frozen=True)
class Horizon:
    """So many events of the lane, or so much time.

    >>> str(Horizon(events=5)), str(Horizon(time=90.0)), str(Horizon(time=90.0, unit="s"))
    ('5 events', '90', '90 s')
    """

    events: int | None = None
    time: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if (self.events is None) == (self.time is None):
            raise InputError("wrong-horizon", "a horizon is a number of events or a length of time, one of them")
        if self.amount <= 0:
            raise InputError("wrong-horizon", f"a horizon must be greater than 0, not {self.amount:g}")

    @property
    def amount(self) -> float:
        """How far, in events or in time."""
        return float(self.events if self.time is None else self.time)  # type: ignore[arg-type]

    def __str__(self) -> str:
        unit = self.unit if self.events is None else "event" if self.events == 1 else "events"
        return f"{self.amount:g} {unit}".rstrip()


@dataclass(frozen=True)
class Waits:
    """Of each point, how far the next match is (inf where none comes) and how far the data reach, by both measures."""

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
        """Where a match came within the horizon."""
        return self.to_match(horizon) <= horizon.amount

    def known(self, horizon: Horizon) -> Flags:
        """Where the data reach as far as the horizon; the other points are censored."""
        return self.left(horizon) >= horizon.amount


def waits(
    process: NDArray[np.int64],
    ordinal: NDArray[np.int64],
    time: Floats,
    matched: Flags,
    *,
    last_ordinal: NDArray[np.int64] | None = None,
    last_time: float | None = None,
) -> Waits:
    """From the columns of a trace, whose rows of one process come in order.

    `last_ordinal` is for each process the number of its lane's last event. Without it that is the last of its rows,
    which is right for lanes but not for bindings of variables. Time passes for all lanes together: `last_time` is, if
    not said, the latest of all rows.

    >>> time, matched = np.array([0.0, 1.0, 4.0, 9.0]), np.array([False, True, False, True])
    >>> one = waits(np.zeros(4, int), np.arange(4), time, matched)
    >>> one.events.tolist(), one.time.tolist(), one.events_left.tolist()
    ([1.0, 2.0, 1.0, inf], [1.0, 8.0, 5.0, inf], [3.0, 2.0, 1.0, 0.0])
    """
    count = len(process)
    if not count:
        return Waits(*(np.zeros(0) for _ in range(4)))
    order: Any = np.argsort(process, kind="stable")
    owner, number, when = process[order], ordinal[order], np.asarray(time, np.float64)[order]
    # The next row after each that completed a match, seen from the end.
    places = np.where(matched[order], np.arange(count), count)
    following = np.append(np.minimum.accumulate(places[::-1])[::-1][1:], count)
    at = np.minimum(following, count - 1)
    comes = (following < count) & (owner[at] == owner)
    ends = np.append(owner[1:] != owner[:-1], True)
    if last_ordinal is None:
        last = number[ends][np.cumsum(ends) - ends]
    else:
        last = last_ordinal[owner]
    end = when.max() if last_time is None else last_time
    columns = np.empty((4, count))
    columns[0, order] = np.where(comes, number[at] - number, np.inf)
    columns[1, order] = np.where(comes, when[at] - when, np.inf)
    columns[2, order] = last - number
    columns[3, order] = end - when
    return Waits(*columns)
