"""The observation of an executor: its runs after each event of a batch, as an observer sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from foretell.arrays import Ints, Words
from foretell.machine.exec.raw_matches import RawMatches
from foretell.plan.nfa.decomposition import Decomposition


class FurthestRuns(Protocol):
    """Runs as if they were matches, each with the event after which it was the furthest of its process."""

    @property
    def position(self) -> Ints: ...

    def __len__(self) -> int: ...

    def only(self, keep: Ints, /) -> RawMatches: ...


@dataclass(frozen=True)
class LazyFurthestRuns:
    """The furthest runs of a batch, put together only where a forecast refers to one: `entries` has the number of that
    after each event, from the position `base` on, or -1."""

    put_together: Callable[[], RawMatches]
    entries: Ints
    base: int

    @cached_property
    def position(self) -> Ints:
        return np.flatnonzero(self.entries >= 0) + self.base

    def __len__(self) -> int:
        return len(self.position)

    def only(self, keep: Ints, /) -> RawMatches:
        position = self.position[keep]
        return replace(self.put_together().only(self.entries[position - self.base]), position=position)


@dataclass(frozen=True)
class Observation:
    """Of each event of a batch its process, the configuration after it, and the furthest run where there is one.

    Processes are lanes unless values tell them apart. `words` are the configurations of the pattern's parts, where it
    has such.
    """

    process: Ints
    by_value: bool
    configuration: Words
    furthest: FurthestRuns
    parts: Decomposition | None = None
    words: Words | None = None
