"""How the probability of an estimate is scored."""

from __future__ import annotations

from enum import Enum


class Score(Enum):
    """How a probability is estimated: given both ends of each gap, regardless of its end, or as AYAC prints it."""

    BOTH_ENDS = "both ends"
    INDEPENDENT = "independent"
    PUBLISHED = "published"
