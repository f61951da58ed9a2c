"""The departures of each airline at each airport, worked out without Foretell: how many have gone wrong in a row, and
whether trouble was ahead. Forecasts are compared with it.

>>> bad = np.array([0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], np.bool_)
>>> runs(bad).tolist()
[0, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
>>> ahead(runs(bad)).tolist()[:6]
[5, 4, 3, 2, 1, 0]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags, Ints
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import numpy_of

#: A departure goes wrong with so many minutes of delay, or if it is cancelled.
LATE = 60

#: Trouble is so many departures in a row that go wrong, and is looked for among so many departures.
TROUBLE, HORIZON = 5, 10

#: An airline and an airport.
LaneKey = tuple[str, str]


@dataclass(frozen=True)
class DepartureLane:
    """The departures of an airline at an airport in their order; `rows` are their numbers in the table."""

    rows: Ints
    bad: Flags

    @cached_property
    def run(self) -> Ints:
        return runs(self.bad)

    @cached_property
    def ahead(self) -> Ints:
        return ahead(self.run)

    @property
    def known(self) -> Flags:
        """Whether the horizon ends before the data do."""
        number = np.arange(len(self.rows))
        return number + HORIZON < len(number)


def departure_lanes(flights: pa.Table) -> Mapping[LaneKey, DepartureLane]:
    bad = gone_wrong(flights)
    keys: dict[LaneKey, list[int]] = {}
    pairs = zip(flights["carrier"].to_pylist(), flights["origin"].to_pylist(), strict=True)
    for row, (carrier, origin) in enumerate(pairs):
        keys.setdefault((str(carrier), str(origin)), []).append(row)
    lanes = {key: np.array(rows, np.int64) for key, rows in keys.items()}
    return {key: DepartureLane(rows, bad[rows]) for key, rows in lanes.items()}


def gone_wrong(flights: pa.Table) -> Flags:
    late = pc.greater_equal(flights["delay"], pa.scalar(LATE))
    flags: Flags = numpy_of(pc.fill_null(late, pa.scalar(True)))
    return flags


def runs(bad: Flags) -> Ints:
    """How many departures in a row have gone wrong, up to each."""
    number = np.arange(1, len(bad) + 1)
    last_good = np.maximum.accumulate(np.where(bad, 0, number))
    return number - last_good


def ahead(run: Ints) -> Ints:
    """In how many departures five in a row will have gone wrong; 0 where that is not within the next ten."""
    places = np.flatnonzero(run >= TROUBLE)
    number = np.arange(len(run))
    following = np.searchsorted(places, number, "right")
    distance = np.append(places, np.iinfo(np.int64).max)[following] - number
    return np.where(distance <= HORIZON, distance, 0)
