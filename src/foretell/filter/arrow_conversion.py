"""Columns from Arrow tables, without a copy where Arrow's memory will do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags
from foretell.events.arrow_interop import arrow_of, arrow_of_values, nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray
from foretell.events.types import Type
from foretell.filter.column import Column, ColumnValues, dtype_of, may_be_null, no_nulls, null_column
from foretell.filter.string_dictionary import StringDictionary


def column_from_arrow(array: ArrowArray, kind: Type, strings: StringDictionary) -> Column:
    """An Arrow column as a column of type `kind`; NaN becomes NULL."""
    if pa.types.is_null(array.type):
        return null_column(kind, len(array))
    if kind is Type.STRING:
        return Column(kind, *strings.encode(array))
    if isinstance(array, pa.ChunkedArray) and array.num_chunks == 1:
        array = array.chunk(0)
    if not isinstance(array, pa.ChunkedArray):
        return Column(kind, *_numbers(array, kind))
    chunks = [_numbers(chunk, kind) for chunk in array.chunks]
    values = np.concatenate([np.empty(0, dtype_of(kind)), *(values for values, _ in chunks)])
    return Column(kind, values, np.concatenate([np.empty(0, np.bool_), *(nulls for _, nulls in chunks)]))


def arrow_from_column(column: Column, strings: StringDictionary) -> ArrowArray:
    """A column of an attribute's type as an Arrow array."""
    nulls = column.nulls if may_be_null(column.nulls) else None
    if column.kind is not Type.STRING:
        values = column.values != 0 if column.kind is Type.BOOL else column.values
        return arrow_of(values, ARROW_TYPES[column.kind], nulls)
    codes, rows = np.unique(column.values, return_inverse=True)
    # UTF-8 cannot encode a lone surrogate, which a literal may hold.
    texts = [strings.text(code).encode("utf-8", "replace").decode() for code in codes.tolist()]
    indices = arrow_of(rows.astype(np.int32), None, nulls)
    return pa.DictionaryArray.from_arrays(indices, arrow_of_values(texts, Type.STRING)).cast(pa.string())


#: The Arrow types of a column's values: of all but FLOAT, and of FLOAT.
_WORDS = pa.int64(), pa.float64()


def _numbers(chunk: ArrowArray, kind: Type) -> tuple[ColumnValues, Flags]:
    plain = chunk
    if kind is Type.INT and plain.null_count == 0 and pa.types.is_integer(plain.type) and plain.type.bit_width < 64:
        return numpy_of(plain).astype(np.int64), no_nulls(len(plain))
    if kind is Type.BOOL or plain.type.id != _WORDS[kind is Type.FLOAT].id:
        for target in (ARROW_TYPES[kind], _WORDS[kind is Type.FLOAT]):
            plain = plain if plain.type == target else plain.cast(target)
    # Most columns have no NULL: their values are Arrow's own memory.
    has_nulls = plain.null_count != 0
    nulls = nulls_of(plain) if has_nulls else no_nulls(len(plain))
    values = np.where(nulls, 0, numpy_of(plain)) if has_nulls else numpy_of(plain)
    if kind is Type.FLOAT and np.isnan(values).any():
        nulls = nulls | np.isnan(values)
    return values, nulls
