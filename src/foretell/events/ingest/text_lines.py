"""Lines of text: a pattern with named groups makes a row of each line.

Lines that do not match are set aside, among them the further lines of a message, such as those of a stack trace. Blank
lines are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags, Ints
from foretell.errors import InputError
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.ingest.line_numbers import LineNumbers
from foretell.events.ingest.line_patterns import LinePattern, fitting_pattern, line_pattern
from foretell.events.ingest.raw_columns import ArrowArray, RawColumn, RawTable, RejectedRow, RowOrigin
from foretell.events.ingest.scalar_parsing import display_value
from foretell.events.ingest.text_columns import TextColumn
from foretell.progress import advance

NO_MATCH = "does not match the pattern"
NOT_UTF8 = "not UTF-8"
#: Bytes that are matched at once: an Arrow column of texts holds 2 GB.
PIECE_BYTES = 1 << 28
#: Lines by which a pattern is suggested.
_HEAD = 20


@dataclass(frozen=True)
class _TextPiece:
    """Lines of one file, from the line `first` on (counted from 0): the groups of those that match, and the positions
    of those that match and of those that do not."""

    source: str
    first: int
    lines: ArrowArray
    groups: ArrowArray
    rows: Ints
    rejected: Ints
    invalid: Flags

    def text(self, line: int) -> str:
        return bytes(self.lines[line].as_py()).decode("utf-8", "replace").rstrip("\r\n")

    def origin(self) -> RowOrigin:
        return RowOrigin(
            self.source, LineNumbers(self.first + self.rows + 1), lambda row: self.text(int(self.rows[row]))
        )

    def rejections(self, before: int) -> Iterator[RejectedRow]:
        places = before + np.searchsorted(self.rows, self.rejected)
        for place, line in zip(places.tolist(), self.rejected.tolist(), strict=True):
            reason = NOT_UTF8 if self.invalid[line] else NO_MATCH
            yield RejectedRow(place, self.source, self.first + line + 1, reason, self.text(line))


def read_text_lines(
    files: Iterable[tuple[str, bytes]], wanted: frozenset[str] | None, pattern: str | None, *, whole: bool = True
) -> RawTable:
    """The rows of all files, given by name and content; only the `wanted` columns, where these are known.

    A file without a single match does not fit the pattern, unless the content is only a part of it (`whole` is False).
    """
    read: list[_TextPiece] = []
    rejected: list[RejectedRow] = []
    before = 0
    for source, content in files:
        if pattern is None:
            raise no_pattern(source, content)
        pieces = list(_pieces(source, content, line_pattern(pattern)))
        if whole and not any(len(piece.rows) for piece in pieces) and any(len(piece.rejected) for piece in pieces):
            raise no_match(source, content, pattern)
        for piece in pieces:
            rejected += piece.rejections(before)
            before += len(piece.rows)
        read += pieces
    names = line_pattern(pattern).names if pattern is not None else []
    columns: dict[str, RawColumn] = {
        name: TextColumn(name, _column(name, read)) for name in names if wanted is None or name in wanted
    }
    return RawTable(columns, names, [piece.origin() for piece in read], rejected, absent_is_null=not names)


def _column(name: str, pieces: Sequence[_TextPiece]) -> ArrowArray:
    texts = pa.chunked_array([pc.struct_field(piece.groups, [name]) for piece in pieces], pa.string())
    return pc.if_else(_is_empty(texts), pa.nulls(1, pa.string())[0], texts)


def _is_empty(texts: ArrowArray) -> ArrowArray:
    return pc.equal(pc.binary_length(texts), arrow_of(np.zeros(1, np.int32))[0])


def _pieces(source: str, content: bytes, pattern: LinePattern) -> Iterator[_TextPiece]:
    start, first = 0, 0
    while start < len(content):
        end = content.find(b"\n", start + PIECE_BYTES) + 1 or len(content)
        piece = _piece(source, first, content[start:end] if start or end < len(content) else content, pattern)
        first += len(piece.lines)
        advance(end - start)
        start = end
        yield piece


def _piece(source: str, first: int, content: bytes, pattern: LinePattern) -> _TextPiece:
    lines = _lines(content)
    try:
        texts, invalid = lines.cast(pa.string()), np.zeros(len(lines), np.bool_)
    except pa.ArrowInvalid:
        invalid = np.array([not _is_utf8(line) for line in lines.to_pylist()], np.bool_)
        kept = pc.if_else(arrow_of(invalid), pa.nulls(1, pa.binary())[0], lines)
        texts = kept.cast(pa.string())
    texts = pc.ascii_rtrim(texts, "\r\n")
    blank = numpy_of(_is_empty(pc.ascii_trim_whitespace(texts))) & ~invalid
    groups = pattern.matches(texts)
    matched = ~nulls_of(groups) & ~blank & ~invalid
    rows, others = np.flatnonzero(matched), np.flatnonzero(~matched & ~blank)
    return _TextPiece(source, first, lines, groups.filter(arrow_of(matched)), rows, others, invalid)


def _lines(content: bytes) -> ArrowArray:
    """The lines with their ends, as binary values."""
    data = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    last = [] if len(ends) and ends[-1] == len(data) else [len(data)]
    offsets: Any = np.concatenate([[0], ends, last]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


# ── errors ──


def no_pattern(source: str, content: bytes) -> InputError:
    fitting = fitting_pattern(_first_lines(content))
    hint = (
        f"its first lines fit the built-in pattern '{fitting}': --pattern {fitting}, ReadOptions(pattern='{fitting}')"
        if fitting
        else r"name the parts of a line: --pattern '(?P<time>\S+ \S+) (?P<level>\w+) (?P<message>.*)'"
    )
    return InputError("no-pattern", f"{source}: lines of text need a pattern", hint=hint)


def no_match(source: str, content: bytes, pattern: str) -> InputError:
    lines = _first_lines(content)
    first = next((line for line in lines if line.strip()), "")
    fitting = fitting_pattern(lines)
    hint = f"its first lines fit the built-in pattern '{fitting}'" if fitting and fitting != pattern else ""
    return InputError(
        "wrong-format", f"{source}: no line matches the pattern; the first is {display_value(first)}", hint=hint
    )


def _first_lines(content: bytes) -> list[str]:
    head = content[: 1 << 16].splitlines()
    return [line.decode("utf-8", "replace") for line in islice(head, _HEAD)]
