"""The Arrow encoder: a result batch to typed notification columns, without an object for each notification.

Columns come from the arrays of the results, most of them without a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, distinct
from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.raw_columns import ArrowArray, ArrowType
from foretell.events.notification import ESTIMATE
from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null
from foretell.filter.string_dictionary import Texts
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.results import ResultBatch
from foretell.notify.estimate_columns import estimate_structs
from foretell.notify.estimate_ids import estimate_ids
from foretell.notify.match_rows import MatchRows
from foretell.notify.notification_batch import NotificationBatch
from foretell.notify.notification_values import column_type, typed_values
from foretell.notify.row_encoder import encode_json

#: The most events of repeated steps in a batch: Arrow counts them in 32 bits.
MOST_LISTED = 2**31 - 1


def encode_results(results: ResultBatch, match: Ints | None = None, row: Ints | None = None) -> NotificationBatch:
    """The notifications of these matches, or of all, each for a row of a FOR EACH table (-1: for none) or, without
    `row`, for all rows that it belongs to.

    Raises ArrowCapacityError for more texts or events than a column holds, UnicodeEncodeError for a text with half a
    surrogate.
    """
    return _Encoder(results, match, row).batch()


class _Encoder:
    def __init__(self, results: ResultBatch, match: Ints | None, row: Ints | None) -> None:
        self._results, self._row = results, row
        self._count = len(results) if match is None else len(match)
        is_all = match is None or (len(match) == len(results) and bool((match == np.arange(len(match))).all()))
        self._match = None if is_all else match

    def batch(self) -> NotificationBatch:
        results = self._results
        shape, forecasts = results.schema, results.forecasts
        columns: dict[str, ArrowArray] = {}
        if shape.per:
            columns["key"] = _structs(self._keys())
        columns["start"], columns["end"] = self._times(results.start), self._times(results.end)
        if results.probability is not None:
            columns["probability"] = arrow_of(self._of_each(results.probability))
        rows = self._match_rows() if self._row is None else None
        if results.estimates is not None and results.intervals is None and results.id is None:
            columns["id"] = self._estimate_ids()
        elif rows is None and (results.intervals is not None or results.id is not None):
            columns["id"] = self._ids()
        if results.bindings:
            columns["bindings"] = _structs({str(n): self._binding(n, c) for n, c in results.bindings.items()})
        names = _EventNames(results.matches, shape.event_names)
        if shape.repeated and (results.matches is not None or forecasts is not None):
            columns["events"] = _structs({str(s): self._step(n, s, names) for n, s in enumerate(shape.steps)})
        if results.estimates is not None and results.estimates.details is not None:
            columns[ESTIMATE] = estimate_structs(results.estimates.details, self._match, shape.time)
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        return NotificationBatch(shape, results.kind, batch, None if forecasts is None else forecasts.horizon, rows)

    def _of_each(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self._match is None else values.take(self._match, axis=0)

    def _times(self, values: NDArray[Any]) -> ArrowArray:
        kind = self._results.schema.time
        return arrow_of(_as_stored(self._of_each(values), kind), column_type(kind))

    def _keys(self) -> dict[str, ArrowArray]:
        """The attributes of the lanes' keys. Where lanes are few, their texts are looked up once for each lane."""
        keys, lanes, kinds = self._results.keys, self._of_each(self._results.lane), self._results.schema.per
        texts = [name for name, kind in kinds.items() if column_type(kind) == pa.string()]
        columns = {}
        if texts and len(keys) <= self._count:
            every = keys.columns(np.arange(len(keys)))
            columns = {name: _texts_of_lanes(every[name], lanes, self._results.strings) for name in texts}
        if len(columns) < len(kinds):
            own = keys.columns(lanes)
            columns |= {name: self._values(own[name], kind) for name, kind in kinds.items() if name not in columns}
        return {name: columns[name] for name in kinds}

    def _match_rows(self) -> MatchRows | None:
        results = self._results
        if results.rows is None or results.intervals is None or results.matches is None:
            return None
        kind, first = results.schema.row_ids, self._of_each(results.matches.first)
        return MatchRows.of(results.rows, kind, self._of_each(results.intervals), first)

    def _ids(self) -> ArrowArray:
        rows, which = distinct(np.zeros(self._count, np.int64) if self._row is None else self._row + 1)
        ids = [self._results.id_of(number - 1) for number in rows.tolist()]
        return typed_values(ids, self._results.schema.row_ids).take(arrow_of(which))

    def _estimate_ids(self) -> ArrowArray:
        results = self._results
        every = np.arange(self._count) if self._match is None else self._match
        return pa.array(estimate_ids(results, every), pa.string())

    # ── bindings ──

    def _binding(self, name: str, column: Column) -> ArrowArray:
        own = column if self._match is None else column.take(self._match)
        return self._values(own, self._results.binding_type(name))

    def _values(self, column: Column, kind: Type) -> ArrowArray:
        values, nulls = column.values, column.nulls if may_be_null(column.nulls) else None
        if nulls is not None and nulls.all():
            return pa.nulls(len(values), _TEXTS if column_type(kind) == pa.string() else column_type(kind))
        if column_type(kind) == pa.string():
            return _dictionary_texts(values, nulls, self._results.strings)
        if column.kind is Type.DURATION:
            values = values / 1_000_000
        if values.dtype == np.float64 and (missing := np.isnan(values)).any():
            nulls = missing if nulls is None else nulls | missing
        return arrow_of(_as_stored(values, kind), column_type(kind), nulls)

    # ── events ──

    def _step(self, number: int, step: str, names: _EventNames) -> ArrowArray:
        """The names of a step's events: one for each match, or a list if the step is repeated."""
        matches, repeated = self._results.matches, self._results.schema.repeated[step]
        if matches is None:
            return pa.nulls(self._count, pa.list_(names.type) if repeated else names.type)
        estimates = self._results.estimates
        if estimates is not None and step in estimates.late:
            return names.values(self._of_each(estimates.late[step]).tolist())
        if not repeated:
            return names.at(self._of_each(matches.of_step(number, latest=True)))
        every = np.arange(self._count) if self._match is None else self._match
        ends, positions = matches.events_of_step(number, every)
        if ends[-1] > MOST_LISTED:
            raise pa.ArrowCapacityError("more events than a column can hold")
        unbound = ends[1:] == ends[:-1]
        mask = arrow_of(unbound) if unbound.any() else None
        return pa.ListArray.from_arrays(arrow_of(ends.astype(np.int32)), names.at(positions), mask=mask)


