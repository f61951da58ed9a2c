"""Map side of a batch: tasks read events, drop those that cannot matter, and encode the rest as shuffle rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arguments.period import filtered
from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.ingest.arrow_columns import ArrowColumn
from foretell.events.ingest.reader import EventBatch, refuse_misfits
from foretell.events.reorder_buffer import event_times
from foretell.spark.batch.input_splits import (
    ARRIVAL_BITS,
    Batches,
    InputSplit,
    SplitEvents,
    frame_events,
    loaded_events,
    text_events,
)
from foretell.spark.batch.plan import BatchPlan, PlanHandle
from foretell.spark.partitioning.shuffle_rows import ShuffleWriter, StreamProgress, map_task
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.pushdown.quenching import may_matter
from foretell.spark.pushdown.row_groups import row_group_events

EVENT_COUNT = "count long"


def map_frame(
    handle: PlanHandle, stream: str, batches: Batches, *, report_progress: bool = True
) -> Iterator[pa.RecordBatch]:
    """Encode rows of a Spark DataFrame, whose columns are the attributes in their order.

    They arrive by partition, then in the order of the partition.

    Where Spark has dropped rows, `map_progress` reports the progress of all.
    """
    plan = handle.plan
    names = list(plan.declaration(stream).attributes)
    named = (batch.rename_columns(names) for batch in batches)
    splits = frame_events(plan, stream, named, map_task() << ARRIVAL_BITS)
    yield from _shuffle_rows(plan, stream, splits, report_progress=report_progress)


def map_progress(handle: PlanHandle, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Encode a DataFrame's progress: its number of rows, and the times of the first and latest well-formed one."""
    plan = handle.plan
    schema = plan.schemas[stream]
    assert schema.time is not None
    for batch in batches:
        total, *times = batch.columns
        fitted = ArrowColumn(schema.time, times).cast(schema.attributes[schema.time]).values
        numbers = fitted.cast(pa.int64()) if pa.types.is_timestamp(fitted.type) else fitted
        progress = StreamProgress(total[0].as_py(), *numbers.to_pylist())
        yield from ShuffleWriter(plan.groups).progress(stream, progress)


def map_files(
    handle: PlanHandle, stream: str, splits: Sequence[InputSplit], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Read files and encode their events. They arrive by file, then in the order of the file."""
    yield from _shuffle_rows(handle.plan, stream, file_events(handle.plan, stream, splits, batches))


def map_loaded(handle: PlanHandle, stream: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Encode events that the driver has read."""
    yield from _shuffle_rows(handle.plan, stream, loaded_events(handle.plan, stream, batches))


def count_files(
    handle: PlanHandle, stream: str, splits: Sequence[InputSplit], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Read files and only count their events: a baseline for benchmarks."""
    for split in file_events(handle.plan, stream, splits, batches):
        yield pa.RecordBatch.from_pydict({"count": [split.progress.total]})


def file_events(plan: BatchPlan, stream: str, splits: Sequence[InputSplit], batches: Batches) -> Iterator[SplitEvents]:
    """Read the splits whose numbers come in the batches."""
    for batch in batches:
        for number in numpy_of(batch.column(0)).tolist():
            split = splits[number]
            if split.format == "Parquet":
                yield row_group_events(plan, stream, split)
            else:
                yield from text_events(plan, stream, split)


# ── shuffle rows ──


def _shuffle_rows(
    plan: BatchPlan, stream: str, splits: Iterable[SplitEvents], *, report_progress: bool = True
) -> Iterator[pa.RecordBatch]:
    writer, progress = ShuffleWriter(plan.groups), StreamProgress()
    readers = [group for group in plan.groups if stream in group.columns]
    for split in _within_period(plan, splits):
        batch, first = split.batch, split.first_arrival
        if plan.strict:
            refuse_misfits(batch)
        yield from writer.quarantined(stream, batch.quarantined, first)
        yield from writer.reading(batch, first)
        progress += split.progress
        if not batch.table.num_rows:
            continue
        batch = replace(batch, table=_dictionary_encoded(batch.table, plan.shards))
        for group in readers:
            all_matter = split.filtered and len(readers) == 1  # filtered for this group
            kept, offset = _quenched(plan, group, batch, split.arrival - first, all_matter=all_matter)
            # A batch's notifications are ordered by the arrival of their events, so events carry it: the last column
            # has their offset from the sequence number of the row.
            table = kept.table.select(list(group.columns[stream]))
            table = table.append_column("", arrow_of(offset.astype(np.int32)))
            yield from writer.events(group, kept, table, first)
    if report_progress:
        yield from writer.progress(stream, progress)


def _within_period(plan: BatchPlan, splits: Iterable[SplitEvents]) -> Iterator[SplitEvents]:
    """Leave out the events outside of the plan's period: they do not count for the progress either."""
    for split in splits:
        within = plan.period.mask(event_times(split.batch)) if plan.period else None
        if within is None or within.all():
            yield split
        else:
            batch = filtered(split.batch, within)
            yield SplitEvents.unfiltered(batch, split.arrival[within], split.first_arrival)


def _quenched(
    plan: BatchPlan, group: StatementGroup, batch: EventBatch, offset: Ints, *, all_matter: bool
) -> tuple[EventBatch, Ints]:
    """Drop the events that cannot matter to a group."""
    keep = None if all_matter else may_matter(batch, plan.statements_of(group), plan.identified)
    if keep is None or keep.all():
        return batch, offset
    return replace(batch, table=batch.table.filter(arrow_of(keep))), offset[keep]


def _dictionary_encoded(table: pa.Table, shards: int) -> pa.Table:
    """Dictionary-encode text columns with few values: every shard's part repeats the whole dictionary."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type) or pa.types.is_dictionary(column.type):
            coded: Any = column.combine_chunks()
            if pa.types.is_dictionary(coded.type) and len(coded.dictionary) * shards > len(coded):
                coded = coded.cast(pa.string())
            plain, coded = coded, coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
            few = len(coded.dictionary) * shards <= len(coded)
            table = table.set_column(number, table.column_names[number], coded if few else plain)
    return table
