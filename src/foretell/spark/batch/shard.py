"""A batch's shard: its input, which may exceed memory, and a MatchRuntime that processes it slice by slice.

The runtime is bare, not in an Engine as in a stream: all events are there, so that none is late, and there is no state
to keep. Instead, notifications get sort keys, since a batch gives them in the order of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch
from foretell.machine.matches.notification_order import by_batch
from foretell.machine.matches.results import ResultBatch
from foretell.machine.runtime import MatchRuntime
from foretell.notify.arrow_encoder import encode_results
from foretell.spark.batch.external_sort import ExternalSort
from foretell.spark.batch.match_reports import MatchReport
from foretell.spark.batch.plan import BatchPlan
from foretell.spark.batch.sort_keys import BoundEventSortKeys, FirstEventSortKeys, ShardOrderSortKeys, SortKeys
from foretell.spark.partitioning.shard_input import ShardInput
from foretell.spark.partitioning.shuffle_rows import EVENTS, ShuffleRow, StreamProgress
from foretell.spark.partitioning.statement_groups import StatementGroup

_DICTIONARY: Any = pa.dictionary(pa.int32(), pa.string())


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


def sorted_results(
    runtime: MatchRuntime, group: StatementGroup, shard_input: BatchShardInput
) -> Iterator[SortedResult]:
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
        if isinstance(sort_keys, FirstEventSortKeys) and processed.batches:
            sort_keys.extend(processed.batches, processed.arrivals)
        before = count  # notifications of the slices before this one
        for result, match, row, number in by_batch(processed.results):
            count += len(match)
            yield SortedResult(result, match, row, sort_keys.keys(result, match, row, before + number))


@dataclass(frozen=True)
class ProcessedSlice:
    """Events that the runtime has processed, their arrival numbers, and results. Where these are many, they come in
    pieces, the first of them with the events."""

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
        pieces = runtime.pieces(batches, plan.until, clocks, ends=True) if is_last else runtime.pieces(batches)
        for piece in pieces:
            yield ProcessedSlice(batches, arrivals, piece.results)
            batches, arrivals = {}, {}  # the following pieces are of the same events


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
class SortedResult:
    """Notifications of one result batch: the match of each, the row of a FOR EACH table, and the sort key."""

    result: ResultBatch
    match: Ints
    row: Ints
    sort_key: Any

    @property
    def report(self) -> MatchReport:
        return MatchReport(encode_results(self.result, self.match, self.row), self.sort_key)
