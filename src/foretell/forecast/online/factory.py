"""Who watches the subscriptions of a program that ask for forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from foretell.events.types import Type
from foretell.forecast.evaluation.forecast_log import Said
from foretell.forecast.evaluation.outcomes import Horizon
from foretell.forecast.online.composite_forecaster import ByParts
from foretell.forecast.online.event_symbols import Symbols, attributes_of, conditions_of
from foretell.forecast.online.forecaster import Forecaster
from foretell.forecast.online.interfaces import Watch
from foretell.forecast.training.trace_recorder import Recorder
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import has_optional_after_negation
from foretell.language.printer import statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Learned, Model, fingerprint
from foretell.learn.settings import Learning
from foretell.machine.observe.observer import Observer
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.decomposition import Decomposition, decompose


@dataclass
class Forecasts:
    """Forecasters. `learned` is by statement; `settings`, where given, are instead of those it was learned with.

    The contexts, and how much lanes borrow, stay as training has found them. With `anew` they go on from what is
    learned here, whatever a snapshot has of them.
    """

    learned: Mapping[str, Learned] = field(default_factory=dict)
    settings: Learning | None = None
    anew: bool = False
    _parts: dict[str, Decomposition | None] = field(default_factory=dict, init=False, repr=False)

    def watches(self, checked: CheckedSubscription) -> bool:
        return checked.tree.forecast is not None

    def watcher(self, checked: CheckedSubscription) -> Observer | None:
        return None if checked.tree.forecast is None else self.forecaster(checked, horizon_of(checked))

    def forecaster(
        self, checked: CheckedSubscription, horizon: Horizon, said: Said | None = None
    ) -> Forecaster | ByParts:
        forecast, learned, settings = checked.tree.forecast, self._learned(checked), self._settings(checked)
        symbols = None
        if learned is not None and len(learned.contexts) > 1:
            symbols = Symbols(conditions_of(checked, settings.features), list(learned.settings["symbols"]))
        above = 2.0 if forecast is None else forecast.above
        watch = Watch(horizon, above, settings, self.anew)
        if learned is not None and learned.parts:
            return ByParts(watch, checked.time, learned, self._parts_of(checked), said)
        return Forecaster(watch, checked.time, learned, symbols, said)

    def recorder(self, checked: CheckedSubscription) -> Recorder:
        return Recorder(Symbols(conditions_of(checked, self._settings(checked).features)), checked.time)

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return attributes_of(checked, self._settings(checked).features)

    def _learned(self, checked: CheckedSubscription) -> Learned | None:
        learned = self.learned.get(checked.name)
        return learned if learned is not None and learned.fingerprint == mark_of(checked.tree) else None

    def _parts_of(self, checked: CheckedSubscription) -> Decomposition | None:
        """Worked out once: each row of a template has its forecaster."""
        if checked.name not in self._parts:
            self._parts[checked.name] = decompose(checked, build(checked))
        return self._parts[checked.name]

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
    # Such a pattern has another meaning than in earlier versions (decision 0002, item 8): what they learned is void.
    meaning = ("negation stays",) if has_optional_after_negation(subscription.pattern) else ()
    return fingerprint(statement_text(replace(subscription, forecast=None)), meaning)


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
