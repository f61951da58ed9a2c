"""CSV: a header line, then a row for each record."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from foretell.errors import InputError
from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.raw_columns import (
    ArrowArray,
    RawColumn,
    RawTable,
    RejectedRow,
    RowOrigin,
    is_valid_unicode,
    valid_column_names,
)
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.types import Type


@dataclass(frozen=True)
class _CsvRecord:
    """A record, which may span several lines where line ends are quoted; `fault` says why it has no fields."""

    first_line: int
    end_line: int
    fields: list[str]
    fault: str = ""


@dataclass(frozen=True)
class _CsvFile:
    """One file's header and rows, with their line numbers."""

    source: str
    lines: Sequence[str]
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)

    def text(self, first_line: int, end_line: int) -> str:
        text = "".join(self.lines[first_line - 1 : end_line]).rstrip("\r\n")
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def origin(self) -> RowOrigin:
        return RowOrigin(self.source, [first for first, _ in self.spans], lambda i: self.text(*self.spans[i]))


def read_csv(files: Iterable[tuple[str, bytes]]) -> RawTable:
    """The rows of all files, given by name and content. A column that one of the files lacks is NULL there."""
    read: list[_CsvFile] = []
    before = 0
    for source, content in files:
        read.append(_read(source, content, before))
        before += len(read[-1].rows)
    names = valid_column_names(name for file in read for name in file.header)
    columns: dict[str, RawColumn] = {name: TextColumn(name, _column(name, read)) for name in names}
    rejected = [rejected for file in read for rejected in file.rejected]
    # An empty file has no header in which a column could be missing.
    return RawTable(columns, names, [file.origin() for file in read], rejected, absent_is_null=not names)


def _column(name: str, files: Iterable[_CsvFile]) -> ArrowArray:
    texts: list[str | None] = []
    for file in files:
        if name in file.header:
            index = file.header.index(name)
            texts.extend(row[index] or None for row in file.rows)
        else:
            texts.extend([None] * len(file.rows))
    return arrow_of_values(texts, Type.STRING)


def _read(source: str, content: bytes, before: int) -> _CsvFile:
    text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    file = _CsvFile(source, list(io.StringIO(text, newline="")))
    records = (record for record in _records(file.lines) if record.fields or record.fault)
    for record in islice(records, 1):
        file.header.extend(_checked_header(source, record))
    for record in records:
        reason = _reason(record, len(file.header))
        if reason:
            raw = file.text(record.first_line, record.end_line)
            file.rejected.append(RejectedRow(before + len(file.rows), source, record.first_line, reason, raw))
        else:
            file.rows.append(record.fields)
            file.spans.append((record.first_line, record.end_line))
    return file


def _records(lines: Sequence[str]) -> Iterator[_CsvRecord]:
    """The records. After a quote that is never closed parsing goes on with the next line."""
    start = 0
    while start < len(lines):
        reader = csv.reader(map(lines.__getitem__, range(start, len(lines))), strict=True)
        done = 0
        try:
            for fields in reader:
                yield _CsvRecord(start + done + 1, start + reader.line_num, fields)
                done = reader.line_num
            return
        except csv.Error as error:
            fault = "a quote is not closed" if "unexpected end" in str(error) else f"not CSV: {error}"
            yield _CsvRecord(start + done + 1, start + done + 1, [], fault)
            start += done + 1


def _reason(record: _CsvRecord, expected: int) -> str:
    if record.fault:
        return record.fault
    if len(record.fields) != expected:
        return f"expected {expected} fields, found {len(record.fields)}"
    return "" if all(map(str.isascii, record.fields)) or all(map(is_valid_unicode, record.fields)) else "not UTF-8"


def _checked_header(source: str, record: _CsvRecord) -> list[str]:
    # Binary files and UTF-16 have a zero byte early on.
    if any("\0" in name for name in record.fields):
        raise InputError("wrong-format", f"{source} is not CSV: it is binary")
    if record.fault or not all(map(is_valid_unicode, record.fields)):
        raise InputError("wrong-format", f"{source} is not CSV: its first line is no header")
    for name in record.fields:
        if record.fields.count(name) > 1:
            raise InputError("wrong-format", f"{source}: the header names '{name}' twice")
    return record.fields
