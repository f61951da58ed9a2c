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
    """`ys` are times of y and whether each happens, `comes` says whether z does."""
    every = np.ones(len(x), np.bool_)
    return _reads(lane, [("x", x, every), *(("y", time, happens) for time, happens in ys), ("z", z, comes)])


def _reads(lane: Ints, parts: list[tuple[str, Floats, Flags]]) -> pa.Table:
    """Reads in the order of time: of each kind, the times of all instances and whether each happens."""
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


def polled(count: int, rng: np.random.Generator, period: float, first: int = 0) -> pa.Table:
    """A reader asks every `period` who is there: three of four stay near it from x to z, the others never are. Lanes
    are numbered from `first` on."""
    lane, x = _starts(count)
    lane, x = lane + first, x + first * 0.5
    z = x + 5 + rng.gamma(2, 20, count)
    near, phase = rng.random(count) < 0.75, rng.random(count) * period
    polls = [x + phase + k * period for k in range(int(np.ceil((z - x).max() / period)))]
    return _table(lane, x, [(y, near & (y < z)) for y in polls], z, np.ones(count, np.bool_))


def _two_between(count: int, rng: np.random.Generator) -> pa.Table:
    """Each of y and w is passed or left out, and w is more likely after y."""
    lane, x = _starts(count)
    y_happens = rng.random(count) < 0.7
    y = np.where(y_happens, x + rng.gamma(2, 20, count), x)
    w_happens = rng.random(count) < np.where(y_happens, 0.8, 0.3)
    w = np.where(w_happens, y + rng.gamma(2, 15, count), y)
    every = np.ones(count, np.bool_)
    parts = [("x", x, every), ("y", y, y_happens), ("w", w, w_happens), ("z", w + rng.gamma(2, 15, count), every)]
    return _reads(lane, parts)


def polled_tags(count: int, rng: np.random.Generator, period: float = 10.0) -> pa.Table:
    """Tags that are read by x, mostly by y, and by z, at each poll while they are there. A poll misses one tag in ten,
    which is not a loss: the read never happened."""
    lane, arrives = _starts(count)
    parts = list[tuple[str, Floats, Flags]]()
    phase = rng.random(count) * period
    for kind, share in (("x", 1.0), ("y", 0.7), ("z", 1.0)):
        is_there = rng.random(count) < share
        leaves = np.where(is_there, arrives + rng.gamma(2, 12, count), arrives)
        first = arrives + (phase - arrives) % period
        polls = [first + period * number for number in range(8)]
        parts += [(kind, poll, is_there & (poll < leaves) & (rng.random(count) < 0.9)) for poll in polls]
        arrives = leaves + np.where(is_there, rng.exponential(15, count), 0.0)
    return _reads(lane, parts)


#: By name; each makes so many instances.
WORLDS: Mapping[str, Callable[[int, np.random.Generator], pa.Table]] = {
    "independent end": _independent_end,
    "only after": _only_after,
    "after or instead": _after_or_instead,
    "repeats": _repeats,
    "several reads": _several_reads,
    "shop": _shop,
    "overlapping": _overlapping,
    "two between": _two_between,
}
