"""CSV: a header line, then a row for each record. Arrow parses the records, `csv_records` those that Arrow might not
parse as they are."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import pyarrow as pa

from foretell.arrays import Ints
from foretell.errors import InputError
from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.csv_blocks import CsvBlock, CsvLayout, next_block
from foretell.events.ingest.csv_dialect import decimal_comma_notes, delimiter_of
from foretell.events.ingest.csv_records import CsvRecord, csv_records
from foretell.events.ingest.line_numbers import joined_numbers
from foretell.events.ingest.raw_columns import (
    ArrowArray,
    RawColumn,
    RawTable,
    RejectedRow,
    RowOrigin,
    is_valid_unicode,
    valid_column_names,
)
from foretell.events.ingest.read_notes import gathered_notes
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.types import Type
from foretell.progress import advance

#: Bytes that Arrow parses at once; where it cannot, fewer and fewer, down to those that are parsed record by record.
_MOST_BYTES = 8 << 20
_LEAST_BYTES = 64 << 10


@dataclass(frozen=True)
class _RejectedRecord:
    """A record that is no row: the rows of its part before it, its first line, and why."""

    before: int
    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class _CsvPart:
    """Consecutive rows of a file: the columns that are read, the line numbers of the rows, and their texts."""

    columns: Sequence[ArrowArray]
    numbers: Sequence[int] | Ints
    rejected: Sequence[_RejectedRecord]
    text: Callable[[int], str]


@dataclass(frozen=True)
class _CsvFile:
    """One file's header and rows; `names` are the columns that are read."""

    source: str
    header: list[str]
    names: list[str]
    parts: list[_CsvPart]
    notes: list[str]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def column(self, name: str) -> list[ArrowArray]:
        index = self._places.get(name)
        if index is not None:
            return [part.columns[index] for part in self.parts]
        return [pa.nulls(len(part.numbers), pa.string()) for part in self.parts]

    def origin(self) -> RowOrigin:
        starts = list(accumulate((len(part.numbers) for part in self.parts), initial=0))

        def text(row: int) -> str:
            index = bisect_right(starts, row) - 1
            return self.parts[index].text(row - starts[index])

        return RowOrigin(self.source, joined_numbers([part.numbers for part in self.parts]), text, self.header or None)

    def rejected(self, before: int) -> Iterator[RejectedRow]:
        for part in self.parts:
            for record in part.rejected:
                yield RejectedRow(before + record.before, self.source, record.line, record.reason, record.text)
            before += len(part.numbers)


