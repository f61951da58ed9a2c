"""The estimates of a statement, or of one row of its table: what both ways of choosing among them offer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.records import record
from foretell.recover.candidates import CandidateMatches
from foretell.recover.completions import CompletionKey, completions_of, restored_completions
from foretell.storage.recorded_values import array, require, times


@record
class FoundMatches:
    """The candidates of a variant in a batch, and the matches that tell of a lost step of one."""

    candidates: list[CandidateMatches]
    telling: list[CandidateMatches]


class RowEstimates(Protocol):
    @property
    def nbytes(self) -> int: ...

    @property
    def held(self) -> Iterable[ResultBatch]: ...

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch], /) -> None: ...

    def process(self, found: Sequence[FoundMatches], /) -> list[ResultBatch]:
        """The results of the matches of a batch, those of each variant together."""

    @property
    def reported(self) -> Iterable[tuple[int, ResultBatch]]:
        """The estimates that were reported, with the numbers of their variants. Some may stand no more."""

    def stands(self, variant: int, positions: Ints, /) -> Flags:
        """Whether each estimate of a variant, by the positions of its events, is neither confirmed nor withdrawn."""

    def revise(self, variant: int, positions: Ints, /, *, confirmed: bool) -> None:
        """These estimates are confirmed, for good, or withdrawn."""

    def forget(self, now: int | float, /) -> None:
        """Drop what can no longer matter, now and then."""

    def state(self) -> Mapping[str, Any]: ...

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch, /) -> None: ...


class KeyedTimes:
    """Events of matches, with when each became known and until when that matters: `seen` candidates of which a lost
    step was seen, and estimates that were reported."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.entries: dict[bytes, tuple[CompletionKey, int | float]] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def known_by(self, name: bytes, key: CompletionKey) -> bool:
        """Whether an entry became known by then."""
        entry = self.entries.get(name)
        return entry is not None and entry[0] <= key

    def note(self, name: bytes, key: CompletionKey, until: int | float) -> None:
        """Note the earliest time."""
        entry = self.entries.get(name)
        if entry is None or key < entry[0]:
            self.entries[name] = key, until

    def forget(self, now: int | float) -> None:
        self.entries = {name: entry for name, entry in self.entries.items() if entry[1] >= now}

    def state(self) -> Mapping[str, Any]:
        keys = [key for key, _ in self.entries.values()]
        return {
            "positions": np.frombuffer(b"".join(self.entries), np.int64).reshape(len(self), self.width),
            **completions_of(keys).state(),
            "until": np.array([float(until) for _, until in self.entries.values()]),
        }

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        positions = array(state["positions"], np.int64, (None, self.width), "the estimates")
        require(bool((positions >= 0).all() and (positions < bounds.positions).all()), "the estimates")
        until = times(state["until"], np.float64, (len(positions),), "the estimates")
        rows = zip(positions, restored_completions(state, len(positions), bounds).keys, until.tolist(), strict=True)
        self.entries = {row.tobytes(): (key, time) for row, key, time in rows}


def until_when(time: int | float, within: int | float | None) -> int | float:
    """The time until when an estimate that ends or begins then is still concerned."""
    return math.inf if within is None else time + 2 * within
