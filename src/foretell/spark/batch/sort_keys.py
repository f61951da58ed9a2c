"""A notification's place among those of its subscription with the same end, as bytes that sort as the places do.

Shards know nothing of each other, and need not: matches of different lanes have no event in common, so their first
events tell them apart; those of one lane come from one shard, which has put them in order.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.ingest.reader import EventBatch
from foretell.events.reorder_buffer import event_times
from foretell.events.types import Scalar
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.input.event_order import EventOrder, tie_breaker
from foretell.machine.matches.results import ResultBatch

_SIGN = 1 << 63


class FirstEventSortKeys:
    """The base events of a shard by their place in it: where each stands among the events of all shards.

    With a folder they are kept there: what they are is soon forgotten, but a match may begin with any of them.
    """

    def __init__(self, ranks: Mapping[str, int], folder: Path | None = None) -> None:
        self._ranks = ranks
        self._columns = [
            _SpillableColumn(None if folder is None else folder / name) for name in ("time", "arrival", "rank")
        ]
        self._ties: list[bytes] = []

    def extend(self, loaded: Mapping[str, EventBatch], arrivals: Mapping[str, Ints]) -> None:
        """More events, as the engine is given them."""
        ranks = np.array([self._ranks[name] for name in loaded], np.int64)
        stream, row = _in_order(loaded, self._ranks)
        times = [event_times(one) for one in loaded.values()]
        if len(times) == 1 and row is None:
            columns: list[Any] = [times[0], *arrivals.values(), np.full(len(times[0]), ranks[0])]
        else:
            columns = [np.concatenate(times)[row], np.concatenate([*arrivals.values()])[row], ranks[stream]]
        for column, values in zip(self._columns, columns):
            column.extend(values)
        if any(one.schema.order is not None for one in loaded.values()):
            ties = [tie for one in loaded.values() for tie in _ties(one)]
            self._ties += ties if row is None else [ties[number] for number in row.tolist()]

    def of(self, told: ResultBatch, match: Ints, row: Ints, number: Ints) -> Any:
        """With events it goes by the first, without by id and lane; `number` is a notification's place in the shard."""
        first = told.first_event_order()[match]
        if not len(first) or first.min() < 0:
            return pa.array([self._one(told, *one) for one in zip(*(a.tolist() for a in (first, match, row, number)))])
        at = first // 2
        time, arrival, rank = (column.at(at) for column in self._columns)
        time = time.astype(np.float64 if told.start.dtype == np.float64 else np.int64, copy=False)
        begin = np.stack([np.ones(len(at), np.uint64), _sortable(time)], axis=1)
        rest = np.stack([_sortable(rank), _sortable(arrival), _sortable(number)], axis=1)
        if not self._ties:
            return _binary(np.concatenate([begin, rest], axis=1))
        parts = zip(_binary(begin).to_pylist(), (self._ties[i] for i in at.tolist()), _binary(rest).to_pylist())
        return pa.array([b"".join(some) for some in parts], pa.binary())

    def _one(self, told: ResultBatch, first: int, match: int, row: int, number: int) -> bytes:
        if first >= 0:
            some = (np.array([value]) for value in (match, row, number))
            return cast(bytes, self.of(told, *some)[0].as_py())
        key = json.dumps(told.keys[told.lane[match]], sort_keys=True, default=str) if told.schema.per else "null"
        return bytes(8) + _scalar(told.id_of(row)) + _text(key) + cast(bytes, numbered(np.array([number]))[0].as_py())


class BoundEventSortKeys:
    """Where several tasks have the same events, and each some rows of a FOR EACH table: events have the same positions
    in all of them, so those of a match, their steps, and then the id of the row tell where a notification stands."""

    def of(self, told: ResultBatch, match: Ints, row: Ints, number: Ints) -> Any:
        bound = told.bound_events
        events = _runs(bound.starts, bound.position), _runs(bound.starts, bound.step)
        ids = {one: _scalar(told.id_of(one)) for one in set(row.tolist())}
        rows = zip(match.tolist(), row.tolist(), numbered(number).to_pylist())
        return pa.array([events[0][i] + events[1][i] + ids[k] + last for i, k, last in rows], pa.binary())


def _runs(starts: Ints, words: Ints) -> list[bytes]:
    """Some numbers of each match. None is negative, so that zero can tell that no more come."""
    data = (words + 1).astype(">u8").tobytes()
    ends = (8 * starts).tolist()
    return [data[begin:end] + bytes(8) for begin, end in pairwise(ends)]


class _SpillableColumn:
    """Numbers that become more, in memory or in a file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._values: NDArray[Any] | None = None

    def extend(self, values: NDArray[Any]) -> None:
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(np.ascontiguousarray(values).data)
            values = values[:0]
        self._values = values if self._values is None else np.concatenate([self._values, values])

    def at(self, places: Ints) -> NDArray[Any]:
        assert self._values is not None
        if self._path is None:
            return self._values[places]
        return np.asarray(np.memmap(self._path, self._values.dtype, "r")[places])


def _in_order(loaded: Mapping[str, EventBatch], ranks: Mapping[str, int]) -> tuple[Ints, Ints | None]:
    """Of each event, in their order: the number of its stream, and its row where those of all streams stand one after
    the other; None where they stand in order, which is the common case."""
    sizes = [one.table.num_rows for one in loaded.values()]
    stream = np.repeat(np.arange(len(sizes)), sizes)
    if len(sizes) == 1:
        (one,) = loaded.values()
        times = event_times(one)
        if one.schema.order is None and bool((times[1:] >= times[:-1]).all()):
            return stream, None
    order = [one.order[:, 0] // 2 for one in EventOrder(ranks).inputs(loaded, StringDictionary(), {}).values()]
    by = np.empty(len(stream), np.int64)
    by[np.concatenate(order)] = np.arange(len(by))
    return stream[by], by


def _ties(loaded: EventBatch) -> list[bytes]:
    kinds, values = tie_breaker(loaded, loaded.table.num_rows)
    return [bytes([kind]) + (_scalar(value) if kind else b"") for kind, value in zip(kinds.tolist(), values)]


def numbered(number: NDArray[Any]) -> Any:
    """The places of notifications that one task has put in order."""
    return _binary(_sortable(number).reshape(-1, 1))


def _sortable(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Whole numbers without a sign, which sort as the numbers do."""
    if values.dtype == np.float64:
        bits = (values + 0.0).view(np.int64)  # -0.0 is 0.0
        return np.where(bits < 0, ~bits, bits ^ np.int64(-_SIGN)).view(np.uint64)
    return (values.astype(np.int64, copy=False) ^ np.int64(-_SIGN)).view(np.uint64)


def _binary(words: NDArray[np.uint64]) -> Any:
    """Eight bytes for each word, the weightiest first."""
    count, width = words.shape[0], 8 * words.shape[1]
    ends: Any = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    data: Any = words.astype(">u8")
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def _scalar(value: Scalar) -> bytes:
    """Numbers before texts, and NULL as the text that it is where ids are compared."""
    return b"\0" + _number(value) if isinstance(value, int | float) else b"\1" + _text(str(value))


def _number(value: int | float) -> bytes:
    """INT and FLOAT in one order: the nearest float, then how far a long integer lies from it."""
    near = float(value) + 0.0  # -0.0 is 0.0
    bits = int.from_bytes(struct.pack(">d", near), "big")
    off = value - int(near) if isinstance(value, int) else 0
    return (bits ^ ((1 << 64) - 1 if bits & _SIGN else _SIGN)).to_bytes(8, "big") + (off + _SIGN).to_bytes(8, "big")


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\0"
