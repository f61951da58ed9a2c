"""Nested Arrow columns: the fields of structs and the elements of lists as columns by their paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.ingest.nested_paths import DEEPEST, ELEMENTS, MOST, Path, name_of, path_of
from foretell.events.ingest.raw_columns import ArrowArray, ArrowType


def with_nested_columns(table: pa.Table, wanted: frozenset[str] | None) -> pa.Table:
    """The table with a column for each path that is `wanted`, or for each scalar where nothing is known of these."""
    present = frozenset(table.column_names)
    names = nested_names(table.schema)[:MOST] if wanted is None else sorted(wanted)
    for name in names:
        path = path_of(name)
        if path is None or name in present or path[0] not in present:
            continue
        column = _at(table.column(str(path[0])), path[1:])
        if column is not None:
            table = table.append_column(name, column)
    return table


def nested_names(schema: pa.Schema) -> list[str]:
    """The paths of all scalars in the structs and lists of a schema."""
    return [name_of(path) for field in schema for path in _leaves(field.type, (field.name,)) if len(path) > 1]


def fields_of(kind: ArrowType, name: str) -> list[str]:
    """The paths of the scalars of one column."""
    return [name_of(path) for path in _leaves(kind, (name,)) if len(path) > 1]


def is_list(kind: ArrowType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _leaves(kind: ArrowType, path: Path) -> Iterator[Path]:
    if len(path) > DEEPEST:
        return
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(field.type, (*path, field.name))
    elif is_list(kind):
        for index in range(ELEMENTS):
            yield from _leaves(kind.value_type, (*path, index))
    else:
        yield path


def _at(column: ArrowArray, steps: Iterable[str | int]) -> ArrowArray | None:
    for step in steps:
        if isinstance(step, str):
            if not pa.types.is_struct(column.type) or column.type.get_field_index(step) < 0:
                return None
            chunks = [pc.struct_field(chunk, [step]) for chunk in column.chunks]
        elif is_list(column.type):
            chunks = [_element(chunk, step) for chunk in column.chunks]
        else:
            return None
        column = pa.chunked_array(chunks, chunks[0].type if chunks else pa.null())
    return column


def _element(lists: ArrowArray, index: int) -> ArrowArray:
    """The elements at an index, NULL where a list is shorter."""
    sizes: ArrowArray = pc.list_value_length(lists)
    lengths = np.where(nulls_of(sizes), 0, numpy_of(sizes)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(lengths) else lengths
    short = lengths <= index
    places = arrow_of(np.where(short, 0, starts + index), pa.int64(), short)
    return lists.flatten().take(places)
