"""Reduce side of a batch: each task runs one shard in a MatchRuntime and encodes its notifications, with sort keys.

For the driver they leave as they are, in reports. For a DataFrame they go by ranges of time to the tasks that sort a
range each, which is a second, small shuffle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, numpy_of, take_rows
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch
from foretell.machine.matches.notification_order import by_batch
from foretell.machine.matches.results import ResultBatch
from foretell.machine.runtime import MatchRuntime
from foretell.notify.arrow_encoder import notification_columns
from foretell.spark.batch.external_sort import ExternalSort
from foretell.spark.batch.plan import BatchPlan, PlanHandle
from foretell.spark.batch.sort_keys import (
    BoundEventSortKeys,
    FirstEventSortKeys,
    ShardOrderSortKeys,
    SortKeys,
    number_keys,
)
from foretell.spark.partitioning.hash_partitioner import split_by_partition
from foretell.spark.partitioning.shard_input import ShardInput, quarantine_rows
from foretell.spark.partitioning.shuffle_rows import (
    EVENTS,
    ShuffleRow,
    StreamProgress,
    binary_value,
    read_table,
    table_buffer,
)
from foretell.spark.partitioning.statement_groups import StatementGroup, quarantine_shards

_DICTIONARY: Any = pa.dictionary(pa.int32(), pa.string())

#: Kinds of reports to the driver: notifications (an Arrow stream), notes (text), malformed events (JSON), and the
#: number of events of a stream (text).
MATCH_REPORT, NOTE_REPORT, QUARANTINE_REPORT, COUNT_REPORT = "matches", "note", "quarantined", "count"
REPORT_COLUMNS = "kind string, name string, data binary"
#: The second shuffle: notifications of a range of time, as an Arrow stream.
RANGE_COLUMNS = "range int, data binary"

#: Notifications in a batch of the result.
ROWS = 65_536
#: The order of notifications, which is that of the engine in process.
_ORDER: Any = [("end", "ascending"), ("subscription", "ascending"), ("sort_key", "ascending")]


class BatchShardInput(ShardInput):
    """The input of a batch's shard. Events that exceed the plan's memory go to an external sort."""

    def __init__(self, plan: BatchPlan) -> None:
        super().__init__()
        self.plan = plan
        self.sort: ExternalSort | None = None
        self._held_bytes = 0

    def add(self, row: ShuffleRow) -> None:
        super().add(row)
        if row.kind == EVENTS:
            self._held_bytes += row.data.size
            if self._held_bytes > self.plan.memory:
                self._spill()

    def _spill(self) -> None:
        if self.sort is None:
            self.sort = ExternalSort({name: schema.time or "" for name, schema in self.plan.schemas.items()})
        for stream in self.segments:
            self.sort.spill(stream, self._arrived(stream))
        self.segments, self._held_bytes = {}, 0

    def _arrived(self, stream: str) -> pa.Table:
        """Return the events of a stream in the order of their arrival, with their arrival numbers as last column."""
        tables = []
        for first, table in self.tables(stream):
            last = table.num_columns - 1
            arrival = arrow_of(first + numpy_of(table.column(last)).astype(np.int64))
            tables.append(_dictionary_encoded(table.set_column(last, "", arrival)))
        return pa.concat_tables(tables)

    def slices(self) -> Iterator[dict[str, pa.Table]]:
        """Yield all events: at once, or if they exceed memory, one slice of time after the other."""
        if self.sort is None:
            yield {stream: self._arrived(stream) for stream in self.segments}
        else:
            self._spill()
            yield from self.sort.merge()

    def time_span(self) -> tuple[int | float, int | float]:
        """Return the first and the latest time of all streams."""
        total = sum(self.progress.values(), StreamProgress())
        return (0 if total.first is None else total.first), (0 if total.latest is None else total.latest)


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
        for result in _sorted_results(runtime, group, shard_input):
            yield report(MATCH_REPORT, "", table_buffer(result.table(exact=True)))
        for note in runtime.ledger.tell():
            yield report(NOTE_REPORT, "", pa.py_buffer(note.encode()))


def report_quarantine(shard: int, shard_input: BatchShardInput) -> Iterator[pa.RecordBatch]:
    """Report the malformed events and the number of all events, of the streams that this shard reports."""
    streams = [name for name, owner in quarantine_shards(shard_input.plan.groups).items() if owner == shard]
    if streams:
        yield report(QUARANTINE_REPORT, "", pa.py_buffer(msgspec.json.encode(shard_input.quarantined)))
        for name in streams:
            total = shard_input.progress.get(name, StreamProgress()).total
            yield report(COUNT_REPORT, name, pa.py_buffer(str(total).encode()))


def report(kind: str, name: str, data: pa.Buffer) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([kind]), pa.array([name]), binary_value(data)]
    return pa.RecordBatch.from_arrays(columns, ["kind", "name", "data"])


# ── for a DataFrame ──


def run_by_range(
    handle: PlanHandle, schema: pa.Schema, ranges: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run shards and encode their notifications by ranges of time; malformed events follow the last range."""
    plan = handle.plan
    for shard, shard_input in shard_inputs(plan, batches):
        quarantined = quarantine_rows(shard_input.quarantined)
        if quarantined:
            keys = number_keys(np.arange(len(quarantined)))
            yield _range_row(ranges, pa.Table.from_pylist(quarantined, schema).append_column("sort_key", keys))
        group, time_span = plan.group_of(shard), shard_input.time_span()
        for result in _sorted_results(plan.runtime(group, plan.observers), group, shard_input):
            for number, table in _by_range(result.table(exact=False), *time_span, ranges):
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


