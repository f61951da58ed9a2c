"""The observation of an executor: its runs after each event of a batch, as an observer sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

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
    """The furthest runs of a batch, put together only where a forecast refers to one."""

    put_together: Callable[[], RawMatches]

    @cached_property
    def _matches(self) -> RawMatches:
        return self.put_together()

    @property
    def position(self) -> Ints:
        return self._matches.position

    def __len__(self) -> int:
        return len(self._matches)

    def only(self, keep: Ints, /) -> RawMatches:
        return self._matches.only(keep)


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
