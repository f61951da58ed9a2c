"""Metrics by notification, as the paper counts predictions: one each time a probability rises to the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.forecast.evaluation.metrics import ratio
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import TimesToMatch


@dataclass(frozen=True)
class NotificationMetrics:
    """For each threshold the number of notifications: `made` in all, `true` and `false`; the rest is censored.

    Of all `matches`, `foreseen` had a notification within the horizon before them. `lead` is the mean lead time of true
    notifications: how long before the match they were made.
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


def notification_metrics(
    process: Ints, probability: Floats, matched: Flags, times: TimesToMatch, horizon: Horizon, thresholds: Floats
) -> NotificationMetrics:
    """From the rows of a trace, in which the rows of one process are in order.

    A notification is made where the probability is at least the threshold and was below it at the previous row of the
    process. A process starts below; NaN (too little is known) is below.
    """
    order = np.argsort(process, kind="stable")
    owner, forecast = process[order], probability[order]
    to_match, left = times.to_match(horizon)[order], times.left(horizon)[order]
    happened, known = times.happened(horizon)[order], times.known(horizon)[order]
    goes_on = np.append(False, owner[1:] == owner[:-1])[: len(owner)]
    matches = np.flatnonzero(matched[order])
    counts = np.zeros((4, len(thresholds)), np.int64)
    lead = np.full(len(thresholds), np.nan)
    for k, threshold in enumerate(thresholds.tolist()):
        above = forecast >= threshold
        rises = above & ~(np.append(False, above[:-1])[: len(above)] & goes_on)
        hits = rises & happened
        # The last notification before each match; the difference in data left is the time between them.
        latest = _latest_before(rises)[matches]
        foreseen = (latest >= 0) & (owner[latest] == owner[matches])
        foreseen &= left[latest] - left[matches] <= horizon.amount
        counts[:, k] = rises.sum(), (hits & known).sum(), (rises & ~happened & known).sum(), foreseen.sum()
        lead[k] = ratio(to_match[hits].sum(), hits.sum())
    made, true, false, seen_ahead = counts
    return NotificationMetrics(thresholds, made, true, false, seen_ahead, len(matches), lead)


def _latest_before(marked: Flags) -> Ints:
    """For each row the last marked row before it; -1 where there is none.

    >>> _latest_before(np.array([False, True, False, True])).tolist()
    [-1, -1, 1, 1]
    """
    latest = np.maximum.accumulate(np.where(marked, np.arange(len(marked)), -1))
    return np.append(-1, latest[:-1])[: len(marked)]
