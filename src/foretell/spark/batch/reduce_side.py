"""Reduce side of a batch: each task runs one shard (shard.py) and encodes its notifications, with sort keys.

They leave in reports: for the driver as they are, for a DataFrame by ranges of time to the tasks that sort a range
each, which is a second shuffle.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from foretell.events.arrow_interop import numpy_of
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.plan.result_schema import result_schema
from foretell.spark.batch.match_reports import MatchReport, decode_report, encode_report, in_order
from foretell.spark.batch.plan import BatchPlan, PlanHandle
from foretell.spark.batch.shard import BatchShardInput, sorted_results
from foretell.spark.notification_columns import NotificationColumns
from foretell.spark.partitioning.shard_input import quarantine_rows, reading_lines
from foretell.spark.partitioning.shuffle_rows import ShuffleRow, StreamProgress, binary_value
from foretell.spark.partitioning.statement_groups import quarantine_shards

#: Kinds of reports to the driver: notifications (an Arrow stream), notes (text), malformed events (JSON), values that
#: were set to NULL (JSON), the number of events of a stream (text), the number of lanes of a statement (text), and the
#: number of its matches that only need time to pass (text).
MATCH_REPORT, NOTE_REPORT, QUARANTINE_REPORT, NULLED_REPORT = "matches", "note", "quarantined", "nulled"
COUNT_REPORT, LANE_REPORT, WAITING_REPORT = "count", "lanes", "waiting"
REPORT_COLUMNS = "kind string, name string, data binary"
#: The second shuffle: reports of notifications of a range of time, and after the last range those of malformed events.
RANGE_COLUMNS = f"range int, {REPORT_COLUMNS}"

_LOG = logging.getLogger(__name__)

#: Notifications in a batch of the result.
ROWS = 65_536


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
            yield report(MATCH_REPORT, result.result.schema.name, encode_report(result.report))
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


def run_by_range(handle: PlanHandle, ranges: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run shards and report their notifications by ranges of time; malformed events follow the last range."""
    plan = handle.plan
    for shard, shard_input in shard_inputs(plan, batches):
        for line in reading_lines(shard_input):
            _LOG.warning("%s", line)
        if quarantined := shard_input.quarantined:
            yield _of_range(ranges, report(QUARANTINE_REPORT, "", pa.py_buffer(msgspec.json.encode(quarantined))))
        group, time_span = plan.group_of(shard), shard_input.time_span()
        for result in sorted_results(plan.runtime(group, plan.observers), group, shard_input):
            for number, part in _by_range(result.report, *time_span, ranges):
                yield _of_range(number, report(MATCH_REPORT, result.result.schema.name, encode_report(part)))


def _of_range(number: int, row: pa.RecordBatch) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([number], pa.int32()), *row.columns]
    return pa.RecordBatch.from_arrays(columns, ["range", *row.schema.names])


def _by_range(
    matches: MatchReport, first: int | float, latest: int | float, ranges: int
) -> Iterator[tuple[int, MatchReport]]:
    """Cut notifications by ranges of time. Those that end after all events belong to the last range."""
    end = matches.batch.columns.column("end")
    times = numpy_of(end.cast(pa.int64()) if pa.types.is_timestamp(end.type) else end)
    number = np.clip((times - first) * (ranges / max(latest - first, 1e-9)), 0, ranges - 1).astype(np.int64)
    for which, (begin, stop) in enumerate(pairwise(np.searchsorted(number, np.arange(ranges + 1)).tolist())):
        if begin < stop:
            yield which, matches.slice(begin, stop - begin)


def sort_range(
    handle: PlanHandle, columns: NotificationColumns, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Sort the notifications of a range of time, or malformed events by stream."""
    shapes = {statement.name: result_schema(statement) for statement in handle.plan.statements}
    reports: list[MatchReport] = []
    quarantined: list[QuarantinedEvent] = []
    for batch in batches:
        for kind, name, data in zip(*(batch.column(name) for name in ("kind", "name", "data")), strict=True):
            if kind.as_py() == MATCH_REPORT:
                reports.append(decode_report(data.as_buffer(), shapes[name.as_py()]))
            else:
                quarantined += msgspec.json.decode(data.as_buffer(), type=list[QuarantinedEvent])
    for table in in_order(reports).tables(columns.table):
        yield from table.to_batches(ROWS)
    if quarantined:
        rows = quarantine_rows(sorted(quarantined, key=lambda event: event.stream))
        yield from columns.side_table(rows).to_batches(ROWS)
