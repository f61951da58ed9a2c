"""Arrow data that are events already: their columns hold the types of the stream, so nothing is cast or copied.

A live engine gets batch after batch of one Arrow schema. What a schema does not promise is checked for each batch: that
every event has a time, that times and numbers are in their range, and that texts are UTF-8. Where a check fails the
general reader (`reader.read`) takes the batch, and says what is wrong with which row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.events.arrow_interop import numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.ingest.read_options import DEFAULT_OPTIONS
from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_MICROS
from foretell.events.types import LAST_TIME, Schema, Type

#: Says whether a column needs no reading.
Check = Callable[[ArrowArray], bool]


@dataclass(frozen=True)
class DirectReader:
    """Reads the Arrow data of one schema as events of one declaration; `columns` are those to take, with their
    checks."""

    declaration: StreamDeclaration
    arrow: pa.Schema
    schema: Schema
    columns: tuple[tuple[int, Check | None], ...]
    time: int

    @classmethod
    def of(cls, declaration: StreamDeclaration, arrow: pa.Schema, known: Schema | None) -> DirectReader | None:
        """The reader of such data; None where they must be cast, or more is asked for than to read them.

        `known` is the stream's schema so far. Where it stays equal it stays the same object, by which others know.
        """
        kinds = {name: declaration.declared_type(name) for name in declaration.columns}
        names, types = arrow.names, dict[str, Type]()
        for name, kind in kinds.items():
            if kind is None or names.count(name) != 1 or not _holds(arrow.field(name).type, kind):
                return None
            types[name] = kind
        plain = declaration.read == DEFAULT_OPTIONS and not declaration.derived.names
        if declaration.open or not plain or not declaration.time:
            return None
        columns = tuple((names.index(name), _CHECKS.get(kind)) for name, kind in types.items())
        schema = declaration.schema(types)
        schema = known if known is not None and schema == known else schema
        return cls(declaration, arrow, schema, columns, list(types).index(declaration.time))

    def read(self, source: pa.Table | pa.RecordBatch) -> EventBatch | None:
        """The events; None where something is wrong with them."""
        table = source.select([index for index, _ in self.columns])
        for at, (_, check) in enumerate(self.columns):
            if check is not None and not check(table.column(at)):
                return None
        if not _are_times(table.column(self.time)):
            return None
        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        return EventBatch(self.declaration.stream, self.schema, table, (), table.num_rows)


def _holds(arrow: ArrowType, kind: Type) -> bool:
    """Whether all values of an Arrow type are of an attribute's type. Who reads the column widens numbers."""
    if kind is Type.STRING and pa.types.is_dictionary(arrow):
        return bool(pa.types.is_string(arrow.value_type))
    if kind is Type.INT:
        return pa.types.is_integer(arrow) and not pa.types.is_uint64(arrow)
    if kind is Type.FLOAT and pa.types.is_float32(arrow):
        return True
    return kind in ARROW_TYPES and arrow == ARROW_TYPES[kind]


def _are_numbers(column: ArrowArray) -> bool:
    """Whether no FLOAT is NaN, which would be NULL. The value at a NULL is arbitrary."""
    return not np.isnan(numpy_of(column)).any()


def _are_texts(column: ArrowArray) -> bool:
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        texts: Any = chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:  # not UTF-8
            return False
    return True


def _are_in_range(column: ArrowArray) -> bool:
    micros = numpy_of(column.view(pa.int64()) if isinstance(column, pa.Array) else column.cast(pa.int64()))
    return not len(micros) or bool(micros.min() >= LEAST_MICROS and micros.max() <= LAST_MICROS)


def _are_times(column: ArrowArray) -> bool:
    if column.null_count:
        return False
    if pa.types.is_timestamp(column.type) or not len(column):
        return True
    times = numpy_of(column)
    if pa.types.is_floating(column.type):
        return bool(np.isfinite(times).all())
    return bool(times.min() >= -LAST_TIME and times.max() <= LAST_TIME)


_CHECKS: dict[Type, Check] = {Type.FLOAT: _are_numbers, Type.STRING: _are_texts, Type.TIMESTAMP: _are_in_range}
