"""Notifications of one statement and kind as typed Arrow columns.

JSON text and Python objects are made of them by those who want such (`notify.json_columns`,
`notify.lazy_notifications`); `notify.arrow_encoder` makes them of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.types import Type, parse_timestamp
from foretell.notify.row_encoder import encode_json
from foretell.plan.result_schema import ResultSchema
from foretell.records import record


@record
class NotificationBatch:
    """Notifications in their order.

    `columns` has `start`, `end` and, where notifications of this shape have them, `key`, `probability`, `id`,
    `bindings` and `events`. Texts of keys and bindings are dictionary-encoded. Where the names of events have several
    types they are binary, each the JSON of a name, so that a number and a text stay apart.
    """

    shape: ResultSchema
    kind: str
    columns: pa.RecordBatch
    horizon: str | None = None

    def __len__(self) -> int:
        return self.columns.num_rows

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes

    def slice(self, first: int, count: int) -> NotificationBatch:
        return self if (first, count) == (0, len(self)) else replace(self, columns=self.columns.slice(first, count))

    def is_like(self, other: NotificationBatch) -> bool:
        """Whether another batch is of the same statement and kind, and has the same columns."""
        mine, theirs = (self.shape, self.kind, self.horizon), (other.shape, other.kind, other.horizon)
        return mine == theirs and self.columns.schema.equals(other.columns.schema)

    def column(self, name: str) -> ArrowArray | None:
        """A column; None where notifications of this shape do not have it."""
        at = self.columns.schema.get_field_index(name)
        return None if at < 0 else self.columns.column(at)


def column_type(kind: Type) -> ArrowType:
    """Return the Arrow type of a value: a DURATION is in seconds, as in all notifications, an untyped value a text."""
    return pa.float64() if kind is Type.DURATION else ARROW_TYPES.get(kind, pa.string())


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
