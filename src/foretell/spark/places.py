"""A notification's place among those of its subscription with the same end, as bytes that sort as the places do.

Shards know nothing of each other, and need not: matches of different lanes have no event in common, so their first
events tell them apart; those of one lane come from one shard, which has put them in order.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.events.notification import Notification
from foretell.events.read import Loaded
from foretell.events.types import Scalar
from foretell.filter.columns import Strings
from foretell.machine.ordering import Order, tie_breaker

_SIGN = 1 << 63


@dataclass(frozen=True)
class Places:
    """The base events of a shard by their place in it: where each stands among the events of all shards."""

    streams: tuple[str, ...]
    ranks: Mapping[str, int]
    stream: np.ndarray
    row: np.ndarray
    times: tuple[np.ndarray, ...]
    ties: tuple[tuple[Any, list[Any]], ...]
    arrivals: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, loaded: Mapping[str, Loaded], arrivals: Mapping[str, np.ndarray], ranks: Mapping[str, int]) -> Places:
        inputs = Order(ranks).inputs(loaded, Strings(), {})
        sizes = [len(one) for one in inputs.values()]
        by = np.empty(sum(sizes), np.int64)
        by[np.concatenate([one.order[:, 0] for one in inputs.values()]) // 2] = np.arange(len(by))
        return cls(
            tuple(inputs),
            ranks,
            np.repeat(np.arange(len(sizes)), sizes)[by],
            np.concatenate([np.arange(size) for size in sizes])[by],
            tuple(one.events.time.values for one in inputs.values()),
            tuple(tie_breaker(one, one.table.num_rows) for one in loaded.values()),
            tuple(arrivals[name] for name in inputs),
        )

    def key(self, place: int) -> bytes:
        """Of a base event: end, tie-breaker, stream, arrival (LANGUAGE section 1)."""
        stream, row = int(self.stream[place // 2]), int(self.row[place // 2])
        kinds, values = self.ties[stream]
        time = _number(self.times[stream][row].item())
        tie = bytes([int(kinds[row])]) + (_scalar(values[row]) if kinds[row] else b"")
        return time + tie + _whole(self.ranks[self.streams[stream]]) + _whole(int(self.arrivals[stream][row]))


def place_of(notification: Notification, first: bytes | None, number: int) -> bytes:
    """With events it goes by the first, without by id and lane; `number` is its place in the shard."""
    if first is not None:
        return b"\1" + first + _whole(number)
    key = json.dumps(notification.key, sort_keys=True, default=str)
    return b"\0" + _scalar(notification.id) + _text(key) + _whole(number)


def _scalar(value: Scalar) -> bytes:
    """Numbers before texts, and NULL as the text that it is where ids are compared."""
    return b"\0" + _number(value) if isinstance(value, int | float) else b"\1" + _text(str(value))


def _whole(value: int) -> bytes:
    return (value + _SIGN).to_bytes(8, "big")


def _number(value: int | float) -> bytes:
    """INT and FLOAT in one order: the nearest float, then how far a long integer lies from it."""
    near = float(value) + 0.0  # -0.0 is 0.0
    bits = int.from_bytes(struct.pack(">d", near), "big")
    return (bits ^ ((1 << 64) - 1 if bits & _SIGN else _SIGN)).to_bytes(8, "big") + _whole(
        value - int(near) if isinstance(value, int) else 0
    )


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\0"
