"""Lag columns: the values of an expression for an earlier event of the same lane, as LAG in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


class LagColumns:
    """Keeps, for each lag column, the value of each lane's latest event; NULL if the lane has had none."""

    def __init__(self) -> None:
        self._latest: dict[Lagged, tuple[Ints, NDArray[np.bool_]]] = {}

    def want(self, wanted: Iterable[Lagged]) -> None:
        """Keeps exactly these columns from now on."""
        nearer = {Lagged(d, one.expression): None for one in wanted for d in range(1, one.distance + 1)}
        nothing = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self._latest = {one: self._latest.get(one, nothing) for one in nearer}

    def columns(self, events: EventColumns, lane: Ints, lanes: int, strings: StringDictionary) -> dict[Lagged, Column]:
        """The lag columns of the events of a batch."""
        found: dict[Lagged, Column] = {}
        for one in self._latest:
            nearer = Lagged(one.distance - 1, one.expression)
            value = found[nearer] if one.distance > 1 else events.evaluate(one.expression, strings)
            found[one] = self._shifted(one, value, lane, lanes)
        return found

    def _shifted(self, one: Lagged, value: Column, lane: Ints, lanes: int) -> Column:
        latest, unknown = self._latest[one]
        if len(latest) < lanes:
            more = max(lanes, 2 * len(latest)) - len(latest)
            latest = np.concatenate([latest, np.zeros(more, np.int64)])
            unknown = np.concatenate([unknown, np.ones(more, np.bool_)])
            self._latest[one] = latest, unknown
        words, nulls = np.empty(len(lane), np.int64), np.empty(len(lane), np.bool_)
        given = np.ascontiguousarray(value.values).view(np.int64)
        _shift(lane.view(np.uint64), given, value.nulls, latest, unknown, words, nulls)
        return Column(value.kind, words.view(np.float64) if value.kind is Type.FLOAT else words, nulls)

    def state(self) -> dict[str, Any]:
        return {str(one): {"latest": some, "unknown": unknown} for one, (some, unknown) in self._latest.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        for one in self._latest:
            if str(one) in state:
                self._latest[one] = state[str(one)]["latest"], state[str(one)]["unknown"]


@compiled
def _shift(lane: Any, values: Ints, nulls: Any, latest: Ints, unknown: Any, words: Ints, missing: Any) -> None:
    for i in range(np.uint64(lane.size)):
        one = lane[i]
        words[i], missing[i] = latest[one], unknown[one]
        latest[one], unknown[one] = values[i], nulls[i]
