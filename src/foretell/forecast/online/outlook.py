"""The outlook of a subscription: its present forecasts, for those who ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from foretell.events.types import Scalar
from foretell.forecast.chain.match_interval import IntervalRequest
from foretell.forecast.online.composite_forecaster import CompositeForecaster
from foretell.forecast.online.forecaster import Forecaster
from foretell.machine.observe.forecast_emitter import ObservedStatement


@dataclass(frozen=True, slots=True)
class Outlook:
    """The present forecast of one lane or, where a value distinguishes partial matches within a lane, of one value,
    which is in `bindings`.

    `probability` is that of a match within the `horizon` of the FORECAST; None while too little has been seen.
    `interval` is the shortest one in which the next match falls with the requested confidence, both ends counted from
    now: in events of the lane, or in time where the horizon is a time (seconds where time is a TIMESTAMP). None where a
    match is not that likely within reach.
    """

    subscription: str
    id: Scalar
    key: Mapping[str, Scalar] | None
    bindings: Mapping[str, Scalar]
    probability: float | None
    horizon: str
    interval: tuple[int, int] | tuple[float, float] | None


def outlooks(name: str, horizon: str, statement: ObservedStatement, request: IntervalRequest) -> Iterator[Outlook]:
    forecaster = statement.observer
    assert isinstance(forecaster, Forecaster | CompositeForecaster)
    current = forecaster.current_forecasts(statement.now, request)
    number = float if forecaster.options.horizon.events is None else int
    columns = (current.process, current.probability, current.start, current.end)
    for process, probability, start, end in zip(*(column.tolist() for column in columns), strict=True):
        yield Outlook(
            name,
            statement.member.id,
            statement.key(process),
            statement.bindings(process),
            None if np.isnan(probability) else probability,
            horizon,
            None if np.isnan(end) else (number(start), number(end)),
        )
