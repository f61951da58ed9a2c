"""Sort keys: the place of a notification among those of its subscription with the same end, as bytes that sort alike.

Shards know nothing of each other and need not: matches of different lanes have no event in common, so their first
events order them; those of one lane come from one shard, which has ordered them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

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
    """Orders notifications by their first events: it records where each event of the shard stands among those of all.

    With a folder the records are kept there: the runtime drops events, but a match may begin with any of them.
    """

    def __init__(self, ranks: Mapping[str, int], folder: Path | None = None) -> None:
        self._ranks = ranks
        files = [None if folder is None else folder / name for name in ("time", "arrival", "rank")]
        self._columns = [_SpillableColumn(file) for file in files]
        self._ties: list[bytes] = []

    def extend(self, batches: Mapping[str, EventBatch], arrivals: Mapping[str, Ints]) -> None:
        """Record more events, in the order in which the runtime processes them."""
        ranks = np.array([self._ranks[name] for name in batches], np.int64)
        stream, row = _processing_order(batches, self._ranks)
        times = [event_times(batch) for batch in batches.values()]
        if len(times) == 1 and row is None:
            columns: list[Any] = [times[0], *arrivals.values(), np.full(len(times[0]), ranks[0])]
        else:
            columns = [np.concatenate(times)[row], np.concatenate([*arrivals.values()])[row], ranks[stream]]
        for column, values in zip(self._columns, columns):
            column.extend(values)
        if any(batch.schema.order is not None for batch in batches.values()):
            ties = [tie for batch in batches.values() for tie in _order_by_keys(batch)]
            self._ties += ties if row is None else [ties[number] for number in row.tolist()]

    def keys(self, results: ResultBatch, match: Ints, row: Ints, number: Ints) -> Any:
        """Return the sort keys of notifications; `number` is their order in the shard.

        A match with events is ordered by the first of them, one without by its id and lane.
        """
        first = results.first_event_order()[match]
        if not len(first) or first.min() < 0:
            rows = zip(*(array.tolist() for array in (first, match, row, number)))
            return pa.array([self._key(results, *values) for values in rows])
        at = first // 2
        time, arrival, rank = (column.take(at) for column in self._columns)
        time = time.astype(np.float64 if results.start.dtype == np.float64 else np.int64, copy=False)
        begin = np.stack([np.ones(len(at), np.uint64), _sortable(time)], axis=1)
        rest = np.stack([_sortable(rank), _sortable(arrival), _sortable(number)], axis=1)
        if not self._ties:
            return _binary(np.concatenate([begin, rest], axis=1))
        parts = zip(_binary(begin).to_pylist(), (self._ties[i] for i in at.tolist()), _binary(rest).to_pylist())
        return pa.array([b"".join(part) for part in parts], pa.binary())

    def _key(self, results: ResultBatch, first: int, match: int, row: int, number: int) -> bytes:
        if first >= 0:
            single = (np.array([value]) for value in (match, row, number))
            return bytes(self.keys(results, *single)[0].as_py())
        lane = results.keys[results.lane[match]] if results.schema.per else None
        key = json.dumps(lane, sort_keys=True, default=str)
        last: bytes = number_keys(np.array([number]))[0].as_py()
        return bytes(8) + scalar_key(results.id_of(row)) + _text_key(key) + last


class BoundEventSortKeys:
    """Orders notifications of tasks that have the same events, each with other rows of a FOR EACH table.

    Events have the same positions in all of these tasks, so a match is ordered by those of its events, their steps,
    and then the id of the row.
    """

    def keys(self, results: ResultBatch, match: Ints, row: Ints, number: Ints) -> Any:
        bound = results.bound_events
        positions, steps = _joined_words(bound.starts, bound.position), _joined_words(bound.starts, bound.step)
        ids = {template_row: scalar_key(results.id_of(template_row)) for template_row in set(row.tolist())}
        rows = zip(match.tolist(), row.tolist(), number_keys(number).to_pylist())
        return pa.array([positions[i] + steps[i] + ids[k] + last for i, k, last in rows], pa.binary())


class ShardOrderSortKeys:
    """Orders the notifications of a group that runs in one task, by their order there."""

    def keys(self, results: ResultBatch, match: Ints, row: Ints, number: Ints) -> Any:
        return number_keys(number)


SortKeys: TypeAlias = FirstEventSortKeys | BoundEventSortKeys | ShardOrderSortKeys


def _joined_words(starts: Ints, words: Ints) -> list[bytes]:
    """Return the numbers of each match as bytes. None is negative, so a zero can mark the end."""
    data = (words + 1).astype(">u8").tobytes()
    ends = (8 * starts).tolist()
    return [data[begin:end] + bytes(8) for begin, end in pairwise(ends)]


class _SpillableColumn:
    """A growing column of numbers, in memory or in a file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._values: NDArray[Any] | None = None

    def extend(self, values: NDArray[Any]) -> None:
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(np.ascontiguousarray(values).data)
            values = values[:0]
        self._values = values if self._values is None else np.concatenate([self._values, values])

    def take(self, at: Ints) -> NDArray[Any]:
        assert self._values is not None
        if self._path is None:
            return self._values[at]
        return np.asarray(np.memmap(self._path, self._values.dtype, "r")[at])


