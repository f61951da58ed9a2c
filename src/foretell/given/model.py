"""A model: for each subscription the delays of its steps, as a JSON document or as a dict of the same shape."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from foretell.errors import InputError, suggestion
from foretell.events.delays import Timing
from foretell.events.files import path_of, read_text
from foretell.given.arguments import described

_SHAPE = 'a model is {"subscriptions": {"name": {"after": {"step": {"distribution": …}}}}}'


def timing_of(model: object, subscriptions: Iterable[str]) -> dict[str, Timing]:
    """The delays that a model gives for each of the subscriptions."""
    if model is None:
        return {}
    document, what = _document(model)
    if not isinstance(document, Mapping) or not isinstance(document.get("subscriptions"), Mapping):
        raise InputError("bad-model", f"{what} has no object 'subscriptions'", hint=_SHAPE)
    known = list(subscriptions)
    timing: dict[str, Timing] = {}
    for name, delays in document["subscriptions"].items():
        if name not in known:
            hint = suggestion(str(name), known)
            raise InputError("unknown-subscription", f"{what} speaks of an unknown subscription '{name}'", hint=hint)
        timing[name] = _timing(delays, f"{what}, subscription '{name}'")
    return timing


def _document(model: object) -> tuple[object, str]:
    """The model, and what to call it."""
    if isinstance(model, Mapping):
        return model, "the model"
    if not isinstance(model, str | os.PathLike):
        found = described(model)
        raise InputError("bad-model", f"model: expected a path or a dict, found {found}", hint=_SHAPE)
    path = path_of(model)
    what = f"the model '{path}'"
    text = read_text(path)
    try:
        return json.loads(text), what
    except json.JSONDecodeError as error:
        raise InputError("bad-model", f"{what} is not JSON: {error}") from None
    except ValueError:  # Python will not read integers of many thousand digits
        raise InputError("bad-model", f"{what} holds a number that is too long") from None
    except RecursionError:
        raise InputError("bad-model", f"{what} is nested too deeply") from None


def _timing(delays: object, where: str) -> Timing:
    try:
        return Timing.of(delays)
    except InputError as error:
        raise InputError(error.code, f"{where}: {error.message}", hint=error.hint) from None
