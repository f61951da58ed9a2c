"""The model file, readable JSON: trained statistics for forecasts, and delays for estimating lost events.

    {"foretell": "model", "version": 1,
     "subscriptions": {"name": {"forecast": {"fingerprint": …}, "after": {"step": {"distribution": …}}}}}

Each part is optional: a file written by hand needs neither the first two keys nor "forecast".
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from foretell.display import View, Viewed, counted, listed
from foretell.errors import InputError, suggestion
from foretell.events.atomic_files import atomic_write, path_of, read_text
from foretell.events.types import Type, format_timestamp
from foretell.learn.calibration import UNCALIBRATED, Calibration
from foretell.learn.contexts import NO_CONTEXTS, Contexts
from foretell.learn.event_sample import EventSample
from foretell.learn.model_codec import decode, encode
from foretell.learn.statistics import Statistics
from foretell.storage.disk_cache import digest

VERSION = 1
EXPECTED_SHAPE = 'a model is {"subscriptions": {"name": {"after": {"step": {"distribution": …}}}}}'
FORECAST = "forecast"


@dataclass(frozen=True, repr=False)
class SubscriptionModel(Viewed):
    """The trained model of one subscription. `settings` are those of the training, as in JSON. `parts` holds the
    statistics of its parts where forecasts combine those. `sample` recognises the events of the training, `time` is the
    type of their time; models of earlier versions have neither."""

    fingerprint: str
    statistics: Statistics
    contexts: Contexts = NO_CONTEXTS
    calibration: Calibration = UNCALIBRATED
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Statistics, ...] = ()
    sample: EventSample | None = None
    time: Type = Type.UNKNOWN

    @property
    def period(self) -> tuple[str, str]:
        """The times of the first and the last event of the training as texts; empty without events."""
        if not self.statistics.events or self.time is Type.UNKNOWN:
            return "", ""
        since, to = self.statistics.since, self.statistics.to
        if self.time is Type.TIMESTAMP:
            return format_timestamp(round(since * 1e6)), format_timestamp(round(to * 1e6))
        return f"{since:g}", f"{to:g}"

    @property
    def cells(self) -> dict[str, str]:
        """The main figures as texts for people; an empty text where there is none."""
        since, to = self.period
        return {
            "events": f"{self.statistics.events:,}",
            "matches": f"{self.statistics.matches:,}",
            "states": f"{len(self.statistics.states):,}",
            "contexts": f"{len(self.contexts):,}" if len(self.contexts) > 1 else "",
            "parts": f"{len(self.parts):,}" if self.parts else "",
            "features": ", ".join(self.settings.get("features", ())),
            "from": since,
            "to": to,
        }

    def _view(self, rows: int) -> View:
        return View("Trained model of one statement", ("", ""), [cell for cell in self.cells.items() if cell[1]])


@dataclass(frozen=True, repr=False)
class Model(Viewed):
    """Trained models for forecasts, and delays as in the file, by subscription.

    `notes` tell the user about the training; they are not saved. `ft.train` makes a model, `save` writes it, and every
    call that takes a model takes the path of its file, too.

    >>> Model.of({"subscriptions": {"s": {"after": {"a": {"distribution": "exponential", "mean": 5}}}}})
    Model of 1 statement
      delays of s
    """

    subscriptions: Mapping[str, SubscriptionModel] = field(default_factory=dict)
    delays: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    name: str = "the model"
    notes: tuple[str, ...] = ()

    def of_statements(self, names: Container[str]) -> Model:
        """The part of the model that is about some statements."""
        learned = {name: found for name, found in self.subscriptions.items() if name in names}
        delays = {name: found for name, found in self.delays.items() if name in names}
        return replace(self, subscriptions=learned, delays=delays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        place = path_of(path)
        return cls.of(_json(read_text(place), f"the model '{place}'"), f"the model '{place}'")

    @classmethod
    def of(cls, document: object, name: str = "the model") -> Model:
        """From a document in the format of the file; `name` is its name in errors."""
        if not isinstance(document, Mapping) or not isinstance(document.get("subscriptions"), Mapping):
            raise InputError("bad-model", f"{name} has no object 'subscriptions'", hint=EXPECTED_SHAPE)
        _check_version(document, name)
        subscriptions: dict[str, SubscriptionModel] = {}
        delays: dict[str, Mapping[str, object]] = {}
        for subscription, parts in document["subscriptions"].items():
            where = f"{name}, subscription '{subscription}'"
            if not isinstance(parts, Mapping) or FORECAST not in parts:
                delays[subscription] = parts  # checked where delays are read
                continue
            subscriptions[subscription] = _subscription_model(parts[FORECAST], where)
            if rest := {key: part for key, part in parts.items() if key != FORECAST}:
                delays[subscription] = rest
        return cls(subscriptions, delays, name)

    def _view(self, rows: int) -> View:
        trained = list(self.subscriptions.items())
        shown = [{"statement": name, **model.cells} for name, model in trained[:rows]]
        header = list(shown[0]) if shown else []
        counted_gaps = [name for name, parts in self.delays.items() if _has_gaps(parts)]
        delays = [name for name in self.delays if name not in counted_gaps]
        remarks = [
            f"{kind} of {listed(names)}" for kind, names in (("delays", delays), ("gaps", counted_gaps)) if names
        ]
        title = f"Model of {counted(len({**self.subscriptions, **self.delays}), 'statement')}"
        return View(title, header, [list(cells.values()) for cells in shown], remarks, len(trained) - len(shown))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Replaces the file atomically, by one that only its owner can read."""
        with atomic_write(path_of(path), private=True) as file:
            file.write((_readable(self.document()) + "\n").encode())

    def document(self) -> dict[str, object]:
        subscriptions: dict[str, dict[str, object]] = {}
        for subscription in {**self.subscriptions, **self.delays}:
            parts = dict(self.delays.get(subscription, {}))
            if subscription in self.subscriptions:
                trained = self.subscriptions[subscription]
                document = encode(trained.statistics, trained.contexts, trained.calibration)
                if trained.sample is not None:
                    document["sample"], document["time"] = trained.sample.to_json(), trained.time.value
                if trained.parts:
                    document["parts"] = [encode(part, NO_CONTEXTS, UNCALIBRATED) for part in trained.parts]
                parts[FORECAST] = {
                    "fingerprint": trained.fingerprint,
                    "settings": dict(trained.settings),
                    **document,
                }
            subscriptions[subscription] = parts
        return {"foretell": "model", "version": VERSION, "subscriptions": subscriptions}

    def compatible(self, fingerprints: Mapping[str, str]) -> tuple[dict[str, SubscriptionModel], list[str]]:
        """The models of these statements (name to fingerprint), and notes on statements that start untrained.

        Raises InputError if the model has subscriptions but none of these.
        """
        fits = {
            name: model for name, model in self.subscriptions.items() if fingerprints.get(name) == model.fingerprint
        }
        if self.subscriptions and not fits:
            names = ", ".join(f"'{name}'" for name in list(self.subscriptions)[:8])
            raise InputError(
                "other-statements",
                f"{self.name} was trained for other statements: {names}",
                hint=_retraining_hint(self.subscriptions, fingerprints),
            )
        notes = []
        for name in fingerprints:
            if name in self.subscriptions and name not in fits:
                notes.append(f"'{name}' has changed since {self.name} was trained: it starts untrained")
            elif name not in self.subscriptions and self.subscriptions:
                notes.append(f"{self.name} has no subscription '{name}': it starts untrained")
        return fits, notes


