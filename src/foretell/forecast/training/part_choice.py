"""The choice between forecasting a large pattern from its parts or by one chain, by time-ordered cross-validation.

From parts (P-ToPSS 5.2.3) there is more to learn from, but independence is assumed. In one chain, states that are
equally far from a match share bits, and nothing is assumed. Which is better depends on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.first_passage import ENOUGH, MarkovChain, waiting_time_cdf
from foretell.forecast.chain.part_configurations import whole_waiting_time
from foretell.forecast.chain.probability_table import ProbabilityTable
from foretell.forecast.training.context_order import BLOCKS, MAX_ROWS, log_loss
from foretell.forecast.training.trace_recorder import RecordedTrace
from foretell.learn.outcomes import matched_within
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Trace, find_configurations


@dataclass(frozen=True)
class PartComparison:
    """The mean log loss of "a match within n events" in each block of time, from parts and by one chain."""

    parts: tuple[float, ...]
    chain: tuple[float, ...]

    @property
    def by_parts(self) -> bool:
        return float(np.mean(self.parts)) < float(np.mean(self.chain))


def compare_parts(
    record: RecordedTrace, contexts: Ints, events: int, *, enough: float = ENOUGH, half_life: float = math.inf
) -> PartComparison:
    """`contexts` is the context after each event. Where there is no forecast yet, the base rate is used."""
    trace, stop = record.trace, min(len(record.trace), MAX_ROWS)
    happened, known = matched_within(trace.until(stop), events)
    cuts = np.linspace(0, stop, BLOCKS + 1).astype(int)
    part_losses: list[float] = []
    chain_losses: list[float] = []
    for block in range(1, BLOCKS):
        first, rows = int(cuts[block]), np.arange(cuts[block], cuts[block + 1])
        statistics = Statistics.of(trace.until(first), contexts[:first], half_life=half_life, max_lanes=0)
        by_chain = ProbabilityTable.of(statistics, events, enough=enough).at(trace.state[rows], contexts[rows])
        by_parts = _forecast_from_parts(record, first, rows, events, enough, half_life)
        base_rate = (happened[:first].sum() + 1) / (first + 2)
        for probability, losses in ((by_parts, part_losses), (by_chain, chain_losses)):
            scored = np.where(np.isnan(probability), base_rate, probability)[known[rows]]
            losses.append(log_loss(scored, happened[rows][known[rows]]))
    return PartComparison(tuple(part_losses), tuple(chain_losses))


def _forecast_from_parts(
    record: RecordedTrace, first: int, rows: Ints, events: int, enough: float, half_life: float
) -> Floats:
    """The probability after each of the rows, learned from the rows before `first`."""
    assert record.observed_parts is not None
    parts, words = record.observed_parts.decomposition, record.observed_parts.words[rows]
    cdfs, numbers, entered = [], [], []
    for trace, entry in zip(record.parts, parts.entries, strict=True):
        cdf, number, entry_number = _part_waiting_times(trace, first, rows, entry, events, enough, half_life)
        cdfs.append(cdf)
        numbers.append(number)
        entered.append(cdf[entry_number])
    keys = np.hstack([words.view(np.int64), np.stack(numbers, axis=1)])
    _, distinct, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    probability = [
        whole_waiting_time(parts, words[row], [cdf[number[row]] for cdf, number in zip(cdfs, numbers)], entered)[-1]
        for row in distinct
    ]
    return np.array(probability)[which.reshape(-1)]


def _part_waiting_times(
    trace: Trace, first: int, rows: Ints, entry: int, events: int, enough: float, half_life: float
) -> tuple[Floats, Ints, int]:
    """The waiting times from each state of a part, the last one for unknown states; the index of the one after each of
    the rows; and the index of the one when its segment begins."""
    statistics = Statistics.of(trace.until(first), half_life=half_life, max_lanes=0)
    cdf = waiting_time_cdf(MarkovChain.of(statistics.counts, statistics.matched, enough), events)
    numbers = find_configurations(statistics.states, np.append(trace.state[rows], np.uint64(entry)))
    return np.vstack([cdf, np.full(events + 1, np.nan)]), numbers[:-1], int(numbers[-1])
