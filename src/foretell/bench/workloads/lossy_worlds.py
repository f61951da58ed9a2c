"""Worlds in which events are lost: what happened, and what was seen of it.

Each world lets x happen, then y in some way, then z. An estimate of `x ; !y ; z` says how likely it is that no y
happened between an x and a z. What is true is known here.

>>> happened = WORLDS["shop"](1_000, np.random.default_rng(1))
>>> seen = lossy(happened, 0.05, np.random.default_rng(2))
>>> len(seen) < len(happened)
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from foretell.arrays import Flags, Floats, Ints

STREAM = "STREAM reads (kind STRING, lane INT, time FLOAT, read INT) TIME time ID read;"

#: In this world lanes have several instances at a time.
OVERLAPPING = 20


def statement(loss: float, score: str = "") -> str:
    return (
        f"{STREAM} SUBSCRIBE m FROM reads PER lane MATCH x ; !y ; z "
        f"DEFINE x AS kind = 'x', y AS kind = 'y', z AS kind = 'z' "
        f"WITHIN 1000 LOSING {loss} OF y ABOVE 0{score};"
    )


def lossy(happened: pa.Table, loss: float, rng: np.random.Generator, kinds: str = "y") -> pa.Table:
    """The reads that are left where each of these kinds is lost with this probability."""
    return _thinned(happened, loss, rng, kinds)


def interrupted(happened: pa.Table, rng: np.random.Generator) -> pa.Table:
    """The same world where one x and one z in five fail to happen."""
    return _thinned(happened, 0.2, rng, "xz")


def _thinned(happened: pa.Table, share: float, rng: np.random.Generator, kinds: str) -> pa.Table:
    """The reads without this share of those of these kinds."""
    may_go = np.isin(happened.column("kind").to_numpy(zero_copy_only=False), list(kinds))
    return happened.filter(pa.array(~may_go | (rng.random(len(happened)) >= share)))


def _table(lane: Ints, x: Floats, ys: list[tuple[Floats, Flags]], z: Floats, comes: Flags) -> pa.Table:
    """Reads in the order of time; `ys` are times of y and whether each happens, `comes` says whether z does."""
    every = np.ones(len(x), np.bool_)
    parts = [("x", x, every), *(("y", time, happens) for time, happens in ys), ("z", z, comes)]
    kind = np.concatenate([np.full(happens.sum(), name) for name, _, happens in parts])
    time = np.concatenate([time[happens] for _, time, happens in parts])
    lanes = np.concatenate([lane[happens] for _, _, happens in parts])
    order = np.argsort(time, kind="stable")
    columns = {"kind": kind[order], "lane": lanes[order], "time": time[order], "read": np.arange(len(order))}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def _starts(count: int) -> tuple[Ints, Floats]:
    number: Ints = np.arange(count, dtype=np.int64)
    return number, np.asarray(number * 0.5, np.float64)


def _independent_end(count: int, rng: np.random.Generator) -> pa.Table:
    lane, x = _starts(count)
    y, z = x + rng.gamma(2, 20, count), x + rng.lognormal(4, 0.8, count)
    return _table(lane, x, [(y, (rng.random(count) < 0.6) & (y < z))], z, np.ones(count, np.bool_))


def _only_after(count: int, rng: np.random.Generator) -> pa.Table:
    lane, x = _starts(count)
    happens = rng.random(count) < 0.8
    y = x + rng.gamma(3, 15, count)
    return _table(lane, x, [(y, happens)], y + rng.gamma(2, 10, count), happens)


def _after_or_instead(count: int, rng: np.random.Generator) -> pa.Table:
    lane, x = _starts(count)
    happens = rng.random(count) < 0.5
    y = x + rng.gamma(2, 30, count)
    z = np.where(happens, y + rng.exponential(30, count), x + rng.exponential(40, count))
    return _table(lane, x, [(y, happens)], z, np.ones(count, np.bool_))


def _repeats(count: int, rng: np.random.Generator) -> pa.Table:
    lane, x = _starts(count)
    ys, last, happens = list[tuple[Floats, Flags]](), x, np.ones(count, np.bool_)
    for _ in range(4):
        happens = happens & (rng.random(count) < 0.6)
        last = np.where(happens, last + rng.gamma(2, 15, count), last)
        ys.append((last, happens))
    return _table(lane, x, ys, last + rng.gamma(2, 20, count), np.ones(count, np.bool_))


def _several_reads(count: int, rng: np.random.Generator) -> pa.Table:
    lane, x = _starts(count)
    happens = rng.random(count) < 0.7
    y = x + rng.gamma(2, 30, count)
    reads = [(y + 0.01 * k, happens & (rng.random(count) < 0.8**k)) for k in range(3)]
    z = np.where(happens, y + 1 + rng.exponential(20, count), x + rng.exponential(50, count))
    return _table(lane, x, reads, z, np.ones(count, np.bool_))


def _shop(count: int, rng: np.random.Generator) -> pa.Table:
    """Nine of ten pay, one in a hundred steals, the others leave nothing at the exit."""
    lane, x = _starts(count)
    draw = rng.random(count)
    pays, steals = draw < 0.9, draw >= 0.99
    y = x + rng.gamma(2, 60, count)
    z = np.where(pays, y + rng.exponential(20, count), x + rng.exponential(40, count))
    return _table(lane, x, [(y, pays)], z, pays | steals)


def _overlapping(count: int, rng: np.random.Generator) -> pa.Table:
    lane, _ = _starts(count)
    x = (lane // OVERLAPPING) * 1.0 + np.sort(rng.random((-(-count // OVERLAPPING), OVERLAPPING)) * 400).ravel()[:count]
    happens = rng.random(count) < 0.3
    y, z = x + rng.gamma(2, 10, count), x + rng.gamma(2, 25, count)
    return _table(lane // OVERLAPPING, x, [(y, happens & (y < z))], z, np.ones(count, np.bool_))


#: By name; each makes so many instances.
WORLDS: Mapping[str, Callable[[int, np.random.Generator], pa.Table]] = {
    "independent end": _independent_end,
    "only after": _only_after,
    "after or instead": _after_or_instead,
    "repeats": _repeats,
    "several reads": _several_reads,
    "shop": _shop,
    "overlapping": _overlapping,
}
