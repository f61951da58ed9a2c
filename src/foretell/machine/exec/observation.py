"""The observation of an executor: its runs after each event of a batch, as an observer sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from foretell.arrays import Flags, Ints, Words
from foretell.machine.exec.raw_matches import RawMatches
from foretell.plan.nfa.decomposition import Decomposition


class FurthestRuns(Protocol):
    """The furthest run of its process after each event of a batch, as if it were a match."""

    def exist(self, rows: Ints, /) -> Flags:
        """Whether there is a run after the events in these rows."""

    def after(self, rows: Ints, /) -> RawMatches:
        """The runs after the events in these rows, of which each has one."""


@dataclass(frozen=True)
class ProbedFurthestRuns:
    """Runs as a kernel has written them, put together only where a forecast refers to one: `entries` has the number of
    that after each event, from the position `base` on, or -1."""

    put_together: Callable[[Ints], RawMatches]
    entries: Ints
    base: int

    def exist(self, rows: Ints, /) -> Flags:
        return self.entries[rows] >= 0

    def after(self, rows: Ints, /) -> RawMatches:
        return replace(self.put_together(self.entries[rows]), position=rows + self.base)


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
