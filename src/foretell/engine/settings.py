"""What an engine is given besides statements and events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.arguments.model import as_learning, as_model
from foretell.arguments.streams import read_tables
from foretell.arguments.validation import bad_argument
from foretell.engine.template_tables import LiveTable
from foretell.forecast.online.factory import Forecasts
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits


@dataclass(frozen=True)
class EngineSettings:
    """How many partial matches there may be, and how forecasts are made."""

    limits: Limits
    model: Model
    learning: Learning | None

    @classmethod
    def of(cls, limits: object, model: object, learning: object) -> EngineSettings:
        return cls(as_limits(limits), as_model(model), as_learning(learning))

    @property
    def forecasts(self) -> Forecasts:
        return Forecasts(self.model.learned, self.learning)

    def state(self) -> dict[str, Any]:
        """Without the limits, which are those of the machine that an engine runs on."""
        learning = None if self.learning is None else json.dumps(self.learning.as_json())
        return {"model": json.dumps(self.model.document()), "learning": learning}

    @classmethod
    def restore(
        cls, state: Mapping[str, Any], limits: Limits, model: Model | None, learning: Learning | None
    ) -> EngineSettings:
        """What is not given is as it was."""
        if model is None:
            model = Model.of(json.loads(state.get("model") or '{"subscriptions": {}}'))
        before = state.get("learning")
        if learning is None and before is not None:
            learning = Learning.of_json(json.loads(before))
        return cls(limits, model, learning)


def as_limits(given: object) -> Limits:
    if given is None or isinstance(given, Limits):
        return given or Limits()
    raise bad_argument("limits", "a foretell.Limits", given)


def live_tables(wanted: Iterable[str], given: Mapping[str, object]) -> dict[str, LiveTable]:
    return {name: LiveTable.of(name, loaded) for name, loaded in read_tables(wanted, given).items()}
