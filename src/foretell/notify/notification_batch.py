"""Notifications of one statement and kind as typed Arrow columns.

JSON text and Python objects are made of them by those who want such (`notify.json_columns`,
`notify.lazy_notifications`); `notify.arrow_encoder` makes them of results.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from foretell.events.ingest.raw_columns import ArrowArray
from foretell.notify.match_rows import MatchRows
from foretell.plan.result_schema import ResultSchema
from foretell.records import record


@record
class NotificationBatch:
    """Notifications in their order.

    `columns` has `start`, `end` and, where notifications of this shape have them, `key`, `probability`, `id`,
    `bindings`, `events` and `estimate`. Texts of keys and bindings are dictionary-encoded. Where the names of events
    have several types they are binary, each the JSON of a name, so that a number and a text stay apart.

    With `rows` the columns are those of matches, without `id`, and `expanded` those of notifications.
    """

    shape: ResultSchema
    kind: str
    columns: pa.RecordBatch
    horizon: str | None = None
    rows: MatchRows | None = None

    def __len__(self) -> int:
        return self.columns.num_rows if self.rows is None else self.rows.count

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes + (0 if self.rows is None else self.rows.nbytes)

    def slice(self, first: int, count: int) -> NotificationBatch:
        if (first, count) == (0, len(self)):
            return self
        if self.rows is not None:
            return replace(self, rows=self.rows.slice(first, count))
        return replace(self, columns=self.columns.slice(first, count))

    def expanded(self) -> NotificationBatch:
        """The same notifications, one in each row of the columns."""
        return self if self.rows is None else replace(self, columns=self.rows.expanded(self.columns), rows=None)

    def is_like(self, other: NotificationBatch) -> bool:
        """Whether another batch is of the same statement and kind, and has the same columns."""
        mine, theirs = (self.shape, self.kind, self.horizon), (other.shape, other.kind, other.horizon)
        return mine == theirs and self.columns.schema.equals(other.columns.schema)

    def column(self, name: str) -> ArrowArray | None:
        """A column; None where notifications of this shape do not have it."""
        at = self.columns.schema.get_field_index(name)
        return None if at < 0 else self.columns.column(at)
