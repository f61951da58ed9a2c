"""A process that sends events through a socket at random times (Poisson arrivals).

An event is a record of two whole numbers: the microsecond at which it was due, by the monotonic clock that all
processes of the machine share, and a key. Due times are drawn beforehand, so that a source that is late does not thin
them out.
"""

from __future__ import annotations

import socket
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECORD = np.dtype([("due", "<i8"), ("key", "<i8")])

#: The keys of the events: as many lanes.
KEYS = 1_000
#: A source sleeps where the next event is later than this, and otherwise looks at the clock.
_SLEEP = 0.002


def random_events(rate: float, count: int, seed: int) -> NDArray[Any]:
    """Events that are due at random times from 0 on."""
    generator = np.random.default_rng(seed)
    events = np.empty(count, RECORD)
    events["key"] = generator.integers(0, KEYS, count)
    events["due"] = (np.cumsum(generator.exponential(1 / rate, count)) * 1e6).astype(np.int64)
    return events


def send(port: int, rate: float, count: int, seed: int) -> None:
    events = random_events(rate, count, seed)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        events["due"] += int((time.monotonic() + 0.2) * 1e6)
        due = events["due"] / 1e6
        content, sent = events.tobytes(), 0
        while sent < count:
            ready = int(np.searchsorted(due, time.monotonic()))
            if ready > sent:
                connection.sendall(content[sent * RECORD.itemsize : ready * RECORD.itemsize])
                sent = ready
            elif due[sent] - time.monotonic() > _SLEEP:
                time.sleep(_SLEEP / 2)


if __name__ == "__main__":
    send(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
