"""Columns: the values of an attribute or an expression in every row of a batch, with a mask of NULLs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Appendable, Flags, Ints
from foretell.events.types import Type
from foretell.records import record

ColumnValues: TypeAlias = NDArray[Any]


@record
class Column:
    """The values of one attribute or expression. Rows where `nulls` is set are NULL; their `values` mean nothing.

    FLOAT is float64; all other types are int64: TIMESTAMP and DURATION in microseconds, BOOL as 0 and 1, STRING as
    codes of a `StringDictionary`. A column of one row stands for a constant: NumPy broadcasts it.
    """

    kind: Type
    values: ColumnValues
    nulls: Flags

    def take(self, rows: Ints | Flags) -> Column:
        """The given rows, by number or by mask."""
        values = self.values[rows]
        return Column(self.kind, values, self.nulls[rows] if may_be_null(self.nulls) else no_nulls(len(values)))


#: An array without NULL, and a view of its first rows: all columns of a batch have the same number of them.
_NO_NULLS: list[Flags] = [np.zeros(1024, np.bool_)]
_NO_NULLS.append(_NO_NULLS[0][:1])


def no_nulls(count: int) -> Flags:
    """A mask of `count` rows without NULL: a view of one shared array, which callers must not write to."""
    view = _NO_NULLS[1]
    if len(view) == count:
        return view
    if count > len(_NO_NULLS[0]):
        _NO_NULLS[0] = np.zeros(max(count, 2 * len(_NO_NULLS[0])), np.bool_)
    view = _NO_NULLS[1] = _NO_NULLS[0][:count]
    return view


def may_be_null(nulls: Flags) -> bool:
    """Whether the mask may mark a row; the test takes constant time, because `no_nulls` is recognised by identity."""
    return nulls.base is not _NO_NULLS[0] and (len(nulls) != 1 or bool(nulls[0]))


def repeated(value: int, count: int) -> Ints:
    """One value in all of `count` rows, without memory for each; callers must not write to it."""
    return _endless(value)[:count]


@lru_cache(maxsize=256)
def _endless(value: int) -> Ints:
    return np.broadcast_to(np.int64(value), 1 << 40)


_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)


def dtype_of(kind: Type) -> np.dtype[Any]:
    return _FLOAT if kind is Type.FLOAT else _INT


class AppendableColumn:
    """A column that rows are appended to. Views of what is there stay as they are."""

    def __init__(self, kind: Type) -> None:
        self.kind = kind
        self._values, self._nulls = Appendable(dtype_of(kind)), Appendable(np.bool_)

    @property
    def column(self) -> Column:
        return Column(self.kind, self._values.array, self._nulls.array)

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self._nulls.nbytes

    def append(self, column: Column) -> None:
        self._values.append(column.values)
        self._nulls.append(column.nulls)


def null_column(kind: Type, count: int) -> Column:
    """A column of NULLs."""
    return Column(kind, np.zeros(count, dtype_of(kind)), np.ones(count, np.bool_))


def constant(kind: Type, value: bool | int | float) -> Column:
    """A column of one row, which callers must not write to. BOOL is NumPy's own during evaluation."""
    return _known_constant(kind, value) if value else _new_constant(kind, value)  # 0.0 equals -0.0


def _new_constant(kind: Type, value: bool | int | float) -> Column:
    return Column(kind, np.array([value], np.bool_ if kind is Type.BOOL else dtype_of(kind)), np.zeros(1, np.bool_))


_known_constant = lru_cache(maxsize=1024)(_new_constant)


def null_constant(kind: Type) -> Column:
    return Column(kind, constant(kind, 0).values, np.ones(1, np.bool_))


def as_float(column: Column) -> Column:
    if column.kind is Type.FLOAT:
        return column
    return Column(Type.FLOAT, column.values.astype(np.float64, copy=False), column.nulls)


def as_declared(column: Column, kind: Type) -> Column:
    """The column as its declared type, which may be wider: an INT column of a FLOAT or TIMESTAMP attribute."""
    if column.kind is Type.INT and kind is Type.FLOAT:
        return as_float(column)
    if column.kind is Type.INT and kind is Type.TIMESTAMP:
        return Column(kind, column.values, column.nulls)
    return column


def concatenate_columns(columns: Sequence[Column], kind: Type) -> Column:
    """Columns below one another; a single column is returned as it is."""
    if len(columns) == 1:
        return columns[0]
    values = np.concatenate([np.zeros(0, dtype_of(kind)), *[column.values for column in columns]])
    if not any(map(may_be_null, [column.nulls for column in columns])):
        return Column(kind, values, no_nulls(len(values)))
    return Column(kind, values, np.concatenate([column.nulls for column in columns]))
