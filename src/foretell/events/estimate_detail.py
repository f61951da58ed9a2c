"""The grounds of an estimate: its lost steps, with when each probably happened, and the factor of each gap."""

from __future__ import annotations

from dataclasses import dataclass

#: The probability that a lost step happened within its interval.
CONFIDENCE = 0.8

#: The ends of an interval, as quantiles.
INTERVAL_ENDS = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2


@dataclass(frozen=True, slots=True)
class LostStep:
    """A step whose event was lost. It happened between `low` and `high`, times of the statement's streams, with the
    probability CONFIDENCE, and before and after them with equal probabilities."""

    step: str
    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True)
class GapFactor:
    """The probability of one gap: that its lost steps happened and its negated ones did not. `after` and `before` are
    the steps present at its ends; None where the gap reaches to the edge of the window. With steps lost at both edges
    these are one gap, with `after` the last step present and `before` the first."""

    after: str | None
    before: str | None
    factor: float


@dataclass(frozen=True, slots=True)
class EstimateDetail:
    """`score` names how the probability was estimated; the probability is the product of the factors of `gaps`."""

    score: str
    lost: tuple[LostStep, ...]
    gaps: tuple[GapFactor, ...]
