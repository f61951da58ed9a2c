"""What is kept for judges of forecasts: after each event how likely a match was, and in which interval."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.match_interval import Asked, Expectation


@dataclass
class Said:
    """`chances` and `intervals` batch by batch; NaN where nothing was said. Intervals are as asked for."""

    asked: Asked
    chances: list[Floats] = field(default_factory=list)
    intervals: list[tuple[Floats, Floats]] = field(default_factory=list)

    def begin(self, rows: int) -> None:
        self.chances.append(np.full(rows, np.nan))
        self.intervals.append((np.full(rows, np.nan), np.full(rows, np.nan)))

    def hear(self, rows: Ints, chance: Floats, expectation: Expectation, places: tuple[Ints, Ints, Floats]) -> None:
        some = np.flatnonzero(~np.isnan(chance))
        lane, state, age = places
        self.say(rows[some], chance[some], *expectation.intervals(lane[some], state[some], age[some], self.asked))

    def say(self, rows: Ints, chance: Floats, start: Floats, end: Floats) -> None:
        self.chances[-1][rows] = chance
        starts, ends = self.intervals[-1]
        starts[rows], ends[rows] = start, end
