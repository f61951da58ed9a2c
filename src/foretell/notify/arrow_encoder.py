"""The Arrow encoder: result batches to notification columns, without an object for each notification.

The columns are those of `row_encoder.to_table`, character by character. With `exact` Python's `json` reads back exactly
the values of the notification: infinite numbers are kept, an id that is text is quoted, and times are plain numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, take_rows
from foretell.events.notification import COLUMNS, Notification
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.machine.matches.notification_order import NotificationIndex, notification_order
from foretell.machine.matches.rendering import scalar_of
from foretell.machine.matches.results import ResultBatch
from foretell.notify.lazy_notifications import LazyNotifications, map_distinct
from foretell.notify.row_encoder import TIME_TYPES, encode_json

ArrowArray = Any
_ENCODER = msgspec.json.Encoder()

#: The least notifications of a result batch, on average, for which columns are quicker than objects.
MIN_COLUMNAR_ROWS = 32

#: The most notifications that are encoded at once: the texts of a column have 2 GB at most.
MAX_ENCODED_ROWS = 2**19


def notification_columns(results: ResultBatch, match: Ints, row: Ints, *, exact: bool = False) -> pa.Table:
    """The notifications of these matches, each for a row of a FOR EACH table (-1: for none)."""
    if len(match) <= MAX_ENCODED_ROWS:
        return _ArrowEncoder(results, exact).table(match, row)
    parts = [slice(first, first + MAX_ENCODED_ROWS) for first in range(0, len(match), MAX_ENCODED_ROWS)]
    return pa.concat_tables(_part(results, match[part], row[part], exact=exact) for part in parts)


def _part(results: ResultBatch, match: Ints, row: Ints, *, exact: bool) -> pa.Table:
    """The notifications of some matches, encoded without the others."""
    keep = np.zeros(len(results), np.bool_)
    keep[match] = True
    return _ArrowEncoder(results.filter(keep), exact).table((np.cumsum(keep) - 1)[match], row)


def to_notifications(batches: Sequence[ResultBatch]) -> Sequence[Notification]:
    """The notifications of result batches, in their order: as objects where they are few, else as columns."""
    results = [batch for batch in batches if len(batch)]
    return _encoded(notification_order(results))


def notification_parts(batches: Sequence[ResultBatch]) -> Iterator[Sequence[Notification]]:
    """The same, a limited number at once, of which only these are encoded."""
    results = [batch for batch in batches if len(batch)]
    order = notification_order(results)
    for first in range(0, len(order), MAX_ENCODED_ROWS):
        yield _encoded(order.only(slice(first, first + MAX_ENCODED_ROWS)))


def _encoded(order: NotificationIndex) -> Sequence[Notification]:
    results = order.batches
    has_float_time = {batch.schema.time is Type.FLOAT for batch in results}  # no column holds INT and FLOAT exactly
    if len(has_float_time) != 1 or len(order) < MIN_COLUMNAR_ROWS * len(results):
        return tuple(order.notifications())
    try:
        exact = _in_order(order)
    except (pa.ArrowCapacityError, pa.ArrowInvalid):  # texts too long for a column
        return tuple(order.notifications())
    return LazyNotifications(exact, {batch.schema.name: batch.schema.time for batch in results})


def _in_order(order: NotificationIndex) -> pa.Table:
    tables, positions = [], []
    for results, match, row, number in order.by_batch():
        part = notification_columns if 2 * len(match) > len(results) else _part
        tables.append(part(results, match, row, exact=True))
        positions.append(number)
    exact = pa.concat_tables(tables)
    if len(tables) > 1 or (np.diff(positions[0]) < 0).any():
        exact = take_rows(exact, arrow_of(np.argsort(np.concatenate(positions))))
    return exact


class _ArrowEncoder:
    """Encodes one result batch, column by column."""

    def __init__(self, results: ResultBatch, exact: bool) -> None:
        self._results, self._exact = results, exact

    def table(self, match: Ints, row: Ints) -> pa.Table:
        results, count = self._results, len(match)
        at = None if count == len(results) and (match == np.arange(count)).all() else match

        def each(column: ArrowArray) -> ArrowArray:
            return column if at is None else column.take(arrow_of(at))

        text, nothing, forecasts = pa.string(), pa.nulls(count, pa.string()), results.forecasts
        columns = {
            "subscription": pa.repeat(pa.scalar(results.schema.name, text), count),
            "kind": pa.repeat(pa.scalar(results.kind, text), count),
            "key": each(self._keys()) if results.schema.per else nothing,
            "start": each(self._times(results.start)),
            "end": each(self._times(results.end)),
            "probability": pa.repeat(pa.scalar(1.0), count)
            if forecasts is None
            else each(arrow_of(forecasts.probability)),
            "horizon": nothing if forecasts is None else pa.repeat(pa.scalar(forecasts.horizon, text), count),
            "id": self._ids(row),
            "bindings": each(self._bindings()),
            "events": each(self._events()),
        }
        return pa.table([columns[name] for name in COLUMNS], list(COLUMNS))

    def _times(self, values: NDArray[Any]) -> ArrowArray:
        kind = self._results.schema.time
        plain = values.astype(np.float64 if kind is Type.FLOAT else np.int64, copy=False)
        return arrow_of(plain, None if self._exact else TIME_TYPES[kind])

    def _keys(self) -> ArrowArray:
        return map_distinct(arrow_of(self._results.lane), lambda lane: self._json(self._results.keys[lane]))

    def _ids(self, row: Ints) -> ArrowArray:
        return map_distinct(arrow_of(row), lambda number: self._id(self._results.id_of(number)))

    def _id(self, value: Scalar) -> str | None:
        if value is None or (isinstance(value, str) and not self._exact):
            return value
        return self._json(value)

    # ── bindings ──

    def _bindings(self) -> ArrowArray:
        results = self._results
        values = {name: self._texts(column, results.binding_type(name)) for name, column in results.bindings.items()}
        return self._object(values)

    def _texts(self, column: Column, kind: Type) -> ArrowArray:
        """Each value as JSON; NULL stays NULL."""
        values, nulls = column.values, column.nulls
        if nulls.all():
            return pa.nulls(len(values), pa.string())
        if column.kind is Type.DURATION:
            texts = self._floats(values / 1_000_000)
        elif column.kind is Type.FLOAT or (kind is Type.FLOAT and column.kind is Type.INT):
            texts = self._floats(values.astype(np.float64, copy=False))
        elif column.kind is Type.INT:
            texts = arrow_of(values).cast(pa.string())
        else:  # the value at a NULL need not be a valid string code
            valid = np.where(nulls, values[np.argmin(nulls)], values)
            texts = map_distinct(
                arrow_of(valid), lambda value: self._json(scalar_of(value, column.kind, self._results.strings))
            )
        return _with_nulls(texts, nulls)

    def _floats(self, values: NDArray[np.float64]) -> ArrowArray:
        """Encode all at once, as one JSON array that is then split at its commas."""
        if not len(values):
            return pa.array([], pa.string())
        texts = pc.split_pattern(pa.array([_ENCODER.encode(values.tolist())[1:-1].decode()]), ",").flatten()
        if self._exact and np.isinf(values).any():
            for sign, text in ((np.inf, "Infinity"), (-np.inf, "-Infinity")):
                texts = pc.if_else(arrow_of(values == sign), text, texts)
        return texts

    # ── events ──

    def _events(self) -> ArrowArray:
        results = self._results
        if results.matches is None:
            unbound = pa.nulls(len(results), pa.string())
            return self._object({} if results.forecasts is None else dict.fromkeys(results.schema.steps, unbound))
        bound, steps = results.bound_events, results.schema.steps
        order = np.argsort(bound.step, kind="stable")
        ends = np.searchsorted(bound.step[order], np.arange(len(steps) + 1))
        match, names = bound.match[order], self._names(bound.position[order])
        unbound = pa.nulls(len(results), pa.string())
        by_step: dict[str, ArrowArray] = {}
        for step, start, end in zip(steps, ends.tolist(), ends[1:].tolist()):
            by_step[step] = unbound
            if end > start:
                of_step = names.slice(start, end - start)
                by_step[step] = _of_step(match[start:end], of_step, len(results), results.schema.repeated[step])
        return self._object(by_step)

    def _names(self, positions: Ints) -> ArrowArray:
        assert self._results.matches is not None
        buffer = self._results.matches.buffer
        if all(piece.name is None for piece in buffer.segments):
            numbers = buffer.values(lambda piece: piece.number, positions)
            return arrow_of(numbers.astype(np.int64, copy=False)).cast(pa.string())
        return pa.array([self._json(name) for name in buffer.names(positions)], pa.string())

    # ── texts ──

    def _object(self, values: dict[str, ArrowArray]) -> ArrowArray:
        """A JSON object in each row."""
        if not values:
            return pa.repeat(pa.scalar("{}", pa.string()), len(self._results))
        parts: list[Any] = []
        for number, (name, texts) in enumerate(values.items()):
            parts += [f"{',' if number else '{'}{encode_json(str(name))}:", texts]
        return pc.binary_join_element_wise(*parts, "}", "", null_handling="replace", null_replacement="null")

    def _json(self, value: object) -> str:
        return json.dumps(value) if self._exact and _is_infinite(value) else encode_json(value)


def _is_infinite(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_infinite, value.values()))
    return isinstance(value, float) and math.isinf(value)


def _with_nulls(texts: ArrowArray, nulls: NDArray[np.bool_]) -> ArrowArray:
    return pc.if_else(arrow_of(nulls), pa.scalar(None, pa.string()), texts) if nulls.any() else texts


def _of_step(match: Ints, names: ArrowArray, count: int, repeated: bool) -> ArrowArray:
    """The events of a step in each match: a name, a list of names where the step is repeated, NULL without any."""
    if not repeated:
        if len(match) == count:
            return names
        at = np.full(count, -1)
        at[match] = np.arange(len(match))
        return names.take(arrow_of(at, nulls=at < 0))
    sizes = np.bincount(match, minlength=count)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    lists = pa.LargeListArray.from_arrays(arrow_of(ends), names)
    joined: Any = pc.binary_join(lists, ",").cast(pa.string())
    return _with_nulls(pc.binary_join_element_wise("[", joined, "]", ""), sizes == 0)
