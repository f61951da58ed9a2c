"""Columns from Arrow tables, without a copy where Arrow's memory will do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags
from foretell.events.arrow_interop import nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray
from foretell.events.types import Type
from foretell.filter.column import Column, Values, dtype_of, no_nulls, null_column
from foretell.filter.string_dictionary import StringDictionary


def column_from_arrow(array: ArrowArray, kind: Type, strings: StringDictionary) -> Column:
    """An Arrow column as a column of type `kind`; NaN becomes NULL."""
    if pa.types.is_null(array.type):
        return null_column(kind, len(array))
    if kind is Type.STRING:
        return Column(kind, *strings.encode(array))
    chunks = [_numbers(chunk, kind) for chunk in (array.chunks if isinstance(array, pa.ChunkedArray) else [array])]
    if len(chunks) == 1:
        return Column(kind, *chunks[0])
    values = np.concatenate([np.empty(0, dtype_of(kind)), *(values for values, _ in chunks)])
    return Column(kind, values, np.concatenate([np.empty(0, np.bool_), *(nulls for _, nulls in chunks)]))


def _numbers(chunk: ArrowArray, kind: Type) -> tuple[Values, Flags]:
    plain = chunk
    for target in (ARROW_TYPES[kind], pa.float64() if kind is Type.FLOAT else pa.int64()):
        plain = plain if plain.type == target else plain.cast(target)
    # Most columns have no NULL: their values are Arrow's own memory.
    has_nulls = plain.null_count != 0
    nulls = nulls_of(plain) if has_nulls else no_nulls(len(plain))
    values = np.where(nulls, 0, numpy_of(plain)) if has_nulls else numpy_of(plain)
    if kind is Type.FLOAT and np.isnan(values).any():
        nulls = nulls | np.isnan(values)
    return values, nulls
