"""Raw columns: the data of a source before its types are settled, and the origin of each row.

Every format is first read into columns of one of three kinds (Python values, texts, Arrow chunks). Types can only be
settled once all data have been seen: a float in the last file widens an INT of the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from foretell.events.types import Type
from foretell.records import record

if TYPE_CHECKING:
    from foretell.events.ingest.null_markers import NullMarkers
    from foretell.events.ingest.time_forms import TimeReading

#: An Array or a ChunkedArray, and a DataType. The stubs' overloads require exact types, which only the data show.
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


@record
class TypedColumn:
    """A column in its type; a row that does not fit is NULL there and has its reason in `misfits`.

    `notes` tell the user what was guessed about the column, such as the unit of its times.
    """

    values: ArrowArray
    misfits: Mapping[int, str]
    notes: tuple[str, ...] = ()


class RawColumn(Protocol):
    """A column as its format has it. It knows its name, for the reasons of misfits."""

    def infer_type(self) -> Type | None:
        """The type that the values show: NULL where there are none, None where no attribute can hold them."""

    def infer_time_type(self) -> Type | None:
        """The same for the time column: only TIMESTAMP, INT, FLOAT (or NULL, or None)."""

    def cast(self, wanted: Type) -> TypedColumn:
        """The column in a type."""

    def cast_times(self, reading: TimeReading) -> TypedColumn:
        """The column as TIMESTAMP."""

    def time_texts(self) -> list[str]:
        """The texts that decide how the column's times are read (time_columns.deciding_times)."""

    def number_bounds(self) -> tuple[float | Decimal | None, float | Decimal | None]:
        """The least and the greatest of the column's numbers."""

    def as_texts(self) -> ArrowArray:
        """The values as texts, for a time that is joined from two columns."""

    def without(self, markers: NullMarkers) -> RawColumn:
        """The column with NULL for the markers; some spellings of numbers show only when the column is cast."""

    def value(self, position: int) -> object:
        """The value at a position, for messages."""


@record
class RowOrigin:
    """A file or a table that rows come from: its name, the rows' numbers in it, and their raw text.

    `columns` are its columns, where all its rows have the same.
    """

    source: str
    numbers: Sequence[int]
    raw: Callable[[int], str]
    columns: Sequence[str] | None = None


@record
class RejectedRow:
    """Input that could not be parsed as a row; it stood directly before the row at position `before`."""

    before: int
    source: str
    row: int
    reason: str
    raw: str


@record
class RawTable:
    """Raw columns of equal length in the order of their first appearance, and the names of all columns of the source,
    also of those that were not read."""

    columns: Mapping[str, RawColumn]
    names: Sequence[str]
    origins: Sequence[RowOrigin]
    rejected: Sequence[RejectedRow]
    #: In JSON an attribute that an event does not have is NULL; a column that a table does not have is an error.
    absent_is_null: bool
    #: What was guessed or converted while reading, for the user.
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(len(origin.numbers) for origin in self.origins)

    @property
    def total(self) -> int:
        return self.rows + len(self.rejected)

    def rejections(self, reasons: Mapping[int, str]) -> list[RejectedRow]:
        """All rejected input in order of arrival: what is no row, and the rows at the positions in `reasons`."""
        ordered = [(rejected.before, 0, rejected) for rejected in self.rejected]
        ordered += [(position, 1, self._reject(position, reason)) for position, reason in reasons.items()]
        return [rejected for _, _, rejected in sorted(ordered, key=lambda item: item[:2])]

    def _reject(self, position: int, reason: str) -> RejectedRow:
        origin, row = self._origin(position)
        return RejectedRow(position, origin.source, origin.numbers[row], reason, origin.raw(row))

    def place(self, position: int) -> tuple[str, int]:
        """The source of a row, and its number there."""
        origin, row = self._origin(position)
        return origin.source, origin.numbers[row]

    def _origin(self, position: int) -> tuple[RowOrigin, int]:
        index = bisect_right(self._starts, position) - 1
        return self.origins[index], position - self._starts[index]

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(origin.numbers) for origin in self.origins), initial=0))


def valid_column_names(names: Iterable[object]) -> list[str]:
    """The names that are valid Unicode strings, each once, in order."""
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and is_valid_unicode(name)]


def is_valid_unicode(text: str) -> bool:
    """Whether `text` can be encoded; a lone surrogate from a broken escape cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
