"""Arrow kernels on texts: they parse a whole column at once, to exactly the values of `scalar_parsing`, or not at all.

Arrow's parsers accept a little more than ours: '0x1f' is a whole number to them, 'nan(1)' a float, '1' true, and the
year 0000 has times. Columns with such texts show it by a few characters, or by values out of range; the caller then
parses their texts one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, nan_to_null, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray
from foretell.events.ingest.scalar_parsing import BOOL_TEXT, FLOAT_TEXT
from foretell.events.types import Type, parse_timestamp

#: The least and the last moment that a text can have; by an offset a text of the year 0 can be in the year 1.
_LEAST_MICROS = parse_timestamp("0001-01-02T00:00:00")
_LAST_MICROS = parse_timestamp("9999-12-31T23:59:59.999999")
#: Texts that are parsed first: most columns of another type show it there.
_HEAD = 64
#: Characters of the texts that only Arrow's parser accepts. Every spelling of NaN and infinity has an n.
_FOREIGN: Mapping[Type, bytes] = {Type.INT: b"xX", Type.FLOAT: b"nN", Type.BOOL: b"01"}
#: The usual spellings, of which Arrow parses every one.
_USUAL: Mapping[Type, str] = {
    Type.INT: r"^-?[0-9]{1,18}$",
    Type.FLOAT: r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$",
    Type.BOOL: rf"^{BOOL_TEXT}$",
}
_TRUE = arrow_of(np.ones(1, np.bool_))[0]
_SIGNS = np.frombuffer(b"+-", np.uint8)
_COLON_AT = 13  # in '2024-01-01T00:00'


def parse_texts(texts: ArrowArray, kind: Type) -> ArrowArray | None:
    """The values of all texts; None where one of them is no such value, or is spelled otherwise than Arrow knows."""
    if kind is Type.TIMESTAMP:
        return _parse_moments(texts)
    values = _cast(texts, ARROW_TYPES[kind])
    if values is None or not has_any(texts, _FOREIGN[kind]):
        return values
    return nan_to_null(values) if kind is Type.FLOAT and all_match(texts, FLOAT_TEXT) else None


def parse_most(texts: ArrowArray, kind: Type) -> tuple[ArrowArray, list[int]] | None:
    """The values of the texts in the usual spelling, NULL for all others, and the positions of those; None where these
    are most of them. For INT, FLOAT and BOOL."""
    usual: ArrowArray = pc.match_substring_regex(texts, _USUAL[kind])
    others = np.flatnonzero(~numpy_of(pc.fill_null(usual, _TRUE)))
    if 2 * len(others) > len(texts):
        return None
    values = _cast(pc.if_else(usual, texts, pa.nulls(1, pa.string())[0]), ARROW_TYPES[kind])
    return None if values is None else (values, others.tolist())


def all_match(texts: ArrowArray, pattern: str) -> bool:
    """Whether every text that is not NULL matches `pattern` as a whole."""
    whole = f"^(?:{pattern})$"
    return _match(texts[:_HEAD], whole) and _match(texts, whole)


def _match(texts: ArrowArray, whole: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, whole), min_count=0).as_py())


def has_any(texts: ArrowArray, characters: bytes) -> bool:
    """Whether one of these characters is in one of the texts."""
    return any(character in content for content in _contents(texts) for character in characters)


def has_leading_zeros(texts: ArrowArray) -> bool:
    """Whether one of these numbers begins with a zero that another digit follows."""
    for data, starts, sizes in _layouts(texts):
        signed = np.isin(data[starts], _SIGNS)
        first, digits = starts + signed, sizes - signed
        zero = first[(digits > 1) & (data[np.minimum(first, len(data) - 1)] == ord("0"))]
        if (data[zero + 1] - ord("0") < 10).any():  # of unsigned bytes: those below '0' are large
            return True
    return False


def has_clock_times(texts: ArrowArray) -> bool:
    """Whether each of these ISO texts has at least hours and minutes."""
    for data, starts, sizes in _layouts(texts):
        if (sizes <= _COLON_AT).any() or (data[starts + _COLON_AT] != ord(":")).any():
            return False
    return True


def _parse_moments(texts: ArrowArray) -> ArrowArray | None:
    """ISO 8601: all of them without an offset, which then are UTC, or all of them with one."""
    for kind in (pa.timestamp("us"), ARROW_TYPES[Type.TIMESTAMP]):
        moments = _cast(texts, kind)
        if moments is not None:
            micros: ArrowArray = moments.cast(pa.int64())
            bounds: Any = pc.min_max(micros).as_py()
            within = bounds["min"] is None or (bounds["min"] >= _LEAST_MICROS and bounds["max"] <= _LAST_MICROS)
            return micros.cast(ARROW_TYPES[Type.TIMESTAMP]) if within else None
    return None


def _cast(texts: ArrowArray, kind: Any) -> ArrowArray | None:
    try:
        pc.cast(texts[:_HEAD], kind)
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


def _contents(texts: ArrowArray) -> Iterator[bytes]:
    for data, starts, sizes in _layouts(texts):
        if len(starts):
            yield data[starts[0] : starts[-1] + sizes[-1]].tobytes()


def _layouts(texts: ArrowArray) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """The bytes of each chunk, and the starts and sizes of its texts that are not NULL."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        present = chunk.drop_null() if chunk.null_count else chunk
        buffers: Any = present.buffers()
        _, offsets, data = buffers
        if not len(present):
            continue
        ends = np.frombuffer(offsets, np.int32, len(present) + 1, 4 * present.offset)
        content = np.zeros(1, np.uint8) if not data else np.frombuffer(data, np.uint8)
        yield content, ends[:-1], np.diff(ends)
