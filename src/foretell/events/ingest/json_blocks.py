"""Blocks of JSON lines that msgspec decodes at once, straight into typed columns.

Decoding every line into a dict takes most of the time of reading. Where the attributes of a file and their types are
known from its first lines, msgspec decodes a block of lines into structs instead, and accepts a value only in the type
of its attribute. It refuses a block with anything else in it: an unknown attribute, a text among numbers, a line that
is no JSON. The caller then decodes that block line by line, and the block's rows show what was new.

A block is decoded at once only if every line break in it stands between '}' and '{'. No string has a line break within,
and within an object or a list '}' and '{' have a comma between them; so each line begins with an object. If there are
as many objects as lines, each line is exactly one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np

from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Type
from foretell.records import record

Row: TypeAlias = Mapping[str, object]
#: The values of an attribute in consecutive rows: typed (BOOL, INT, FLOAT or STRING), or any Python values.
Chunk: TypeAlias = ArrowArray | list[object]

#: What decoding raises where the content is not as it should be.
DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
#: More attributes, of which most events have only a few, make structs that are larger than dicts.
_MOST_ATTRIBUTES = 256
_BREAK, _RETURN, _OPEN, _CLOSE = b"\n\r{}"
#: A name that msgspec does not take for a field of a struct.
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
#: The type in which an attribute is decoded, by the Python types of its values.
_DECODED: Mapping[frozenset[type], Any] = {
    frozenset(): None,
    frozenset({bool}): bool | None,
    frozenset({int}): int | None,
    frozenset({float}): float | None,
    frozenset({int, float}): float | None,
    frozenset({str}): str | None,
}


class JsonPart(Protocol):
    """Consecutive rows of a file, with their numbers (of the line, or of the element of an array). Each number without
    a row has its reason."""

    @property
    def numbers(self) -> Sequence[int]: ...

    @property
    def reasons(self) -> Mapping[int, str]: ...

    @property
    def names(self) -> Iterable[str]:
        """The attributes in the order of their first appearance."""

    @property
    def rows(self) -> Sequence[Row]: ...

    def chunk(self, name: str) -> Chunk | None:
        """The values of an attribute; None where all are NULL."""

    def values(self, name: str) -> list[object]:
        """The same as Python values, exactly as they are written."""

    def text(self, number: int) -> str:
        """The text of a line or an element."""


@record
class JsonRows:
    """Rows that were decoded one by one."""

    rows: list[Row]
    numbers: Sequence[int]
    reasons: Mapping[int, str]
    texts: Callable[[int], str]

    @cached_property
    def names(self) -> Iterable[str]:
        return dict.fromkeys(name for row in self.rows for name in row)

    def chunk(self, name: str) -> Chunk | None:
        return self.values(name)

    def values(self, name: str) -> list[object]:
        return [row.get(name) for row in self.rows]

    def text(self, number: int) -> str:
        return self.texts(number)


@record
class JsonBlock:
    """Rows that were decoded at once: a line each, without exception. `columns` has the attributes that are read.

    The block is bytes `start` to `end` of the file; it is cut out again when a line is asked for, as a copy of every
    block would take the memory of the file once more."""

    file: bytes
    start: int
    end: int
    numbers: range
    names: Iterable[str]
    columns: Mapping[str, Chunk]
    reasons: Mapping[int, str]

    @property
    def _content(self) -> bytes:
        return self.file[self.start : self.end]

    @property
    def rows(self) -> Sequence[Row]:
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(self._content)

    def chunk(self, name: str) -> Chunk | None:
        return self.columns.get(name)

    def values(self, name: str) -> list[object]:
        """A FLOAT may be written as a whole number, which its column does not show."""
        chunk = self.columns.get(name)
        if chunk is None:
            return [None] * len(self.numbers)
        if isinstance(chunk, list):
            return chunk
        return self._written(name) if chunk.type == "double" else chunk.to_pylist()

    def _written(self, name: str) -> list[object]:
        struct = msgspec.defstruct("JsonValue", [("value", Any, None)], rename={"value": name}, gc=False)
        rows: Sequence[Any] = msgspec.json.Decoder(struct).decode_lines(self._content)
        return [row.value for row in rows]

    def text(self, number: int) -> str:
        return self._content.split(b"\n")[number - self.numbers.start].decode("utf-8", "replace").strip()


class BlockDecoder:
    """Decodes blocks by the attributes and types that earlier rows have shown. `wanted` are the attributes to read, all
    of them if it is None."""

    def __init__(self, wanted: frozenset[str] | None) -> None:
        self._wanted = wanted
        self._types: dict[str, frozenset[type]] = {}
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._names: tuple[str, ...] = ()

    def learn(self, part: JsonRows) -> None:
        """Take in the attributes of rows, and the types of their values."""
        seen = {name: frozenset(map(type, part.values(name))) - {type(None)} for name in part.names}
        types = {**self._types, **{name: found | self._types.get(name, frozenset()) for name, found in seen.items()}}
        if types != self._types:
            self._types = types
            self._names = tuple(types)
            self._decoder = self._made()

    def _made(self) -> msgspec.json.Decoder[Any] | None:
        if len(self._names) > _MOST_ATTRIBUTES or any(map(_ESCAPED.search, self._names)):
            return None
        fields = [(f"f{n}", _DECODED.get(self._types[name], Any), None) for n, name in enumerate(self._names)]
        names = {f"f{n}": name for n, name in enumerate(self._names)}
        struct = msgspec.defstruct("JsonLine", fields, rename=names, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(struct)

    def decode(self, file: bytes, start: int, end: int, line: int) -> JsonBlock | None:
        """The rows of whole lines of a file, bytes `start` to `end`, the first of which has the number `line`; None
        where something is out of the ordinary."""
        content = file[start:end]
        lines = _lines_of_objects(content) if self._decoder is not None else 0
        if self._decoder is None or not lines:
            return None
        try:
            rows = self._decoder.decode_lines(content)
        except DECODE_ERRORS:
            return None
        if len(rows) != lines:
            return None
        read = [n for n, name in enumerate(self._names) if self._types[name] and self._is_wanted(name)]
        columns = {self._names[n]: _chunk(rows, f"f{n}", self._types[self._names[n]]) for n in read}
        return JsonBlock(file, start, end, range(line, line + lines), self._names, columns, {})

    def _is_wanted(self, name: str) -> bool:
        return self._wanted is None or name in self._wanted


def _lines_of_objects(content: bytes) -> int:
    """The number of lines, if every line break stands between '}' and '{'; else 0."""
    data = np.frombuffer(content, np.uint8)
    breaks = np.flatnonzero(data == _BREAK)
    at_end = len(breaks) > 0 and breaks[-1] == len(data) - 1
    ends = breaks if at_end else np.append(breaks, len(data))
    starts = breaks[:-1] + 1 if at_end else breaks + 1
    lasts = data[ends - 1]
    if (lasts == _RETURN).any():
        lasts = np.where(lasts == _RETURN, data[ends - 2], lasts)
    is_whole = data[0] == _OPEN and (data[starts] == _OPEN).all() and (lasts == _CLOSE).all()
    return len(ends) if is_whole else 0


def _chunk(rows: Sequence[Any], field: str, types: frozenset[type]) -> Chunk:
    """The values of a field, in Arrow's layout if they are of one type."""
    values = list(map(attrgetter(field), rows))
    try:
        if types == {int}:
            return arrow_of(np.fromiter(values, np.int64, len(rows)))
        if types <= {int, float}:
            numbers = np.fromiter(values, np.float64, len(rows))
            nulls = np.isnan(numbers)  # of None: JSON has no NaN
            return arrow_of(numbers, nulls=nulls if nulls.any() else None)
    except (TypeError, OverflowError):  # a NULL, a number that does not fit
        pass
    return typed_chunk(values, types)


def typed_chunk(values: list[Any], types: frozenset[type]) -> Chunk:
    """Values in Arrow's layout, if they are of one type and all fit; else as they are."""
    kind = _TYPES.get(types)
    if kind is None or (float in types and any(value != value for value in values)):
        return values  # NaN would be NULL
    try:
        return arrow_of_values(values, kind)
    except (OverflowError, UnicodeEncodeError):
        return values


_TYPES: Mapping[frozenset[type], Type] = {
    frozenset({bool}): Type.BOOL,
    frozenset({int}): Type.INT,
    frozenset({float}): Type.FLOAT,
    frozenset({int, float}): Type.FLOAT,
    frozenset({str}): Type.STRING,
}
