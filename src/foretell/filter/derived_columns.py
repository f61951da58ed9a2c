"""The columns of LET attributes, evaluated once for all events of a batch where they are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from foretell.errors import LanguageError
from foretell.events.types import Type
from foretell.filter.arrow_conversion import arrow_from_column, column_from_arrow
from foretell.filter.column import Column, as_declared, constant
from foretell.filter.evaluate.expression import evaluate
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.stream_schemas import derived_types
from foretell.records import record


@record
class DerivedColumns:
    """The LET attributes of a STREAM statement. Errors that only the data show point into its text."""

    stream: tree.Stream
    text: str = ""
    file: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(derived.name) for derived in self.stream.derived)

    def inputs(self, names: Collection[str]) -> frozenset[str]:
        derived = set(self.names)
        found = self._with_earlier(names)
        used = (name for item in self.stream.derived if item.name in found for name in _attributes(item.expression))
        return frozenset(name for name in used if name not in derived)

    def types(self, attributes: Mapping[str, Type]) -> dict[str, Type]:
        try:
            return derived_types(self.stream, attributes)
        except LanguageError as error:
            raise error.within(self.text, self.file) from None

    def extend(self, table: pa.Table, attributes: Mapping[str, Type], names: Collection[str] | None = None) -> pa.Table:
        wanted = set(self.names) if names is None else self._with_earlier(names)
        types = dict(attributes) | self.types(attributes)
        strings, columns = StringDictionary(), dict[str, Column]()
        resolve = partial(self._leaf, table, types, strings, columns)
        for item in self.stream.derived:
            if item.name in wanted:
                name = str(item.name)
                found = evaluate(item.expression, resolve, strings, table.num_rows)
                columns[name] = _attribute_column(found, types[name])
                if names is None or name in names:
                    table = table.append_column(name, arrow_from_column(columns[name], strings))
        return table

    def _with_earlier(self, names: Collection[str]) -> set[str]:
        """The derived attributes among these, and those that they are derived from."""
        found: set[str] = set()
        for item in reversed(self.stream.derived):
            if item.name in names or item.name in found:
                found |= {str(item.name), *(n for n in _attributes(item.expression) if n in self.names)}
        return found

    def _leaf(
        self,
        table: pa.Table,
        types: Mapping[str, Type],
        strings: StringDictionary,
        columns: dict[str, Column],
        leaf: tree.Expression,
    ) -> Column | None:
        match leaf:
            case tree.Attribute(name=name):
                if name not in columns:
                    kind = types[name]
                    columns[str(name)] = as_declared(column_from_arrow(table[str(name)], kind, strings), kind)
                return columns[name]
            case tree.StreamOf():
                return constant(Type.STRING, strings.code(str(self.stream.name)))
        return None


def _attributes(expression: tree.Expression) -> list[str]:
    return [str(node.name) for node in expression.walk() if isinstance(node, tree.Attribute)]


def _attribute_column(column: Column, kind: Type) -> Column:
    """A value as an attribute: a DURATION in seconds, an INT as a FLOAT where the type says so."""
    if column.kind is Type.DURATION:
        return Column(Type.FLOAT, column.values / 1_000_000, column.nulls)
    if column.kind is Type.NULL:
        return Column(kind, np.zeros(len(column.values), np.int64), column.nulls)
    return as_declared(column, kind)
