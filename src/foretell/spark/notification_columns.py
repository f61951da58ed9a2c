"""The columns of notifications in a Spark DataFrame: typed structs, or JSON text.

Late and malformed events and refused changes are rows among the notifications, of the kinds "late", "bad" and
"refused". What such a row is about is JSON text, since it has no common type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from foretell.events.notification import COLUMNS, ESTIMATE
from foretell.events.types import Type
from foretell.notify.json_columns import text_table
from foretell.notify.notification_batch import NotificationBatch
from foretell.notify.row_encoder import TIME_TYPES, common_time_type, encode_json
from foretell.notify.typed_columns import TypedNotifications
from foretell.plan.result_schema import ResultSchema

#: The column of typed rows in which a row that is no notification has its content.
DETAIL = "detail"


@dataclass(frozen=True)
class SideRow:
    """A row that is no notification: its kind says which. `time` is that of a late event."""

    kind: str
    subscription: str
    content: Mapping[str, Any]
    time: object = None

    @property
    def values(self) -> dict[str, object]:
        return {"subscription": self.subscription, "kind": self.kind, "start": self.time, "end": self.time}


@dataclass(frozen=True)
class JsonColumns:
    """Key, bindings, events and, where there may be `estimates`, estimate as JSON text; the content of other rows is in
    `bindings`."""

    time: Type
    estimates: bool

    @cached_property
    def schema(self) -> pa.Schema:
        types = {"start": TIME_TYPES[self.time], "end": TIME_TYPES[self.time], "probability": pa.float64()}
        names = [*COLUMNS, *([ESTIMATE] if self.estimates else [])]
        return pa.schema([(name, types.get(name, pa.string())) for name in names])

    def table(self, batch: NotificationBatch) -> pa.Table:
        return text_table(batch, self.time, estimates=self.estimates)

    def side_table(self, rows: Iterable[SideRow]) -> pa.Table:
        content = [{**row.values, "bindings": encode_json(row.content), "events": "{}"} for row in rows]
        return pa.Table.from_pylist(content, self.schema)


@dataclass(frozen=True)
class StructColumns:
    """Key, bindings and events as structs, as in SQL, with the fields of all statements; then `detail`."""

    typed: TypedNotifications

    @cached_property
    def schema(self) -> pa.Schema:
        return self.typed.schema.append(pa.field(DETAIL, pa.string()))

    def table(self, batch: NotificationBatch) -> pa.Table:
        return self.typed.table(batch).append_column(DETAIL, pa.nulls(len(batch), pa.string()))

    def side_table(self, rows: Iterable[SideRow]) -> pa.Table:
        content = [{**row.values, DETAIL: encode_json(row.content)} for row in rows]
        return pa.Table.from_pylist(content, self.schema)


NotificationColumns: TypeAlias = JsonColumns | StructColumns


def notification_columns(shapes: Sequence[ResultSchema], *, json: bool, changing: bool = False) -> NotificationColumns:
    """The columns for the notifications of these statements; where they are `changing`, others may come, with LOSING.
    Raises InputError where some statements have timestamps and others numbers as time: no column holds both."""
    if json or changing:
        estimates = changing or any(shape.losable is not None for shape in shapes)
        return JsonColumns(common_time_type({shape.time for shape in shapes} - {Type.UNKNOWN}), estimates)
    return StructColumns(TypedNotifications.of_statements(shapes))
