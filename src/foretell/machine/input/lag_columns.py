"""Lag columns: the values of an expression for an earlier event of the same lane, as LAG in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import kernel
from foretell.plan.expressions import Lagged
from foretell.storage.recorded_values import array, require_range


class _LagColumn:
    """The value that one lag column has for the next event of each lane, in `latest` unless it is `unknown`."""

    def __init__(self, lag: Lagged) -> None:
        self.lag = lag
        self.before = Lagged(lag.distance - 1, lag.expression) if lag.distance > 1 else None
        self.kind: Type | None = None
        self.latest, self.unknown = np.zeros(0, np.int64), np.zeros(0, np.bool_)

    def shift(self, value: Column, lane: Ints, lanes: int) -> Column:
        """The column for the events of a batch, from the values for these events themselves."""
        self.kind = value.kind
        if len(self.latest) < lanes:
            more = max(lanes, 2 * len(self.latest)) - len(self.latest)
            self.latest = np.concatenate([self.latest, np.zeros(more, np.int64)])
            self.unknown = np.concatenate([self.unknown, np.ones(more, np.bool_)])
        words, nulls = np.empty(len(lane), np.int64), np.empty(len(lane), np.bool_)
        values = np.ascontiguousarray(value.values).view(np.int64)
        _shift(lane.view(np.uint64), values, value.nulls, self.latest, self.unknown, words, nulls)
        return Column(value.kind, words.view(np.float64) if value.kind is Type.FLOAT else words, nulls)


class LagColumns:
    """Keeps, for each lag column, the value of each lane's latest event; NULL if the lane has had none."""

    def __init__(self) -> None:
        self._columns: dict[Lagged, _LagColumn] = {}

    def keep(self, lags: Iterable[Lagged]) -> None:
        """Keeps exactly these columns, and those of smaller distances that they are computed from, from now on."""
        wanted = list(lags)  # these very nodes, which are found quicker than equal ones
        kept = dict.fromkeys([*wanted, *(Lagged(d, lag.expression) for lag in wanted for d in range(1, lag.distance))])
        by_distance = sorted(kept, key=lambda lag: lag.distance)
        self._columns = {lag: self._columns.get(lag) or _LagColumn(lag) for lag in by_distance}

    def add_columns(self, events: EventColumns, lane: Ints, lanes: int, strings: StringDictionary) -> None:
        """Adds the lag columns to the events of a batch."""
        for column in self._columns.values():
            lag, before = column.lag, column.before
            value = events.evaluate(lag.expression, strings) if before is None else events.earlier[before]
            events.earlier[lag] = column.shift(value, lane, lanes)

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in the columns."""
        for column in self._columns.values():
            if column.kind is Type.STRING:
                yield column.latest

    def free_lanes(self, freed: Ints) -> None:
        """Forgets the latest events of lanes: only a partial match compares with them, and there is none."""
        for column in self._columns.values():
            within = freed[freed < len(column.latest)]
            column.latest[within], column.unknown[within] = 0, True

    def state(self) -> dict[str, Any]:
        return {str(lag): {"latest": c.latest, "unknown": c.unknown} for lag, c in self._columns.items()}

    def restore(self, state: Mapping[str, Any], nothing: EventColumns, strings: StringDictionary) -> None:
        """Continues from a snapshot. `nothing` are no events of the same stream: they show the types of values."""
        for lag, column in self._columns.items():
            if str(lag) in state:
                column.latest = array(state[str(lag)]["latest"], np.int64, (None,), "the latest values")
                column.kind = nothing.evaluate(lag.expression, strings).kind
                if column.kind is Type.STRING:
                    require_range(column.latest, len(strings), "the latest texts")
                column.unknown = array(state[str(lag)]["unknown"], np.bool_, column.latest.shape, "the latest values")


@kernel
def _shift(lanes: Any, values: Ints, nulls: Any, latest: Ints, unknown: Any, words: Ints, missing: Any) -> None:
    for i in range(np.uint64(lanes.size)):
        lane = lanes[i]
        words[i], missing[i] = latest[lane], unknown[lane]
        latest[lane], unknown[lane] = values[i], nulls[i]
