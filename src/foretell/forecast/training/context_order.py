"""The order of contexts, how many past symbols a forecast looks at, selected by time-ordered cross-validation.

Each block of time is forecast from all data before it. The lowest order is taken that forecasts as well as the best
one, up to the standard error over the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Floats
from foretell.forecast.chain.first_passage import ENOUGH
from foretell.forecast.chain.probability_table import ProbabilityTable
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.outcomes import matched_within
from foretell.learn.statistics import Statistics
from foretell.learn.suffix_tree import SuffixTree
from foretell.learn.trace import Trace

ORDERS = tuple(range(6))
BLOCKS = 5
#: The number of rows, from the start of the trace, that are used.
MAX_ROWS = 500_000


@dataclass(frozen=True)
class ContextOrder:
    """`losses[o, b]` is the mean log loss of "a match within n events" for order `orders[o]` in block b."""

    order: int
    contexts: Contexts
    orders: tuple[int, ...]
    losses: tuple[tuple[float, ...], ...]


def select_order(
    trace: Trace,
    events: int,
    *,
    orders: Sequence[int] = ORDERS,
    enough: float = ENOUGH,
    half_life: float = math.inf,
) -> ContextOrder:
    """The order for a horizon in events, and the contexts grown on the whole trace."""
    sample = trace.until(MAX_ROWS) if len(trace) > MAX_ROWS else trace
    orders = tuple(sorted(orders))
    happened, known = matched_within(sample, events)
    cuts = np.linspace(0, len(sample), BLOCKS + 1).astype(int)
    losses = np.zeros((len(orders), BLOCKS - 1))
    for block in range(1, BLOCKS):
        before, rows = sample.until(int(cuts[block])), np.arange(cuts[block], cuts[block + 1])
        tree = SuffixTree.of(before, orders[-1])
        loss_of: dict[Contexts, float] = {}
        for number, order in enumerate(orders):
            contexts = tree.pruned(order)
            if contexts not in loss_of:
                context = contexts.after(sample.symbol[: cuts[block + 1]], sample.process[: cuts[block + 1]])
                statistics = Statistics.of(before, context[: len(before)], half_life=half_life, max_lanes=0)
                table = ProbabilityTable.of(statistics, events, enough=enough)
                probability = table.at(sample.state[rows], context[rows])
                scored = known[rows] & ~np.isnan(probability)
                loss_of[contexts] = log_loss(probability[scored], happened[rows][scored])
            losses[number, block - 1] = loss_of[contexts]
    best = int(np.argmin(losses.mean(axis=1)))
    worse = losses - losses[best]
    standard_error = worse.std(axis=1, ddof=1) / math.sqrt(BLOCKS - 1)
    chosen = orders[int(np.argmax(worse.mean(axis=1) <= standard_error + 1e-12))]
    contexts = SuffixTree.of(trace, chosen).pruned(chosen) if chosen else NO_CONTEXTS
    return ContextOrder(chosen, contexts, orders, tuple(map(tuple, losses.tolist())))


def log_loss(probability: Floats, happened: Flags) -> float:
    """0 without any forecasts, so that such blocks decide nothing."""
    if len(probability) == 0:
        return 0.0
    clipped = np.clip(probability, 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(happened, np.log(clipped), np.log1p(-clipped))))
