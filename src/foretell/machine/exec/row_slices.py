"""The profiles that the events of a batch satisfy, for as many events at a time as there is memory for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from foretell.arrays import Flags
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.kernels.structs import RowBatch
from foretell.machine.trie_rows import TrieRows

#: So many profiles of events are listed at once at each site, unless one event satisfies more.
MOST_SATISFIED = 1 << 21


class RowSlices:
    """Slices of one batch; `stop` is where the present one ends. `wanted` are the events that each site is asked of."""

    def __init__(
        self, rows: TrieRows, events: EventColumns, strings: StringDictionary, wanted: Sequence[Flags | None]
    ) -> None:
        self._rows, self._events, self.stop = rows, len(events), 0
        self._parts: list[Iterator[ProfileMatches]] = [
            site.matches(events, strings, flags, MOST_SATISFIED) for site, flags in zip(rows.sites, wanted, strict=True)
        ]
        self._present = [ProfileMatches.none(0) for _ in self._parts]
        self._ends = [0 for _ in self._parts]

    def take(self) -> tuple[RowBatch, list[Flags]]:
        """The rows for the next slice, and for each site which of the batch's events satisfy a profile in it."""
        begin = self.stop
        for site, parts in enumerate(self._parts):
            while self._ends[site] <= begin < self._events:
                self._present[site] = next(parts)
                self._ends[site] += len(self._present[site])
        self.stop = min(self._ends, default=self._events)
        found, flags = [], []
        for part, end in zip(self._present, self._ends, strict=True):
            first = end - len(part)
            offsets = part.offsets[begin - first : self.stop - first + 1]
            satisfied = np.zeros(self._events, np.bool_)
            satisfied[begin : self.stop] = np.diff(offsets) > 0
            found.append(ProfileMatches(offsets, part.profiles))
            flags.append(satisfied)
        return self._rows.batch(found, begin, self._events), flags