def read_csv(
    files: Iterable[tuple[str, bytes]],
    wanted: frozenset[str] | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> RawTable:
    """The rows of all files, given by name and content, which is UTF-8; only the `wanted` columns, where these are
    known. A column that one of the files lacks is NULL there."""
    read = [_read(source, content, wanted, options) for source, content in files]
    origins = [file.origin() for file in read]
    starts = accumulate((len(origin.numbers) for origin in origins), initial=0)
    rejected = [row for file, start in zip(read, starts, strict=False) for row in file.rejected(start)]
    names = valid_column_names(name for file in read for name in file.header)
    taken = valid_column_names(name for file in read for name in file.names)
    columns: dict[str, RawColumn] = {name: TextColumn(name, _column(name, read)) for name in taken}
    notes = gathered_notes((file.source, note) for file in read for note in file.notes)
    # An empty file has no header in which a column could be missing.
    return RawTable(columns, names, origins, rejected, absent_is_null=not names, notes=notes)


def _column(name: str, files: Iterable[_CsvFile]) -> ArrowArray:
    return pa.chunked_array([chunk for file in files for chunk in file.column(name)], pa.string())


# ── one file ──


def _read(source: str, content: bytes, wanted: frozenset[str] | None, options: ReadOptions) -> _CsvFile:
    delimiter, notes = delimiter_of(source, content, options.delimiter)
    first = next(csv_records(content, delimiter), None)
    if first is None:
        return _CsvFile(source, [], [], [], notes)
    if options.columns is None:
        header, start, line = _checked_header(source, first), first.end, 1 + _line_ends(content[: first.end])
        unnamed = [name for name, field in zip(header, first.fields, strict=True) if name and not field]
        notes += [f"a column without a name is called {name}" for name in unnamed]
    else:
        header, start, line = _given_header(source, first, options.columns), 0, 1
    positions = {n: name for n, name in enumerate(header) if name and (wanted is None or name in wanted)}
    layout = CsvLayout(delimiter, len(header), tuple(positions))
    parts = list(_parts(content, start, line, layout))
    if delimiter != "," and parts:
        notes += decimal_comma_notes(positions.values(), parts[0].columns)
    return _CsvFile(source, [name for name in header if name], list(positions.values()), parts, notes)


def _parts(content: bytes, start: int, line: int, layout: CsvLayout) -> Iterator[_CsvPart]:
    size, done = _MOST_BYTES, start
    while start < len(content):
        block = next_block(content, start, size, layout)
        part = None if block is None else _arrow_part(block, line)
        if block is not None and part is not None:
            size = min(2 * size, _MOST_BYTES)
            start, line = start + block.size, line + block.lines
        elif size > _LEAST_BYTES:
            size //= 2
            continue
        else:
            part, start, line = _exact_part(content, start, line, layout)
        advance(start - done)
        done = start
        yield part


def _arrow_part(block: CsvBlock, line: int) -> _CsvPart | None:
    read = block.read()
    if read is None:
        return None
    columns, rows, skipped = read
    if rows + skipped == block.lines and not skipped:
        return _CsvPart(columns, range(line, line + rows), (), block.text)
    records = block.row_records
    if len(records) != rows:
        return None
    lines = line + block.spans.lines
    rejected = [
        _RejectedRecord(before, int(lines[record]), reason, block.text(record))
        for record, before, reason in block.wrong_records()
    ]
    return _CsvPart(columns, lines[records], rejected, lambda row: block.text(records[row]))


def _exact_part(content: bytes, start: int, line: int, layout: CsvLayout) -> tuple[_CsvPart, int, int]:
    """A part that is parsed record by record; with it the byte and the line that follow."""
    rows: list[CsvRecord] = []
    rejected: list[_RejectedRecord] = []
    stop, end = start + _LEAST_BYTES, len(content)
    for record in csv_records(content, layout.delimiter, start, line):
        reason = record.reason(layout.width)
        if reason:
            rejected.append(_RejectedRecord(len(rows), record.line, reason, _text(content, record)))
        else:
            rows.append(record)
        if record.end >= stop:
            end = record.end
            break
    columns = [arrow_of_values([row.fields[n] or None for row in rows], Type.STRING) for n in layout.taken]
    part = _CsvPart(columns, [row.line for row in rows], rejected, lambda row: _text(content, rows[row]))
    return part, end, line + _line_ends(content[start:end])


def _line_ends(part: bytes) -> int:
    """The number of line ends; a carriage return is one unless a line feed follows it."""
    return part.count(b"\n") + part.count(b"\r") - part.count(b"\r\n")


def _text(content: bytes, record: CsvRecord) -> str:
    return content[record.start : record.end].decode("utf-8", "replace").rstrip("\r\n")


# ── header ──


def _checked_header(source: str, record: CsvRecord) -> list[str]:
    # Binary files have a zero byte early on.
    if any("\0" in name for name in record.fields):
        zipped = record.fields[0].startswith("PK\x03\x04")
        hint = "unpack the ZIP archive; .gz, .bz2, .zst and .xz are read as they are" if zipped else ""
        raise InputError("wrong-format", f"{source} is not CSV: it is binary", hint=hint)
    if record.fault or not all(map(is_valid_unicode, record.fields)):
        raise InputError("wrong-format", f"{source} is not CSV: its first line is no header")
    return _distinct(source, _with_places(record.fields))


def _with_places(names: list[str]) -> list[str]:
    """Names for columns without one, by their places: pandas writes such a column for its index. A delimiter at the end
    of each line makes no column."""
    places = [f"column_{n}" for n in range(1, len(names))] + [""]
    given = set(names)
    return [name or (place if place not in given else "") for name, place in zip(names, places, strict=True)]


def _given_header(source: str, first: CsvRecord, columns: Sequence[str]) -> list[str]:
    if len(first.fields) != len(columns) and not first.fault:
        message = f"{source}: {len(columns)} columns are named, but its first line has {len(first.fields)} fields"
        raise InputError("wrong-columns", message, hint="name every field of the file, in order")
    return _distinct(source, list(columns))


def _distinct(source: str, names: list[str]) -> list[str]:
    counts = Counter(names)
    for name in names:
        if name and counts[name] > 1:
            raise InputError("wrong-format", f"{source}: the header names '{name}' twice")
    return names
