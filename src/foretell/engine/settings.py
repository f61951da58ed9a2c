"""The settings of an engine: limits, forecast model, learning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from foretell.arguments.limits import as_limits
from foretell.arguments.model import as_learning, as_model, delay_models
from foretell.events.delays.delay_model import DelayModel
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.language.token_forecasts import forecasting_statements
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.machine.observe.observer import Observer
from foretell.plan.match_plan import StatementPlan
from foretell.records import record

if TYPE_CHECKING:
    from foretell.forecast.online.factory import ForecasterFactory


@record
class EngineSettings:
    """How many partial matches an engine keeps, and how it forecasts."""

    limits: Limits
    model: Model
    learning: Learning | None

    @classmethod
    def of(cls, limits: object, model: object, learning: object) -> EngineSettings:
        return cls(as_limits(limits), as_model(model), as_learning(learning))

    def forecasts(self, *, ignore_snapshot: bool = False) -> LazyForecasters:
        """The factory of forecasters; see ForecasterFactory."""
        return LazyForecasters(self.model, self.learning, ignore_snapshot)

    def delays(self, name: str, *, ignore_snapshot: bool = False) -> DelayModel:
        """The delays between the steps of a statement, as far as the model knows them."""
        own = self.model.of_statements((name,))
        return delay_models(own, [name], self.learning, afresh=ignore_snapshot).get(name) or DelayModel()

    def check_delays(self, program: Subscriptions) -> None:
        """Raises InputError where the model has delays that are no distributions."""
        for statement in program.program.statements:
            if isinstance(statement, tree.Subscription) and statement.losing is not None:
                self.delays(str(statement.name))

    def untrained_notes(self, program: Subscriptions) -> tuple[str, ...]:
        """Notes on the subscriptions with FORECAST that the model was not trained for."""
        if not forecasting_statements(program.program):
            return ()
        from foretell.forecast.online.factory import untrained_notes

        return untrained_notes(self.model, program)

    def state(self) -> dict[str, Any]:
        """All but the limits, which depend on the computer that an engine runs on."""
        learning = None if self.learning is None else json.dumps(self.learning.to_json())
        return {"model": json.dumps(self.model.document()), "learning": learning}

    @classmethod
    def restore(
        cls, state: Mapping[str, Any], limits: Limits, model: Model | None, learning: Learning | None
    ) -> EngineSettings:
        """The given settings; those that are None are the snapshot's."""
        if model is None:
            model = Model.of(json.loads(state.get("model") or '{"subscriptions": {}}'))
        before = state.get("learning")
        if learning is None and before is not None:
            learning = Learning.from_json(json.loads(before))
        return cls(limits, model, learning)


@dataclass
class LazyForecasters:
    """A ForecasterFactory that is loaded with the first statement that has FORECAST."""

    model: Model
    learning: Learning | None
    ignore_snapshot: bool

    def observes(self, subscription: CheckedSubscription) -> bool:
        return subscription.tree.forecast is not None

    def attributes(self, subscription: CheckedSubscription) -> set[str]:
        return self._factory.attributes(subscription) if self.observes(subscription) else set()

    def observer(self, statement: StatementPlan) -> Observer | None:
        return self._factory.observer(statement) if self.observes(statement.subscription) else None

    @cached_property
    def _factory(self) -> ForecasterFactory:
        from foretell.forecast.online.factory import ForecasterFactory

        return ForecasterFactory(self.model.subscriptions, self.learning, self.ignore_snapshot)
