"""Arrow to NumPy and Python values to Arrow, without pandas.

`pa.array`, `pa.scalar`, `np.asarray(arrow)` and functions that convert a Python value for Arrow (`fill_null(0)`) load
pandas where it is installed, to check for pandas objects: a fifth of the start-up time. Here the types are known, and
Arrow's columns are buffers that NumPy can read and fill.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags
from foretell.events.arrow_compute import pc
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.types import Scalar, Type

#: Arrow counts the bytes of all strings of an array in 32 bits.
_MOST_BYTES = 2**31 - 1


def numpy_of(array: ArrowArray) -> NDArray[Any]:
    """Numbers or booleans, read-only, without a copy if they are one chunk. The value at a NULL is arbitrary."""
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks == 1:
            return numpy_of(array.chunk(0))
        return np.concatenate([np.empty(0, _dtype_of(array.type)), *map(numpy_of, array.chunks)])
    dtype, count = _dtype_of(array.type), len(array)
    if not count:
        return np.empty(0, dtype)
    if dtype.kind != "b":
        return numbers_of(array, dtype)
    first, data = array.offset, array.buffers()[1]
    bits = np.frombuffer(data, np.uint8, (first % 8 + count + 7) // 8, first // 8)
    return np.unpackbits(bits, bitorder="little")[first % 8 : first % 8 + count].view(np.bool_)


def numbers_of(array: ArrowArray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same of one or more numbers in one chunk, of a known type."""
    values = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
    values.setflags(write=False)  # always: kernels are compiled for read-only arrays
    return values


def _dtype_of(kind: ArrowType) -> np.dtype[Any]:
    dtype = _DTYPES.get(kind.id)
    return np.dtype(kind.to_pandas_dtype()) if dtype is None else dtype


#: By the numbers of Arrow's types, because an Arrow type has to be written as text to be hashed.
_DTYPES = {
    kind.id: np.dtype(kind.to_pandas_dtype())
    for kind in (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
} | {kind.id: np.dtype(kind.to_pandas_dtype()) for kind in (pa.uint64(), pa.float32(), pa.float64())}


def take_rows(table: pa.Table, order: ArrowArray) -> pa.Table:
    """The rows of a table in another order, also of a table with more than 2 GB of texts.

    Arrow's `take` merges the chunks of a column into one, which holds 2 GB of texts at most.
    """
    if table.nbytes <= _MOST_BYTES:
        return table.take(order)
    wide = [f.with_type(pa.large_string()) if f.type == pa.string() else f for f in table.schema]
    whole = table.cast(pa.schema(wide)).combine_chunks()
    rows = max(
        1, table.num_rows * _MOST_BYTES // (4 * table.nbytes)
    )  # a quarter of the limit, as some texts are longer
    parts = [whole.take(order.slice(first, rows)).cast(table.schema) for first in range(0, len(order), rows)]
    return pa.concat_tables(parts)


def nulls_of(array: ArrowArray) -> Flags:
    return numpy_of(pc.is_null(array))


def arrow_of(values: NDArray[Any], kind: ArrowType | None = None, nulls: Flags | None = None) -> ArrowArray:
    """Numbers or booleans as an Arrow array of a type with the same memory layout."""
    data = np.packbits(values, bitorder="little") if values.dtype.kind == "b" else np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype) if kind is None else kind
    return pa.Array.from_buffers(kind, len(values), [_validity(nulls), buffer_of(data)])


def arrow_of_values(values: Sequence[Scalar], kind: Type) -> ArrowArray:
    """Python values of an attribute's type; None and NaN are NULL, a timestamp is its microseconds."""
    nulls = np.fromiter((v is None for v in values), np.bool_, len(values)) if None in values else None
    present = values if nulls is None else [("" if kind is Type.STRING else 0) if v is None else v for v in values]
    if kind is Type.STRING:
        return _texts(present, nulls)
    dtype = np.bool_ if kind is Type.BOOL else np.float64 if kind is Type.FLOAT else np.int64
    numbers = np.array(present, dtype)
    if kind is Type.FLOAT and np.isnan(numbers).any():
        nulls = np.isnan(numbers) if nulls is None else nulls | np.isnan(numbers)
    return arrow_of(numbers, ARROW_TYPES[kind], nulls)


def repeated_text(text: str, count: int) -> ArrowArray:
    """The same text in each row."""
    data = text.encode()
    if len(data) * count > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"{count} texts of {len(data)} bytes are more than a column can hold")
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(data))
    return pa.Array.from_buffers(pa.string(), count, [None, buffer_of(ends), pa.py_buffer(data * count)])


def nan_to_null(array: ArrowArray) -> ArrowArray:
    """FLOATs, where NaN is NULL."""
    return pc.if_else(pc.is_nan(array), pa.nulls(1, array.type)[0], array)


def _texts(texts: Sequence[Any], nulls: Flags | None) -> ArrowArray:
    joined = "".join(texts)
    data = joined.encode()
    sizes: Iterable[int] = map(len, texts if len(data) == len(joined) else map(str.encode, texts))
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(sizes, np.int64, len(texts)), out=ends[1:])
    if ends[-1] > _MOST_BYTES:
        return pa.array(texts, pa.string(), mask=nulls)  # in several chunks
    buffers = [_validity(nulls), buffer_of(ends.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _validity(nulls: Flags | None) -> pa.Buffer | None:
    return None if nulls is None else buffer_of(np.packbits(~nulls, bitorder="little"))


def buffer_of(array: Any) -> pa.Buffer:
    return pa.py_buffer(array)


# ── tables as bytes (Arrow IPC) ──


def table_to_bytes(table: pa.Table, *, compress: bool = False) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4" if compress else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def table_from_bytes(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
