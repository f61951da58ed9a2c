"""How forecasts learn: what can be set, and what it is where nothing is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from foretell.errors import InputError, suggestion

#: Longer contexts are too many to be seen often enough.
MOST_ORDER = 16


@dataclass(frozen=True)
class Learning:
    """`half_life`: after so many events (of all lanes together) what was seen counts half; math.inf: never.
    `enough`: the weight of events that must have been seen in a state before it is believed. `strength`: as how many
    events the experience of all lanes counts for one lane. `online`: whether it learns on while it runs. `lanes`: how
    many lanes have their own counts. `order`: the last so many symbols are the context of a forecast; None: as many as
    the data say make a difference. `features`: conditions on an event that tell symbols apart besides those of the
    subscription.
    """

    half_life: float = 100_000.0
    enough: float = 30.0
    strength: float = 100.0
    online: bool = True
    lanes: int = 1_000
    order: int | None = 0
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: dict[str, Any] = asdict(self)
        for name in ("half_life", "enough", "strength"):
            value = given[name]
            if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
                raise InputError("bad-argument", f"{name}: expected a number above 0, found {value!r}")
        if not isinstance(given["online"], bool):
            raise InputError("bad-argument", f"online: expected True or False, found {self.online!r}")
        for name, value in (("lanes", given["lanes"]), ("order", given["order"] or 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise InputError("bad-argument", f"{name}: expected a whole number from 0 on, found {value!r}")
        if (self.order or 0) > MOST_ORDER:
            raise InputError(
                "bad-argument", f"order: at most {MOST_ORDER} symbols can be a context, not {self.order}",
                hint="None (--order auto) takes as many as make a difference",
            )  # fmt: skip
        features = given["features"]
        if not isinstance(features, tuple) or not all(isinstance(one, str) for one in features):
            raise InputError("bad-argument", f"features: expected conditions as texts, found {self.features!r}")

        if self.enough > self.half_life / math.log(2):
            raise InputError(
                "bad-argument",
                f"enough: with a half-life of {self.half_life:g} events no state can ever have {self.enough:g} of them",
                hint="a longer half-life, or less that is enough",
            )

    def as_json(self) -> dict[str, Any]:
        """As a model has them: JSON knows no infinity."""
        found = asdict(self)
        return {
            **found,
            "half_life": None if math.isinf(self.half_life) else self.half_life,
            "features": [*self.features],
        }

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> Learning:
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                hint = suggestion(str(name), known)
                raise InputError("bad-model", f"a model has no setting '{name}'", hint=hint)
        some = dict(given)
        if some.get("half_life", 0) is None:
            some["half_life"] = math.inf
        some["features"] = tuple(some.get("features", ()))
        return cls(**some)
