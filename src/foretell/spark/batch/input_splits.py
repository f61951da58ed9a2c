"""A stream in parts, as the tasks read it: events in their types, each with its number; the malformed ones apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.csv_reader import read_csv
from foretell.events.ingest.json_lines import not_json_lines, read_json_lines
from foretell.events.ingest.raw_columns import RawTable
from foretell.events.ingest.reader import EventBatch, cast_events, read
from foretell.events.reorder_buffer import event_times
from foretell.spark.batch.plan import BatchPlan

#: So many rows are packed at once, and so many bytes of text are read.
ROWS = 262_144
CHUNK = 32 << 20

Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True)
class InputSplit:
    """A file of text, or a row group of a Parquet file with the number of its first row in the file.

    `arrival` is the number of the file's first row in the stream, or one that is greater than those of all before it.
    """

    format: str
    path: str
    arrival: int
    group: int = 0
    row: int = 0


class StreamProgress(msgspec.Struct, frozen=True):
    """How many events were read, malformed ones too, and the times of the first and the latest good one."""

    total: int = 0
    first: int | float | None = None
    latest: int | float | None = None

    def __add__(self, other: StreamProgress) -> StreamProgress:
        first = [time for time in (self.first, other.first) if time is not None]
        latest = [time for time in (self.latest, other.latest) if time is not None]
        return StreamProgress(self.total + other.total, min(first, default=None), max(latest, default=None))


class SplitEvents(NamedTuple):
    """Events, the number of each in its stream, that from which the numbers of the part begin, and what was seen. Where
    it is `sifted`, that counts events that are not here because they cannot matter to any statement."""

    loaded: EventBatch
    arrival: Ints
    first: int
    seen: StreamProgress
    sifted: bool = False


def part_of(loaded: EventBatch, arrival: Ints, first: int) -> SplitEvents:
    """All that was read."""
    return SplitEvents(loaded, arrival, first, seen_in(loaded))


def seen_in(loaded: EventBatch) -> StreamProgress:
    if not loaded.table.num_rows:
        return StreamProgress(loaded.total)
    times = event_times(loaded)
    return StreamProgress(loaded.total, times.min().item(), times.max().item())


def frame_parts(plan: BatchPlan, stream: str, batches: Batches, arrival: int) -> Iterator[SplitEvents]:
    """Rows of a Spark DataFrame, `arrival` being the number of the first."""
    for some in _gathered(batches):
        yield rows_part(plan, stream, pa.Table.from_batches(some), stream, arrival & ((1 << 33) - 1), arrival)
        arrival += sum(batch.num_rows for batch in some)


def _gathered(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    """Spark's batches are short; several at once."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(one.num_rows for one in some) >= ROWS:
            yield some
            some = []
    if some:
        yield some


def table_parts(plan: BatchPlan, stream: str, batches: Batches) -> Iterator[SplitEvents]:
    """Events that were read before: the number of the first, and Arrow's bytes."""
    for row in (row for batch in batches for row in batch.to_pylist()):
        table, arrival = table_from_bytes(row["data"]), row["arrival"]
        loaded = EventBatch(stream, plan.schemas[stream], table, (), table.num_rows)
        yield part_of(loaded, arrival + np.arange(table.num_rows), arrival)


def rows_part(plan: BatchPlan, stream: str, table: pa.Table, source: str, row: int, arrival: int) -> SplitEvents:
    """`row` and `arrival` are the numbers of the table's first row in its source and in the stream."""
    declaration = plan.declaration(stream)
    for name in declaration.columns:  # one of several files may lack it
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows))
    loaded = read(table, declaration)
    good = np.ones(table.num_rows, np.bool_)
    good[[bad.row - 1 for bad in loaded.quarantined]] = False
    bad = tuple(replace(one, source=source, row=row + one.row) for one in loaded.quarantined)
    return part_of(replace(loaded, quarantined=bad), arrival + np.flatnonzero(good), arrival)


# ── text ──


def text_parts(plan: BatchPlan, stream: str, piece: InputSplit) -> Iterator[SplitEvents]:
    declaration = plan.declaration(stream)
    if piece.format == "CSV":
        chunks = iter([(0, read_csv([(piece.path, Path(piece.path).read_bytes())]))])
    else:
        chunks = json_chunks(piece.path, frozenset(declaration.columns))
    for line, gathered in chunks:
        loaded = cast_events(gathered, declaration, plan.schemas[stream].attributes)
        bad = {one.row for one in loaded.quarantined}
        good = [number for part in gathered.origins for number in part.numbers if number not in bad]
        moved = tuple(replace(one, row=line + one.row) for one in loaded.quarantined)
        first = piece.arrival + line
        yield part_of(replace(loaded, quarantined=moved), first + np.array(good, np.int64), first)


def json_chunks(path: str, wanted: frozenset[str] | None) -> Iterator[tuple[int, RawTable]]:
    """JSON lines some at a time, each time with how many lines came before: a file may be larger than memory."""
    line, rows, rejected = 0, 0, 0
    with Path(path).open("rb") as file:
        while content := file.read(CHUNK) + file.readline():
            gathered = read_json_lines([(path, content)], wanted, whole=False)
            rows, rejected = rows + gathered.rows, rejected + len(gathered.rejected)
            yield line, gathered
            line += content.count(b"\n")
    if rejected and not rows:
        raise not_json_lines(path)
