"""Input splits: the parts of a stream that tasks read, as typed events with their arrival numbers.

Malformed events are set apart here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.encodings import utf8_chunks
from foretell.events.ingest.folder_columns import with_folder_columns
from foretell.events.ingest.formats import read_listing
from foretell.events.ingest.input_files import JSON_LINES, TEXT, InputFile, InputFiles, open_input
from foretell.events.ingest.json_lines import is_json_lines, not_json_lines, read_json_lines
from foretell.events.ingest.line_numbers import LineNumbers
from foretell.events.ingest.null_markers import apply_null_markers
from foretell.events.ingest.raw_columns import RawTable
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, cast_events, read, with_times
from foretell.events.ingest.text_lines import no_match, read_text_lines
from foretell.spark.batch.plan import BatchPlan
from foretell.spark.partitioning.shuffle_rows import StreamProgress

#: Rows that are encoded at once, and bytes of text that are read at once.
ROWS = 262_144
CHUNK_BYTES = 32 << 20

#: Arrival numbers of a DataFrame's partition, or of a text file, begin at its number shifted by so many bits: nobody
#: knows how many rows those before it have.
ARRIVAL_BITS = 33

Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True)
class InputSplit:
    """A text file, or a row group of a Parquet file with the number of its first row in the file; `keys` are the
    columns of its Hive-style folders.

    `arrival` is the arrival number of the file's first row, or any that exceeds those of all files before it.
    """

    format: str
    path: str
    arrival: int
    row_group: int = 0
    first_row: int = 0
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def file(self) -> InputFile:
        return InputFile(self.path, self.keys)


@dataclass(frozen=True)
class SplitEvents:
    """Events of a split, with the arrival number of each, and the number from which those of the split begin.

    If `filtered`, events that cannot matter to any statement are missing; `progress` counts them all the same.
    """

    batch: EventBatch
    arrival: Ints
    first_arrival: int
    progress: StreamProgress
    filtered: bool = False

    @staticmethod
    def unfiltered(batch: EventBatch, arrival: Ints, first_arrival: int) -> SplitEvents:
        return SplitEvents(batch, arrival, first_arrival, StreamProgress.of(batch))


def frame_events(plan: BatchPlan, stream: str, batches: Batches, arrival: int) -> Iterator[SplitEvents]:
    """Read rows of a Spark DataFrame; `arrival` is the arrival number of the first."""
    for merged in _merged(batches):
        row = arrival & ((1 << ARRIVAL_BITS) - 1)
        yield row_events(plan, stream, pa.Table.from_batches(merged), stream, row, arrival)
        arrival += sum(batch.num_rows for batch in merged)


def _merged(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    """Spark's batches are short: join several."""
    merged: list[pa.RecordBatch] = []
    for batch in batches:
        merged.append(batch)
        if sum(part.num_rows for part in merged) >= ROWS:
            yield merged
            merged = []
    if merged:
        yield merged


def loaded_events(plan: BatchPlan, stream: str, batches: Batches) -> Iterator[SplitEvents]:
    """Decode events that the driver has read: rows of the first arrival number and an Arrow stream."""
    for row in (row for batch in batches for row in batch.to_pylist()):
        table, arrival = table_from_bytes(row["data"]), row["arrival"]
        batch = EventBatch(stream, plan.schemas[stream], table, (), table.num_rows)
        yield SplitEvents.unfiltered(batch, arrival + np.arange(table.num_rows), arrival)


def row_events(plan: BatchPlan, stream: str, table: pa.Table, source: str, row: int, arrival: int) -> SplitEvents:
    """Read a table whose first row is number `row` of its source and has the arrival number `arrival`."""
    declaration = plan.declaration(stream)
    for name in declaration.columns:  # one of several files may lack it
        if name not in table.column_names and not declaration.is_assembled(name, table.column_names):
            table = table.append_column(name, pa.nulls(table.num_rows))
    batch = read(table, declaration)
    well_formed = np.ones(table.num_rows, np.bool_)
    well_formed[[bad.row - 1 for bad in batch.quarantined]] = False
    return SplitEvents.unfiltered(_placed(batch, source, row), arrival + np.flatnonzero(well_formed), arrival)


def _placed(batch: EventBatch, source: str, rows_before: int) -> EventBatch:
    """Return the batch with the places of its misfits in the whole source."""
    bad = tuple(replace(event, source=source, row=rows_before + event.row) for event in batch.quarantined)
    nulled = tuple(replace(values, source=source, row=rows_before + values.row) for values in batch.nulled)
    return replace(batch, quarantined=bad, nulled=nulled)


# ── text files ──


def text_events(plan: BatchPlan, stream: str, split: InputSplit) -> Iterator[SplitEvents]:
    declaration = plan.declaration(stream)
    for line, gathered in text_chunks(split, declaration.wanted, declaration.read):
        marked = with_times(apply_null_markers(gathered, declaration.read.nulls), declaration)
        batch = cast_events(marked, declaration, declaration.attributes)
        rows = _well_formed_rows(gathered, batch)
        first = split.arrival + line
        yield SplitEvents.unfiltered(_placed(batch, split.path, line), first + rows, first)


def _well_formed_rows(gathered: RawTable, batch: EventBatch) -> Ints:
    """The numbers of the rows that are not quarantined."""
    rows = np.concatenate([np.empty(0, np.int64), *(_numbers(part.numbers) for part in gathered.origins)])
    malformed = [event.row for event in batch.quarantined]
    return rows[~np.isin(rows, malformed)] if malformed else rows


def _numbers(numbers: Sequence[int]) -> Ints:
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop)
    return numbers.array if isinstance(numbers, LineNumbers) else np.array(numbers, np.int64)


def text_chunks(
    split: InputSplit, wanted: frozenset[str] | None, options: ReadOptions
) -> Iterator[tuple[int, RawTable]]:
    """Read a text file in chunks, each with the number of lines before it. A file of lines may exceed memory; other
    files are one chunk."""
    path = split.path
    if split.format not in (JSON_LINES, TEXT):
        yield 0, read_listing(InputFiles(path, split.format, [split.file]), wanted, options)
        return
    line, rows, rejected, head = 0, 0, 0, b""
    with open_input(path) as file:
        chunks = utf8_chunks(path, file, options.encoding, CHUNK_BYTES)
        for content in chunks:
            head = head or content
            if split.format == TEXT:
                gathered = read_text_lines([(path, content)], wanted, options.pattern, whole=False)
            elif line == 0 and not is_json_lines(content):
                whole = content + b"".join(chunks)  # an array, or objects over several lines
                gathered = read_json_lines([(path, whole)], wanted)
            else:
                gathered = read_json_lines([(path, content)], wanted, whole=False)
            rows, rejected = rows + gathered.rows, rejected + len(gathered.rejected)
            yield line, with_folder_columns(gathered, [split.file])
            line += content.count(b"\n")
    if rejected and not rows:
        raise not_json_lines(path) if split.format == JSON_LINES else no_match(path, head, options.pattern or "")
