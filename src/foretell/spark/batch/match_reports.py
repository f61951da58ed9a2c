"""Notifications on their way from the tasks that match to the driver, or to the tasks that sort: typed columns with
sort keys, and their order there.

They pass through the JVM as bytes, which are copied there about ten times. So they carry no column that is the same in
all of them, and are compressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.notify.lazy_notifications import BatchPlaces, LazyNotifications, NotificationChunk
from foretell.notify.notification_batch import NotificationBatch
from foretell.plan.result_schema import ResultSchema
from foretell.spark.partitioning.shuffle_rows import table_buffer

_SORT_KEY = "sort_key"
_KIND, _HORIZON = b"kind", b"horizon"


class MatchReport(NamedTuple):
    """Notifications of a task, by end and sort key."""

    batch: NotificationBatch
    sort_key: Any

    def slice(self, first: int, count: int) -> MatchReport:
        return MatchReport(self.batch.slice(first, count), self.sort_key.slice(first, count))


def encode_report(report: MatchReport) -> pa.Buffer:
    batch = report.batch
    described = {_KIND: batch.kind.encode()} | ({} if batch.horizon is None else {_HORIZON: batch.horizon.encode()})
    table = pa.Table.from_batches([batch.columns]).append_column(_SORT_KEY, report.sort_key)
    return table_buffer(table.replace_schema_metadata(described), compress=True)


def decode_report(data: bytes | pa.Buffer, shape: ResultSchema) -> MatchReport:
    (columns,) = pa.ipc.open_stream(data)
    described: Mapping[bytes, bytes] = columns.schema.metadata or {}
    horizon = described.get(_HORIZON)
    own = columns.drop_columns([_SORT_KEY]).replace_schema_metadata(None)
    batch = NotificationBatch(shape, described[_KIND].decode(), own, None if horizon is None else horizon.decode())
    return MatchReport(batch, columns.column(_SORT_KEY))


def in_order(reports: Sequence[MatchReport]) -> LazyNotifications:
    """The notifications of all tasks, by end, subscription and sort key."""
    batches = [report.batch for report in reports]
    if not batches:
        return LazyNotifications([])
    sizes = [len(batch) for batch in batches]
    number = np.repeat(np.arange(len(batches), dtype=np.int32), sizes)
    row = np.concatenate([np.arange(size) for size in sizes])
    ends = _comparable_ends(batches)
    by = np.argsort(ends, kind="stable")  # merges the reports, each of which is in order
    if (tied := _tied(ends[by], number[by])).any():
        by[tied] = _by_keys(reports, ends, number, by[tied])
    return LazyNotifications([NotificationChunk(batches, BatchPlaces(number[by], row[by]))])


def _comparable_ends(batches: Sequence[NotificationBatch]) -> NDArray[Any]:
    """Ends as they are; mixed INT and FLOAT ends as ranks, because not every INT is a FLOAT."""
    ends = [batch.columns.column("end") for batch in batches]
    if len({column.type for column in ends}) == 1:
        return np.concatenate([numpy_of(e.cast(pa.int64()) if pa.types.is_timestamp(e.type) else e) for e in ends])
    values: list[Any] = [end for column in ends for end in column.to_pylist()]
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([rank[value] for value in values])


def _tied(ends: NDArray[Any], number: NDArray[np.int32]) -> Flags:
    """Which of the sorted notifications have the end of one from another report."""
    first = np.concatenate([[True], ends[1:] != ends[:-1]])
    group = np.cumsum(first) - 1
    mixed = np.zeros(group[-1] + 1, np.bool_)
    mixed[group[1:][~first[1:] & (number[1:] != number[:-1])]] = True
    tied: Flags = mixed[group]
    return tied


def _by_keys(reports: Sequence[MatchReport], ends: NDArray[Any], number: NDArray[np.int32], which: Ints) -> Ints:
    """Some of the notifications by end, subscription and sort key."""
    names = [report.batch.shape.name for report in reports]
    ranks = np.array([sorted(set(names)).index(name) for name in names])
    columns: dict[str, Any] = {
        "end": arrow_of(ends[which]),
        "subscription": arrow_of(ranks[number[which]]),
        _SORT_KEY: pa.chunked_array([report.sort_key for report in reports]).take(arrow_of(which)),
    }
    order: Any = [(name, "ascending") for name in columns]
    return which[numpy_of(pc.sort_indices(pa.table(columns), sort_keys=order)).astype(np.int64)]
