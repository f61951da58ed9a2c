"""The trace recorder: an observer that keeps the observed runs of a subscription for training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Floats, Ints, Words
from foretell.events.types import Scalar, Type
from foretell.forecast.chain.part_configurations import part_configurations
from foretell.forecast.online.event_symbols import EventSymbols, attributes_of, conditions_of
from foretell.forecast.training.event_hashes import event_hashes, sequence_hashes
from foretell.language.checked import CheckedSubscription
from foretell.learn.lane_statistics import key_text
from foretell.learn.settings import Learning
from foretell.learn.trace import Trace
from foretell.machine.observe.observer import ObservedParts, ObservedRuns, Observer
from foretell.plan.match_plan import StatementPlan, attributes_read_by


@dataclass(frozen=True)
class RecordedTrace:
    """A trace. `code` has the conditions that hold for each event, as bits; `observed_parts` is set where there are
    parts; `event_hash` has the hash of each event, where those are recorded."""

    trace: Trace
    code: Ints
    observed_parts: ObservedParts | None = None
    event_hash: Words = field(default_factory=lambda: np.zeros(0, np.uint64))

    @cached_property
    def sequence_hash(self) -> Words:
        """The hash of each event and those before it, by which the same history is recognised."""
        if not len(self.event_hash):
            return self.event_hash
        return sequence_hashes(self.event_hash, self.trace.process, self.trace.ordinal)

    @cached_property
    def parts(self) -> tuple[Trace, ...]:
        """The trace of each part."""
        if self.observed_parts is None:
            return ()
        last = np.zeros((self.trace.processes, len(self.observed_parts.decomposition)), np.uint64)
        configuration, matched = part_configurations(self.observed_parts, self.trace.process, last)
        return tuple(
            replace(self.trace, state=configuration[:, part], matched=matched[:, part])
            for part in range(len(self.observed_parts.decomposition))
        )


class TraceRecorder:
    """Records the trace of one subscription, or of one row of a template. `attributes` distinguish events."""

    def __init__(self, symbols: EventSymbols, time: Type, attributes: Iterable[str] = ()) -> None:
        self.symbols, self._attributes = symbols, tuple(sorted(attributes))
        self._unit = 1e-6 if time is Type.TIMESTAMP else 1.0
        self._batches: list[tuple[NDArray[Any], ...]] = []
        self._observed_parts: list[ObservedParts] = []
        self._lane = np.zeros(0, np.int64)  # of each process
        self._last = np.zeros(0, np.int64)  # of each lane the ordinal of its last event
        self._pending = np.zeros(0, np.bool_)  # of each process whether time has completed a match since its last event
        self._keys: Sequence[Mapping[str, Scalar]] = ()
        self._by_value = False
        self._events = 0

    def observe(self, runs: ObservedRuns) -> tuple[Ints, Floats]:
        self._by_value, self._keys = runs.by_value, runs.keys
        self._lane = _extended(self._lane, runs.process)
        self._pending = _extended(self._pending, runs.process)
        self._last = _extended(self._last, runs.lane)
        self._lane[runs.process] = runs.lane
        np.maximum.at(self._last, runs.lane, runs.ordinal)
        matched = runs.matched.copy()
        pending = np.flatnonzero(self._pending[runs.process])
        if len(pending):  # a match that time completed after the last event counts with the next one
            _, first = np.unique(runs.process[pending], return_index=True)
            matched[pending[first]] = True
            self._pending[runs.process] = False
        self._pending[runs.completed] = True
        number = np.arange(self._events, self._events + len(matched))
        self._events += len(matched)
        code = self.symbols.condition_bits(runs.events, runs.strings)
        hashes = event_hashes(runs.events, self._attributes, runs.strings)
        self._batches.append(
            (runs.process, runs.ordinal, runs.time * self._unit, runs.configuration, matched, code, number, hashes)
        )
        if runs.parts is not None:
            self._observed_parts.append(runs.parts)
        return np.zeros(0, np.int64), np.zeros(0)

    def record(self, now: int | float | None = None) -> RecordedTrace:
        """The trace so far, observed until `now` or, without it, until its last event."""
        columns = [np.concatenate(batches) for batches in zip(_EMPTY_BATCH, *self._batches, strict=True)]
        process, ordinal, time, state, matched, code, number, hashes = columns
        lane_keys = [key_text(key) for key in self._keys[: len(self._last)]]
        end = time.max(initial=0.0) if now is None else now * self._unit
        trace = Trace(
            process,
            ordinal,
            time,
            state,
            matched,
            number=number,
            keys=tuple(lane_keys[lane] for lane in self._lane.tolist()),
            starts=not self._by_value,
            last_ordinal=self.lane_ends,
            last_time=np.full(len(self._lane), end),
        )
        return RecordedTrace(trace, code, self._joined_parts(), hashes)

    def _joined_parts(self) -> ObservedParts | None:
        if not self._observed_parts:
            return None
        words = np.concatenate([batch.words for batch in self._observed_parts])
        ended = np.concatenate([batch.ended for batch in self._observed_parts])
        return ObservedParts(self._observed_parts[0].decomposition, words, ended)

    @property
    def lane_ends(self) -> Ints:
        """For each process the ordinal of its lane's last event."""
        return self._last[self._lane]


_EMPTY_BATCH = tuple(np.zeros(0, kind) for kind in ("i8", "i8", "f8", "u8", "?", "i8", "i8", "u8"))


def _extended(column: NDArray[Any], numbers: Ints) -> NDArray[Any]:
    """The column, long enough to be indexed by `numbers`."""
    count = int(numbers.max(initial=-1)) + 1
    return np.pad(column, (0, max(0, count - len(column))))


@dataclass
class TraceRecorderFactory:
    """A recorder for each subscription with FORECAST; `recorders` has those made so far by statement."""

    settings: Learning
    recorders: dict[str, list[TraceRecorder]] = field(default_factory=dict)

    def observes(self, checked: CheckedSubscription) -> bool:
        return checked.tree.forecast is not None

    def observer(self, statement: StatementPlan) -> Observer | None:
        checked = statement.subscription
        if not self.observes(checked):
            return None
        symbols = EventSymbols(conditions_of(checked, self.settings.features))
        recorder = TraceRecorder(symbols, checked.time, attributes_read_by(checked))
        self.recorders.setdefault(checked.name, []).append(recorder)
        return recorder

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return attributes_of(checked, self.settings.features)
