"""How many symbols of the past a forecast should look at: tried out on the data, block after block of time.

Each block is forecast from what came before it, as in life. Of the orders that forecast as well as the best, by the
spread over the blocks, the lowest is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Floats
from foretell.forecast.chain.first_passage import ENOUGH
from foretell.forecast.chain.probability_table import Table
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.outcomes import came_within
from foretell.learn.statistics import Statistics
from foretell.learn.suffix_tree import Suffixes
from foretell.learn.trace import Trace

ORDERS = tuple(range(6))
BLOCKS = 5
#: Of a longer trace only so many rows are tried.
MOST_ROWS = 500_000


@dataclass(frozen=True)
class Order:
    """`losses[o, b]` is the mean log loss of "a match within n events" for order `orders[o]` in block b."""

    order: int
    contexts: Contexts
    orders: tuple[int, ...]
    losses: tuple[tuple[float, ...], ...]


def order_of(
    trace: Trace,
    events: int,
    *,
    orders: Sequence[int] = ORDERS,
    enough: float = ENOUGH,
    half_life: float = math.inf,
) -> Order:
    """The order for a horizon of so many events, and the contexts grown on the whole trace."""
    tried = trace.until(MOST_ROWS) if len(trace) > MOST_ROWS else trace
    orders = tuple(sorted(orders))
    came, known = came_within(tried, events)
    cuts = np.linspace(0, len(tried), BLOCKS + 1).astype(int)
    losses = np.zeros((len(orders), BLOCKS - 1))
    for block in range(1, BLOCKS):
        before, rows = tried.until(int(cuts[block])), np.arange(cuts[block], cuts[block + 1])
        suffixes = Suffixes.of(before, orders[-1])
        done: dict[Contexts, float] = {}
        for number, order in enumerate(orders):
            contexts = suffixes.pruned(order)
            if contexts not in done:
                symbol, process = tried.symbol[: cuts[block + 1]], tried.process[: cuts[block + 1]]
                context = contexts.after(symbol, process)
                learned = Statistics.of(before, context[: len(before)], half_life=half_life, most_lanes=0)
                said = Table.of(learned, events, enough=enough).at(tried.state[rows], context[rows])
                judged = known[rows] & ~np.isnan(said)
                done[contexts] = log_loss(said[judged], came[rows][judged])
            losses[number, block - 1] = done[contexts]
    best = int(np.argmin(losses.mean(axis=1)))
    worse = losses - losses[best]
    spread = worse.std(axis=1, ddof=1) / math.sqrt(BLOCKS - 1)
    chosen = orders[int(np.argmax(worse.mean(axis=1) <= spread + 1e-12))]
    contexts = Suffixes.of(trace, chosen).pruned(chosen) if chosen else NO_CONTEXTS
    return Order(chosen, contexts, orders, tuple(map(tuple, losses.tolist())))


def log_loss(said: Floats, came: Flags) -> float:
    """Of nothing it is 0, so that blocks without forecasts decide nothing."""
    if len(said) == 0:
        return 0.0
    sure = np.clip(said, 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(came, np.log(sure), np.log1p(-sure))))
