"""Nested columns of Spark frames, and times that are joined from two columns, as columns of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, StructType

from foretell.events.ingest.nested_paths import DEEPEST, ELEMENTS, MOST, Path, name_of, path_of
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.time_column import JOINED
from foretell.spark.column_names import column


def flattened(frame: DataFrame, declaration: StreamDeclaration) -> tuple[DataFrame, StreamDeclaration]:
    """Return a frame with the columns that a declaration names by paths, or with all of them where it is open; and the
    declaration for this frame."""
    names = list(_scalars(frame.schema))[:MOST] if declaration.open else sorted(declaration.wanted)
    nested = [n for n in names if n not in frame.columns and (p := path_of(n)) and p[0] in frame.columns]
    paths = [path for path in map(path_of, nested) if path is not None and _exists(frame.schema, path)]
    frame = frame.select("*", *(_at(path).alias(name_of(path)) for path in paths)) if paths else frame
    columns = declaration.read.time_columns
    if columns is None or JOINED in frame.columns or not set(columns) <= set(frame.columns):
        return frame, declaration
    first, other = (column(name).cast("string") for name in columns)
    joined = f.concat(first, f.lit(" "), other).alias(JOINED)
    return frame.select("*", joined), replace(declaration, read=replace(declaration.read, time_columns=None))


def _scalars(schema: StructType) -> Iterator[str]:
    return (name_of(path) for field in schema for path in _leaves(field.dataType, (field.name,)) if len(path) > 1)


def _leaves(kind: DataType, path: Path) -> Iterator[Path]:
    if len(path) > DEEPEST:
        return
    if isinstance(kind, StructType):
        for field in kind:
            yield from _leaves(field.dataType, (*path, field.name))
    elif isinstance(kind, ArrayType):
        for index in range(ELEMENTS):
            yield from _leaves(kind.elementType, (*path, index))
    else:
        yield path


def _exists(schema: StructType, path: Path) -> bool:
    kind: DataType = schema
    for step in path:
        if isinstance(step, str) and isinstance(kind, StructType) and step in kind.names:
            kind = kind[step].dataType
        elif isinstance(step, int) and isinstance(kind, ArrayType):
            kind = kind.elementType
        else:
            return False
    return True


def _at(path: Path) -> Column:
    nested = column(str(path[0]))
    for step in path[1:]:
        nested = nested.getField(step) if isinstance(step, str) else f.get(nested, f.lit(step))
    return nested
