"""The rows of a FOR EACH table to which the matches of a batch belong: a notification for each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Type
from foretell.machine.matches.indexed_rows import MatchedRows
from foretell.machine.row_ids import ids_of


@dataclass(frozen=True, eq=False)
class MatchRows:
    """A match may belong to very many rows, so they are put together only where somebody takes them.

    `intervals` and `first_events` are those of the matches, `ends` how many notifications there are up to each match.
    Of all notifications these are the `count` after the first `skipped`. `kind` is the type of the rows' ids.
    """

    indexed: MatchedRows
    kind: Type
    intervals: Ints
    first_events: Ints
    ends: Ints
    skipped: int
    count: int

    @classmethod
    def of(cls, indexed: MatchedRows, kind: Type, intervals: Ints, first_events: Ints) -> MatchRows:
        ends = np.cumsum(indexed.counts(intervals, first_events))
        return cls(indexed, kind, intervals, first_events, ends, 0, int(ends[-1]) if len(ends) else 0)

    @property
    def nbytes(self) -> int:
        return self.intervals.nbytes + self.first_events.nbytes + self.ends.nbytes

    def slice(self, first: int, count: int) -> MatchRows:
        return replace(self, skipped=self.skipped + first, count=count)

    def expanded(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of notifications, made of those of the matches."""
        low, high = np.searchsorted(self.ends, [self.skipped, self.skipped + max(self.count, 1) - 1], side="right")
        own = slice(int(low), int(high) + 1)
        before = int(self.ends[low - 1]) if low else 0
        counts = np.diff(self.ends[own], prepend=before)
        match = np.repeat(np.arange(len(counts)), counts)
        rows = self.indexed.of(self.intervals[own], self.first_events[own])
        cut = slice(self.skipped - before, self.skipped - before + self.count)
        taken = columns.slice(own.start, len(counts)).take(arrow_of(match[cut]))
        return taken.append_column("id", self._ids(rows[cut]))

    def _ids(self, rows: Ints) -> ArrowArray:
        return ids_of(self.indexed.ids_at(rows), self.kind)
