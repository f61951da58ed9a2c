"""From what was recorded of a subscription to what is learned of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from foretell.forecast.outcomes import Horizon
from foretell.forecast.watchers import Recorder, mark_of
from foretell.language.checked import CheckedSubscription
from foretell.learn.contexts import NO_CONTEXTS
from foretell.learn.lanes import strength_of
from foretell.learn.model import Learned
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics, merge

#: Kinds of events that contexts tell apart; rarer ones are as if unknown.
MOST_SYMBOLS = 64


def learned(
    checked: CheckedSubscription, recorders: Sequence[Recorder], settings: Learning, horizon: Horizon | None = None
) -> Learned:
    """Of one statement: of a template, all its rows together."""
    traces = [recorder.trace() for recorder in recorders]
    parts = [Statistics.of(trace, half_life=settings.half_life) for trace, _ in traces]
    statistics = reduce(merge, parts)
    pooled = settings
    if len(statistics.lanes.keys) > 1:
        pooled = replace(settings, strength=strength_of(statistics.lanes, statistics.counts, statistics.matched))
    return Learned(mark_of(checked.tree), statistics, NO_CONTEXTS, settings={**pooled.as_json(), "symbols": []})
