"""The total order of all events, base and derived (decision 0002, items 1 and 2).

An event's place in it is a row of numbers, compared one after the other. A base event has twice its number among base
events. A derived event has the place of the event that completed it, then the rank of its statement and its number
among that statement's events; if time completed it, its place begins with an odd number, between two base events.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Scalar, Schema, Type, format_timestamp
from foretell.filter.arrow_conversion import column_from_arrow
from foretell.filter.column import Column, no_nulls, repeated
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.records import record
from foretell.storage.recorded_values import require, times, whole


@record
class OrderedInput:
    """Events of one stream, base or derived, with their places (`order`), for the statements that read the stream.

    `name` is None if the stream has no ID. A place has two more numbers for each statement that the stream is derived
    through.
    """

    events: EventColumns
    name: NDArray[np.object_] | None
    order: Ints

    def __len__(self) -> int:
        return len(self.events)


class _WantedColumns(NamedTuple):
    """The columns of a stream that statements read, for a schema and the names that they need."""

    schema: Schema
    needed: Set[str]
    types: Mapping[str, Type]


_NOTHING: Set[str] = frozenset()
_NO_TIMES: NDArray[Any] = np.zeros(0)


class EventOrder:
    """Gives the events of each batch their places.

    It keeps the times of the latest batch alone: a match that time completes now was not complete a batch earlier.
    Where statements wait for a derived stream (`delayed_inputs`), it keeps those from the base event `oldest` on.
    """

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self.ranks = ranks
        self.count = 0
        self.oldest: int | None = None
        self._before = 0
        self._times = _NO_TIMES
        self._wanted: dict[str, _WantedColumns] = {}

    def inputs(
        self, loaded: Mapping[str, EventBatch], strings: StringDictionary, needed: Mapping[str, set[str]]
    ) -> dict[str, OrderedInput]:
        """The events of all streams, with their places; of their attributes only those that a statement needs."""
        events: dict[str, EventColumns] = {}
        for name, batch in loaded.items():
            wanted = self._wanted_types(name, batch.schema, needed.get(name, _NOTHING))
            events[name] = _events(name, batch, strings, wanted)
        self._forget_times()
        if not events:
            return {}
        ends = [columns.time.values for columns in events.values()]
        if len(ends) > 1 and Type.FLOAT in [batch.schema.time_type for batch in loaded.values()]:
            ends = [times.astype(np.float64, copy=False) for times in ends]
        by = self._in_order(loaded, ends)
        place = 2 * self.count
        self.count += sum(map(len, ends))
        places = np.arange(place, 2 * self.count, 2, dtype=np.int64)
        if by is None:
            times = ends[0]
        else:
            times = np.concatenate(ends)[by]
            places[by] = places.copy()
        self._times = np.concatenate([self._times, times]) if len(self._times) else times
        inputs, first = dict[str, OrderedInput](), 0
        for (name, batch), end in zip(loaded.items(), ends, strict=True):
            stop = first + len(end)
            names = None if batch.schema.id is None else _names(batch, batch.schema.id)
            inputs[name] = OrderedInput(events[name], names, places[first:stop].reshape(-1, 1))
            first = stop
        return inputs

    def _wanted_types(self, name: str, schema: Schema, needed: Set[str]) -> Mapping[str, Type]:
        """The attributes of a stream to read, with their types."""
        known = self._wanted.get(name)
        if known is None or known.schema is not schema or known.needed != needed:
            types = {n: kind for n, kind in schema.attributes.items() if n in needed or n == schema.time}
            known = self._wanted[name] = _WantedColumns(schema, frozenset(needed), types)
        return known.types

    def _forget_times(self) -> None:
        if self.oldest is None:
            self._times, self._before = _NO_TIMES, self.count
            return
        oldest = max(self.oldest, self._before)
        self._times = self._times[oldest - self._before :]
        self._before = oldest

    def _in_order(self, loaded: Mapping[str, EventBatch], ends: list[NDArray[Any]]) -> Ints | None:
        """The indices that sort all events; None if they are in order already, which is the common case."""
        alone = len(ends) == 1 and next(iter(loaded.values())).schema.order is None
        if alone and (len(ends[0]) < 2 or (ends[0][1:] >= ends[0][:-1]).all()):
            return None
        end = np.concatenate(ends)
        return np.argsort(end, kind="stable") if alone else self._sorted(loaded, end, [len(e) for e in ends])

    def _sorted(self, loaded: Mapping[str, EventBatch], end: NDArray[Any], sizes: list[int]) -> Ints:
        kinds, ties = [], []
        for batch, size in zip(loaded.values(), sizes, strict=True):
            kind, tie = tie_breaker(batch, size)
            kinds.append(kind)
            ties += tie
        rank = np.repeat([self.ranks[name] for name in loaded], sizes)
        arrival = np.concatenate([np.arange(size) for size in sizes])
        return np.lexsort((arrival, rank, _value_ranks(ties), np.concatenate(kinds), end))

    def deadlines(self, times: NDArray[Any]) -> Ints:
        """The places of matches that time completes: after every event of that instant, before any later event."""
        return 2 * (self._before + np.searchsorted(self._times, times, side="right")) - 1

    def state(self) -> dict[str, Any]:
        """The times that are kept for statements that wait."""
        return {"oldest": self.oldest, "before": self._before, "times": self._times}

    def restore(self, count: int, state: Mapping[str, Any] | None) -> None:
        self.count = self._before = whole(count, "the number of events")
        if state is not None:
            self.oldest = None if state["oldest"] is None else whole(state["oldest"], "the oldest event", -1, count + 1)
            self._before = whole(state["before"], "the events before", stop=count + 1)
            known = state["times"]
            require(isinstance(known, np.ndarray), "the times of events")
            dtype = np.float64 if known.dtype.kind == "f" else np.int64
            self._times = times(known, dtype, (count - self._before,), "the times of events")


def deepened(order: Ints, depth: int) -> Ints:
    """Places padded with -1 to a number of columns."""
    if order.shape[1] >= depth:
        return order
    return np.concatenate([order, np.full((len(order), depth - order.shape[1]), -1, np.int64)], axis=1)


def _events(name: str, loaded: EventBatch, strings: StringDictionary, wanted: Mapping[str, Type]) -> EventColumns:
    table, known, columns = loaded.table, loaded.known, dict[str, Column]()
    count, numbers, texts = table.num_rows, known.numbers, known.texts
    for attribute, kind in wanted.items():
        if attribute in numbers:
            columns[attribute] = Column(kind, numbers[attribute], no_nulls(count))
        elif attribute in texts:
            columns[attribute] = Column(kind, *strings.encode(texts[attribute]))
        else:
            columns[attribute] = column_from_arrow(table.column(attribute), kind, strings)
    stream = Column(Type.STRING, repeated(strings.code(name), count), no_nulls(count))
    time = columns[str(loaded.schema.time)]
    return EventColumns(columns, wanted, time, time, stream)


def tie_breaker(loaded: EventBatch, count: int) -> tuple[Ints, list[Any]]:
    """Kind and value of each event's tie-breaker (ORDER): missing and NULL sort first, then numbers, then texts."""
    if loaded.schema.order is None:
        return np.zeros(count, np.int64), [0] * count
    column = loaded.table[loaded.schema.order]
    values = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    kinds = [0 if v is None else 2 if isinstance(v, str) else 1 for v in values]
    return np.array(kinds, np.int64), [0 if v is None else v for v in values]


def _value_ranks(values: list[Any]) -> Ints:
    """The rank of each value among those of its kind: texts and numbers are ranked separately."""
    numbers = {v: i for i, v in enumerate(sorted({v for v in values if not isinstance(v, str)}))}
    texts = {v: i for i, v in enumerate(sorted({v for v in values if isinstance(v, str)}))}
    return np.array([texts[v] if isinstance(v, str) else numbers[v] for v in values], np.int64)


def _names(loaded: EventBatch, column: str) -> NDArray[np.object_]:
    """The IDs of events."""
    names = np.full(loaded.table.num_rows, None, object)
    names[:] = _ids(loaded.table[column], loaded.schema.attributes[column])
    return names


def _ids(column: Any, kind: Type) -> list[Scalar]:
    if kind is Type.TIMESTAMP:
        return [None if v is None else format_timestamp(v) for v in column.cast(pa.int64()).to_pylist()]
    return list(column.to_pylist())
