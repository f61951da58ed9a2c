"""Candidates that still matter, by the positions of their events: those that were reported, and may be withdrawn, and
those of which a lost step was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.machine.input.key_index import KeyIndex, with_room
from foretell.storage.recorded_values import FAR, indices, times

#: In place of the place at which something became known: it is not known.
NEVER = np.iinfo(np.int64).max

#: With fewer candidates it is not worth looking for those that no longer matter.
_FEW = 1024


class CandidateTable:
    """Of each candidate the place at which it was reported, that at which a lost step was first seen, and the time
    until when this matters. `width` is the number of its events."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._index = KeyIndex()
        self.reported: Ints = np.zeros(0, np.int64)
        self.seen: Ints = np.zeros(0, np.int64)
        self._until: Floats = np.zeros(0)
        self._kept = 0

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + self.reported.nbytes + self.seen.nbytes + self._until.nbytes

    def numbers(self, positions: Ints) -> Ints:
        """The numbers of candidates, each a row with the positions of its events; new ones are entered."""
        starts = np.arange(len(positions) + 1) * self._width
        found = self._index.number(starts, np.ascontiguousarray(positions).reshape(-1))
        self.reported = with_room(self.reported, len(self), NEVER)
        self.seen = with_room(self.seen, len(self), NEVER)
        self._until = with_room(self._until, len(self), -np.inf)
        return found

    def note_seen(self, numbers: Ints, places: Ints, until: Floats) -> None:
        """A lost step was seen of these candidates. Of one candidate it may be seen at several places."""
        np.minimum.at(self.seen, numbers, places)
        np.maximum.at(self._until, numbers, until)

    def note_reported(self, numbers: Ints, places: Ints, until: Floats) -> None:
        self.reported[numbers] = places
        np.maximum.at(self._until, numbers, until)

    def withdraw(self, numbers: Ints, places: Ints) -> Flags:
        """Whether each candidate was reported before this place, at which a lost step was first seen: it is then no
        longer reported."""
        rows = np.flatnonzero((self.reported[numbers] < places) & (self.seen[numbers] == places))
        _, first = np.unique(numbers[rows], return_index=True)  # an event may tell of one candidate in several ways
        keep = np.zeros(len(numbers), np.bool_)
        keep[rows[first]] = True
        self.reported[numbers[keep]] = NEVER
        return keep

    def forget(self, now: int | float) -> None:
        """Drop what can no longer matter, now and then."""
        if len(self) >= 2 * self._kept + _FEW:
            self.compact(now)

    def compact(self, now: int | float) -> None:
        keep = self._until[: len(self)] >= now
        self.reported, self.seen = self.reported[: len(self)][keep], self.seen[: len(self)][keep]
        self._until = self._until[: len(self)][keep]
        self._index.keep(keep)
        self._kept = len(self)

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {"reported": self._recorded(self.reported), "seen": self._recorded(self.seen)}

    def _recorded(self, places: Ints) -> Mapping[str, Any]:
        known = np.flatnonzero(places[: len(self)] != NEVER)
        positions = self._index.state()["words"].reshape(-1, self._width)
        return {"positions": positions[known], "places": places[known], "until": self._until[known]}

    def restore(self, state: Mapping[str, Any], stop: int) -> None:
        """Continue from a snapshot whose stream has so many events."""
        for name, note in (("reported", self.note_reported), ("seen", self.note_seen)):
            recorded = state[name]
            positions = indices(recorded["positions"], stop, "the estimates", (None, self._width))
            places = indices(recorded["places"], FAR, "the estimates", (len(positions),))
            until = times(recorded["until"], np.float64, (len(positions),), "the estimates")
            note(self.numbers(positions), places, until)
