"""Arrow data that are events already: their columns hold the types of the stream, so nothing is cast or copied.

A live engine gets batch after batch of one Arrow schema. What a schema does not promise is checked for each batch: that
every event has a time, that times and numbers are in their range, and that texts are UTF-8. Where a check fails the
general reader (`reader.read`) takes the batch, and says what is wrong with which row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.arrow_interop import numpy_of
from foretell.events.ingest.known_columns import KnownColumns, span_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.ingest.read_options import DEFAULT_OPTIONS
from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_MICROS
from foretell.events.types import LAST_TIME, Schema, Type
from foretell.records import record

#: The types of columns that are taken as they are.
DTYPES = {Type.INT: np.dtype(np.int64), Type.FLOAT: np.dtype(np.float64)}


@record
class DirectReader:
    """Reads the Arrow data of one schema as events of one declaration; `places` are the numbers of the columns to take,
    `checked` the names, types and places of those that may hold what is no event."""

    declaration: StreamDeclaration
    schema: Schema
    places: list[int]
    takes_all: bool
    checked: list[tuple[str, Type, int]]

    @classmethod
    def of(cls, declaration: StreamDeclaration, arrow: pa.Schema, known: Schema | None) -> DirectReader | None:
        """The reader of such data; None where they must be cast, or more is asked for than to read them.

        `known` is the stream's schema so far. Where it stays equal it stays the same object, by which others know.
        """
        types, names = plain_types(declaration), arrow.names
        if types is None:
            return None
        for name, kind in types.items():
            if names.count(name) != 1 or not _holds(arrow.field(name).type, kind):
                return None
        schema = kept_schema(declaration.schema(types), known)
        places = [names.index(name) for name in types]
        checked = [
            (name, kind, place)
            for (name, kind), place in zip(types.items(), places, strict=True)
            if kind in (Type.STRING, Type.FLOAT, Type.TIMESTAMP) or name == schema.time
        ]
        return cls(declaration, schema, places, places == list(range(len(names))), checked)

    def read(self, source: pa.Table | pa.RecordBatch) -> EventBatch | None:
        """The events; None where something is wrong with them."""
        batch = EventBatch(self.declaration.stream, self.schema, self._table(source), (), source.num_rows)
        for name, kind, place in self.checked:
            column = source.column(place)
            if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
                column = column.chunk(0)
            if kind is Type.STRING:
                fits = _are_texts(column)
                if not isinstance(column, pa.ChunkedArray):
                    batch.known.texts[name] = column
            elif kind is Type.TIMESTAMP:
                fits = _are_in_range(column)
            else:
                fits = self._are_numbers(column, name, kind, batch.known)
            if not fits or (name == self.schema.time and column.null_count):
                return None
        return batch

    def _table(self, source: pa.Table | pa.RecordBatch) -> pa.Table:
        if not self.takes_all:
            source = source.select(self.places)
        return pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source

    def _are_numbers(self, column: ArrowArray, name: str, kind: Type, known: KnownColumns) -> bool:
        """Whether all numbers are in their range, and no FLOAT is NaN, which would be NULL. (The value at a NULL is
        arbitrary.)"""
        values = numpy_of(column)
        if name == self.schema.time:
            if not are_times(values, known):
                return False
        elif kind is Type.FLOAT and len(values) and math.isnan(least_of(values)):
            return False  # (the least of numbers is NaN where any is)
        if values.dtype == DTYPES[kind] and not column.null_count:
            known.numbers[name] = values
        return True


def plain_types(declaration: StreamDeclaration) -> dict[str, Type] | None:
    """The types of all columns; None where one is not known, or more is asked for than to read them."""
    kinds = {name: declaration.declared_type(name) for name in declaration.columns}
    types = {name: kind for name, kind in kinds.items() if kind is not None}
    plain = declaration.read == DEFAULT_OPTIONS and not declaration.derived.names
    if declaration.open or not plain or not declaration.time or len(types) < len(kinds):
        return None
    return types


def kept_schema(schema: Schema, known: Schema | None) -> Schema:
    """A schema; the one that is known where they are equal."""
    return known if known is not None and schema == known else schema


def _holds(arrow: ArrowType, kind: Type) -> bool:
    """Whether all values of an Arrow type are of an attribute's type. Who reads the column widens numbers."""
    if kind is Type.STRING and pa.types.is_dictionary(arrow):
        return bool(pa.types.is_string(arrow.value_type))
    if kind is Type.INT:
        return pa.types.is_integer(arrow) and not pa.types.is_uint64(arrow)
    if kind is Type.FLOAT and pa.types.is_float32(arrow):
        return True
    return kind in ARROW_TYPES and arrow == ARROW_TYPES[kind]


def _are_texts(column: ArrowArray) -> bool:
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        texts: Any = chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:  # not UTF-8
            return False
    return True


def least_of(values: NDArray[Any]) -> float:
    """The least of one or more numbers."""
    return float(values.item() if len(values) == 1 else np.minimum.reduce(values))


def _are_in_range(column: ArrowArray) -> bool:
    micros = numpy_of(column.view(pa.int64()) if isinstance(column, pa.Array) else column.cast(pa.int64()))
    return not len(micros) or bool(micros.min() >= LEAST_MICROS and micros.max() <= LAST_MICROS)


def are_times(times: NDArray[Any], known: KnownColumns) -> bool:
    """Whether numbers are times in their range, whose span is known then."""
    if not len(times):
        return True
    known.span = span = span_of(times)
    if times.dtype.kind == "f":
        return math.isfinite(span.earliest) and math.isfinite(span.latest)
    return span.earliest >= -LAST_TIME and span.latest <= LAST_TIME