#: With fewer events than these in each match, it is quicker to look at their names than at those of the whole buffer.
_MOST_STEPS = 8


class _EventNames:
    """The names of the events of matches: their ID, or else their number in the lane; JSON where both occur."""

    def __init__(self, matches: MatchBatch | None, kind: Type) -> None:
        self._matches = matches
        self._buffer = EventBuffer() if matches is None else matches.buffer
        self._kind = kind
        self._numbered = all(segment.name is None for segment in self._buffer.segments)

    @cached_property
    def _as_json(self) -> bool:
        if self._numbered:
            return self._kind is not Type.INT
        python = _PYTHON_TYPES.get(self._kind)
        if self._matches is not None and _MOST_STEPS * len(self._matches) < len(self._buffer):
            return not all(type(name) is python for name in self._buffer.names(self._matches.position))
        return any(
            segment.name is None or not all(type(name) is python for name in segment.name.tolist())
            for segment in self._buffer.segments
        )

    @property
    def type(self) -> ArrowType:
        return pa.binary() if self._as_json else column_type(self._kind)

    def at(self, positions: Ints) -> ArrowArray:
        """The names of the events at these positions; NULL at negative ones."""
        unbound: Flags | None = None
        if len(positions) and positions.min() < 0:
            unbound = positions < 0
            if unbound.all():
                return pa.nulls(len(positions), self.type)
            positions = np.where(unbound, positions.max(), positions)
        if self._numbered and not self._as_json:
            numbers = self._buffer.values(lambda segment: segment.number, positions)
            return arrow_of(numbers.astype(np.int64, copy=False), nulls=unbound)
        names = self._buffer.names(positions)
        if unbound is not None:
            names = [None if absent else name for name, absent in zip(names, unbound.tolist(), strict=True)]
        return self.values(names)

    def values(self, names: list[Any]) -> ArrowArray:
        """These names as a column."""
        if self._as_json:
            texts = [None if name is None else encode_json(name) for name in names]
            return arrow_of_values(texts, Type.STRING).cast(pa.binary())
        return typed_values(names, self._kind)


#: The types of IDs that typed columns hold as they are.
_PYTHON_TYPES = {Type.STRING: str, Type.INT: int, Type.FLOAT: float, Type.BOOL: bool}


# ── arrays ──

_TEXTS: ArrowType = pa.dictionary(pa.int32(), pa.string())


def _structs(columns: Mapping[str, ArrowArray]) -> ArrowArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def _as_stored(values: NDArray[Any], kind: Type) -> NDArray[Any]:
    """Return numbers in Arrow's layout of a type: an INT may be the value of a FLOAT."""
    dtype = {Type.BOOL: np.bool_, Type.FLOAT: np.float64, Type.DURATION: np.float64}.get(kind, np.int64)
    return values.astype(dtype, copy=False)


def _dictionary_texts(codes: Ints, nulls: Flags | None, strings: Texts) -> ArrowArray:
    """The texts of codes as a dictionary-encoded column; the code at a NULL may be none of a text."""
    if nulls is not None:
        codes = np.where(nulls, codes[np.argmin(nulls)], codes)
    used, which = distinct(codes)
    return _indexed_texts(which, nulls, used, strings)


def _texts_of_lanes(column: Column, lanes: Ints, strings: Texts) -> ArrowArray:
    """The texts of a key as a dictionary-encoded column; `column` has that of each lane."""
    nulls = column.nulls.take(lanes) if may_be_null(column.nulls) else None
    if nulls is not None and nulls.all():
        return pa.nulls(len(lanes), _TEXTS)
    return _indexed_texts(lanes, nulls, column.values, strings)


def _indexed_texts(which: Ints, nulls: Flags | None, codes: Ints, strings: Texts) -> ArrowArray:
    texts = strings.array(codes)
    if isinstance(texts, pa.ChunkedArray):
        raise pa.ArrowCapacityError("more texts than a column can hold")
    return pa.DictionaryArray.from_arrays(arrow_of(which.astype(np.int32), nulls=nulls), texts)
