"""The factory of forecasters: an observer for each subscription with FORECAST."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from foretell.errors import InputError
from foretell.events.types import Type
from foretell.forecast.evaluation.forecast_log import ForecastLog
from foretell.forecast.online.composite_forecaster import CompositeForecaster
from foretell.forecast.online.event_symbols import EventSymbols, attributes_of, conditions_of
from foretell.forecast.online.forecaster import Forecaster
from foretell.forecast.online.interfaces import ForecasterOptions
from foretell.forecast.training.trace_recorder import TraceRecorder
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import has_optional_after_negation
from foretell.language.printer import horizon_text, statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.token_forecasts import ForecastingStatement, forecast_tokens, forecasting_statements
from foretell.learn.horizon import Horizon
from foretell.learn.model import Model, SubscriptionModel, fingerprint
from foretell.learn.settings import Learning
from foretell.machine.observe.observer import Observer
from foretell.plan.match_plan import StatementPlan, attributes_read_by
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.decomposition import Decomposition, decompose

#: What only horizons in events use.
CONTEXTS = "features and contexts"

#: A threshold that no probability reaches: nothing is notified.
_NO_NOTIFICATIONS = 2.0


@dataclass
class ForecasterFactory:
    """`models` is by statement; `settings`, where given, replace those of the training.

    Contexts and the shrinkage strength always stay as trained. With `ignore_snapshot`, forecasters start from their
    models even where a snapshot has their state.
    """

    models: Mapping[str, SubscriptionModel] = field(default_factory=dict)
    settings: Learning | None = None
    ignore_snapshot: bool = False
    _parts: dict[str, Decomposition | None] = field(default_factory=dict, init=False, repr=False)

    def observes(self, checked: CheckedSubscription) -> bool:
        return checked.tree.forecast is not None

    def observer(self, statement: StatementPlan) -> Observer | None:
        checked = statement.subscription
        return None if checked.tree.forecast is None else self.forecaster(checked, horizon_of(checked))

    def forecaster(
        self, checked: CheckedSubscription, horizon: Horizon, log: ForecastLog | None = None
    ) -> Forecaster | CompositeForecaster:
        forecast, model, settings = checked.tree.forecast, self._model(checked), self._settings(checked)
        threshold = _NO_NOTIFICATIONS if forecast is None else forecast.above
        options = ForecasterOptions(horizon, threshold, settings, self.ignore_snapshot)
        if model is not None and model.parts:
            return CompositeForecaster(options, checked.time, model, self._parts_of(checked), log)
        symbols = None
        if model is not None and len(model.contexts) > 1:
            symbols = EventSymbols(conditions_of(checked, settings.features), _symbols_of(model))
        return Forecaster(options, checked.time, model, symbols, log)

    def recorder(self, checked: CheckedSubscription) -> TraceRecorder:
        symbols = EventSymbols(conditions_of(checked, self._settings(checked).features))
        return TraceRecorder(symbols, checked.time, attributes_read_by(checked))

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return attributes_of(checked, self._settings(checked).features)

    def _model(self, checked: CheckedSubscription) -> SubscriptionModel | None:
        model = self.models.get(checked.name)
        return model if model is not None and model.fingerprint == fingerprint_of(written(checked)) else None

    def _parts_of(self, checked: CheckedSubscription) -> Decomposition | None:
        """Computed once for all rows of a template, each of which has a forecaster.

        The statement is planned by now, so that its automaton is within the limits of the engine.
        """
        if checked.name not in self._parts:
            self._parts[checked.name] = decompose(checked, build(checked, sys.maxsize))
        return self._parts[checked.name]

    def _settings(self, checked: CheckedSubscription) -> Learning:
        model = self._model(checked)
        if model is None:
            return self.settings or Learning()
        trained = Learning.from_json({name: value for name, value in model.settings.items() if name != "symbols"})
        if self.settings is None:
            return trained
        # The results of training are part of the model.
        return replace(self.settings, strength=trained.strength, order=trained.order, features=trained.features)


def _symbols_of(model: SubscriptionModel) -> list[int]:
    """The sets of conditions, as bits, that are symbols of the model: all have a place in the table of its contexts."""
    symbols = model.settings.get("symbols")
    if not isinstance(symbols, list | tuple) or len(symbols) > model.contexts.symbols:
        raise InputError("bad-model", "the symbols of the model do not fit its contexts", hint="train it again")
    if not all(type(code) is int and 0 <= code < 2**63 for code in symbols):
        raise InputError("bad-model", "the symbols of the model are no sets of conditions", hint="train it again")
    return list(symbols)


def written(checked: CheckedSubscription) -> ForecastingStatement:
    """The statement as the user has written it."""
    return checked.tree if checked.correlator is None else checked.correlator.tree


def fingerprint_of(statement: ForecastingStatement) -> str:
    """The fingerprint of a statement in a model. FORECAST is left out: horizon and threshold may change, but not the
    tokens, since a model has counted how often these came."""
    if isinstance(statement, tree.Correlator):
        tokens = (f"token {token}" for token in forecast_tokens(statement))
        return fingerprint(statement_text(replace(statement, forecast=None)), tokens)
    # Such patterns had another meaning in earlier versions (decision 0002, item 8): their models are void.
    meaning = ("negation stays",) if has_optional_after_negation(statement.pattern) else ()
    return fingerprint(statement_text(replace(statement, forecast=None)), meaning)


def untrained_notes(model: Model, program: Subscriptions, *, in_events: bool = False) -> tuple[str, ...]:
    """Notes on the subscriptions with FORECAST that the model was not trained for.

    Raises InputError if it was trained for none of them, or has contexts that the horizon of one would ignore; with
    `in_events`, all horizons are in events, whatever FORECAST says.
    """
    forecasting = forecasting_statements(program.program)
    if not forecasting:
        return ()
    fits, notes = model.compatible({str(s.name): fingerprint_of(s) for s in forecasting})
    for statement in () if in_events else forecasting:
        trained = fits.get(str(statement.name))
        if trained is not None and statement.forecast is not None and statement.forecast.duration is not None:
            _refuse_contexts(trained, statement.name, horizon_text(statement.forecast))
    return tuple(notes)


def _refuse_contexts(model: SubscriptionModel, name: str, within: str) -> None:
    """A semi-Markov chain distinguishes no contexts: its forecasts would be those of a model without features."""
    if len(model.contexts) > 1 and not model.parts:
        message = f"'{name}' forecasts within {within}, and a duration does not use {CONTEXTS}, which its model has"
        raise InputError("unused-features", message, hint="write FORECAST WITHIN n EVENTS, or train without features")


def horizon_of(checked: CheckedSubscription) -> Horizon:
    forecast = checked.tree.forecast
    assert forecast is not None
    if checked.horizon is None:
        return Horizon(events=forecast.events)
    if checked.time is Type.TIMESTAMP:
        return Horizon(time=checked.horizon / 1e6, unit="s")
    return Horizon(time=float(checked.horizon))
