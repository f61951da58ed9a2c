"""Stray texts: the few that make a CSV column STRING whose other values are numbers.

The user is told which row it was, and how to declare the column.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pyarrow as pa

from foretell.events.arrow_compute import pc
from foretell.events.ingest.null_markers import USUAL_MARKERS
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.scalar_parsing import FLOAT_TEXT, INT_TEXT, display_value
from foretell.events.types import Type

#: Texts that are looked at first: a column of texts shows there that it is none of numbers.
_HEAD = 64
_PADDED = r"\s*[+-]?0[0-9]+\s*"
_NUMBER = rf"\s*(?:{FLOAT_TEXT})\s*"
_WHOLE = rf"\s*{INT_TEXT}\s*"

Place = tuple[str, int]


class StrayTexts(msgspec.Struct, frozen=True):
    """How many texts of a column are numbers and how many are not, and the first that makes the column STRING: one that
    is no number, or else has a leading zero. Without such a text `row` is 0."""

    numbers: int
    others: int
    whole: bool
    text: str
    source: str
    row: int

    def __add__(self, later: StrayTexts) -> StrayTexts:
        """Merge with those of later rows."""
        first = self if self.others or (self.row and not later.others) else later
        return msgspec.structs.replace(
            first,
            numbers=self.numbers + later.numbers,
            others=self.others + later.others,
            whole=self.whole and later.whole,
        )

    @property
    def few(self) -> bool:
        """Whether the column is one of numbers but for a few texts: one in a hundred, or a single one in a short
        column."""
        return (
            self.row > 0
            and self.numbers >= 2 * self.others
            and self.others <= max(1, (self.numbers + self.others) // 100)
        )

    @property
    def none(self) -> bool:
        """Whether the column has no values at all."""
        return not self.numbers and not self.others

    def remark(self, column: str, stream: str, time: str) -> str:
        """Why the column is STRING, and how to declare it."""
        kind = Type.INT if self.whole and not self.none else Type.FLOAT
        prefix = "" if self.others else "the leading zero of "
        reason = f"of {prefix}{display_value(self.text)} at {self.source}:{self.row}"
        return (
            f"{column} is STRING because {'no event has a value of it' if self.none else reason}; "
            f"to read numbers, declare STREAM {stream} ({column} {kind.value}, ...) TIME {time}"
        )


def stray_texts(texts: ArrowArray, place: Callable[[int], Place]) -> StrayTexts | None:
    """The stray texts of a STRING column; None where it is no column of numbers. `place` has the places of rows."""
    if texts.null_count == len(texts):
        return StrayTexts(0, 0, True, "", "", 0)
    if _mostly_other(texts[:_HEAD]):
        return None
    texts = USUAL_MARKERS.without_texts(texts, USUAL_MARKERS.fields)
    is_number = _matching(texts, _NUMBER)
    numbers, present = _count(is_number), len(texts) - texts.null_count
    first = pc.index(is_number, False).as_py()
    if numbers == present:
        first = pc.index(_matching(texts, _PADDED), True).as_py()
    whole = _count(_matching(texts, _WHOLE)) == numbers
    if first < 0:
        return StrayTexts(numbers, present - numbers, whole, "", "", 0)
    return StrayTexts(numbers, present - numbers, whole, texts[first].as_py(), *place(first))


def _mostly_other(head: ArrowArray) -> bool:
    texts = USUAL_MARKERS.without_texts(head, USUAL_MARKERS.fields)
    present = len(texts) - texts.null_count
    others = present - _count(_matching(texts, _NUMBER))
    return bool(others > max(1, present // 10))


def _matching(texts: ArrowArray, pattern: str) -> ArrowArray:
    return pc.match_substring_regex(texts, f"^(?:{pattern})$")


def _count(flags: ArrowArray) -> int:
    return int(pc.sum(pc.cast(flags, pa.int64())).as_py() or 0)
