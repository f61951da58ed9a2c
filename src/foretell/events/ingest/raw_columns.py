"""What a source holds before its types are settled, and where each of its rows stood.

Every format is first gathered into columns of one of three kinds (values, texts, Arrow chunks). Types can only be
settled once all of it has been seen: a float in the last file widens an INT of the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from foretell.events.types import Type

#: An Array or a ChunkedArray, and a DataType. The stubs' overloads ask for exact types, which only the data know.
ArrowArray: TypeAlias = Any
ArrowType: TypeAlias = Any

#: The one Arrow type in which each attribute type is held.
ARROW_TYPES: Mapping[Type, ArrowType] = {
    Type.BOOL: pa.bool_(),
    Type.INT: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.STRING: pa.string(),
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class TypedColumn:
    """A column in its settled type; a row that does not fit is NULL there and has its reason in `misfits`."""

    values: ArrowArray
    misfits: Mapping[int, str]


class RawColumn(Protocol):
    """One column as its format gives it, with its name, which the reasons need."""

    def guess(self) -> Type | None:
        """The type read off the values: NULL where there are none, None where no attribute can hold them."""

    def guess_time(self) -> Type | None:
        """The same for the time column: only TIMESTAMP, INT, FLOAT (or NULL, or None)."""

    def fit(self, wanted: Type) -> TypedColumn:
        """The column in the type that is wanted."""


@dataclass(frozen=True)
class RowOrigin:
    """A file or a table that rows came from: what to call it, the rows' numbers in it, and their text."""

    source: str
    numbers: Sequence[int]
    raw: Callable[[int], str]


@dataclass(frozen=True)
class RejectedRow:
    """What could not even be read as a row; it stood right before the row at position `before`."""

    before: int
    source: str
    row: int
    reason: str
    raw: str


@dataclass(frozen=True)
class RawTable:
    """Columns of equal length, in the order in which they were first seen, and the names of all that there are."""

    columns: Mapping[str, RawColumn]
    names: Sequence[str]
    parts: Sequence[RowOrigin]
    rejected: Sequence[RejectedRow]
    #: In JSON an attribute that an event does not have is NULL; a column that a table does not have is an error.
    absent_is_null: bool

    @property
    def rows(self) -> int:
        return sum(len(part.numbers) for part in self.parts)

    @property
    def total(self) -> int:
        return self.rows + len(self.rejected)

    def rejections(self, reasons: Mapping[int, str]) -> list[RejectedRow]:
        """All that is set aside, in order of arrival: what was no row, and the rows that have a reason against them."""
        starts = list(accumulate((len(part.numbers) for part in self.parts), initial=0))
        found = [(rejected.before, 0, rejected) for rejected in self.rejected]
        found += [(position, 1, self._reject(position, reason, starts)) for position, reason in reasons.items()]
        return [rejected for _, _, rejected in sorted(found, key=lambda item: item[:2])]

    def _reject(self, position: int, reason: str, starts: Sequence[int]) -> RejectedRow:
        index = bisect_right(starts, position) - 1
        part, within = self.parts[index], position - starts[index]
        return RejectedRow(position, part.source, part.numbers[within], reason, part.raw(within))


def valid_column_names(names: Iterable[object]) -> list[str]:
    """The names that can be a column's: texts that can be written down, each once, in order."""
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and is_valid_unicode(name)]


def is_valid_unicode(text: str) -> bool:
    """Whether `text` is Unicode; a lone surrogate from a broken escape is not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
