"""Columns of JSON: typed where all values are of one type, else of Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from foretell.events.arrow_compute import pc
from foretell.events.ingest.json_blocks import Chunk, JsonPart, typed_chunk
from foretell.events.ingest.nested_paths import leaf_paths, name_of, path_of, value_at
from foretell.events.ingest.null_markers import NullMarkers
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, RawColumn, TypedColumn
from foretell.events.ingest.text_columns import parse_timestamps
from foretell.events.ingest.time_columns import deciding_times, parse_epochs
from foretell.events.ingest.time_forms import DEFAULT_READING, TimeReading
from foretell.events.types import Type
from foretell.records import record

_FLAT = frozenset({bool, int, float, str})
#: The types to which a column of each type is cast as a whole.
_CAST_AS_WHOLE: Mapping[Type, frozenset[Type]] = {
    Type.BOOL: frozenset({Type.BOOL}),
    Type.INT: frozenset({Type.INT, Type.FLOAT}),
    Type.FLOAT: frozenset({Type.FLOAT}),
    Type.STRING: frozenset({Type.STRING}),
}


@record
class JsonColumn:
    """A column of one type, of which at least one value is not NULL. It is in all respects as a PythonColumn of its
    values, `python`, which it makes only for what needs them one by one.

    In a FLOAT column some numbers may be written as whole ones; at least one is not.
    """

    name: str
    kind: Type
    array: ArrowArray
    written: Callable[[], list[object]]

    @cached_property
    def python(self) -> PythonColumn:
        return PythonColumn(self.name, self.written())

    def infer_type(self) -> Type:
        return self.kind

    def infer_time_type(self) -> Type:
        if self.kind is Type.BOOL:
            return Type.INT  # no value can be a time
        return Type.TIMESTAMP if self.kind is Type.STRING else self.kind

    def cast(self, wanted: Type) -> TypedColumn:
        if wanted is Type.TIMESTAMP:
            return self.cast_times(DEFAULT_READING)
        if wanted not in _CAST_AS_WHOLE[self.kind]:
            return self.python.cast(wanted)
        return TypedColumn(_as(self.array, wanted), {})

    def cast_times(self, reading: TimeReading) -> TypedColumn:
        if self.kind is Type.STRING:
            return parse_timestamps(self.array, self.name, reading)
        if self.kind is Type.INT and reading.time_format is None:
            return parse_epochs(self.array, self.name)
        return self.python.cast_times(reading)

    def time_texts(self) -> list[str]:
        return deciding_times(self.array.drop_null()) if self.kind is Type.STRING else []

    def number_bounds(self) -> tuple[float | Decimal | None, float | Decimal | None]:
        if self.kind is not Type.INT:
            return self.python.number_bounds()
        bounds: Any = pc.min_max(self.array).as_py()
        return bounds["min"], bounds["max"]

    def as_texts(self) -> ArrowArray:
        return self.array if self.kind is Type.STRING else self.python.as_texts()

    def without(self, markers: NullMarkers) -> PythonColumn:
        return self.python.without(markers)

    def value(self, position: int) -> object:
        return self.python.value(position) if self.kind is Type.FLOAT else self.array[position].as_py()


def joined_column(name: str, parts: Sequence[JsonPart]) -> RawColumn:
    """An attribute of all parts."""

    def written() -> list[object]:
        return list(chain.from_iterable(part.values(name) for part in parts))

    chunks = [part.chunk(name) for part in parts]
    if all(chunk is None or isinstance(chunk, list) for chunk in chunks):
        return PythonColumn(name, written())
    typed = [_typed(chunk, len(part.numbers)) for chunk, part in zip(chunks, parts, strict=True)]
    kind = _common_kind(typed)
    if kind is None:
        return PythonColumn(name, written())
    arrays = [_as(chunk, kind) for chunk in typed]
    return JsonColumn(name, kind, pa.chunked_array(arrays, ARROW_TYPES[kind]), written)


def _typed(chunk: Chunk | None, count: int) -> Chunk:
    if chunk is None:
        return pa.nulls(count)
    if not isinstance(chunk, list):
        return chunk
    types = frozenset(map(type, chunk)) - {type(None)}
    return typed_chunk(chunk, types) if types else pa.nulls(count)


def _common_kind(chunks: Iterable[Chunk]) -> Type | None:
    """The type of all chunks; None where there is none."""
    types = {None if isinstance(chunk, list) else chunk.type for chunk in chunks} - {pa.null()}
    if types == {pa.int64(), pa.float64()}:
        return Type.FLOAT
    return next((kind for kind, arrow in ARROW_TYPES.items() if types == {arrow}), None)


def _as(array: ArrowArray, kind: Type) -> ArrowArray:
    """INT as FLOAT, NULLs as any type: a long INT is rounded."""
    wanted = ARROW_TYPES[kind]
    return array if array.type == wanted else pc.cast(array, wanted, safe=False)


# ── nested values ──


def nested_names(columns: Mapping[str, RawColumn]) -> list[str]:
    """The paths of all scalars in objects and lists, in the order of their first appearance."""
    nested = [column for column in columns.values() if isinstance(column, PythonColumn) and not column.types <= _FLAT]
    rows = zip(*(column.values for column in nested), strict=True)
    paths = (leaf_paths(value, (column.name,)) for row in rows for column, value in zip(nested, row, strict=True))
    return [name_of(path) for path in dict.fromkeys(chain.from_iterable(paths)) if len(path) > 1]


def path_column(name: str, parts: Sequence[JsonPart], names: Sequence[str]) -> PythonColumn:
    """The attribute at a path, or of a name that is spelled like one, which comes first: `names` has the attributes."""
    path = path_of(name)
    if path is None:
        return PythonColumn(name, [value for part in parts for value in part.values(name)])
    if name in names:
        return PythonColumn(name, [value_at(row, name) for part in parts for row in part.rows])
    root = str(path[0])
    return PythonColumn(name, [value_at({root: value}, name) for part in parts for value in _roots(part, root)])


def _roots(part: JsonPart, root: str) -> Sequence[object]:
    """The values that a path leads into; a column of one type has only scalars, into which none leads."""
    chunk = part.chunk(root)
    return chunk if isinstance(chunk, list) else [None] * len(part.numbers)
