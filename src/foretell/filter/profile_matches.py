"""The profiles that the events of a batch match, as arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.records import record


@record
class ProfileMatches:
    """The profiles of event e are `profiles[offsets[e]:offsets[e + 1]]`, ascending."""

    offsets: Ints
    profiles: Ints

    def __len__(self) -> int:
        """The number of events."""
        return len(self.offsets) - 1

    def events(self) -> Ints:
        """The number of the event of each match."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def first(self, events: int) -> ProfileMatches:
        """Those of the first events."""
        if events == len(self):
            return self
        return ProfileMatches(self.offsets[: events + 1], self.profiles[: self.offsets[events]])

    def events_with(self, most: int) -> int:
        """How many of the first events together have at most so many matches; at least one, if there is one."""
        return max(min(1, len(self)), int(np.searchsorted(self.offsets, most, side="right")) - 1)

    def where(self, kept: Flags) -> ProfileMatches:
        """The matches that are kept."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        return ProfileMatches(before[self.offsets], self.profiles[kept])

    @classmethod
    def of_flags(cls, flags: Flags, numbers: Ints) -> ProfileMatches:
        """From a row of flags for each event, whose columns are the profiles with these numbers."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags.sum(axis=1), dtype=np.int64)])
        return cls(offsets, numbers[np.nonzero(flags)[1]])

    @classmethod
    def none(cls, events: int) -> ProfileMatches:
        """Of events that match nothing."""
        return cls(np.zeros(events + 1, np.int64), np.zeros(0, np.int64))

    @classmethod
    def one_after_another(cls, parts: Iterable[ProfileMatches]) -> ProfileMatches:
        """Those of consecutive parts of a batch."""
        every = list(parts)
        if len(every) == 1:
            return every[0]
        counts = [np.diff(part.offsets) for part in every]
        offsets = np.concatenate([np.zeros(1, np.int64), *counts]).cumsum()
        return cls(offsets, np.concatenate([np.zeros(0, np.int64), *[part.profiles for part in every]]))