def sort_range(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sort the notifications of a range of time."""
    tables = [read_table(data.as_buffer()) for batch in batches for data in batch.column("data")]
    if tables:
        table = pa.concat_tables(t.cast(schema.append(t.schema.field("sort_key"))) for t in tables)
        yield from sort_notifications(table).to_batches(ROWS)


def sort_notifications(table: pa.Table) -> pa.Table:
    """Return notifications in their order, without the sort keys."""
    return take_rows(table, pc.sort_indices(table, sort_keys=_ORDER)).drop_columns(["sort_key"])


# ── the runtime ──


def _sorted_results(
    runtime: MatchRuntime, group: StatementGroup, shard_input: BatchShardInput
) -> Iterator[_SortedResult]:
    """Process a shard and yield its notifications with their sort keys."""
    ranks = shard_input.plan.checked(group).ranks
    sort_keys: SortKeys = ShardOrderSortKeys()
    if group.table_slice.count > 1:
        sort_keys = BoundEventSortKeys()
    elif shard_input.sort is not None:  # results come slice by slice, so their order there is not that of all
        sort_keys = FirstEventSortKeys(ranks, Path(shard_input.sort.folder.name))
    elif group.keys:
        sort_keys = FirstEventSortKeys(ranks)
    count = 0
    for processed in process_shard(runtime, group, shard_input):
        if isinstance(sort_keys, FirstEventSortKeys):
            sort_keys.extend(processed.batches, processed.arrivals)
        before = count  # notifications of the slices before this one
        for result, match, row, number in by_batch(processed.results):
            count += len(match)
            yield _SortedResult(result, match, row, sort_keys.keys(result, match, row, before + number))


@dataclass(frozen=True)
class ProcessedSlice:
    """Events that the runtime has processed, their arrival numbers, and the results."""

    batches: dict[str, EventBatch]
    arrivals: dict[str, Ints]
    results: list[ResultBatch]


def process_shard(
    runtime: MatchRuntime, group: StatementGroup, shard_input: BatchShardInput
) -> Iterator[ProcessedSlice]:
    """Process all events of a shard. Time goes on to the streams' clocks and to the plan's `until` with the last."""
    plan = shard_input.plan
    clocks = {stream: time for stream, time in shard_input.clocks.items() if stream in group.columns}
    for events, is_last in _marking_last(shard_input.slices()):
        batches = {name: _batch(plan, name, columns, events.get(name)) for name, columns in group.columns.items()}
        arrivals = {name: _arrivals(events.get(name)) for name in batches}
        results = runtime.process(batches, plan.until, clocks) if is_last else runtime.process(batches)
        yield ProcessedSlice(batches, arrivals, results)


def _marking_last(slices: Iterable[dict[str, pa.Table]]) -> Iterator[tuple[dict[str, pa.Table], bool]]:
    """Yield each slice with whether it is the last; an empty one if there is none."""
    before = None
    for events in slices:
        if before is not None:
            yield before, False
        before = events
    yield before or {}, True


def _batch(plan: BatchPlan, name: str, columns: tuple[str, ...], table: pa.Table | None) -> EventBatch:
    schema = plan.schemas[name]
    if table is None:
        table = pa.schema([(n, ARROW_TYPES[schema.attributes[n]]) for n in columns]).empty_table()
    else:
        table = table.select(list(range(len(columns))))
    return EventBatch(name, schema, table, (), table.num_rows)


def _arrivals(table: pa.Table | None) -> Ints:
    return np.zeros(0, np.int64) if table is None else numpy_of(table.columns[-1])


def _dictionary_encoded(table: pa.Table) -> pa.Table:
    """Dictionary-encode all texts, as the runtime needs them; some segments come so."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            coded: Any = pa.chunked_array([c.dictionary_encode() for c in column.chunks], _DICTIONARY)
            table = table.set_column(number, table.column_names[number], coded)
    return table


@dataclass(frozen=True)
class _SortedResult:
    """Notifications of one result batch: the match of each, the row of a FOR EACH table, and the sort key."""

    result: ResultBatch
    match: Ints
    row: Ints
    sort_key: Any

    def table(self, *, exact: bool) -> pa.Table:
        return notification_columns(self.result, self.match, self.row, exact=exact).append_column(
            "sort_key", self.sort_key
        )
