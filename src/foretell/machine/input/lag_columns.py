"""Lag columns: the values of an expression for an earlier event of the same lane, as LAG in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import compiled
from foretell.plan.expressions import Lagged
from foretell.storage.recorded_values import array, require_range


class LagColumns:
    """Keeps, for each lag column, the value of each lane's latest event; NULL if the lane has had none."""

    def __init__(self) -> None:
        self._latest: dict[Lagged, tuple[Ints, NDArray[np.bool_]]] = {}
        self._kinds: dict[Lagged, Type] = {}

    def keep(self, lags: Iterable[Lagged]) -> None:
        """Keeps exactly these columns, and those of smaller distances that they are computed from, from now on."""
        kept = {Lagged(d, lag.expression): None for lag in lags for d in range(1, lag.distance + 1)}
        empty = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self._latest = {lag: self._latest.get(lag, empty) for lag in kept}

    def add_columns(self, events: EventColumns, lane: Ints, lanes: int, strings: StringDictionary) -> None:
        """Adds the lag columns to the events of a batch."""
        for lag in self._latest:
            if lag.distance > 1:
                value = events.earlier[Lagged(lag.distance - 1, lag.expression)]
            else:
                value = events.evaluate(lag.expression, strings)
            events.earlier[lag] = self._shifted(lag, value, lane, lanes)

    def _shifted(self, lag: Lagged, value: Column, lane: Ints, lanes: int) -> Column:
        latest, unknown = self._latest[lag]
        self._kinds[lag] = value.kind
        if len(latest) < lanes:
            more = max(lanes, 2 * len(latest)) - len(latest)
            latest = np.concatenate([latest, np.zeros(more, np.int64)])
            unknown = np.concatenate([unknown, np.ones(more, np.bool_)])
            self._latest[lag] = latest, unknown
        words, nulls = np.empty(len(lane), np.int64), np.empty(len(lane), np.bool_)
        values = np.ascontiguousarray(value.values).view(np.int64)
        _shift(lane.view(np.uint64), values, value.nulls, latest, unknown, words, nulls)
        return Column(value.kind, words.view(np.float64) if value.kind is Type.FLOAT else words, nulls)

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in the columns."""
        for lag, (latest, _) in self._latest.items():
            if self._kinds.get(lag) is Type.STRING:
                yield latest

    def free_lanes(self, freed: Ints) -> None:
        """Forgets the latest events of lanes: only a partial match compares with them, and there is none."""
        for latest, unknown in self._latest.values():
            within = freed[freed < len(latest)]
            latest[within], unknown[within] = 0, True

    def state(self) -> dict[str, Any]:
        return {str(lag): {"latest": latest, "unknown": unknown} for lag, (latest, unknown) in self._latest.items()}

    def restore(self, state: Mapping[str, Any], nothing: EventColumns, strings: StringDictionary) -> None:
        """Continues from a snapshot. `nothing` are no events of the same stream: they show the types of values."""
        for lag in self._latest:
            if str(lag) in state:
                latest = array(state[str(lag)]["latest"], np.int64, (None,), "the latest values")
                self._kinds[lag] = nothing.evaluate(lag.expression, strings).kind
                if self._kinds[lag] is Type.STRING:
                    require_range(latest, len(strings), "the latest texts")
                unknown = array(state[str(lag)]["unknown"], np.bool_, latest.shape, "the latest values")
                self._latest[lag] = latest, unknown


@compiled
def _shift(lanes: Any, values: Ints, nulls: Any, latest: Ints, unknown: Any, words: Ints, missing: Any) -> None:
    for i in range(np.uint64(lanes.size)):
        lane = lanes[i]
        words[i], missing[i] = latest[lane], unknown[lane]
        latest[lane], unknown[lane] = values[i], nulls[i]
