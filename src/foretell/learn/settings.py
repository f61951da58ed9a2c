"""The settings of learning, with their defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from foretell.errors import InputError, suggestion

#: Longer contexts are too many for each to be seen often enough.
MAX_ORDER = 16


@dataclass(frozen=True)
class Learning:
    """`half_life`: the number of events (of all lanes together) after which an event counts half; math.inf: no decay.
    `enough`: the weight of events a state needs before forecasts are made from it. `strength`: the number of events
    that the statistics of all lanes count for in one lane (shrinkage). `online`: whether a run goes on learning.
    `lanes`: the number of lanes with counts of their own. `order`: the number of past symbols in the context of a
    forecast; None lets training choose. `features`: conditions on an event that distinguish symbols, besides those of
    the subscription. `complete`: for LOSING, whether the history has all events; else it has losses, too.

    >>> Learning(half_life=5_000, features=("amount > 100",)).features
    ('amount > 100',)
    >>> Learning(order=-1)
    Traceback (most recent call last):
    foretell.errors.InputError: order: expected a whole number from 0 on, found -1
    """

    half_life: float = 100_000.0
    enough: float = 30.0
    strength: float = 100.0
    online: bool = True
    lanes: int = 1_000
    order: int | None = 0
    features: tuple[str, ...] = ()
    complete: bool = False

    def __post_init__(self) -> None:
        values: dict[str, Any] = asdict(self)
        for name in ("half_life", "enough", "strength"):
            value = values[name]
            if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
                raise InputError("bad-argument", f"{name}: expected a number above 0, found {value!r}")
            if isinstance(value, int) and value.bit_length() > 1000:
                raise InputError("bad-argument", f"{name}: the number is too large", hint="use math.inf")
        for name in ("online", "complete"):
            if not isinstance(values[name], bool):
                raise InputError("bad-argument", f"{name}: expected True or False, found {values[name]!r}")
        for name, value in (("lanes", values["lanes"]), ("order", values["order"] or 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise InputError("bad-argument", f"{name}: expected a whole number from 0 on, found {value!r}")
        if (self.order or 0) > MAX_ORDER:
            raise InputError(
                "bad-argument", f"order: a context has at most {MAX_ORDER} symbols, not {self.order}",
                hint="use None (--order auto) to let training choose",
            )  # fmt: skip
        features = values["features"]
        if not isinstance(features, tuple) or not all(isinstance(feature, str) for feature in features):
            raise InputError("bad-argument", f"features: expected a tuple of strings, found {self.features!r}")
        if self.enough > self.half_life / math.log(2):
            raise InputError(
                "bad-argument",
                f"enough: no state can reach {self.enough:g} events with a half-life of {self.half_life:g}",
                hint="use a longer half_life or a smaller enough",
            )

    def to_json(self) -> dict[str, Any]:
        """As model files have them: JSON has no infinity."""
        return {
            **asdict(self),
            "half_life": None if math.isinf(self.half_life) else self.half_life,
            "features": [*self.features],
        }

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Learning:
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                hint = suggestion(str(name), known)
                raise InputError("bad-model", f"unknown setting '{name}' in the model", hint=hint)
        values = dict(settings)
        if values.get("half_life", 0) is None:
            values["half_life"] = math.inf
        features = values.get("features", [])
        values["features"] = tuple(features) if isinstance(features, list) else features
        return cls(**values)
