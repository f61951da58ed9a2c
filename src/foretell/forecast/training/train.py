"""Training, from recorded traces to the model of a subscription.

There are three steps, so that many tasks can do the second one, each on its lanes: `select_structure` chooses symbols,
contexts, and whether to forecast from parts, on a sample of the history; `count_transitions` counts a trace, and counts
can be merged; `fit` makes the model of all counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from foretell.arrays import Ints
from foretell.forecast.online.event_symbols import EventSymbols
from foretell.forecast.online.factory import fingerprint_of, written
from foretell.forecast.training.context_order import select_order
from foretell.forecast.training.part_choice import compare_parts
from foretell.forecast.training.trace_recorder import RecordedTrace, TraceRecorder
from foretell.language.checked import CheckedSubscription
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.event_sample import NO_SAMPLE, EventSample
from foretell.learn.lane_statistics import estimate_strength
from foretell.learn.model import SubscriptionModel
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics, merge_statistics
from foretell.learn.suffix_tree import SuffixTree
from foretell.learn.trace import Trace

#: The size of the alphabet; rarer sets of conditions share one symbol.
MAX_SYMBOLS = 64

#: The horizon at which alternatives are compared where that of the statement is not a number of events.
DEFAULT_EVENTS_AHEAD = 5


@dataclass(frozen=True)
class ModelStructure:
    """The structure of a subscription's model: its symbols (sets of conditions that hold, as bits), its contexts, and
    whether it forecasts from parts."""

    codes: tuple[int, ...] = ()
    contexts: Contexts = NO_CONTEXTS
    by_parts: bool = False

    def contexts_after(self, record: RecordedTrace) -> Ints:
        """The context after each event."""
        if len(self.contexts) == 1:
            return np.zeros(len(record.trace), np.int64)
        return self.contexts.after(_symbols(record, self.codes), record.trace.process)


@dataclass(frozen=True)
class TrainingCounts:
    """The counts of a history, or of a part of it: of the whole pattern, and of its parts where these forecast it;
    and a sample of the events."""

    whole: Statistics
    parts: tuple[Statistics, ...] = ()
    sample: EventSample = NO_SAMPLE

    def merged(self, other: TrainingCounts) -> TrainingCounts:
        parts = self.parts or other.parts  # a task without events has no counts of parts
        if self.parts and other.parts:
            parts = tuple(_merged(a, b) for a, b in zip(self.parts, other.parts, strict=True))
        return TrainingCounts(_merged(self.whole, other.whole), parts, self.sample.merged(other.sample))


def _merged(a: Statistics, b: Statistics) -> Statistics:
    return merge_statistics(a, b).limited()


def train_subscription(
    checked: CheckedSubscription, recorders: Sequence[TraceRecorder], settings: Learning
) -> SubscriptionModel:
    """The model of one statement: of a template, from all its rows together."""
    records = [recorder.record() for recorder in recorders]
    structure = select_structure(checked, records, settings)
    return fit(checked, [count_transitions(record, structure, settings) for record in records], structure, settings)


def select_structure(
    checked: CheckedSubscription, records: Iterable[RecordedTrace], settings: Learning
) -> ModelStructure:
    """Selected on the longest of the records."""
    record = max(records, key=lambda candidate: len(candidate.trace))
    structure = ModelStructure()
    if settings.order != 0 and checked.horizon is None:  # a time horizon uses no contexts
        codes = _most_frequent(record.code)
        trace = replace(record.trace, symbol=_symbols(record, codes))
        structure = ModelStructure(codes, _select_contexts(checked, trace, settings))
    if record.observed_parts is None or not len(record.trace):
        return structure
    comparison = compare_parts(
        record,
        structure.contexts_after(record),
        _events_ahead(checked),
        enough=settings.enough,
        half_life=settings.half_life,
    )
    return replace(structure, by_parts=comparison.by_parts)


def count_transitions(record: RecordedTrace, structure: ModelStructure, settings: Learning) -> TrainingCounts:
    contexts = None if len(structure.contexts) == 1 else structure.contexts_after(record)
    parts = record.parts if structure.by_parts else ()
    return TrainingCounts(
        Statistics.of(record.trace, contexts, half_life=settings.half_life),
        tuple(Statistics.of(trace, half_life=settings.half_life) for trace in parts),
        EventSample.of(record.sequence_hash),
    )


def fit(
    checked: CheckedSubscription, pieces: Iterable[TrainingCounts], structure: ModelStructure, settings: Learning
) -> SubscriptionModel:
    """The model, from the counts of all pieces of the history."""
    counts = reduce(TrainingCounts.merged, pieces)
    statistics = counts.whole
    if len(statistics.lanes.keys) > 1:
        strength = estimate_strength(statistics.lanes, statistics.counts, statistics.matched)
        settings = replace(settings, strength=strength)
    return SubscriptionModel(
        fingerprint_of(written(checked)),
        statistics,
        structure.contexts,
        settings={**settings.to_json(), "symbols": list(structure.codes)},
        parts=counts.parts,
        sample=counts.sample,
        time=checked.time,
    )


def _symbols(record: RecordedTrace, codes: Sequence[int]) -> Ints:
    return EventSymbols((), list(codes)).symbols_of(record.code)


def _most_frequent(code: Ints) -> tuple[int, ...]:
    codes, count = np.unique(code, return_counts=True)
    return tuple(codes[np.argsort(-count, kind="stable")[:MAX_SYMBOLS]].tolist())


def _select_contexts(checked: CheckedSubscription, trace: Trace, settings: Learning) -> Contexts:
    if not len(trace) or trace.symbol.max(initial=0) == 0:
        return NO_CONTEXTS
    if settings.order is not None:
        return SuffixTree.of(trace, settings.order, min_count=1).unpruned()
    return select_order(trace, _events_ahead(checked), enough=settings.enough, half_life=settings.half_life).contexts


def _events_ahead(checked: CheckedSubscription) -> int:
    forecast = checked.tree.forecast
    return DEFAULT_EVENTS_AHEAD if forecast is None or forecast.events is None else forecast.events
