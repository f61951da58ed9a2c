"""Dicts that are events already: their values have the Python types of the stream's attributes.

A live engine gets event after event of one stream. Lists of dicts whose values fit become columns at once; with any
other value the general reader (`reader.read`) takes the list, and says what is wrong with which row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.direct_arrow import DTYPES, are_times, kept_schema, least_of, plain_types
from foretell.events.ingest.nested_paths import path_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray
from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.types import Schema, Type
from foretell.records import record

#: The Python types whose values need no reading. A time in a text or a `datetime` needs it.
FITTING: Mapping[Type, frozenset[type]] = {
    Type.BOOL: frozenset({bool, type(None)}),
    Type.INT: frozenset({int, type(None)}),
    Type.FLOAT: frozenset({int, float, type(None)}),
    Type.STRING: frozenset({str, type(None)}),
}


@record
class DirectRowReader:
    """Reads dicts as events of one declaration."""

    declaration: StreamDeclaration
    schema: Schema
    arrow: pa.Schema

    @classmethod
    def of(cls, declaration: StreamDeclaration, known: Schema | None) -> DirectRowReader | None:
        """The reader of such dicts; None where values must be parsed, or more is asked for than to read them.

        `known` is the stream's schema so far. Where it stays equal it stays the same object, by which others know.
        """
        types = plain_types(declaration)
        if types is None or any(kind not in FITTING or path_of(name) is not None for name, kind in types.items()):
            return None
        arrow = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])
        return cls(declaration, kept_schema(declaration.schema(types), known), arrow)

    def read(self, rows: list[Any]) -> EventBatch | None:
        """The events; None where a value needs reading, or something is wrong with it."""
        for row in rows:
            if type(row) is not dict:
                return None
        columns, numbers, texts = [], dict[str, NDArray[Any]](), dict[str, ArrowArray]()
        for name, kind in self.schema.attributes.items():
            values = [row.get(name) for row in rows]
            if not FITTING[kind].issuperset(map(type, values)):
                return None
            try:
                known = _numbers(values, kind)
                column = arrow_of_values(values, kind) if known is None else arrow_of(known, ARROW_TYPES[kind])
            except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
                return None
            if known is not None:
                numbers[name] = known
            elif kind is Type.STRING and isinstance(column, pa.Array):
                texts[name] = column
            columns.append(column)
        table = pa.Table.from_arrays(columns, schema=self.arrow)
        batch = EventBatch(self.declaration.stream, self.schema, table, (), len(rows))
        batch.known.numbers, batch.known.texts = numbers, texts
        times = numbers.get(str(self.schema.time))
        return batch if times is not None and are_times(times, batch.known) else None


def _numbers(values: list[Any], kind: Type) -> NDArray[Any] | None:
    """INTs or FLOATs without NULL and NaN; None for others."""
    if kind not in DTYPES or None in values:
        return None
    numbers = np.array(values, DTYPES[kind])
    if kind is Type.FLOAT and len(numbers) and math.isnan(least_of(numbers)):
        return None
    numbers.setflags(write=False)
    return numbers
