"""CSV records one by one: the parser that defines the records of a CSV file. `csv_blocks` must agree with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from foretell.events.ingest.raw_columns import is_valid_unicode

#: The most characters of a field; Python's own limit of 131,072 is too low for texts.
_LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True)
class CsvRecord:
    """A record: its first line, the place of its bytes, and its fields; `fault` says why it has none.

    A record spans several lines where line ends are quoted.
    """

    line: int
    start: int
    end: int
    fields: list[str]
    fault: str = ""

    def reason(self, width: int) -> str:
        """Why this is no row of `width` fields; empty where it is one."""
        if self.fault:
            return self.fault
        if len(self.fields) != width:
            return wrong_width(width, len(self.fields))
        return "" if all(map(str.isascii, self.fields)) or all(map(is_valid_unicode, self.fields)) else "not UTF-8"


def wrong_width(expected: int, found: int) -> str:
    return f"expected {expected} fields, found {found}"


def csv_records(content: bytes, delimiter: str, start: int = 0, line: int = 1) -> Iterator[CsvRecord]:
    """The records from the byte `start` on, which begins line number `line`; blank lines are none.

    After a quote that is never closed, parsing goes on with the next line. Bytes that are not UTF-8 become lone
    surrogates.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = _LineFeed(content, start)
    while True:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                size, count = lines.take_record()
                if fields:
                    yield CsvRecord(line, start, start + size, fields)
                start, line = start + size, line + count
            return
        except csv.Error as error:
            size = lines.take_line()
            fault = "a quote is not closed" if "unexpected end" in str(error) else f"not CSV: {error}"
            yield CsvRecord(line, start, start + size, [], fault)
            start, line = start + size, line + 1


class _LineFeed:
    """The lines that a csv.reader consumes; lines of a record that failed can be read again."""

    def __init__(self, content: bytes, start: int) -> None:
        source = io.BytesIO(content)  # shares the bytes
        source.seek(start)
        self._source = io.TextIOWrapper(source, "utf-8", "surrogateescape", newline="")
        self._again: list[str] = []  # in reverse
        self._taken: list[str] = []

    def __iter__(self) -> _LineFeed:
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else next(self._source)
        self._taken.append(line)
        return line

    def take_record(self) -> tuple[int, int]:
        """The bytes and lines of the record that was just read."""
        size, count = sum(map(_byte_size, self._taken)), len(self._taken)
        self._taken.clear()
        return size, count

    def take_line(self) -> int:
        """The bytes of the first line of a record that failed; its other lines are read again."""
        first, *others = self._taken
        self._again.extend(reversed(others))
        self._taken.clear()
        return _byte_size(first)


def _byte_size(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-8", "surrogateescape"))
