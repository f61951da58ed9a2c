"""Traces for the tests: of chains that are known, and of any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from foretell.arrays import Floats
from foretell.learn.trace import Trace

quick = settings(max_examples=100, deadline=None, derandomize=True)


def made(**columns: Any) -> Trace:
    """A trace of lists."""
    return Trace(**columns)


def walk(
    moves: Floats, match: Floats, events: int, processes: int = 1, seed: int = 0, begin: int = 0, **columns: Any
) -> Trace:
    """A chain's own walk; after a match it begins again. State i is the configuration i."""
    random = np.random.default_rng(seed)
    cumulated = np.cumsum(np.hstack([moves, match[:, None]]), axis=1)
    state = np.full(processes, begin)
    states, matched = np.zeros((events, processes), np.int64), np.zeros((events, processes), np.bool_)
    for k in range(events):
        chosen = (random.random(processes)[:, None] > cumulated[state]).sum(axis=1).clip(max=len(match))
        matched[k] = chosen == len(match)
        state = states[k] = np.where(matched[k], begin, chosen)
    row = np.arange(events * processes)
    columns.setdefault("time", row // processes)
    columns.setdefault("keys", tuple(f'"{p}"' for p in range(processes)))
    return Trace(
        process=row % processes,
        ordinal=row // processes,
        state=states.ravel().astype(np.uint64),
        matched=matched.ravel(),
        **columns,
    )


@st.composite
def traces(draw: st.DrawFn, rows: int = 40) -> Trace:
    """Any trace: several processes in turn, gaps between their events, clocks that stand still."""
    size = draw(st.integers(0, rows))
    processes = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    process = random.integers(0, processes, size)
    ordinal = np.cumsum(random.integers(1, 4, size))
    time = np.cumsum(random.choice([0.0, 0.5, 1.0, 30.0], size))
    last = int(ordinal[-1]) if size else 0
    return Trace(
        process=process,
        ordinal=ordinal,
        time=time,
        state=random.choice([0, 1, 2, 5, 2**63], size).astype(np.uint64),
        matched=random.random(size) < 0.2,
        symbol=random.integers(0, 3, size),
        number=np.arange(size) * 2,
        keys=tuple(random.choice(["1", "2", "3"], processes).tolist()),
        starts=draw(st.booleans()),
        last_ordinal=np.full(processes, last + 3),
        last_time=np.full(processes, time[-1] + 9.0 if size else 0.0),
    )
