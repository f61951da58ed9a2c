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
