"""A notification's place among those of its subscription with the same end, as bytes that sort as the places do.

Shards know nothing of each other, and need not: matches of different lanes have no event in common, so their first
events tell them apart; those of one lane come from one shard, which has put them in order.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.read import Loaded
from foretell.events.types import Scalar
from foretell.events.waiting import times_of
from foretell.filter.columns import Strings
from foretell.machine.ordering import Order, tie_breaker
from foretell.machine.told import Told

Ints = NDArray[np.int64]
_SIGN = 1 << 63


@dataclass(frozen=True)
class Places:
    """The base events of a shard by their place in it: where each stands among the events of all shards."""

    loaded: Mapping[str, Loaded]
    arrivals: Mapping[str, Ints]
    ranks: Mapping[str, int]

    def of(self, told: Told, match: Ints, row: Ints, number: Ints) -> Any:
        """With events it goes by the first, without by id and lane; `number` is a notification's place in the shard."""
        first = told.first_places()[match]
        if not len(first) or first.min() < 0:
            return pa.array([self._one(told, *one) for one in zip(*(a.tolist() for a in (first, match, row, number)))])
        stream, at = self._events[0][first // 2], self._events[1][first // 2]
        time, arrival = np.empty(len(at), _time_type(told)), np.empty(len(at), np.int64)
        for which, (times, arrivals) in enumerate(self._known):
            mine = stream == which
            time[mine], arrival[mine] = times[at[mine]], arrivals[at[mine]]
        rank = np.array([self.ranks[name] for name in self.loaded], np.int64)[stream]
        begin = np.stack([np.ones(len(at), np.uint64), _sortable(time)], axis=1)
        rest = np.stack([_sortable(rank), _sortable(arrival), _sortable(number)], axis=1)
        tie = self._tie(stream, at)
        if tie is None:
            return _binary(np.concatenate([begin, rest], axis=1))
        parts = zip(_binary(begin).to_pylist(), tie, _binary(rest).to_pylist())
        return pa.array([b"".join(some) for some in parts], pa.binary())

    @cached_property
    def _known(self) -> list[tuple[NDArray[Any], Ints]]:
        """Times and arrivals of each stream's events."""
        return [(times_of(one), self.arrivals[name]) for name, one in self.loaded.items()]

    def _tie(self, stream: Ints, at: Ints) -> list[bytes] | None:
        """The tie-breakers of events; None where no stream has any."""
        if all(one.schema.order is None for one in self.loaded.values()):
            return None
        found = []
        for number, row in zip(stream.tolist(), at.tolist()):
            kinds, values = self._ties[number]
            found.append(bytes([int(kinds[row])]) + (_scalar(values[row]) if kinds[row] else b""))
        return found

    def _one(self, told: Told, first: int, match: int, row: int, number: int) -> bytes:
        if first >= 0:
            some = (np.array([value]) for value in (match, row, number))
            return cast(bytes, self.of(told, *some)[0].as_py())
        key = json.dumps(told.keys[told.lane[match]], sort_keys=True, default=str) if told.checked.tree.per else "null"
        return bytes(8) + _scalar(told.id_of(row)) + _text(key) + cast(bytes, numbered(np.array([number]))[0].as_py())

    @cached_property
    def _ties(self) -> Sequence[tuple[Ints, list[Any]]]:
        return [tie_breaker(one, one.table.num_rows) for one in self.loaded.values()]

    @property
    def _in_order(self) -> bool:
        """Whether the events of the first stream stand as time has them, which is the common case."""
        times, _ = self._known[0]
        return next(iter(self.loaded.values())).schema.order is None and bool((times[1:] >= times[:-1]).all())

    @cached_property
    def _events(self) -> tuple[Ints, Ints]:
        """Of each event, in their order: the number of its stream and its row there."""
        sizes = [one.table.num_rows for one in self.loaded.values()]
        if len(sizes) == 1 and self._in_order:
            return np.broadcast_to(np.int64(0), sizes[0]), np.arange(sizes[0])
        stream, row = np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(size) for size in sizes])
        order = [one.order[:, 0] // 2 for one in Order(self.ranks).inputs(self.loaded, Strings(), {}).values()]
        by = np.empty(len(stream), np.int64)
        by[np.concatenate(order)] = np.arange(len(by))
        return stream[by], row[by]


def numbered(number: NDArray[Any]) -> Any:
    """The places of notifications that one task has put in order."""
    return _binary(_sortable(number).reshape(-1, 1))


def _time_type(told: Told) -> Any:
    return np.float64 if told.start.dtype == np.float64 else np.int64


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
