"""Notifications as columns, straight from what the engine tells: no object for each of them, and no JSON one by one.

The texts are those of `rows.to_table`, character by character. With `exact` they are such that Python's `json` reads
back what the notification holds: infinite numbers too, and an id that is text in quotes; and times are plain numbers.
All else is the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
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
from foretell.machine.matches.notification_order import by_batch, notifications_of
from foretell.machine.matches.rendering import scalar_of
from foretell.machine.matches.results import ResultBatch
from foretell.notify.lazy_notifications import LazyNotifications, map_distinct
from foretell.notify.row_encoder import TIME_TYPES, encode_json

ArrowArray = Any
_ENCODER = msgspec.json.Encoder()

#: So many notifications of a result, on average, are worth columns; fewer are made one by one.
FEW = 32

#: So many are made columns at once: the texts of a column have 2 GB at most.
MOST = 2**19


def notification_columns(told: ResultBatch, match: Ints, row: Ints, *, exact: bool = False) -> pa.Table:
    """The notifications of matches, each to a row of a template (-1: to none)."""
    if len(match) <= MOST:
        return _ArrowEncoder(told, exact).table(match, row)
    parts = [slice(first, first + MOST) for first in range(0, len(match), MOST)]
    return pa.concat_tables(_piece(told, match[part], row[part], exact) for part in parts)


def _piece(told: ResultBatch, match: Ints, row: Ints, exact: bool) -> pa.Table:
    """Some of many: without the matches that are not among them."""
    keep = np.zeros(len(told), np.bool_)
    keep[match] = True
    return _ArrowEncoder(told.filter(keep), exact).table((np.cumsum(keep) - 1)[match], row)


def to_notifications(told: Sequence[ResultBatch]) -> Sequence[Notification]:
    """The notifications of results, in their order: as objects where they are few, else as columns."""
    some = [one for one in told if len(one)]
    kinds = {one.schema.time is Type.FLOAT for one in some}
    if len(kinds) != 1 or sum(one.notification_count for one in some) < FEW * len(some):
        return tuple(notifications_of(some))  # where some times are INT and others FLOAT, no column holds both exactly
    try:
        exact = _in_order(some)
    except (
        pa.ArrowCapacityError,
        pa.ArrowInvalid,
    ):  # texts so long that even some of them are more than a column holds
        return tuple(notifications_of(some))
    return LazyNotifications(exact, {one.schema.name: one.schema.time for one in some})


def _in_order(told: Sequence[ResultBatch]) -> pa.Table:
    tables, places = [], []
    for one, match, row, number in by_batch(told):
        tables.append(notification_columns(one, match, row, exact=True))
        places.append(number)
    exact = pa.concat_tables(tables)
    if len(tables) > 1 or (np.diff(places[0]) < 0).any():
        exact = take_rows(exact, arrow_of(np.argsort(np.concatenate(places))))
    return exact


class _ArrowEncoder:
    def __init__(self, told: ResultBatch, exact: bool) -> None:
        self._told, self._exact = told, exact

    def table(self, match: Ints, row: Ints) -> pa.Table:
        told, count = self._told, len(match)
        at = None if count == len(told) and (match == np.arange(count)).all() else match

        def each(column: ArrowArray) -> ArrowArray:
            return column if at is None else column.take(arrow_of(at))

        text, nothing, forecasts = pa.string(), pa.nulls(count, pa.string()), told.forecasts
        columns = {
            "subscription": pa.repeat(pa.scalar(told.schema.name, text), count),
            "kind": pa.repeat(pa.scalar("match" if told.forecasts is None else "forecast", text), count),
            "key": each(self._keys()) if told.schema.per else nothing,
            "start": each(self._times(told.start)),
            "end": each(self._times(told.end)),
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
        kind = self._told.schema.time
        plain = values.astype(np.float64 if kind is Type.FLOAT else np.int64, copy=False)
        return arrow_of(plain, None if self._exact else TIME_TYPES[kind])

    def _keys(self) -> ArrowArray:
        return map_distinct(arrow_of(self._told.lane), lambda lane: self._json(self._told.keys[lane]))

    def _ids(self, row: Ints) -> ArrowArray:
        return map_distinct(arrow_of(row), lambda number: self._id(self._told.id_of(number)))

    def _id(self, value: Scalar) -> str | None:
        if value is None or (isinstance(value, str) and not self._exact):
            return value
        return self._json(value)

    # ── bindings ──

    def _bindings(self) -> ArrowArray:
        told = self._told
        values = {name: self._texts(column, told.binding_type(name)) for name, column in told.bindings.items()}
        return self._object(values)

    def _texts(self, column: Column, kind: Type) -> ArrowArray:
        """Each value as JSON; NULL stays NULL."""
        values, nulls = column.values, column.nulls
        if nulls.all():
            return pa.nulls(len(values), pa.string())
        if column.kind is Type.DURATION:
            found = self._floats(values / 1_000_000)
        elif column.kind is Type.FLOAT or (kind is Type.FLOAT and column.kind is Type.INT):
            found = self._floats(values.astype(np.float64, copy=False))
        elif column.kind is Type.INT:
            found = arrow_of(values).cast(pa.string())
        else:  # what stands where NULL is need not be the code of any text
            known = np.where(nulls, values[np.argmin(nulls)], values)
            found = map_distinct(
                arrow_of(known), lambda value: self._json(scalar_of(value, column.kind, self._told.strings))
            )
        return _without(found, nulls)

    def _floats(self, values: NDArray[np.float64]) -> ArrowArray:
        """All at once, as one JSON array that is then cut at its commas."""
        if not len(values):
            return pa.array([], pa.string())
        found = pc.split_pattern(pa.array([_ENCODER.encode(values.tolist())[1:-1].decode()]), ",").flatten()
        if self._exact and np.isinf(values).any():
            for sign, text in ((np.inf, "Infinity"), (-np.inf, "-Infinity")):
                found = pc.if_else(arrow_of(values == sign), text, found)
        return found

    # ── events ──

    def _events(self) -> ArrowArray:
        told = self._told
        if told.matches is None:
            unbound = pa.nulls(len(told), pa.string())
            return self._object({} if told.forecasts is None else dict.fromkeys(told.schema.steps, unbound))
        bound, steps = told.bound_events, told.schema.steps
        names = self._names(bound.position)
        found: dict[str, ArrowArray] = {}
        for number, step in enumerate(steps):
            mine = np.flatnonzero(bound.step == number)
            repeated = told.schema.repeated[step]
            found[step] = _of_step(bound.match[mine], names.take(arrow_of(mine)), len(told), repeated)
        return self._object(found)

    def _names(self, positions: Ints) -> ArrowArray:
        assert self._told.matches is not None
        history = self._told.matches.buffer
        if all(piece.name is None for piece in history.pieces):
            numbers = history.values(lambda piece: piece.number, positions)
            return arrow_of(numbers.astype(np.int64, copy=False)).cast(pa.string())
        return pa.array([self._json(name) for name in history.names(positions)], pa.string())

    # ── texts ──

    def _object(self, values: dict[str, ArrowArray]) -> ArrowArray:
        """A JSON object in each row."""
        if not values:
            return pa.repeat(pa.scalar("{}", pa.string()), len(self._told))
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


def _without(texts: ArrowArray, nulls: NDArray[np.bool_]) -> ArrowArray:
    return pc.if_else(arrow_of(nulls), pa.scalar(None, pa.string()), texts) if nulls.any() else texts


def _of_step(match: Ints, names: ArrowArray, count: int, repeated: bool) -> ArrowArray:
    """The events of a step in each match: its name, the list of them where the step repeats, NULL without any."""
    if not repeated and len(match) == count:
        return names
    sizes = np.bincount(match, minlength=count)
    unbound = sizes == 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    lists = pa.LargeListArray.from_arrays(arrow_of(ends), names)
    joined: Any = pc.binary_join(lists, ",").cast(pa.string())
    return _without(pc.binary_join_element_wise("[", joined, "]", "") if repeated else joined, unbound)
