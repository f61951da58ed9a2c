"""A model as a caller hands it in: a path, a dict with the contents of a model file, or a `Model`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from foretell.arguments.validation import bad_argument, describe
from foretell.errors import InputError, suggestion
from foretell.events.delays.delay_model import DelayModel, GapLearning
from foretell.language.checked import CheckedCorrelator, CheckedStatement, CheckedSubscription
from foretell.learn.model import EXPECTED_SHAPE, Model
from foretell.learn.settings import Learning

ModelLike = str | Path | Mapping[str, object] | Model


def as_model(model: object) -> Model:
    if model is None:
        return Model()
    if isinstance(model, Model):
        return model
    if isinstance(model, Mapping):
        return Model.of(model)
    if not isinstance(model, str | os.PathLike):
        raise InputError("bad-model", f"model: expected a path or a dict, found {describe(model)}", hint=EXPECTED_SHAPE)
    return Model.load(model)


def delay_models(
    model: Model, subscriptions: Iterable[str], learning: Learning | None = None, *, afresh: bool = False
) -> dict[str, DelayModel]:
    """The delays between steps that a model has for each of the subscriptions (for LOSING), and how a run goes on
    learning; with `afresh`, whatever a snapshot has learned."""
    names = list(subscriptions)
    settings = learning or Learning()
    goes_on = GapLearning(settings.half_life, afresh) if settings.online else None
    delays: dict[str, DelayModel] = {}
    for name, description in model.delays.items():
        if name not in names:
            message = f"{model.name} has delays of an unknown subscription '{name}'"
            raise InputError("unknown-subscription", message, hint=suggestion(str(name), names))
        try:
            delays[name] = replace(DelayModel.of(description), learning=goes_on)
        except InputError as error:
            message = f"{model.name}, subscription '{name}': {error.message}"
            raise InputError(error.code, message, hint=error.hint) from None
    return delays


def require_delays(statements: Iterable[CheckedStatement], delays: Mapping[str, DelayModel]) -> None:
    """Raises InputError, before the first event, where a statement with LOSING lacks a delay."""
    losing = [s for s in statements if isinstance(s, CheckedSubscription) and s.tree.losing is not None]
    if losing:
        from foretell.language.estimate_scorer import check_delays  # loads SciPy, which takes a while

        for statement in losing:
            check_delays(statement, delays.get(statement.name))


def require_chains(statements: Iterable[CheckedStatement]) -> None:
    """Raises LanguageError, before the first event, where the machine of a correlator with FORECAST is too large."""
    forecasting = [s for s in statements if isinstance(s, CheckedCorrelator) and s.tree.forecast is not None]
    if forecasting:
        from foretell.correlate.forecast_states import require_forecast_states  # loads kernels

        for statement in forecasting:
            require_forecast_states(statement)


def as_learning(learning: object) -> Learning | None:
    if learning is None or isinstance(learning, Learning):
        return learning
    raise bad_argument("learning", "ft.Learning(...)", learning)
