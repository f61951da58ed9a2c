"""What is to be expected of a subscription as things stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from foretell.events.types import Scalar
from foretell.forecast.chain.match_interval import Asked
from foretell.forecast.online.composite_forecaster import ByParts
from foretell.forecast.online.forecaster import Forecaster
from foretell.machine.observe.forecast_emitter import ObservedStatement


@dataclass(frozen=True, slots=True)
class Outlook:
    """Of one lane or, where a value tells partial matches of a lane apart, of one value in it, which is in `bindings`.

    `probability` is that of a match within the `horizon` of the FORECAST; None while too little has been seen.
    `interval` is the shortest in which the next match falls with the confidence that was asked for, both ends counted
    from now: in events of the lane, or in time where the horizon is one (seconds where time is a TIMESTAMP). None where
    a match is not that likely within reach.
    """

    subscription: str
    id: Scalar
    key: Mapping[str, Scalar] | None
    bindings: Mapping[str, Scalar]
    probability: float | None
    horizon: str
    interval: tuple[int, int] | tuple[float, float] | None


def outlooks(name: str, horizon: str, whose: ObservedStatement, asked: Asked) -> Iterator[Outlook]:
    forecaster = whose.watcher
    assert isinstance(forecaster, Forecaster | ByParts)
    found = forecaster.prospects(whose.now, asked)
    ends = np.stack([found.start, found.end], axis=1)
    number = float if forecaster.watch.horizon.events is None else int
    for process, probability, (start, end) in zip(found.process.tolist(), found.probability.tolist(), ends.tolist()):
        yield Outlook(
            name,
            whose.member.id,
            whose.key(process),
            whose.bindings(process),
            None if np.isnan(probability) else probability,
            horizon,
            None if np.isnan(end) else (number(start), number(end)),
        )