def _has_gaps(parts: object) -> bool:
    """Whether a model has counted the gaps of a statement; what a file has is checked where it is used."""
    return isinstance(parts, Mapping) and "gaps" in parts


def fingerprint(statement: str, streams: Iterable[str]) -> str:
    """The digest of a statement and the STREAM declarations it reads, all as printed."""
    return digest([statement, *sorted(streams)])


def _retraining_hint(trained: Mapping[str, SubscriptionModel], fingerprints: Mapping[str, str]) -> str:
    same = [name for name in trained if name in fingerprints]
    if same:
        return f"'{same[0]}' or a stream it reads has changed since; train again"
    return suggestion(next(iter(trained)), fingerprints) or "train again"


def _json(text: str, name: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        hint = "the file ends too early; copy it again" if error.pos >= len(text.rstrip()) > 0 else ""
        raise InputError("bad-model", f"{name} is not JSON: {error}", hint=hint) from None
    except ValueError:  # Python refuses integers of many thousand digits
        raise InputError("bad-model", f"{name} has a number with too many digits") from None
    except RecursionError:
        raise InputError("bad-model", f"{name} is nested too deeply") from None


def _check_version(document: Mapping[str, object], name: str) -> None:
    kind, version = document.get("foretell", "model"), document.get("version", VERSION)
    if kind != "model":
        raise InputError("bad-model", f"{name} is not a model but a '{kind}'", hint=EXPECTED_SHAPE)
    if version != VERSION or isinstance(version, bool):
        raise InputError("bad-model", f"{name} has version {version}, expected {VERSION}", hint="train it again")


def _subscription_model(part: object, where: str) -> SubscriptionModel:
    try:
        if not isinstance(part, Mapping):
            raise ValueError("expected an object")
        fingerprint_text, settings = part.get("fingerprint"), part.get("settings", {})
        if not isinstance(fingerprint_text, str) or not isinstance(settings, Mapping):
            raise ValueError("expected a string 'fingerprint' and an object 'settings'")
        own = ("fingerprint", "settings", "parts", "sample", "time")
        rest = {key: value for key, value in part.items() if key not in own}
        parts, sample = part.get("parts", []), part.get("sample")
        if not isinstance(parts, list) or not all(isinstance(item, Mapping) for item in parts):
            raise ValueError("expected a list of objects 'parts'")
        return SubscriptionModel(
            fingerprint_text,
            *decode(rest),
            settings,
            tuple(decode(item)[0] for item in parts),
            None if sample is None else EventSample.from_json(sample),
            Type(part.get("time", Type.UNKNOWN.value)),
        )
    except ValueError as error:
        raise InputError("bad-model", f"{where}, 'forecast': {error}") from None
    except OverflowError:
        raise InputError("bad-model", f"{where}, 'forecast': a number is too large") from None


def _readable(value: object, indent: str = "") -> str:
    """JSON with a line for each item of an object or of a list of lists; flat values are on one line."""
    inner = indent + " "
    if isinstance(value, Mapping) and any(isinstance(part, Mapping | list | tuple) for part in value.values()):
        lines = [f"{inner}{json.dumps(key)}: {_readable(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in value):
        return "[\n" + ",\n".join(inner + json.dumps(part, allow_nan=False) for part in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)
