"""Notifications as typed columns: key, bindings and events are structs instead of JSON.

SQL has them of the results of one statement, `Notifications.to_arrow` of the notifications of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.events.arrow_interop import arrow_of, arrow_of_values, nulls_of
from foretell.events.ingest.raw_columns import ArrowArray, ArrowType
from foretell.events.notification import COLUMNS, ESTIMATE, Notification
from foretell.events.types import Type
from foretell.notify.estimate_columns import estimate_type, typed_estimates
from foretell.notify.json_columns import constant_texts, probabilities, times
from foretell.notify.lazy_notifications import LazyNotifications, scalars
from foretell.notify.notification_batch import NotificationBatch
from foretell.notify.notification_values import column_type, typed_values
from foretell.notify.row_encoder import common_time_type
from foretell.plan.result_schema import ResultSchema

#: Notifications that are converted at once.
_CHUNK_ROWS = 65_536


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
        columns: dict[str, ArrowType] = {
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
        if self.shape.losable is not None:
            columns |= {ESTIMATE: estimate_type(self.shape.losable, self.shape.time)}
        return pa.schema(list(columns.items()))

    # ── from batches ──

    def table(self, batch: NotificationBatch) -> pa.Table:
        """Return the notifications of a batch."""
        count = len(batch)
        columns = {
            "subscription": constant_texts(batch.shape.name, count),
            "kind": constant_texts(batch.kind, count),
            "probability": probabilities(batch),
            "horizon": constant_texts(batch.horizon, count),
            "id": _as_type(batch.column("id"), column_type(self.shape.row_ids), count),
        }
        columns |= {name: times(batch, name, self.shape.time) for name in ("start", "end")}
        for name in ("key", "bindings", "events"):
            own, kind = batch.column(name), self.schema.field(name).type
            if own is None and name != "key" and pa.types.is_struct(kind):
                own = _no_fields(count)
            columns[name] = _as_type(own, kind, count)
        if ESTIMATE in self.schema.names:
            columns[ESTIMATE] = _as_type(batch.column(ESTIMATE), self.schema.field(ESTIMATE).type, count)
        return pa.table([columns[name] for name in self.schema.names], schema=self.schema)

    # ── from notifications ──

    def table_of(self, notifications: Sequence[Notification]) -> pa.Table:
        """Return notifications in their order."""
        if isinstance(notifications, LazyNotifications):
            return pa.concat_tables([self.schema.empty_table(), *notifications.tables(self.table)])
        chunks = range(0, len(notifications), _CHUNK_ROWS)
        tables = [self._chunk(notifications[first : first + _CHUNK_ROWS]) for first in chunks]
        return pa.concat_tables([self.schema.empty_table(), *tables])

    def _chunk(self, notifications: Sequence[Notification]) -> pa.Table:
        values = {name: [getattr(notification, name) for notification in notifications] for name in COLUMNS}
        columns: dict[str, ArrowArray] = {
            "subscription": typed_values(values["subscription"], Type.STRING),
            "kind": typed_values(values["kind"], Type.STRING),
            "key": _value_structs(values["key"], self.shape.per, typed_values),
            "start": arrow_of_values(values["start"], self.shape.time),
            "end": arrow_of_values(values["end"], self.shape.time),
            "probability": arrow_of_values(values["probability"], Type.FLOAT),
            "horizon": typed_values(values["horizon"], Type.STRING),
            "id": typed_values(values["id"], self.shape.row_ids),
            "bindings": _value_structs(values["bindings"], self.shape.returns, typed_values),
            "events": _value_structs(values["events"], self.shape.repeated, self._named),
        }
        if ESTIMATE in self.schema.names:
            kind = self.schema.field(ESTIMATE).type
            columns[ESTIMATE] = typed_estimates([n.estimate for n in notifications], kind)
        return pa.table([columns[name] for name in self.schema.names], schema=self.schema)

    def _named(self, names: Sequence[Any], repeated: bool) -> ArrowArray:
        """The names of a step's events. Another statement may have a step of the same name that is not repeated."""
        if not repeated:
            return typed_values(names, self.shape.event_names)
        lists = [name if name is None or (isinstance(name, Sequence) and not isinstance(name, str)) else [name]
                 for name in names]  # fmt: skip
        ends = np.cumsum([0, *(len(listed or ()) for listed in lists)])
        unbound: Any = pa.array([listed is None for listed in lists], pa.bool_())
        flat = typed_values([name for listed in lists for name in listed or ()], self.shape.event_names)
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
        losable=_all_losable(a, b),
    )


def _all_losable(a: ResultSchema, b: ResultSchema) -> tuple[str, ...] | None:
    if a.losable is None and b.losable is None:
        return None
    return tuple(dict.fromkeys([*(a.losable or ()), *(b.losable or ())]))


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


def _no_fields(count: int) -> ArrowArray:
    """Structs of notifications that have none of the fields, but are not NULL."""
    return pa.Array.from_buffers(pa.struct([]), count, [None])


def _as_type(column: ArrowArray | None, kind: ArrowType, count: int) -> ArrowArray:
    """A column of the type that holds the values of several statements."""
    if column is None:
        return pa.nulls(count, kind)
    if column.type == kind:
        return column
    if pa.types.is_struct(column.type) and not pa.types.is_struct(kind):
        return pa.nulls(count, kind)  # a struct without fields
    if pa.types.is_struct(kind):
        own = dict(zip([field.name for field in column.type], column.flatten()))
        fields = [_as_type(own.get(field.name), field.type, count) for field in kind]
        mask = arrow_of(nulls_of(column)) if column.null_count else None
        return pa.StructArray.from_arrays(fields, [field.name for field in kind], mask=mask)
    if pa.types.is_list(kind) and not pa.types.is_list(column.type):
        # Another statement has a step of the same name that is repeated.
        each, unbound = arrow_of(np.arange(count + 1, dtype=np.int32)), nulls_of(column)
        return _as_type(pa.ListArray.from_arrays(each, column, mask=arrow_of(unbound)), kind, count)
    if pa.types.is_list(kind):
        items = _as_type(column.values, kind.value_type, len(column.values))
        return pa.ListArray.from_arrays(column.offsets, items, mask=arrow_of(nulls_of(column)))
    if pa.types.is_dictionary(column.type) and kind == pa.string():
        return column.dictionary_decode()
    if kind == pa.string():
        return typed_values(scalars(column), Type.STRING)
    return column.cast(kind, safe=False)


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
