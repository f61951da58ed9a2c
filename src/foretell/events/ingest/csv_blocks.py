"""Blocks of CSV that Arrow parses.

Arrow is more lenient than `csv_records`: it takes '"w" v' for a field, and loses its place where a quote is not closed.
So Arrow gets only blocks in which every quote opens a field, closes it, or is doubled within one, every carriage return
ends a line, and all bytes are UTF-8; there both agree. The caller parses all other blocks with `csv_records`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from foretell.arrays import Flags, Ints
from foretell.events.ingest.csv_records import wrong_width
from foretell.events.ingest.raw_columns import ArrowArray

_QUOTE, _LINE_FEED, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]


@dataclass(frozen=True)
class CsvLayout:
    """How the records of a file are written: the delimiter, the number of fields, and the positions of the columns that
    are read."""

    delimiter: str
    width: int
    taken: tuple[int, ...]


@dataclass(frozen=True)
class RecordSpans:
    """The records of a block: first line, first byte and last byte (exclusive) of each, counted from the block's start,
    and its number of fields; 0 for a blank line."""

    lines: Ints
    starts: Ints
    ends: Ints
    widths: Ints


class CsvBlock:
    """Bytes of a CSV file that end with a record, and whose quotes are all proper."""

    def __init__(self, content: bytes, quotes: Ints, layout: CsvLayout) -> None:
        self._content, self._quotes, self._layout = content, quotes, layout

    @property
    def size(self) -> int:
        return len(self._content)

    @cached_property
    def lines(self) -> int:
        return self._content.count(b"\n") + (not self._content.endswith(b"\n"))

    def read(self) -> tuple[list[ArrowArray], int, int] | None:
        """The columns, with NULL for empty fields, and the numbers of rows and of records with another number of
        fields; None where Arrow refuses the block."""
        layout = self._layout
        names = [str(position) for position in range(layout.width)]
        skipped = 0

        def skip(row: object) -> str:
            nonlocal skipped
            skipped += 1
            return "skip"

        taken = [names[position] for position in layout.taken or (0,)]
        content: Any = pa.BufferReader(self._content)
        parse: Any = {"invalid_row_handler": skip, "newlines_in_values": self._spans_lines}
        try:
            table = arrow_csv.read_csv(
                content,
                arrow_csv.ReadOptions(use_threads=False, block_size=self.size + 1, column_names=names),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, **parse),
                arrow_csv.ConvertOptions(
                    check_utf8=False,
                    column_types=dict.fromkeys(taken, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    include_columns=taken,
                ),
            )
        except pa.ArrowInvalid:  # such as a block of blank lines only
            return None
        columns: list[ArrowArray] = [table.column(name).combine_chunks() for name in taken]
        return columns if layout.taken else [], table.num_rows, skipped

    @cached_property
    def spans(self) -> RecordSpans:
        data = np.frombuffer(self._content, np.uint8)
        feeds = np.flatnonzero(data == _LINE_FEED)
        ends = feeds if not len(self._quotes) else feeds[~self._quoted(feeds)]
        if not len(ends) or ends[-1] != len(data) - 1:
            ends = np.append(ends, len(data))
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
        lines = np.searchsorted(feeds, starts)
        delimiters = np.flatnonzero(data == ord(self._layout.delimiter))
        if len(self._quotes):
            delimiters = delimiters[~self._quoted(delimiters)]
        widths = np.diff(np.searchsorted(delimiters, np.append(starts, len(data)))) + 1
        sizes = ends - starts
        blank = (sizes == 0) | ((sizes == 1) & (data[np.minimum(starts, len(data) - 1)] == _RETURN))
        return RecordSpans(lines, starts, ends, np.where(blank, 0, widths))

    def wrong_records(self) -> list[tuple[int, int, str]]:
        """The records with another number of fields: their position among all records, the rows before them, and the
        reason."""
        width, widths = self._layout.width, self.spans.widths
        wrong = np.flatnonzero((widths != width) & (widths > 0))
        before = np.cumsum(widths == width)
        return [(int(n), int(before[n]), wrong_width(width, int(widths[n]))) for n in wrong]

    @cached_property
    def row_records(self) -> Ints:
        """The position of each row among all records."""
        return np.flatnonzero(self.spans.widths == self._layout.width)

    def text(self, record: int) -> str:
        start, end = self.spans.starts[record], self.spans.ends[record]
        return self._content[start:end].decode().rstrip("\r\n")

    @property
    def _spans_lines(self) -> bool:
        """Whether a line end is quoted."""
        if not len(self._quotes):
            return False
        feeds = np.flatnonzero(np.frombuffer(self._content, np.uint8) == _LINE_FEED)
        return bool(self._quoted(feeds).any())

    def _quoted(self, positions: Ints) -> Flags:
        quoted: Flags = np.searchsorted(self._quotes, positions) % 2 == 1
        return quoted


def next_block(content: bytes, start: int, size: int, layout: CsvLayout) -> CsvBlock | None:
    """The block of whole records of about `size` bytes from `start` on; None where Arrow might read it otherwise than
    `csv_records` does."""
    stop = start + size
    while True:
        block = content[start:stop]
        quotes = _positions(block, _QUOTE)
        end = len(block) if stop >= len(content) else _last_record_end(block, quotes)
        if end:
            break
        stop += stop - start  # a record that is longer
    block, quotes = block[:end], quotes[: np.searchsorted(quotes, end)]
    proper = _is_utf8(block) and (b"\r" not in block or block.count(b"\r") == block.count(b"\r\n"))
    return CsvBlock(block, quotes, layout) if proper and _properly_quoted(block, quotes, layout.delimiter) else None


def _positions(block: bytes, byte: int) -> Ints:
    if byte not in block:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.frombuffer(block, np.uint8) == byte)


def _last_record_end(block: bytes, quotes: Ints) -> int:
    """The bytes up to the last line end that is not quoted; 0 without one."""
    if not len(quotes):
        return block.rfind(b"\n") + 1
    feeds = _positions(block, _LINE_FEED)
    ends = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
    return int(ends[-1]) + 1 if len(ends) else 0


def _properly_quoted(block: bytes, quotes: Ints, delimiter: str) -> bool:
    """Whether every other quote opens a field, and the ones between close it, or both are one doubled quote."""
    if len(quotes) % 2:
        return False
    if not len(quotes):
        return True
    opening, closing = quotes[::2], quotes[1::2]
    data = np.frombuffer(block, np.uint8)
    doubled = opening[1:] == closing[:-1] + 1
    before = data[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | (before == ord(delimiter)) | (before == _LINE_FEED)
    opens[1:] |= doubled
    after = data[np.minimum(closing + 1, len(data) - 1)]
    closes = (closing == len(data) - 1) | (after == ord(delimiter)) | (after == _LINE_FEED) | (after == _RETURN)
    closes[:-1] |= doubled
    return bool(opens.all() and closes.all())


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
