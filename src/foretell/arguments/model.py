"""A model as it is given: a path, a dict of the same shape as the file, or one that was just learned."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from foretell.arguments.validation import bad_argument, describe
from foretell.errors import InputError, suggestion
from foretell.events.delay_distributions import DelayModel
from foretell.learn.model import SHAPE, Model
from foretell.learn.settings import Learning


def as_model(given: object) -> Model:
    if given is None:
        return Model()
    if isinstance(given, Model):
        return given
    if isinstance(given, Mapping):
        return Model.of(given)
    if not isinstance(given, str | os.PathLike):
        raise InputError("bad-model", f"model: expected a path or a dict, found {describe(given)}", hint=SHAPE)
    return Model.load(given)


def delay_models(model: object, subscriptions: Iterable[str]) -> dict[str, DelayModel]:
    """The delays that a model gives for each of the subscriptions."""
    given, known = as_model(model), list(subscriptions)
    timing: dict[str, DelayModel] = {}
    for name, delays in given.delays.items():
        if name not in known:
            hint = suggestion(str(name), known)
            said = f"{given.name} speaks of an unknown subscription '{name}'"
            raise InputError("unknown-subscription", said, hint=hint)
        timing[name] = _timing(delays, f"{given.name}, subscription '{name}'")
    return timing


def _timing(delays: object, where: str) -> DelayModel:
    try:
        return DelayModel.of(delays)
    except InputError as error:
        raise InputError(error.code, f"{where}: {error.message}", hint=error.hint) from None


def as_learning(given: object) -> Learning | None:
    if given is None or isinstance(given, Learning):
        return given
    raise bad_argument("learning", "ft.Learning(...)", given)
