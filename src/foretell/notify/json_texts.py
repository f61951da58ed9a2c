"""JSON texts of typed Arrow columns, a whole column at once.

The texts are those of msgspec, character by character: numbers in the shortest form that reads back as the same number,
null for NULL and for numbers that JSON does not have. Timestamps are as `format_timestamp` writes them; a binary column
is JSON already.

Arrow joins texts and writes whole numbers and moments; msgspec writes floats, and texts that need escapes, as lines
that are then split: no JSON text has a line break within.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, arrow_of_values, nulls_of, numpy_of, repeated_text
from foretell.events.ingest.raw_columns import ArrowArray, ArrowType
from foretell.events.types import Type, parse_timestamp

_ENCODER = msgspec.json.Encoder()
_TEXT = pa.string()
_LINE_BREAK = "\n"
#: Arrow counts the bytes of all texts of an array in 32 bits.
_MOST_BYTES = 2**31 - 1
#: The moments that have a text of Arrow's fixed width.
_FIRST_MICROS = parse_timestamp("0001-01-01T00:00:00")
_LAST_MICROS = parse_timestamp("9999-12-31T23:59:59.999999")
_SECOND = 1_000_000
_WIDTH = len("2024-01-01 00:00:00.000000")
_WIDTH_OF_SECONDS = len("2024-01-01 00:00:00")
_T_AT = len("2024-01-01")


def json_texts(array: ArrowArray) -> ArrowArray:
    """The JSON text of each value. The texts of one array have 2 GB at most: pass longer columns in parts."""
    return _filled(_texts(array))


def json_objects(columns: Mapping[str, ArrowArray | str], count: int) -> ArrowArray:
    """A JSON object of these columns in each row. A JSON text in place of a column is the same in all rows."""
    parts = _object_parts(columns)
    if len(parts) == 1:
        return repeated_text(parts[0], count)
    scalars = [_scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*scalars, _scalar(""), null_handling="replace", null_replacement="null")


def _object_parts(columns: Mapping[str, ArrowArray | str]) -> list[Any]:
    """Texts that are the same in all rows and columns of texts, by turns. Objects within are parts of the same list:
    joining all of them once is quicker than joining each."""
    parts: list[Any] = ["{"]
    for number, (name, column) in enumerate(columns.items()):
        parts[-1] += f"{',' if number else ''}{_ENCODER.encode(name).decode()}:"
        if isinstance(column, str):
            parts[-1] += column
        elif isinstance(column, pa.StructArray) and not column.null_count:
            first, *more = _object_parts(_fields(column))
            parts[-1] += first
            parts += more
        else:
            parts += [_texts(column), ""]
    parts[-1] += "}"
    return parts


# ── by type: NULL stays NULL, for the one who joins the texts ──


def _texts(array: ArrowArray) -> ArrowArray:
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([_texts(chunk) for chunk in array.chunks], _TEXT)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return array.cast(_TEXT)
    if pa.types.is_binary(kind):
        return array.cast(_TEXT)  # JSON already
    if pa.types.is_floating(kind):
        return _float_texts(array)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _quoted_texts(array)
    if pa.types.is_timestamp(kind):
        return _moment_texts(array)
    if pa.types.is_dictionary(kind):
        return _texts(array.dictionary).take(array.indices)
    if pa.types.is_struct(kind):
        return _struct_texts(array)
    if _is_list(kind):
        return _list_texts(array)
    return _lines(array.to_pylist())


def _is_list(kind: ArrowType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _float_texts(array: ArrowArray) -> ArrowArray:
    numbers = numpy_of(array if array.type == pa.float64() else array.cast(pa.float64()))
    return _with_nulls_of(array, _lines(numbers.tolist()))


def _quoted_texts(array: ArrowArray) -> ArrowArray:
    plain = array.cast(_TEXT)
    if _needs_escapes(plain):
        return _lines(array.to_pylist())
    quote = _scalar('"')
    return pc.binary_join_element_wise(quote, plain, quote, _scalar(""))


def _needs_escapes(texts: ArrowArray) -> bool:
    _, ends, data = texts.buffers()
    if not len(texts) or data is None:
        return False
    bounds = np.frombuffer(ends, np.int32, len(texts) + 1, 4 * texts.offset)
    content = np.frombuffer(data, np.uint8, bounds[-1] - bounds[0], bounds[0])
    return bool((content < ord(" ")).any() or (content == ord('"')).any() or (content == ord("\\")).any())


def _struct_texts(array: ArrowArray) -> ArrowArray:
    return _with_nulls_of(array, json_objects(_fields(array), len(array)))


def _fields(array: ArrowArray) -> dict[str, ArrowArray]:
    """The fields of structs, NULL where the struct is: there the values of a field are arbitrary."""
    return dict(zip([field.name for field in array.type], array.flatten()))


def _list_texts(array: ArrowArray) -> ArrowArray:
    items = _filled(_texts(array.flatten()))
    sizes = numpy_of(pc.fill_null(pc.list_value_length(array), arrow_of(np.zeros(1, np.int32))[0]))
    ends = np.zeros(len(array) + 1, np.int32)
    np.cumsum(sizes, out=ends[1:])
    joined: ArrowArray = pc.binary_join(pa.ListArray.from_arrays(arrow_of(ends), items), _scalar(","))
    joined = _with_nulls_of(array, joined)
    return pc.binary_join_element_wise(_scalar("["), joined, _scalar("]"), _scalar(""))


# ── timestamps ──


def _moment_texts(array: ArrowArray) -> ArrowArray:
    moments = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    if moments.null_count:
        moments = pc.fill_null(moments, arrow_of(np.zeros(1, np.int64))[0])
    micros = numpy_of(moments)
    if len(micros) and (micros.min() < _FIRST_MICROS or micros.max() > _LAST_MICROS):
        raise OverflowError(f"no year from 1 to 9999 has the moment {_outside(micros)} µs after 1970")
    return _with_nulls_of(array, _iso_texts(micros))


def _iso_texts(micros: NDArray[Any]) -> ArrowArray:
    """Moments with a fraction of six digits, or without where it is zero."""
    content: Any = arrow_of(micros, pa.timestamp("us")).cast(_TEXT).buffers()[2]
    spelled = np.frombuffer(content, np.uint8, len(micros) * _WIDTH).reshape(-1, _WIDTH)
    whole = micros % _SECOND == 0
    if whole.all():
        return _fixed_width(spelled[:, :_WIDTH_OF_SECONDS])
    fractions = _fixed_width(spelled)
    if not whole.any():
        return fractions
    return pc.if_else(arrow_of(whole), _fixed_width(spelled[:, :_WIDTH_OF_SECONDS]), fractions)


def _fixed_width(spelled: NDArray[np.uint8]) -> ArrowArray:
    count, width = spelled.shape[0], spelled.shape[1] + len('"Z"')
    if count * width > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"the texts of {count} timestamps have more than {_MOST_BYTES} bytes")
    content = np.empty((count, width), np.uint8)
    content[:, 1:-2] = spelled
    content[:, 1 + _T_AT] = ord("T")
    content[:, -2] = ord("Z")
    content[:, 0] = content[:, -1] = ord('"')
    ends = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    buffers: Any = [None, pa.py_buffer(ends), pa.py_buffer(content)]  # type: ignore[arg-type]
    return pa.Array.from_buffers(_TEXT, count, buffers)


def _outside(micros: NDArray[Any]) -> int:
    return int(micros[(micros < _FIRST_MICROS) | (micros > _LAST_MICROS)][0])


# ── parts ──


def _lines(values: Sequence[object]) -> ArrowArray:
    """Values that msgspec encodes all at once."""
    if not values:
        return pa.nulls(0, _TEXT)
    lines = _ENCODER.encode_lines(values)[:-1].decode()
    return pc.split_pattern(arrow_of_values([lines], Type.STRING), _LINE_BREAK).flatten()


def _filled(texts: ArrowArray) -> ArrowArray:
    return pc.fill_null(texts, _scalar("null")) if texts.null_count else texts


def _with_nulls_of(array: ArrowArray, texts: ArrowArray) -> ArrowArray:
    return pc.if_else(arrow_of(nulls_of(array)), pa.nulls(1, _TEXT)[0], texts) if array.null_count else texts


def _scalar(text: str) -> Any:
    """A text for Arrow's functions, without pandas (see `arrow_interop`)."""
    return arrow_of_values([text], Type.STRING)[0]
