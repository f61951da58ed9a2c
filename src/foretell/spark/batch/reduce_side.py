"""Reduce side of a batch: each task runs one shard (shard.py) and encodes its notifications, with sort keys.

For the driver they leave as they are, in reports. For a DataFrame they go by ranges of time to the tasks that sort a
range each, which is a second, small shuffle.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.arrow_interop import numpy_of, take_rows
from foretell.spark.batch.match_reports import encode_report
from foretell.spark.batch.plan import BatchPlan, PlanHandle
from foretell.spark.batch.shard import BatchShardInput, sorted_results
from foretell.spark.batch.sort_keys import number_keys
from foretell.spark.notification_columns import NotificationColumns
from foretell.spark.partitioning.hash_partitioner import split_by_partition
from foretell.spark.partitioning.shard_input import quarantine_rows, reading_lines
from foretell.spark.partitioning.shuffle_rows import ShuffleRow, StreamProgress, binary_value, read_table, table_buffer
from foretell.spark.partitioning.statement_groups import quarantine_shards

#: Kinds of reports to the driver: notifications (an Arrow stream), notes (text), malformed events (JSON), values that
#: were set to NULL (JSON), the number of events of a stream (text), the number of lanes of a statement (text), and the
#: number of its matches that only need time to pass (text).
MATCH_REPORT, NOTE_REPORT, QUARANTINE_REPORT, NULLED_REPORT = "matches", "note", "quarantined", "nulled"
COUNT_REPORT, LANE_REPORT, WAITING_REPORT = "count", "lanes", "waiting"
REPORT_COLUMNS = "kind string, name string, data binary"
#: The second shuffle: notifications of a range of time, as an Arrow stream.
RANGE_COLUMNS = "range int, data binary"

_LOG = logging.getLogger(__name__)

#: Notifications in a batch of the result.
ROWS = 65_536
#: The order of notifications, which is that of the engine in process.
_ORDER: Any = [("end", "ascending"), ("subscription", "ascending"), ("sort_key", "ascending")]


def shard_inputs(plan: BatchPlan, batches: Iterable[pa.RecordBatch]) -> list[tuple[int, BatchShardInput]]:
    """Decode the shuffle rows of a task: as a rule of one shard."""
    inputs: dict[int, BatchShardInput] = {}
    for batch in batches:
        for row in ShuffleRow.of_arrow(batch):
            inputs.setdefault(row.shard, BatchShardInput(plan)).add(row)
    return sorted(inputs.items())


# ── for the driver ──


def run_and_report(handle: PlanHandle, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run shards and report all that a run returns."""
    plan = handle.plan
    for shard, shard_input in shard_inputs(plan, batches):
        yield from report_quarantine(shard, shard_input)
        group = plan.group_of(shard)
        runtime = plan.runtime(group, plan.observers)
        for result in sorted_results(runtime, group, shard_input):
            yield report(MATCH_REPORT, result.result.schema.name, encode_report(result))
        for note in runtime.ledger.take_warnings():
            yield report(NOTE_REPORT, "", pa.py_buffer(note.encode()))
        for name, count in runtime.lane_counts.items():
            yield report(LANE_REPORT, name, pa.py_buffer(str(count).encode()))
        for name, count in runtime.waiting_counts.items():
            yield report(WAITING_REPORT, name, pa.py_buffer(str(count).encode()))


def report_quarantine(shard: int, shard_input: BatchShardInput) -> Iterator[pa.RecordBatch]:
    """Report the malformed events and the number of all events, of the streams that this shard reports."""
    streams = [name for name, owner in quarantine_shards(shard_input.plan.groups).items() if owner == shard]
    if streams:
        yield report(QUARANTINE_REPORT, "", pa.py_buffer(msgspec.json.encode(shard_input.quarantined)))
        nulled = [record for reading in shard_input.readings for record in reading.nulled]
        yield report(NULLED_REPORT, "", pa.py_buffer(msgspec.json.encode(nulled)))
        for note in shard_input.notes:
            yield report(NOTE_REPORT, "", pa.py_buffer(note.encode()))
        for name in streams:
            total = shard_input.progress.get(name, StreamProgress()).total
            yield report(COUNT_REPORT, name, pa.py_buffer(str(total).encode()))


def report(kind: str, name: str, data: pa.Buffer) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([kind]), pa.array([name]), binary_value(data)]
    return pa.RecordBatch.from_arrays(columns, ["kind", "name", "data"])


# ── for a DataFrame ──


def run_by_range(
    handle: PlanHandle, columns: NotificationColumns, ranges: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run shards and encode their notifications by ranges of time; malformed events follow the last range."""
    plan = handle.plan
    for shard, shard_input in shard_inputs(plan, batches):
        for line in reading_lines(shard_input):
            _LOG.warning("%s", line)
        quarantined = quarantine_rows(shard_input.quarantined)
        if quarantined:
            keys = number_keys(np.arange(len(quarantined)))
            yield _range_row(ranges, columns.side_table(quarantined).append_column("sort_key", keys))
        group, time_span = plan.group_of(shard), shard_input.time_span()
        for result in sorted_results(plan.runtime(group, plan.observers), group, shard_input):
            notifications = columns.table(result.batch).append_column("sort_key", result.sort_key)
            for number, table in _by_range(notifications, *time_span, ranges):
                yield _range_row(number, table)


def _range_row(number: int, table: pa.Table) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([number], pa.int32()), binary_value(table_buffer(table))]
    return pa.RecordBatch.from_arrays(columns, ["range", "data"])


def _by_range(table: pa.Table, first: int | float, latest: int | float, ranges: int) -> Iterator[tuple[int, pa.Table]]:
    """Split notifications by ranges of time. Those that end after all events belong to the last range."""
    end: Any = table["end"]
    times = numpy_of(end.cast(pa.int64()) if pa.types.is_timestamp(end.type) else end)
    number = np.clip((times - first) * (ranges / max(latest - first, 1e-9)), 0, ranges - 1).astype(np.int64)
    yield from split_by_partition(table, number, ranges)


def sort_range(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sort the notifications of a range of time."""
    tables = [read_table(data.as_buffer()) for batch in batches for data in batch.column("data")]
    if tables:
        table = pa.concat_tables(tables)
        in_order = take_rows(table, pc.sort_indices(table, sort_keys=_ORDER)).drop_columns(["sort_key"])
        yield from in_order.to_batches(ROWS)
