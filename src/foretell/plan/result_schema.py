"""The shape of a subscription's results: everything about it that notifications need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import horizon_text


@dataclass(frozen=True)
class ResultSchema:
    """`name` is the subscription's. `per` are the attributes of a lane's key.

    `repeated` has the steps that bind events, in the order of the pattern, and whether each repeats. `returns` and
    `variables` are the types of RETURN columns and of variables; `horizon` is that of forecasts, as text.
    """

    name: str
    per: tuple[str, ...]
    repeated: Mapping[str, bool]
    returns: Mapping[str, Type]
    variables: Mapping[str, Type]
    time: Type
    horizon: str | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.repeated)


def result_schema(checked: CheckedSubscription) -> ResultSchema:
    forecast = checked.tree.forecast
    return ResultSchema(
        checked.name,
        tuple(map(str, checked.tree.per)),
        {step: checked.steps[step].shape.repeated for step in checked.positive},
        checked.returns,
        checked.variables,
        checked.time,
        None if forecast is None else horizon_text(forecast),
    )
