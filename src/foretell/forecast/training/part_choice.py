"""Whether a whole is forecast better by its parts or by a chain of its own: tried out on the data, as orders are.

By its parts (P-ToPSS 5.2.3) there is much to learn from and independence is assumed; by a chain of its own, states that
are as far from a match share bits, and nothing is assumed. Which is the lesser evil hangs on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.first_passage import ENOUGH, Chain, waiting
from foretell.forecast.chain.part_configurations import whole
from foretell.forecast.chain.probability_table import Table
from foretell.forecast.training.context_order import BLOCKS, MOST_ROWS, log_loss
from foretell.forecast.training.trace_recorder import Record
from foretell.learn.outcomes import came_within
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Trace, places


@dataclass(frozen=True)
class Choice:
    """The mean log loss of "a match within n events" in each block of time, by the parts and by the whole."""

    parts: tuple[float, ...]
    shared: tuple[float, ...]

    @property
    def by_parts(self) -> bool:
        return float(np.mean(self.parts)) < float(np.mean(self.shared))


def choice_of(
    record: Record, contexts: Ints, events: int, *, enough: float = ENOUGH, half_life: float = math.inf
) -> Choice:
    """`contexts` is the context after each event. Where nothing can be said yet, the base rate is."""
    whole_trace, stop = record.trace, min(len(record.trace), MOST_ROWS)
    came, known = came_within(whole_trace.until(stop), events)
    cuts = np.linspace(0, stop, BLOCKS + 1).astype(int)
    losses: tuple[list[float], list[float]] = [], []
    for block in range(1, BLOCKS):
        first, rows = int(cuts[block]), np.arange(cuts[block], cuts[block + 1])
        before = whole_trace.until(first)
        shared = Statistics.of(before, contexts[:first], half_life=half_life, most_lanes=0)
        said = Table.of(shared, events, enough=enough).at(whole_trace.state[rows], contexts[rows])
        usual = (came[:first].sum() + 1) / (first + 2)
        for found, mine in zip((_by_parts(record, first, rows, events, enough, half_life), said), losses, strict=True):
            found = np.where(np.isnan(found), usual, found)[known[rows]]
            mine.append(log_loss(found, came[rows][known[rows]]))
    return Choice(tuple(losses[0]), tuple(losses[1]))


def _by_parts(record: Record, first: int, rows: Ints, events: int, enough: float, half_life: float) -> Floats:
    """What is forecast by the parts, from what came before."""
    assert record.sides is not None
    parts, words = record.sides.parts, record.sides.words[rows]
    waits, numbers, entries = [], [], []
    for trace, entry in zip(record.parts, parts.entries, strict=True):
        cdf, number, begin = _waits(trace, first, rows, entry, events, enough, half_life)
        waits.append(cdf)
        numbers.append(number)
        entries.append(cdf[begin])
    every = np.hstack([words.view(np.int64), np.stack(numbers, axis=1)])
    _, at, which = np.unique(every, axis=0, return_index=True, return_inverse=True)
    found = [whole(parts, words[i], [w[n[i]] for w, n in zip(waits, numbers)], entries)[-1] for i in at]
    return np.array(found)[which.reshape(-1)]


def _waits(
    trace: Trace, first: int, rows: Ints, entry: int, events: int, enough: float, half_life: float
) -> tuple[Floats, Ints, int]:
    """The waiting times from each state of a part, and the numbers of those after some events and when it begins. The
    last is of what is unknown."""
    learned = Statistics.of(trace.until(first), half_life=half_life, most_lanes=0)
    cdf = waiting(Chain.of(learned.counts, learned.matched, enough), events)
    at = places(learned.states, np.append(trace.state[rows], np.uint64(entry)))
    return np.vstack([cdf, np.full(events + 1, np.nan)]), at[:-1], int(at[-1])
