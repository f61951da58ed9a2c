"""Judged by notifications, as the paper counts predictions: one when a probability rises, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.forecast.evaluation.metrics import ratio
from foretell.forecast.evaluation.outcomes import Horizon, Waits


@dataclass(frozen=True)
class Alarms:
    """For each threshold: how many notifications, how many came true and how many not (the rest is censored).

    Of all `matches`, `foreseen` had a notification within the horizon before them. `lead` is how long before its match
    a true one came, on average.
    """

    thresholds: Floats
    made: Ints
    true: Ints
    false: Ints
    foreseen: Ints
    matches: int
    lead: Floats

    @property
    def precision(self) -> Floats:
        return ratio(self.true, self.true + self.false)

    @property
    def recall(self) -> Floats:
        return ratio(self.foreseen, np.full(len(self.foreseen), self.matches))


def alarms(
    process: NDArray[np.int64], probability: Floats, matched: Flags, waits: Waits, horizon: Horizon, thresholds: Floats
) -> Alarms:
    """From the rows of a trace, those of one process in order.

    A probability rises where it is at least the threshold and was not at the row before of its process; a process
    begins below. A probability that is nan (not enough is known) is below.
    """
    order = np.argsort(process, kind="stable")
    owner, said = process[order], probability[order]
    way, left = waits.to_match(horizon)[order], waits.left(horizon)[order]
    happened, known = waits.happened(horizon)[order], waits.known(horizon)[order]
    goes_on = np.append(False, owner[1:] == owner[:-1])[: len(owner)]
    matches = np.flatnonzero(matched[order])
    counts = np.zeros((4, len(thresholds)), np.int64)
    lead = np.full(len(thresholds), np.nan)
    for k, threshold in enumerate(thresholds.tolist()):
        above = said >= threshold
        rises = above & ~(np.append(False, above[:-1])[: len(above)] & goes_on)
        hits = rises & happened
        # The last notification before each match; what was left of the data tells how long before.
        latest = _latest_before(rises)[matches]
        foreseen = (latest >= 0) & (owner[latest] == owner[matches])
        foreseen &= left[latest] - left[matches] <= horizon.amount
        counts[:, k] = rises.sum(), (hits & known).sum(), (rises & ~happened & known).sum(), foreseen.sum()
        lead[k] = ratio(way[hits].sum(), hits.sum())
    made, true, false, seen = counts
    return Alarms(thresholds, made, true, false, seen, len(matches), lead)


def _latest_before(marked: Flags) -> Ints:
    """Of each row the last marked one before it; -1 where there is none.

    >>> _latest_before(np.array([False, True, False, True])).tolist()
    [-1, -1, 1, 1]
    """
    latest = np.maximum.accumulate(np.where(marked, np.arange(len(marked)), -1))
    return np.append(-1, latest[:-1])[: len(marked)]