def _processing_order(batches: Mapping[str, EventBatch], ranks: Mapping[str, int]) -> tuple[Ints, Ints | None]:
    """Return for each event, in the runtime's order, the number of its stream and its row in the concatenated streams.

    The rows are None if they are in order already, which is the common case.
    """
    sizes = [batch.table.num_rows for batch in batches.values()]
    stream = np.repeat(np.arange(len(sizes)), sizes)
    if len(sizes) == 1:
        (batch,) = batches.values()
        times = event_times(batch)
        if batch.schema.order is None and bool((times[1:] >= times[:-1]).all()):
            return stream, None
    inputs = EventOrder(ranks).inputs(batches, StringDictionary(), {})
    by = np.empty(len(stream), np.int64)
    by[np.concatenate([ordered.order[:, 0] // 2 for ordered in inputs.values()])] = np.arange(len(by))
    return stream[by], by


def _order_by_keys(batch: EventBatch) -> list[bytes]:
    """Return the ORDER BY value of each event as bytes that sort alike."""
    kinds, values = tie_breaker(batch, batch.table.num_rows)
    return [bytes([kind]) + (scalar_key(value) if kind else b"") for kind, value in zip(kinds.tolist(), values)]


def number_keys(number: NDArray[Any]) -> Any:
    """Return sort keys of numbers of one type."""
    return _binary(_sortable(number).reshape(-1, 1))


def _sortable(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return unsigned integers that sort as the numbers do."""
    if values.dtype == np.float64:
        bits = (values + 0.0).view(np.int64)  # -0.0 is 0.0
        return np.where(bits < 0, ~bits, bits ^ np.int64(-_SIGN)).view(np.uint64)
    return (values.astype(np.int64, copy=False) ^ np.int64(-_SIGN)).view(np.uint64)


def _binary(words: NDArray[np.uint64]) -> Any:
    """Return eight bytes for each word, in big-endian order."""
    count, width = words.shape[0], 8 * words.shape[1]
    ends: Any = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    data: Any = words.astype(">u8")
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def scalar_key(value: Scalar) -> bytes:
    """Return the sort key of a value: numbers before texts, and NULL as its text, as where ids are compared."""
    return b"\0" + _number_key(value) if isinstance(value, int | float) else b"\1" + _text_key(str(value))


def _number_key(value: int | float) -> bytes:
    """Order INT and FLOAT together: by the nearest float, then by the distance of a long integer from it."""
    near = float(value) + 0.0  # -0.0 is 0.0
    bits = int.from_bytes(struct.pack(">d", near), "big")
    off = value - int(near) if isinstance(value, int) else 0
    return (bits ^ ((1 << 64) - 1 if bits & _SIGN else _SIGN)).to_bytes(8, "big") + (off + _SIGN).to_bytes(8, "big")


def _text_key(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\0"
