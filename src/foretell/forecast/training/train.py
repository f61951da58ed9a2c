"""From what was recorded of a subscription to what is learned of it.

Three steps, so that many tasks can do the second, each on its lanes: which symbols and contexts there are and whether
the parts of a pattern speak for it, which a part of the history tells; what is counted, which is merged; and what is
made of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from foretell.arrays import Ints
from foretell.forecast.online.event_symbols import Symbols
from foretell.forecast.online.factory import mark_of
from foretell.forecast.training.context_order import order_of
from foretell.forecast.training.part_choice import choice_of
from foretell.forecast.training.trace_recorder import Record, Recorder
from foretell.language.checked import CheckedSubscription
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.lane_statistics import strength_of
from foretell.learn.model import Learned
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics, merge
from foretell.learn.suffix_tree import Suffixes
from foretell.learn.trace import Trace

#: Kinds of events that contexts tell apart; rarer ones are as if unknown.
MOST_SYMBOLS = 64

#: How far ahead things are tried out where the horizon is not a number of events.
USUAL = 5


@dataclass(frozen=True)
class Chosen:
    """What is found out beforehand: the symbols of a subscription, by the sets of conditions that hold (as bits), the
    contexts of them, and whether its parts speak for it."""

    codes: tuple[int, ...] = ()
    contexts: Contexts = NO_CONTEXTS
    by_parts: bool = False


@dataclass(frozen=True)
class Counts:
    """What was counted of a history, or of a piece of it: of a subscription, and of its parts if they speak for it."""

    whole: Statistics
    parts: tuple[Statistics, ...] = ()

    def merged(self, other: Counts) -> Counts:
        parts = self.parts or other.parts  # who has seen no events has seen no parts
        if self.parts and other.parts:
            parts = tuple(_merged(*both) for both in zip(self.parts, other.parts, strict=True))
        return Counts(_merged(self.whole, other.whole), parts)


def _merged(one: Statistics, other: Statistics) -> Statistics:
    return merge(one, other).limited()


def learned(checked: CheckedSubscription, recorders: Sequence[Recorder], settings: Learning) -> Learned:
    """Of one statement: of a template, all its rows together."""
    records = [recorder.record() for recorder in recorders]
    chosen = chosen_of(checked, records, settings)
    return learned_from(checked, [counted(record, chosen, settings) for record in records], chosen, settings)


def chosen_of(checked: CheckedSubscription, records: Iterable[Record], settings: Learning) -> Chosen:
    """What the longest of some records tells."""
    record = max(records, key=lambda one: len(one.trace))
    codes: tuple[int, ...] = ()
    contexts = NO_CONTEXTS
    if settings.order != 0:
        codes = _codes(record.code)
        numbered = replace(record.trace, symbol=Symbols((), list(codes)).numbered(record.code))
        contexts = _contexts(checked, numbered, settings)
    chosen = Chosen(codes, contexts)
    if record.sides is None or not len(record.trace):
        return chosen
    after = _contexts_after(record, chosen)
    choice = choice_of(record, after, _events(checked), enough=settings.enough, half_life=settings.half_life)
    return replace(chosen, by_parts=choice.by_parts)


def counted(record: Record, chosen: Chosen, settings: Learning) -> Counts:
    contexts = None if len(chosen.contexts) == 1 else _contexts_after(record, chosen)
    parts = record.parts if chosen.by_parts else ()
    return Counts(
        Statistics.of(record.trace, contexts, half_life=settings.half_life),
        tuple(Statistics.of(trace, half_life=settings.half_life) for trace in parts),
    )


def _contexts_after(record: Record, chosen: Chosen) -> Ints:
    """The context after each event."""
    if len(chosen.contexts) == 1:
        return np.zeros(len(record.trace), np.int64)
    symbol = Symbols((), list(chosen.codes)).numbered(record.code)
    return chosen.contexts.after(symbol, record.trace.process)


def learned_from(checked: CheckedSubscription, pieces: Iterable[Counts], chosen: Chosen, settings: Learning) -> Learned:
    """From the counts of all pieces of the history."""
    counts = reduce(Counts.merged, pieces)
    statistics = counts.whole
    if len(statistics.lanes.keys) > 1:
        strength = strength_of(statistics.lanes, statistics.counts, statistics.matched)
        settings = replace(settings, strength=strength)
    told = {**settings.as_json(), "symbols": list(chosen.codes)}
    return Learned(mark_of(checked.tree), statistics, chosen.contexts, settings=told, parts=counts.parts)


def _codes(code: Ints) -> tuple[int, ...]:
    """The sets of conditions that hold most often."""
    found, count = np.unique(code, return_counts=True)
    return tuple(int(one) for one in found[np.argsort(-count, kind="stable")[:MOST_SYMBOLS]])


def _contexts(checked: CheckedSubscription, trace: Trace, settings: Learning) -> Contexts:
    if not len(trace) or trace.symbol.max(initial=0) == 0:
        return NO_CONTEXTS
    if settings.order is not None:
        return Suffixes.of(trace, settings.order, least=1).whole()
    return order_of(trace, _events(checked), enough=settings.enough, half_life=settings.half_life).contexts


def _events(checked: CheckedSubscription) -> int:
    """How far ahead things are tried out."""
    forecast = checked.tree.forecast
    return USUAL if forecast is None or forecast.events is None else forecast.events
