"""Notifications as typed columns: key, bindings and events are structs instead of JSON.

SQL has them of the results of one statement, `Notifications.to_arrow` of the notifications of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.notification import Notification
from foretell.events.types import Type, parse_timestamp
from foretell.filter.column import Column
from foretell.filter.string_dictionary import Texts
from foretell.machine.matches.results import ResultBatch
from foretell.notify.lazy_notifications import LazyNotifications, NotificationValues
from foretell.notify.row_encoder import common_time_type, encode_json
from foretell.plan.result_schema import ResultSchema

#: Notifications that are converted at once.
_CHUNK_ROWS = 65_536


def column_type(kind: Type) -> ArrowType:
    """Return the Arrow type of a value: a DURATION is in seconds, as in all notifications, an untyped value a text."""
    return pa.float64() if kind is Type.DURATION else ARROW_TYPES.get(kind, pa.string())


@dataclass(frozen=True)
class TypedNotifications:
    """The columns of notifications whose results have this shape."""

    shape: ResultSchema

    @classmethod
    def of_statements(cls, shapes: Iterable[ResultSchema]) -> TypedNotifications:
        """Columns that hold the notifications of several statements, matches and forecasts.

        A struct has the fields of all of them, and a field of different types the type that holds all values: FLOAT for
        INT and FLOAT, else text.
        """
        merged = reduce(_merged, map(_with_forecasts, shapes), None) or _NO_SHAPE
        return cls(replace(merged, time=Type.TIMESTAMP) if merged.time is Type.UNKNOWN else merged)

    @cached_property
    def schema(self) -> pa.Schema:
        time, text = column_type(self.shape.time), pa.string()
        name = column_type(self.shape.event_names)
        columns: Mapping[str, ArrowType] = {
            "subscription": text,
            "kind": text,
            "key": _struct({n: column_type(kind) for n, kind in self.shape.per.items()}),
            "start": time,
            "end": time,
            "probability": pa.float64(),
            "horizon": text,
            "id": column_type(self.shape.row_ids),
            "bindings": _struct({str(n): column_type(kind) for n, kind in self.shape.returns.items()}),
            "events": _struct({str(s): pa.list_(name) if many else name for s, many in self.shape.repeated.items()}),
        }
        return pa.schema(list(columns.items()))

    # ── from results ──

    def table(self, results: ResultBatch) -> pa.Table:
        """Return all matches of a result batch, in no particular order: SQL has none."""
        match, row = results.notification_rows
        count, time = len(match), column_type(self.shape.time)
        columns: list[ArrowArray] = [
            _same(self.shape.name, count),
            _same("match", count),
            self._keys(results, match),
            *(arrow_of(_numbers(times[match], self.shape.time), time) for times in (results.start, results.end)),
            arrow_of(np.ones(count)),
            pa.nulls(count, pa.string()),
            self._ids(results, row),
            _structs(
                {n: _returned(c, match, self.shape.returns[n], results.strings) for n, c in results.bindings.items()}
            ),
            _structs({step: steps.take(pa.array(match)) for step, steps in self._events(results)}),
        ]
        filled = [pa.nulls(count, f.type) if c is None else c for c, f in zip(columns, self.schema, strict=True)]
        return pa.table(filled, schema=self.schema)

    def _keys(self, results: ResultBatch, match: Ints) -> ArrowArray | None:
        lanes, which = np.unique(results.lane[match], return_inverse=True)
        keys = [results.keys[lane] for lane in lanes.tolist()] if self.shape.per else []
        columns = {name: typed_values([key[name] for key in keys], kind) for name, kind in self.shape.per.items()}
        return _structs({name: column.take(pa.array(which)) for name, column in columns.items()})

    def _ids(self, results: ResultBatch, row: Ints) -> ArrowArray:
        rows, which = np.unique(row, return_inverse=True)
        return typed_values([results.id_of(number) for number in rows.tolist()], self.shape.row_ids).take(
            pa.array(which)
        )

    def _events(self, results: ResultBatch) -> Iterator[tuple[str, ArrowArray]]:
        """Yield the names of each step's events: one for each match, or a list if the step is repeated."""
        bound = results.bound_events
        positions: Sequence[Any] = [] if results.matches is None else results.matches.buffer.names(bound.position)
        names = typed_values(positions, self.shape.event_names)
        owner = np.repeat(np.arange(len(results)), np.diff(bound.starts))
        for number, (step, repeated) in enumerate(self.shape.repeated.items()):
            at = np.flatnonzero(bound.step == number)
            if repeated:
                ends = np.cumsum(np.bincount(owner[at], minlength=len(results)))
                begins: Any = pa.array(np.concatenate([[0], ends]), pa.int32())
                unbound: Any = pa.array(np.diff(ends, prepend=0) == 0)
                yield step, pa.ListArray.from_arrays(begins, names.take(pa.array(at)), mask=unbound)
            else:
                place = np.full(len(results), -1, np.int64)
                place[owner[at]] = at
                yield step, names.take(pa.array(place, mask=place < 0))

    # ── from notifications ──

    def table_of(self, notifications: Sequence[Notification]) -> pa.Table:
        """Return notifications in their order."""
        tables = [self.schema.empty_table()]
        for first in range(0, len(notifications), _CHUNK_ROWS):
            if isinstance(notifications, LazyNotifications):
                rows: Sequence[Notification] = notifications.part(first, _CHUNK_ROWS)
            else:
                rows = notifications[first : first + _CHUNK_ROWS]
            tables.append(self._chunk(NotificationValues.of(rows)))
        return pa.concat_tables(tables)

    def _chunk(self, values: NotificationValues) -> pa.Table:
        columns: Mapping[str, ArrowArray] = {
            "subscription": typed_values(values.subscription, Type.STRING),
            "kind": typed_values(values.kind, Type.STRING),
            "key": _value_structs(values.key, self.shape.per, typed_values),
            "start": arrow_of_values(values.start, self.shape.time),
            "end": arrow_of_values(values.end, self.shape.time),
            "probability": arrow_of_values(values.probability, Type.FLOAT),
            "horizon": typed_values(values.horizon, Type.STRING),
            "id": typed_values(values.id, self.shape.row_ids),
            "bindings": _value_structs(values.bindings, self.shape.returns, typed_values),
            "events": _value_structs(values.events, self.shape.repeated, self._named),
        }
        return pa.table([columns[name] for name in self.schema.names], schema=self.schema)

    def _named(self, names: Sequence[Any], repeated: bool) -> ArrowArray:
        """The names of a step's events. Another statement may have a step of the same name that is not repeated."""
        if not repeated:
            return typed_values(names, self.shape.event_names)
        lists = [name if name is None or (isinstance(name, Sequence) and not isinstance(name, str)) else [name]
                 for name in names]  # fmt: skip
        ends = np.cumsum([0, *(len(some or ()) for some in lists)])
        unbound: Any = pa.array([some is None for some in lists], pa.bool_())
        flat = typed_values([name for some in lists for name in some or ()], self.shape.event_names)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, mask=unbound)


