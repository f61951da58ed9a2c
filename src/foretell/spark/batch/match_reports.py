"""Notifications on their way from tasks to the driver: typed columns with sort keys, and their order there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.notification import Notification
from foretell.notify.lazy_notifications import BatchPlaces, LazyNotifications, NotificationChunk
from foretell.notify.notification_batch import NotificationBatch
from foretell.plan.result_schema import ResultSchema
from foretell.spark.batch.shard import SortedResult
from foretell.spark.partitioning.shuffle_rows import table_buffer

_SORT_KEY = "sort_key"
_KIND, _HORIZON = b"kind", b"horizon"


class MatchReport(NamedTuple):
    """Notifications of a task, and their sort keys."""

    batch: NotificationBatch
    sort_key: Any


def encode_report(result: SortedResult) -> pa.Buffer:
    batch = result.batch
    described = {_KIND: batch.kind.encode()} | ({} if batch.horizon is None else {_HORIZON: batch.horizon.encode()})
    table = pa.Table.from_batches([batch.columns]).append_column(_SORT_KEY, result.sort_key)
    return table_buffer(table.replace_schema_metadata(described))


def decode_report(data: bytes, shape: ResultSchema) -> MatchReport:
    (columns,) = pa.ipc.open_stream(data)
    described: Mapping[bytes, bytes] = columns.schema.metadata or {}
    horizon = described.get(_HORIZON)
    own = columns.drop_columns([_SORT_KEY]).replace_schema_metadata(None)
    batch = NotificationBatch(shape, described[_KIND].decode(), own, None if horizon is None else horizon.decode())
    return MatchReport(batch, columns.column(_SORT_KEY))


def in_order(reports: Sequence[MatchReport]) -> Sequence[Notification]:
    """The notifications of all tasks, by end, subscription and sort key."""
    batches = [report.batch for report in reports]
    if not batches:
        return ()
    sizes = [len(batch) for batch in batches]
    names = sorted({batch.shape.name for batch in batches})
    columns: dict[str, Any] = {
        "end": _comparable_ends(batches),
        "subscription": arrow_of(np.repeat([names.index(batch.shape.name) for batch in batches], sizes)),
        _SORT_KEY: pa.chunked_array([report.sort_key for report in reports]),
    }
    keys = pa.table(columns)
    order: Any = [(name, "ascending") for name in keys.column_names]
    by = numpy_of(pc.sort_indices(keys, sort_keys=order)).astype(np.int64)
    number = np.repeat(np.arange(len(batches), dtype=np.int32), sizes)
    row = np.concatenate([np.arange(size) for size in sizes])
    return LazyNotifications([NotificationChunk(batches, BatchPlaces(number[by], row[by]))])


def _comparable_ends(batches: Sequence[NotificationBatch]) -> Any:
    """Ends as they are; mixed INT and FLOAT ends as ranks, because not every INT is a FLOAT."""
    ends = [batch.columns.column("end") for batch in batches]
    if len({column.type for column in ends}) == 1:
        return pa.chunked_array(ends)
    values: list[Any] = [end for column in ends for end in column.to_pylist()]
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return pa.array([rank[value] for value in values])
