"""From what was recorded of a subscription to what is learned of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from foretell.forecast.order import order_of
from foretell.forecast.symbols import Symbols
from foretell.forecast.watchers import Recorder, mark_of
from foretell.language.checked import CheckedSubscription
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.lanes import strength_of
from foretell.learn.model import Learned
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics, merge
from foretell.learn.suffixes import Suffixes
from foretell.learn.trace import Ints, Trace

#: Kinds of events that contexts tell apart; rarer ones are as if unknown.
MOST_SYMBOLS = 64

#: How far ahead contexts are tried out where the horizon is not a number of events.
USUAL = 5


def learned(checked: CheckedSubscription, recorders: Sequence[Recorder], settings: Learning) -> Learned:
    """Of one statement: of a template, all its rows together."""
    traces = [recorder.trace() for recorder in recorders]
    codes = _codes([code for _, code in traces])
    symbols = Symbols(recorders[0].symbols.conditions, codes)
    numbered = [replace(trace, symbol=symbols.numbered(code)) for trace, code in traces]
    contexts = _contexts(checked, max(numbered, key=len), settings)
    half_life = settings.half_life
    parts = [
        Statistics.of(t, contexts.after(t.symbol, t.process) if len(contexts) > 1 else None, half_life=half_life)
        for t in numbered
    ]
    statistics = reduce(merge, parts)
    if len(statistics.lanes.keys) > 1:
        strength = strength_of(statistics.lanes, statistics.counts, statistics.matched)
        settings = replace(settings, strength=strength)
    return Learned(mark_of(checked.tree), statistics, contexts, settings={**settings.as_json(), "symbols": codes})


def _codes(some: Sequence[Ints]) -> list[int]:
    """The sets of conditions that hold most often."""
    code, count = np.unique(np.concatenate(some), return_counts=True)
    return [int(one) for one in code[np.argsort(-count, kind="stable")[:MOST_SYMBOLS]]]


def _contexts(checked: CheckedSubscription, trace: Trace, settings: Learning) -> Contexts:
    if settings.order == 0 or not len(trace) or trace.symbol.max(initial=0) == 0:
        return NO_CONTEXTS
    if settings.order is not None:
        return Suffixes.of(trace, settings.order, least=1).whole()
    forecast = checked.tree.forecast
    events = USUAL if forecast is None or forecast.events is None else forecast.events
    return order_of(trace, events, enough=settings.enough, half_life=settings.half_life).contexts
