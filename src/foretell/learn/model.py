"""What was learned, in one readable file: forecasts' statistics, and the delays from which lost events are estimated.

    {"foretell": "model", "version": 1,
     "subscriptions": {"name": {"forecast": {"fingerprint": …}, "after": {"step": {"distribution": …}}}}}

Each part may be missing: a file written by hand needs neither the first two names nor forecasts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foretell.errors import InputError, suggestion
from foretell.events.atomic_files import atomic_write, path_of, read_text
from foretell.learn.calibration import AS_IT_IS, Calibration
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.model_codec import document_of, learned_of
from foretell.learn.statistics import Statistics
from foretell.storage.disk_cache import digest

VERSION = 1
SHAPE = 'a model is {"subscriptions": {"name": {"after": {"step": {"distribution": …}}}}}'
FORECAST = "forecast"


@dataclass(frozen=True)
class Learned:
    """What was learned for one subscription. `settings` are those it was learned with, as JSON knows them. `parts` are
    there where its forecasts are made of those of its parts."""

    fingerprint: str
    statistics: Statistics
    contexts: Contexts = NO_CONTEXTS
    calibration: Calibration = AS_IT_IS
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Statistics, ...] = ()


@dataclass(frozen=True)
class Model:
    """By subscription: what was learned for forecasts, and the delays given, as they stand in the file.

    `notes` are what a user should know of a training; they are in no file.
    """

    learned: Mapping[str, Learned] = field(default_factory=dict)
    delays: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    name: str = "the model"
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        place = path_of(path)
        return cls.of(_json(read_text(place), f"the model '{place}'"), f"the model '{place}'")

    @classmethod
    def of(cls, document: object, name: str = "the model") -> Model:
        """From a document of the same shape as the file; `name` is what errors call it."""
        if not isinstance(document, Mapping) or not isinstance(document.get("subscriptions"), Mapping):
            raise InputError("bad-model", f"{name} has no object 'subscriptions'", hint=SHAPE)
        _check_version(document, name)
        learned: dict[str, Learned] = {}
        delays: dict[str, Mapping[str, object]] = {}
        for subscription, parts in document["subscriptions"].items():
            where = f"{name}, subscription '{subscription}'"
            if not isinstance(parts, Mapping) or FORECAST not in parts:
                delays[subscription] = parts  # whoever reads it as delays says what is wrong with it
                continue
            learned[subscription] = _learned(parts[FORECAST], where)
            if rest := {key: part for key, part in parts.items() if key != FORECAST}:
                delays[subscription] = rest
        return cls(learned, delays, name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The file is there whole or, if anything fails, as it was before."""
        with atomic_write(path_of(path)) as file:
            file.write((_readable(self.document()) + "\n").encode())

    def document(self) -> dict[str, object]:
        subscriptions: dict[str, dict[str, object]] = {}
        for subscription in {**self.learned, **self.delays}:
            parts = dict(self.delays.get(subscription, {}))
            if subscription in self.learned:
                one = self.learned[subscription]
                rest = document_of(one.statistics, one.contexts, one.calibration)
                if one.parts:
                    rest["parts"] = [document_of(part, NO_CONTEXTS, AS_IT_IS) for part in one.parts]
                parts[FORECAST] = {"fingerprint": one.fingerprint, "settings": dict(one.settings), **rest}
            subscriptions[subscription] = parts
        return {"foretell": "model", "version": VERSION, "subscriptions": subscriptions}

    def fitting(self, fingerprints: Mapping[str, str]) -> tuple[dict[str, Learned], list[str]]:
        """What was learned for just these statements (name to fingerprint), and notes on those that start untrained.

        A model of which nothing fits is of something else, and refused.
        """
        fits = {name: one for name, one in self.learned.items() if fingerprints.get(name) == one.fingerprint}
        if self.learned and not fits:
            names = ", ".join(f"'{name}'" for name in list(self.learned)[:8])
            raise InputError(
                "other-statements",
                f"{self.name} was learned for other statements: {names}",
                hint=_what_changed(self.learned, fingerprints),
            )
        notes = []
        for name in fingerprints:
            if name in self.learned and name not in fits:
                notes.append(f"'{name}' has changed since {self.name} was learned: it starts untrained")
            elif name not in self.learned and self.learned:
                notes.append(f"{self.name} knows nothing of '{name}': it starts untrained")
        return fits, notes


def fingerprint(statement: str, streams: Iterable[str]) -> str:
    """Of a statement and the STREAM declarations it reads, both as they are printed."""
    return digest([statement, *sorted(streams)])


def _what_changed(learned: Mapping[str, Learned], fingerprints: Mapping[str, str]) -> str:
    same = [name for name in learned if name in fingerprints]
    if same:
        return f"'{same[0]}' or a stream it reads has changed since; train again"
    return suggestion(next(iter(learned)), fingerprints) or "train again"


def _json(text: str, name: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        hint = "it ends too early: was it copied whole?" if error.pos >= len(text.rstrip()) > 0 else ""
        raise InputError("bad-model", f"{name} is not JSON: {error}", hint=hint) from None
    except ValueError:  # Python will not read integers of many thousand digits
        raise InputError("bad-model", f"{name} holds a number that is too long") from None
    except RecursionError:
        raise InputError("bad-model", f"{name} is nested too deeply") from None


def _check_version(document: Mapping[str, object], name: str) -> None:
    what, version = document.get("foretell", "model"), document.get("version", VERSION)
    if what != "model":
        raise InputError("bad-model", f"{name} is no model but '{what}'", hint=SHAPE)
    if version != VERSION or isinstance(version, bool):
        raise InputError(
            "bad-model", f"{name} is of version {version}, here version {VERSION} is read", hint="train it again"
        )


def _learned(part: object, where: str) -> Learned:
    try:
        if not isinstance(part, Mapping):
            raise ValueError("expected an object")
        mark, settings = part.get("fingerprint"), part.get("settings", {})
        if not isinstance(mark, str) or not isinstance(settings, Mapping):
            raise ValueError("expected a text 'fingerprint' and an object 'settings'")
        rest = {key: value for key, value in part.items() if key not in ("fingerprint", "settings", "parts")}
        parts = part.get("parts", [])
        if not isinstance(parts, list) or not all(isinstance(one, Mapping) for one in parts):
            raise ValueError("expected a list of objects 'parts'")
        return Learned(mark, *learned_of(rest), settings, tuple(learned_of(one)[0] for one in parts))
    except ValueError as error:
        raise InputError("bad-model", f"{where}: its forecast: {error}") from None
    except OverflowError:
        raise InputError("bad-model", f"{where}: its forecast: a number is too large") from None


def _readable(value: object, indent: str = "") -> str:
    """JSON in which objects and lists of lists have a line for each of their parts, and what is short has one."""
    inner = indent + " "
    if isinstance(value, Mapping) and any(isinstance(part, Mapping | list | tuple) for part in value.values()):
        lines = [f"{inner}{json.dumps(key)}: {_readable(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in value):
        return "[\n" + ",\n".join(inner + json.dumps(part, allow_nan=False) for part in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)
