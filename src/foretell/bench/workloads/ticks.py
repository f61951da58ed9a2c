"""Synthetic trades. They are the same in every run and on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SEED = 20240607
_NAMES = 100
#: All columns are drawn at this length, so that the first events do not depend on `count`.
MAX_TICKS = 5_000_000


def ticks(count: int) -> pa.Table:
    """Trades of a hundred names: `ts` (milliseconds, a number), `name`, `price` (a walk between 50 and 150), `volume`.

    The stream on which engines were compared: gaps of 1 to 19 ms, names S00 to S99 with equal probability, prices that
    move by a standard normal step and are reflected at the borders, volumes 1 to 1000.
    """
    if not 0 <= count <= MAX_TICKS:
        raise ValueError(f"expected 0 to {MAX_TICKS:,} ticks, found {count:,}")
    generator = np.random.default_rng(_SEED)
    time = 1_700_000_000_000 + np.cumsum(generator.integers(1, 20, MAX_TICKS))
    name = generator.integers(0, _NAMES, MAX_TICKS).astype(np.int32)
    volume = generator.integers(1, 1001, MAX_TICKS).astype(np.int32)
    steps = generator.normal(0, 1, MAX_TICKS)
    first = generator.uniform(50, 150, _NAMES)
    price = np.empty(MAX_TICKS)
    for number, first_price in enumerate(first):
        ticks_of_name = np.flatnonzero(name == number)
        # Folding the free walk at both borders reflects it: a period goes there and back.
        folded = np.mod(first_price - 50 + np.cumsum(steps[ticks_of_name]), 200)
        price[ticks_of_name] = np.round(50 + np.minimum(folded, 200 - folded), 2)
    labels = pa.array([f"S{number:02d}" for number in range(_NAMES)])
    names = pa.DictionaryArray.from_arrays(name[:count], labels).cast(pa.string())
    columns: dict[str, Any] = {"ts": time[:count], "name": names, "price": price[:count], "volume": volume[:count]}
    return pa.table(columns)


def repeated_ticks(count: int) -> Iterator[pa.Table]:
    """The ticks again and again, each copy after the other in time, until there are so many events."""
    table = ticks(min(count, MAX_TICKS))
    times = table["ts"].to_numpy()
    period = int(times[-1] - times[0]) + 10
    for number, first in enumerate(range(0, count, MAX_TICKS)):
        shifted = pc.add(table["ts"], pa.scalar(number * period))
        yield table.set_column(0, "ts", shifted).slice(0, count - first)
