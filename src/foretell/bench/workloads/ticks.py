"""Synthetic streams to measure with. Each is the same in every run and on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

_SEED = 20240607
_NAMES = 100
_MOST = 5_000_000  # all columns are drawn at this length, so that the first events do not depend on how many are wanted


def ticks(count: int) -> pa.Table:
    """Trades of a hundred names: `ts` (milliseconds, a number), `name`, `price` (a walk between 50 and 150), `volume`.

    The stream on which engines were compared: gaps of 1 to 19 ms, names S00 to S99 alike likely, prices moving by a
    standard normal step and reflected at the borders, volumes 1 to 1000.
    """
    if not 0 <= count <= _MOST:
        raise ValueError(f"at most {_MOST:,} ticks can be had")
    generator = np.random.default_rng(_SEED)
    time = 1_700_000_000_000 + np.cumsum(generator.integers(1, 20, _MOST))
    name = generator.integers(0, _NAMES, _MOST).astype(np.int32)
    volume = generator.integers(1, 1001, _MOST).astype(np.int32)
    steps = generator.normal(0, 1, _MOST)
    first = generator.uniform(50, 150, _NAMES)
    price = np.empty(_MOST)
    for number, beginning in enumerate(first):
        mine = np.flatnonzero(name == number)
        # Folding the free walk at both borders reflects it: a period is there and back.
        folded = np.mod(beginning - 50 + np.cumsum(steps[mine]), 200)
        price[mine] = np.round(50 + np.minimum(folded, 200 - folded), 2)
    labels = pa.array([f"S{number:02d}" for number in range(_NAMES)])
    names = pa.DictionaryArray.from_arrays(name[:count], labels).cast(pa.string())
    columns: dict[str, Any] = {"ts": time[:count], "name": names, "price": price[:count], "volume": volume[:count]}
    return pa.table(columns)
