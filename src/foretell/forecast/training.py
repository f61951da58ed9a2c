"""From what was recorded of a subscription to what is learned of it.

Three steps, so that many tasks can do the second, each on its lanes: which symbols and contexts there are, which a part
of the history tells; what is counted, which is merged; and what is made of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Alphabet:
    """The symbols of a subscription, by the sets of conditions that hold (as bits), and the contexts of them."""

    codes: tuple[int, ...] = ()
    contexts: Contexts = NO_CONTEXTS


def learned(checked: CheckedSubscription, recorders: Sequence[Recorder], settings: Learning) -> Learned:
    """Of one statement: of a template, all its rows together."""
    traces = [recorder.trace() for recorder in recorders]
    alphabet = alphabet_of(checked, traces, settings)
    return learned_from(
        checked, [counted(trace, code, alphabet, settings) for trace, code in traces], alphabet, settings
    )


def alphabet_of(checked: CheckedSubscription, traces: Iterable[tuple[Trace, Ints]], settings: Learning) -> Alphabet:
    """What the longest of some traces tells; each comes with the bits of its events."""
    if settings.order == 0:
        return Alphabet()
    trace, code = max(traces, key=lambda one: len(one[0]))
    codes = _codes(code)
    numbered = replace(trace, symbol=Symbols((), list(codes)).numbered(code))
    return Alphabet(codes, _contexts(checked, numbered, settings))


def counted(trace: Trace, code: Ints, alphabet: Alphabet, settings: Learning) -> Statistics:
    if len(alphabet.contexts) == 1:
        return Statistics.of(trace, half_life=settings.half_life)
    symbol = Symbols((), list(alphabet.codes)).numbered(code)
    return Statistics.of(trace, alphabet.contexts.after(symbol, trace.process), half_life=settings.half_life)


def learned_from(
    checked: CheckedSubscription, parts: Iterable[Statistics], alphabet: Alphabet, settings: Learning
) -> Learned:
    """From the counts of all parts."""
    statistics = reduce(lambda one, other: merge(one, other).limited(), parts)
    if len(statistics.lanes.keys) > 1:
        strength = strength_of(statistics.lanes, statistics.counts, statistics.matched)
        settings = replace(settings, strength=strength)
    told = {**settings.as_json(), "symbols": list(alphabet.codes)}
    return Learned(mark_of(checked.tree), statistics, alphabet.contexts, settings=told)


def _codes(code: Ints) -> tuple[int, ...]:
    """The sets of conditions that hold most often."""
    found, count = np.unique(code, return_counts=True)
    return tuple(int(one) for one in found[np.argsort(-count, kind="stable")[:MOST_SYMBOLS]])


def _contexts(checked: CheckedSubscription, trace: Trace, settings: Learning) -> Contexts:
    if not len(trace) or trace.symbol.max(initial=0) == 0:
        return NO_CONTEXTS
    if settings.order is not None:
        return Suffixes.of(trace, settings.order, least=1).whole()
    forecast = checked.tree.forecast
    events = USUAL if forecast is None or forecast.events is None else forecast.events
    return order_of(trace, events, enough=settings.enough, half_life=settings.half_life).contexts
