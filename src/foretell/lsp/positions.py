"""Positions: those of the protocol, which count lines and code units, as numbers of characters and back.

A line of the protocol ends with a line feed, a carriage return, or both; a place of Foretell only with a line feed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from lsprotocol import types

from foretell.errors import Place

_LINE_END = re.compile(r"\r\n|\n|\r")
#: The bytes of a code unit in each encoding of positions.
_ENCODINGS = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}


class TextPositions:
    """The positions of one text."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind | str = "utf-16") -> None:
        self.text = text
        self._codec, self._unit = _ENCODINGS[types.PositionEncodingKind(encoding)]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    @cached_property
    def _place_starts(self) -> list[int]:
        """Where the lines of places begin; a byte order mark is not counted."""
        mark = int(self.text.startswith("\ufeff"))
        return [mark, *(found.end() for found in re.finditer("\n", self.text))]

    def position(self, offset: int) -> types.Position:
        """The position before the character with this number."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        return types.Position(line, self._units(self.text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def offset(self, position: types.Position) -> int:
        """The number of the character at a position; one behind the end of a line or of the text is that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        line = _LINE_END.split(self.text[start : self._line_end(position.line)], maxsplit=1)[0]
        units = line.encode(self._codec, "surrogatepass")[: position.character * self._unit]
        return start + len(units.decode(self._codec, "ignore"))

    def _line_end(self, line: int) -> int:
        return self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)

    def _units(self, text: str) -> int:
        return len(text) if text.isascii() else len(text.encode(self._codec, "surrogatepass")) // self._unit

    def span(self, place: Place) -> tuple[int, int]:
        """The numbers of the first character of a place and of the one behind it."""
        start = self._place_offset(place.line, place.column)
        end = self._place_offset(place.end_line or place.line, place.end_column)
        return start, max(start, end)

    def _place_offset(self, line: int, column: int) -> int:
        if not 1 <= line <= len(self._place_starts):
            return 0 if line < 1 else len(self.text)
        return min(self._place_starts[line - 1] + max(column - 1, 0), len(self.text))
