"""Candidates that still matter, by the positions of their events: those that were reported, and may be withdrawn, and
those of which a lost step was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.machine.input.key_index import KeyIndex, with_room
from foretell.machine.input.state_bounds import StateBounds
from foretell.recover.completions import NEVER, Completions, restored_completions
from foretell.storage.recorded_values import array, require, times

#: With fewer candidates it is not worth looking for those that no longer matter.
_FEW = 1024


class CandidateTable:
    """Of each candidate when it was reported, when a lost step was first seen, and the time until when this matters.
    `width` is the number of its events."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._index = KeyIndex()
        self._reported = _KnownCompletions()
        self._seen = _KnownCompletions()
        self._until: Floats = np.zeros(0)
        self._kept = 0

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + self._reported.nbytes + self._seen.nbytes + self._until.nbytes

    def numbers(self, positions: Ints) -> Ints:
        """The numbers of candidates, each a row with the positions of its events; new ones are entered."""
        starts = np.arange(len(positions) + 1) * self._width
        found = self._index.number(starts, np.ascontiguousarray(positions).reshape(-1))
        self._reported.make_room(len(self))
        self._seen.make_room(len(self))
        self._until = with_room(self._until, len(self), -np.inf)
        return found

    def seen_by(self, numbers: Ints, completions: Completions) -> Flags:
        """Whether a lost step of each was seen by then."""
        return ~completions.before(self._seen.of(numbers))

    def note_seen(self, numbers: Ints, completions: Completions, until: Floats) -> None:
        """A lost step was seen of these candidates. Of one candidate it may be seen at several places."""
        order = np.lexsort((*completions.columns[::-1], numbers))
        _, first = np.unique(numbers[order], return_index=True)
        first = order[first]
        first = first[completions.filter(first).before(self._seen.of(numbers[first]))]
        self._seen.note(numbers[first], completions.filter(first))
        np.maximum.at(self._until, numbers, until)

    def note_reported(self, numbers: Ints, completions: Completions, until: Floats) -> None:
        self._reported.note(numbers, completions)
        np.maximum.at(self._until, numbers, until)

    def withdraw(self, numbers: Ints, completions: Completions) -> Flags:
        """Whether each candidate was reported before a lost step was first seen, then: it is no longer reported."""
        known = self._reported.of(numbers).before(completions) & self._seen.of(numbers).same(completions)
        rows = np.flatnonzero(known)
        _, first = np.unique(numbers[rows], return_index=True)  # an event may tell of one candidate in several ways
        keep = np.zeros(len(numbers), np.bool_)
        keep[rows[first]] = True
        self._reported.clear(numbers[keep])
        return keep

    def stand(self, numbers: Ints) -> Flags:
        """Whether each candidate was reported and not withdrawn since."""
        return self._reported.known(numbers)

    def settle(self, numbers: Ints) -> None:
        """Candidates that were reported can no longer be withdrawn."""
        self._reported.clear(numbers)

    def forget(self, now: int | float) -> None:
        """Drop what can no longer matter, now and then."""
        if len(self) >= 2 * self._kept + _FEW:
            self.compact(now)

    def compact(self, now: int | float) -> None:
        keep = np.flatnonzero(self._until[: len(self)] >= now)
        self._reported.keep(keep)
        self._seen.keep(keep)
        mask = np.zeros(len(self), np.bool_)
        mask[keep] = True
        self._until = self._until[keep]
        self._index.keep(mask)
        self._kept = len(self)

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {"reported": self._recorded(self._reported), "seen": self._recorded(self._seen)}

    def _recorded(self, known: _KnownCompletions) -> Mapping[str, Any]:
        numbers = known.numbers(len(self))
        positions = self._index.state()["words"].reshape(-1, self._width)[numbers]
        return {"positions": positions, **known.of(numbers).state(), "until": self._until[numbers]}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        for name, note in (("reported", self.note_reported), ("seen", self.note_seen)):
            recorded = state[name]
            positions: Ints = array(recorded["positions"], np.int64, (None, self._width), "the estimates")
            require(bool((positions >= 0).all() and (positions < bounds.positions).all()), "the estimates")
            completions = restored_completions(recorded, len(positions), bounds)
            until = times(recorded["until"], np.float64, (len(positions),), "the estimates")
            note(self.numbers(positions), completions, until)


class _KnownCompletions:
    """The completions of some numbers; a place of NEVER where there is none."""

    def __init__(self) -> None:
        self._order: Ints = np.full((0, 1), NEVER)
        self._end: NDArray[Any] = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        return self._order.nbytes + self._end.nbytes

    def make_room(self, count: int) -> None:
        known = len(self._order)
        self._end = with_room(self._end, count)
        if len(self._end) > known:
            more = np.full((len(self._end) - known, self._order.shape[1]), -1)
            more[:, 0] = NEVER
            self._order = np.concatenate([self._order, more])

    def of(self, numbers: Ints) -> Completions:
        return Completions(self._order[numbers], self._end[numbers])

    def known(self, numbers: Ints) -> Flags:
        """Whether each number has one."""
        return np.asarray(self._order[numbers, 0] != NEVER)

    def numbers(self, count: int) -> Ints:
        """The numbers that have one."""
        return np.flatnonzero(self.known(np.arange(count)))

    def note(self, numbers: Ints, completions: Completions) -> None:
        depth = completions.order.shape[1]
        if depth > self._order.shape[1]:
            self._order = np.pad(self._order, ((0, 0), (0, depth - self._order.shape[1])), constant_values=-1)
        if completions.end.dtype != self._end.dtype and len(numbers):
            self._end = self._end.astype(completions.end.dtype)  # of one kind for each statement
        self._order[numbers, depth:] = -1
        self._order[numbers, :depth] = completions.order
        self._end[numbers] = completions.end

    def clear(self, numbers: Ints) -> None:
        self._order[numbers, 0] = NEVER

    def keep(self, numbers: Ints) -> None:
        self._order, self._end = self._order[numbers], self._end[numbers]
