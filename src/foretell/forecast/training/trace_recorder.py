"""What training looks at: all that is seen of a subscription, kept as it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Scalar, Type
from foretell.forecast.chain.part_configurations import followed
from foretell.forecast.online.event_symbols import Symbols, attributes_of, conditions_of
from foretell.language.checked import CheckedSubscription
from foretell.learn.lane_statistics import key_text
from foretell.learn.settings import Learning
from foretell.learn.trace import Trace
from foretell.machine.observe.observer import ObservedRuns, Observer, Sides


@dataclass(frozen=True)
class Record:
    """What was seen of a subscription: of each event also the conditions that hold, as bits, and where a pattern has
    parts that are watched, what was seen of these."""

    trace: Trace
    code: Ints
    sides: Sides | None = None

    @cached_property
    def parts(self) -> tuple[Trace, ...]:
        """The traces of its parts."""
        if self.sides is None:
            return ()
        last = np.zeros((self.trace.processes, len(self.sides.parts)), np.uint64)
        configuration, matched = followed(self.sides, self.trace.process, last)
        return tuple(
            replace(self.trace, state=configuration[:, part], matched=matched[:, part])
            for part in range(len(self.sides.parts))
        )


class Recorder:
    """Keeps what is seen, for learning: a trace, and of each event the conditions that hold, as bits."""

    def __init__(self, symbols: Symbols, time: Type) -> None:
        self.symbols = symbols
        self._unit = 1e-6 if time is Type.TIMESTAMP else 1.0
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._lane = np.zeros(0, np.int64)  # of each process
        self._last = np.zeros(0, np.int64)  # of each lane the number of its last event
        self._brought = np.zeros(0, np.bool_)
        self._keys: Sequence[Mapping[str, Scalar]] = ()
        self._by_value = False
        self._events = 0
        self._sides: list[Sides] = []

    def see(self, seen: ObservedRuns) -> tuple[Ints, NDArray[np.float64]]:
        self._by_value, self._keys = seen.by_value, seen.keys
        self._lane = _long_enough(self._lane, seen.process)
        self._brought = _long_enough(self._brought, seen.process)
        self._last = _long_enough(self._last, seen.lane)
        self._lane[seen.process] = seen.lane
        np.maximum.at(self._last, seen.lane, seen.ordinal)
        matched = seen.matched.copy()
        waiting = np.flatnonzero(self._brought[seen.process])
        if len(waiting):  # what time brought after the last event counts with the next
            _, first = np.unique(seen.process[waiting], return_index=True)
            matched[waiting[first]] = True
            self._brought[seen.process] = False
        self._brought[seen.completed] = True
        number = np.arange(self._events, self._events + len(matched))
        self._events += len(matched)
        code = self.symbols.coded(seen.events, seen.strings)
        self._parts.append(
            (seen.process, seen.ordinal, seen.time * self._unit, seen.configuration, matched, code, number)
        )
        if seen.sides is not None:
            self._sides.append(seen.sides)
        return np.zeros(0, np.int64), np.zeros(0)

    def record(self, now: int | float | None = None) -> Record:
        """All of it. Time has come to `now`, or only to the last event here."""
        columns = [np.concatenate(some) for some in zip(_NOTHING_SEEN, *self._parts, strict=True)]
        process, ordinal, time, state, matched, code, number = columns
        named = [key_text(key) for key in self._keys[: len(self._last)]]
        keys = tuple(named[lane] for lane in self._lane.tolist())
        latest = np.full(len(self._lane), time.max(initial=0.0) if now is None else now * self._unit)
        trace = Trace(
            process,
            ordinal,
            time,
            state,
            matched,
            number=number,
            keys=keys,
            starts=not self._by_value,
            seen_ordinal=self.lane_ends,
            seen_time=latest,
        )
        return Record(trace, code, self._all_sides())

    def _all_sides(self) -> Sides | None:
        if not self._sides:
            return None
        words, ended = (np.concatenate([getattr(one, name) for one in self._sides]) for name in ("words", "ended"))
        return Sides(self._sides[0].parts, words, ended)

    @property
    def lane_ends(self) -> Ints:
        """Of each process the number of its lane's last event."""
        return self._last[self._lane]


_NOTHING_SEEN = tuple(np.zeros(0, kind) for kind in ("i8", "i8", "f8", "u8", "?", "i8", "i8"))


def _long_enough(column: NDArray[Any], numbers: Ints) -> NDArray[Any]:
    count = int(numbers.max(initial=-1)) + 1
    return np.pad(column, (0, max(0, count - len(column))))


@dataclass
class Recorders:
    """A recorder for each subscription that asks for forecasts; `made` has all of them by statement."""

    settings: Learning
    made: dict[str, list[Recorder]] = field(default_factory=dict)

    def watches(self, checked: CheckedSubscription) -> bool:
        return checked.tree.forecast is not None

    def watcher(self, checked: CheckedSubscription) -> Observer | None:
        if not self.watches(checked):
            return None
        recorder = Recorder(Symbols(conditions_of(checked, self.settings.features)), checked.time)
        self.made.setdefault(checked.name, []).append(recorder)
        return recorder

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return attributes_of(checked, self.settings.features)