_NO_SHAPE = ResultSchema("", {}, {}, {}, {}, Type.TIMESTAMP)


def _with_forecasts(shape: ResultSchema) -> ResultSchema:
    """A forecast has the variables as bindings, a match the RETURN columns."""
    return shape if shape.horizon is None else replace(shape, returns=_union(shape.variables, shape.returns))


def _merged(a: ResultSchema | None, b: ResultSchema) -> ResultSchema:
    if a is None:
        return b
    return ResultSchema(
        name="",
        per=_union(a.per, b.per),
        repeated={
            step: a.repeated.get(step, False) or b.repeated.get(step, False) for step in {**a.repeated, **b.repeated}
        },
        returns=_union(a.returns, b.returns),
        variables={},
        time=common_time_type({a.time, b.time} - {Type.UNKNOWN}),
        event_names=_common(a.event_names, b.event_names),
        row_ids=_common(a.row_ids, b.row_ids),
    )


def _union(a: Mapping[str, Type], b: Mapping[str, Type]) -> dict[str, Type]:
    return {name: _common(a.get(name, kind), b.get(name, kind)) for name, kind in {**a, **b}.items()}


def _common(a: Type, b: Type) -> Type:
    """The type that holds values of both."""
    if a is b or Type.NULL in (a, b):
        return b if a is Type.NULL else a
    return Type.FLOAT if {a, b} <= {Type.INT, Type.FLOAT, Type.DURATION} else Type.STRING


def _struct(fields: Mapping[str, ArrowType]) -> ArrowType:
    """Return a struct type. Spark has no struct without fields: the column is then a text, and NULL."""
    return pa.struct(list(fields.items())) if fields else pa.string()


def _structs(columns: Mapping[str, ArrowArray]) -> ArrowArray | None:
    return pa.StructArray.from_arrays(list(columns.values()), [str(n) for n in columns]) if columns else None


def _same(text: str, count: int) -> ArrowArray:
    return pa.DictionaryArray.from_arrays(arrow_of(np.zeros(count, np.int32)), pa.array([text])).cast(pa.string())


def _returned(column: Column, match: Ints, kind: Type, strings: Texts) -> ArrowArray:
    """Encode a RETURN column or a variable."""
    values, nulls = column.values[match], column.nulls[match]
    if column_type(kind) == pa.string():
        codes, which = np.unique(np.where(nulls, 0, values).astype(np.int64), return_inverse=True)
        texts: ArrowArray = pa.array([strings.text(code) for code in codes.tolist()], pa.string())
        return texts.take(pa.array(which, mask=nulls))
    if column.kind is Type.DURATION:
        values = values / 1_000_000
    return arrow_of(_numbers(values, kind), column_type(kind), nulls)


def _numbers(values: NDArray[Any], kind: Type) -> NDArray[Any]:
    """Return numbers in Arrow's layout of a type: an INT may be the value of a FLOAT."""
    dtype = {Type.BOOL: np.bool_, Type.FLOAT: np.float64, Type.DURATION: np.float64}.get(kind, np.int64)
    return values.astype(dtype, copy=False)


def typed_values(values: Sequence[Any], kind: Type) -> ArrowArray:
    """Encode values as notifications have them: a timestamp is a text, a duration a number of seconds."""
    if kind is Type.TIMESTAMP:
        return arrow_of_values([parse_timestamp(v) if isinstance(v, str) else v for v in values], kind)
    if kind is Type.DURATION:
        return arrow_of_values(values, Type.FLOAT)
    if kind in ARROW_TYPES and kind is not Type.STRING:
        return arrow_of_values(values, kind)
    texts = [v if v is None or isinstance(v, str) else encode_json(v) for v in values]
    return arrow_of_values(texts, Type.STRING)


def _value_structs(
    rows: Sequence[Mapping[str, Any] | None],
    kinds: Mapping[str, Any],
    encode: Callable[[Sequence[Any], Any], ArrowArray],
) -> ArrowArray:
    """Structs of the fields `kinds`; NULL where a row is None, or all are where there are no fields."""
    if not kinds:
        return pa.nulls(len(rows), pa.string())
    columns = [encode([None if row is None else row.get(name) for row in rows], kind) for name, kind in kinds.items()]
    missing: Any = pa.array([row is None for row in rows], pa.bool_())
    return pa.StructArray.from_arrays(columns, [str(name) for name in kinds], mask=missing)
