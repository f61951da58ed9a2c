"""The observation of an executor: its runs after each event of a batch, as an observer sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, Words
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.plan.nfa.decomposition import Decomposition
from foretell.records import record

_EMPTY = np.zeros(0, np.int64)

_NO_MATCHES = RawMatches(
    state=_EMPTY,
    lane=_EMPTY,
    position=_EMPTY,
    first=_EMPTY,
    chain=_EMPTY,
    rows=_EMPTY,
    slots=_EMPTY.reshape(0, 0),
    nulls=np.zeros((0, 0), np.uint8),
    nodes=NO_NODES,
)


class FurthestRuns(Protocol):
    """The furthest run of the process of each event of a batch."""

    def after(self, rows: Ints, /) -> tuple[Flags, RawMatches]:
        """Which of some events have one; and these runs, as if they were matches at these events."""


@record
class LazyFurthestRuns:
    """The furthest runs of a batch, put together only where a forecast refers to one. Each event has the number of its
    run, from 1 on; several may have the same. `base` is the position of the first event."""

    put_together: Callable[[], RawMatches]
    numbers: NDArray[np.int32]
    base: int

    def after(self, rows: Ints, /) -> tuple[Flags, RawMatches]:
        number = self.numbers[rows]
        has_run = number > 0
        runs = self._matches.only(number[has_run].astype(np.int64) - 1)
        return has_run, replace(runs, position=rows[has_run] + self.base)

    @cached_property
    def _matches(self) -> RawMatches:
        return self.put_together()


class NoFurthestRuns:
    """The furthest runs of what has no runs."""

    def after(self, rows: Ints, /) -> tuple[Flags, RawMatches]:
        return np.zeros(len(rows), np.bool_), _NO_MATCHES


NO_FURTHEST_RUNS = NoFurthestRuns()


@record
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

    @classmethod
    def without_runs(cls, process: Ints, configuration: Words) -> Observation:
        """Of what has no runs: all that is known is the configuration."""
        return cls(process, False, configuration, NO_FURTHEST_RUNS)
