"""The settings of an engine: limits, forecast model, learning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foretell.arguments.limits import as_limits
from foretell.arguments.model import as_learning, as_model
from foretell.forecast.online.factory import ForecasterFactory
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits


@dataclass(frozen=True)
class EngineSettings:
    """How many partial matches an engine keeps, and how it forecasts."""

    limits: Limits
    model: Model
    learning: Learning | None

    @classmethod
    def of(cls, limits: object, model: object, learning: object) -> EngineSettings:
        return cls(as_limits(limits), as_model(model), as_learning(learning))

    @property
    def forecasts(self) -> ForecasterFactory:
        return ForecasterFactory(self.model.subscriptions, self.learning)

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
