"""The outlook of a subscription: its present forecasts, one for each lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from foretell.display import View, Viewed, counted, duration_text
from foretell.events.notification import pairs_text
from foretell.events.types import Scalar
from foretell.forecast.chain.match_interval import IntervalRequest
from foretell.forecast.online.composite_forecaster import CompositeForecaster
from foretell.forecast.online.forecaster import Forecaster
from foretell.machine.observe.forecast_emitter import ObservedStatement


@dataclass(frozen=True, slots=True, repr=False)
class Outlook(Viewed):
    """The present forecast of one lane or, where a value distinguishes partial matches within a lane, of one value,
    which is in `bindings`.

    `probability` is that of a match within the `horizon` of the FORECAST; None while too little has been seen.
    `interval` is the shortest one in which the next match falls with the requested confidence, both ends counted from
    now: in events of the lane, or in time where the horizon is a time (seconds where time is a TIMESTAMP). None where a
    match is not that likely within reach.

    >>> import random, foretell as ft
    >>> coins = [{"time": i, "side": side} for i, side in enumerate(random.Random(1).choices("ht", k=1000))]
    >>> engine = ft.Engine("STREAM coins (side STRING, time INT) TIME time;"
    ...     "SUBSCRIBE h FROM coins MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.9")
    >>> len(engine.push("coins", coins))
    227
    >>> engine.outlook("h", confidence=0.6)[0]
    Outlook(h: 24.4% within 2 EVENTS, next match after 2 to 6 events)
    >>> engine.outlook("h", confidence=0.6)
    h: 1 forecast within 2 EVENTS
      probability  next match
      24.4%        after 2 to 6 events
    """

    subscription: str
    id: Scalar
    key: Mapping[str, Scalar] | None
    bindings: Mapping[str, Scalar]
    probability: float | None
    horizon: str
    interval: tuple[int, int] | tuple[float, float] | None

    def __repr__(self) -> str:
        where = f" {', '.join(self._values)}" if self._values else ""
        return f"Outlook({self.subscription}{where}: {', '.join(self._forecast.values())})"

    def _view(self, rows: int) -> View:
        return View(" ".join([self.subscription, *self._values]), ("", ""), list(self._forecast.items()))

    @property
    def _values(self) -> list[str]:
        row = {} if self.id is None else {"id": self.id}
        return [text for text in (pairs_text(row), pairs_text(self.key or {}), pairs_text(self.bindings)) if text]

    @property
    def _forecast(self) -> dict[str, str]:
        probability = "too little seen" if self.probability is None else f"{self.probability:.1%}"
        forecast = {"probability": f"{probability} within {self.horizon}"}
        if self.interval is not None:
            forecast["next match"] = f"next match after {self._span}"
        return forecast

    @property
    def cells(self) -> tuple[str, str, str]:
        """The row of this outlook in a table of several."""
        probability = "too little seen" if self.probability is None else f"{self.probability:.1%}"
        return " ".join(self._values), probability, "" if self.interval is None else f"after {self._span}"

    @property
    def _span(self) -> str:
        assert self.interval is not None
        start, end = self.interval
        if self.horizon.endswith("EVENTS"):
            return f"{start} to {counted(int(end), 'event')}"
        return f"{self._time(start)} to {self._time(end)}"

    def _time(self, amount: float) -> str:
        """An end of the interval in the unit of the horizon, which is a number where time is one."""
        return f"{amount:g}" if self.horizon.replace(".", "").isdecimal() else duration_text(amount)


class Outlooks(Viewed, list[Outlook]):
    """The present forecasts of a subscription, likeliest first: a list that prints as a table."""

    def _view(self, rows: int) -> View:
        if not self:
            return View("no forecasts yet")
        title = f"{self[0].subscription}: {counted(len(self), 'forecast')} within {self[0].horizon}"
        table = [outlook.cells for outlook in self[:rows]]
        return View(title, ("lane", "probability", "next match"), table, more=len(self) - len(table))


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
