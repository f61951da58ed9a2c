"""Notifications as typed columns for SQL: key, bindings and events are structs instead of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.types import Scalar, Type, parse_timestamp
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedSubscription
from foretell.machine.matches.results import ResultBatch


def column_type(kind: Type) -> ArrowType:
    """Return the Arrow type of a value: a DURATION is in seconds, as in all notifications, an untyped value a text."""
    return pa.float64() if kind is Type.DURATION else ARROW_TYPES.get(kind, pa.string())


@dataclass(frozen=True)
class TypedNotifications:
    """The columns of one subscription.

    `ids` is the type of the FOR EACH table's ids, `names` that of events' names: INT for numbers and INT IDs, else
    STRING.
    """

    checked: CheckedSubscription
    ids: Type
    names: Type

    @cached_property
    def schema(self) -> pa.Schema:
        time, text = column_type(self.checked.time), pa.string()
        name = column_type(self.names)
        repeated = {step: self.checked.steps[step].shape.repeated for step in self.checked.positive}
        columns: Mapping[str, ArrowType] = {
            "subscription": text,
            "kind": text,
            "key": _struct({str(n): column_type(kind) for n, kind in self._per.items()}),
            "start": time,
            "end": time,
            "probability": pa.float64(),
            "horizon": text,
            "id": column_type(self.ids),
            "bindings": _struct({str(n): column_type(kind) for n, kind in self.checked.returns.items()}),
            "events": _struct({str(s): pa.list_(name) if many else name for s, many in repeated.items()}),
        }
        return pa.schema(list(columns.items()))

    def table(self, results: ResultBatch) -> pa.Table:
        """Return all notifications of a result batch, in no particular order: SQL has none."""
        match, row = results.notification_rows
        count, time = len(match), column_type(self.checked.time)
        columns: list[ArrowArray] = [
            _same(self.checked.name, count),
            _same("match", count),
            self._keys(results, match),
            *(arrow_of(_numbers(times[match], self.checked.time), time) for times in (results.start, results.end)),
            arrow_of(np.ones(count)),
            pa.nulls(count, pa.string()),
            self._ids(results, row),
            _structs(
                {n: _returned(c, match, self.checked.returns[n], results.strings) for n, c in results.bindings.items()}
            ),
            _structs({step: steps.take(pa.array(match)) for step, steps in self._events(results)}),
        ]
        filled = [pa.nulls(count, f.type) if c is None else c for c, f in zip(columns, self.schema, strict=True)]
        return pa.table(filled, schema=self.schema)

    @property
    def _per(self) -> dict[str, Type]:
        return {name: self.checked.attributes.get(name, Type.STRING) for name in self.checked.tree.per}

    def _bindings(self, results: ResultBatch, match: Ints) -> dict[str, ArrowArray]:
        types = self.checked.returns
        return {n: _returned(c, match, types[n], results.strings) for n, c in results.bindings.items()}

    def _keys(self, results: ResultBatch, match: Ints) -> ArrowArray | None:
        lanes, which = np.unique(results.lane[match], return_inverse=True)
        keys = [results.keys[lane] for lane in lanes.tolist()] if self._per else []
        columns = {name: _values([key[str(name)] for key in keys], kind) for name, kind in self._per.items()}
        return _structs({name: column.take(pa.array(which)) for name, column in columns.items()})

    def _ids(self, results: ResultBatch, row: Ints) -> ArrowArray:
        rows, which = np.unique(row, return_inverse=True)
        return _values([results.id_of(number) for number in rows.tolist()], self.ids).take(pa.array(which))

    def _events(self, results: ResultBatch) -> Iterator[tuple[str, ArrowArray]]:
        """Yield the names of each step's events: one for each match, or a list if the step is repeated."""
        bound = results.bound_events
        names = _names([] if results.matches is None else results.matches.buffer.names(bound.position), self.names)
        owner = np.repeat(np.arange(len(results)), np.diff(bound.starts))
        for number, step in enumerate(self.checked.positive):
            at = np.flatnonzero(bound.step == number)
            if self.checked.steps[step].shape.repeated:
                ends = np.cumsum(np.bincount(owner[at], minlength=len(results)))
                begins: Any = pa.array(np.concatenate([[0], ends]), pa.int32())
                unbound: Any = pa.array(np.diff(ends, prepend=0) == 0)
                yield step, pa.ListArray.from_arrays(begins, names.take(pa.array(at)), mask=unbound)
            else:
                place = np.full(len(results), -1, np.int64)
                place[owner[at]] = at
                yield step, names.take(pa.array(place, mask=place < 0))


def _struct(fields: Mapping[str, ArrowType]) -> ArrowType:
    """Return a struct type. Spark has no struct without fields: the column is then a text, and NULL."""
    return pa.struct(list(fields.items())) if fields else pa.string()


def _structs(columns: Mapping[str, ArrowArray]) -> ArrowArray | None:
    return pa.StructArray.from_arrays(list(columns.values()), [str(n) for n in columns]) if columns else None


def _same(text: str, count: int) -> ArrowArray:
    return pa.DictionaryArray.from_arrays(arrow_of(np.zeros(count, np.int32)), pa.array([text])).cast(pa.string())


def _returned(column: Column, match: Ints, kind: Type, strings: StringDictionary) -> ArrowArray:
    """Encode a RETURN column or a variable."""
    values, nulls = column.values[match], column.nulls[match]
    if column_type(kind) == pa.string():
        codes, which = np.unique(np.where(nulls, 0, values).astype(np.int64), return_inverse=True)
        texts: ArrowArray = pa.array([strings.text(code) for code in codes.tolist()], pa.string())
        return texts.take(pa.array(which, mask=nulls))
    if column.kind is Type.DURATION:
        values = values / 1_000_000
    return arrow_of(_numbers(values, kind), column_type(kind), nulls)


def _numbers(values: NDArray[Any], kind: Type) -> NDArray[Any]:
    """Return numbers in Arrow's layout of a type: an INT may be the value of a FLOAT."""
    dtype = {Type.BOOL: np.bool_, Type.FLOAT: np.float64, Type.DURATION: np.float64}.get(kind, np.int64)
    return values.astype(dtype, copy=False)


def _values(values: Sequence[Scalar], kind: Type) -> ArrowArray:
    """Encode values of notifications, in which a timestamp is a text."""
    if kind is Type.TIMESTAMP:
        values = [parse_timestamp(v) if isinstance(v, str) else v for v in values]
    return arrow_of_values(values, kind)


def _names(names: Sequence[Any], kind: Type) -> ArrowArray:
    if kind is Type.STRING:
        names = [name if isinstance(name, str) else msgspec.json.encode(name).decode() for name in names]
    return arrow_of_values(names, kind)
