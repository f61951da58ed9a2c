"""Who watches the subscriptions of a program: forecasters for those who ask for forecasts, recorders for training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.errors import InputError, LanguageError
from foretell.events.types import Scalar, Type
from foretell.forecast.forecaster import Forecaster, Listener, Watch
from foretell.forecast.outcomes import Horizon
from foretell.forecast.symbols import Symbols
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.parser import parse
from foretell.language.printer import statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.typing import Scope, check_condition
from foretell.learn.lanes import key_text
from foretell.learn.model import Learned, Model, fingerprint
from foretell.learn.settings import Learning
from foretell.learn.trace import Trace
from foretell.machine.watching import Seen, Watcher
from foretell.plan.conditions import is_static

Ints = NDArray[np.int64]
Conditions = list[tuple[tree.Expression, ...]]


@dataclass
class Forecasts:
    """Forecasters. `learned` is by statement; `settings`, where given, are instead of those it was learned with.

    The contexts, and how much lanes borrow, stay as training has found them. With `anew` they go on from what is
    learned here, whatever a snapshot has of them.
    """

    learned: Mapping[str, Learned] = field(default_factory=dict)
    settings: Learning | None = None
    anew: bool = False

    def watches(self, checked: CheckedSubscription) -> bool:
        return checked.tree.forecast is not None

    def watcher(self, checked: CheckedSubscription) -> Watcher | None:
        return None if checked.tree.forecast is None else self.forecaster(checked, horizon_of(checked))

    def forecaster(
        self, checked: CheckedSubscription, horizon: Horizon, listener: Listener | None = None
    ) -> Forecaster:
        forecast, learned, settings = checked.tree.forecast, self._learned(checked), self._settings(checked)
        symbols = None
        if learned is not None and len(learned.contexts) > 1:
            symbols = Symbols(conditions_of(checked, settings.features), list(learned.settings["symbols"]))
        above = 2.0 if forecast is None else forecast.above
        return Forecaster(Watch(horizon, above, settings, self.anew), checked.time, learned, symbols, listener)

    def recorder(self, checked: CheckedSubscription) -> Recorder:
        return Recorder(Symbols(conditions_of(checked, self._settings(checked).features)), checked.time)

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return _attributes(checked, self._settings(checked).features)

    def _learned(self, checked: CheckedSubscription) -> Learned | None:
        learned = self.learned.get(checked.name)
        return learned if learned is not None and learned.fingerprint == mark_of(checked.tree) else None

    def _settings(self, checked: CheckedSubscription) -> Learning:
        learned = self._learned(checked)
        if learned is None:
            return self.settings or Learning()
        own = settings_of(learned)
        if self.settings is None:
            return own
        # What training found is part of the model, whatever is set afterwards.
        return replace(self.settings, strength=own.strength, order=own.order, features=own.features)


def mark_of(subscription: tree.Subscription) -> str:
    """By what a model knows a statement: what it says, but for its forecasts, which may look further or speak later."""
    return fingerprint(statement_text(replace(subscription, forecast=None)), ())


def untrained(model: Model, program: Subscriptions) -> tuple[str, ...]:
    """Notes on statements that a model knows nothing of. One that was learned for others altogether is refused."""
    asking = [s for s in program.program.statements if isinstance(s, tree.Subscription) and s.forecast is not None]
    if not asking:
        return ()
    return tuple(model.fitting({str(s.name): mark_of(s) for s in asking})[1])


def settings_of(learned: Learned) -> Learning:
    return Learning.of_json({name: value for name, value in learned.settings.items() if name != "symbols"})


def horizon_of(checked: CheckedSubscription) -> Horizon:
    forecast = checked.tree.forecast
    assert forecast is not None
    if checked.horizon is None:
        return Horizon(events=forecast.events)
    if checked.time is Type.TIMESTAMP:
        return Horizon(time=checked.horizon / 1e6, unit="s")
    return Horizon(time=float(checked.horizon))


# ── training ──


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

    def see(self, seen: Seen) -> tuple[Ints, NDArray[np.float64]]:
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
        return np.zeros(0, np.int64), np.zeros(0)

    def trace(self, now: int | float | None = None) -> tuple[Trace, Ints]:
        """All of it; and the bits of each event. Time has come to `now`, or only to the last event here."""
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
        return trace, code

    @property
    def lane_ends(self) -> Ints:
        """Of each process the number of its lane's last event."""
        return self._last[self._lane]

    def state(self) -> Mapping[str, Any]:
        raise NotImplementedError  # a training is not interrupted

    def restore(self, state: Mapping[str, Any]) -> None:
        raise NotImplementedError


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

    def watcher(self, checked: CheckedSubscription) -> Watcher | None:
        if not self.watches(checked):
            return None
        recorder = Recorder(Symbols(conditions_of(checked, self.settings.features)), checked.time)
        self.made.setdefault(checked.name, []).append(recorder)
        return recorder

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return _attributes(checked, self.settings.features)


# ── symbols ──


def conditions_of(checked: CheckedSubscription, features: Sequence[str]) -> Conditions:
    """What tells symbols apart: of each step what it asks of an event alone, then the features."""
    own = [tuple(c for c in step.conditions if is_static(c)) for step in checked.steps.values()]
    found = dict.fromkeys(some for some in own if some)
    for text in features:
        found[(_feature(text, checked),)] = None
    return list(found)


def _feature(text: str, checked: CheckedSubscription) -> tree.Expression:
    """A condition that names attributes of the event alone."""
    try:
        (statement,) = parse(f"SUBSCRIBE feature FROM stream MATCH a DEFINE a AS ({text}\n)").statements
    except (LanguageError, ValueError):
        raise InputError(
            "bad-feature", f"the feature '{text}' is no condition", hint="as in DEFINE: temp > 20"
        ) from None
    assert isinstance(statement, tree.Subscription)
    condition = statement.definitions[0].condition
    scope = Scope(checked.attributes, tuple(map(str, checked.tree.streams)), checked.time)
    try:
        check_condition(condition, scope)
    except LanguageError as error:
        raise InputError("bad-feature", f"the feature '{text}': {error.message}", hint=error.hint) from None
    if not is_static(condition):
        raise InputError(
            "bad-feature", f"the feature '{text}' names more than the event", hint="as in DEFINE: temp > 20"
        )
    return condition


def _attributes(checked: CheckedSubscription, features: Sequence[str]) -> set[str]:
    conditions = [c for some in conditions_of(checked, features) for c in some]
    return {str(n.name) for c in conditions for n in c.walk() if isinstance(n, tree.Attribute)}
