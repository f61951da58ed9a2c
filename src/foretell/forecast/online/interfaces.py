"""What a forecaster is told, and what it tells those who ask or listen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.match_interval import Expectation
from foretell.forecast.evaluation.outcomes import Horizon
from foretell.learn.settings import Learning


@dataclass(frozen=True)
class Watch:
    """What a forecaster is told: until when to look, from which probability on to speak, and how to learn.

    `anew`: no state of before is gone on from.
    """

    horizon: Horizon
    above: float
    settings: Learning
    anew: bool = False


@dataclass(frozen=True)
class Prospects:
    """What processes may expect; NaN where too little has been seen or, of an interval, where there is none."""

    process: Ints
    probability: Floats
    start: Floats
    end: Floats


class Listener(Protocol):
    """Keeps what is forecast after each event."""

    def begin(self, rows: int) -> None:
        """A batch of so many events begins."""

    def hear(self, rows: Ints, chance: Floats, expectation: Expectation, places: tuple[Ints, Ints, Floats]) -> None:
        """How likely a match was after some of its events, and by what: what was known, and the lane (-1: all of them
        together), chain state and age by which it is looked up there."""
