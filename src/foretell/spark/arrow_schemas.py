"""Event schemas from Arrow schemas, without any rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from foretell.events.ingest.arrow_columns import ArrowSource, arrow_source, combine_tables
from foretell.events.ingest.reader import StreamDeclaration, cast_events, infer_schema, with_time_column, with_times
from foretell.events.types import Schema


def empty_source(name: str, schema: pa.Schema) -> ArrowSource:
    """Return a source without rows. Each column has an empty chunk: one without chunks would show no type."""
    columns: list[Any] = [pa.chunked_array([pa.array([], field.type)]) for field in schema]
    return arrow_source(name, pa.table(columns, schema=schema), schema.names, None)


def schema_from_arrow(schema: pa.Schema, declaration: StreamDeclaration) -> Schema:
    """Return the schema of a stream whose events have these columns; raise if one cannot have its declared type."""
    raw, declaration = with_time_column(combine_tables([empty_source(declaration.stream, schema)]), declaration)
    raw = with_times(raw, declaration)
    found = infer_schema(raw, declaration)
    cast_events(raw, declaration, declaration.settled(found).attributes)
    return found
