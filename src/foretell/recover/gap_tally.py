"""Counts the gaps of a running statement, from the matches of its gap patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.delays.gap_counts import BINS, GapCounts, SeenNear, bin_of
from foretell.machine.matches.results import ResultBatch
from foretell.records import record
from foretell.recover.gap_patterns import GapPatterns
from foretell.storage.recorded_values import FAR, indices

#: What an event near another one takes while the window of that goes on.
_NEAR_BYTES = 24


@record
class _FoundGaps:
    """Matches of a gap pattern: a row for each with the numbers that identify its gap, the bin of its length, and its
    place in the order of events."""

    names: Ints
    bins: Ints
    place: Ints

    def only(self, keep: Flags) -> _FoundGaps:
        return _FoundGaps(self.names[keep], self.bins[keep], self.place[keep])


class GapTally:
    """`unit`: so many steps of the streams' time are one of the delays'; `loss` is what the stream loses of each hidden
    step."""

    def __init__(self, patterns: GapPatterns, loss: Sequence[float], unit: int) -> None:
        self.patterns, self.loss, self._unit = patterns, tuple(loss), unit
        self._at_edge = None in patterns.ends
        #: What was seen near events whose window goes on: the event, the step, and the bin of the distance.
        self._near = np.zeros((0, 3), np.int64)

    @property
    def nbytes(self) -> int:
        return _NEAR_BYTES * len(self._near)

    def gaps(self, found: Mapping[str, Sequence[ResultBatch]], stride: int) -> Iterator[tuple[int, GapCounts]]:
        """The counts of the gaps that have ended in a batch, by the stretch of so many events in which each did."""
        whole = self._found(found.get(self.patterns.whole.name, ()))
        seen = [self._found(found.get(pattern.name, ())) for pattern in self.patterns.seen]
        known = self._seen_near(seen) if self._at_edge else None
        stretch = (whole.place + 1) // 2 // stride
        for number in np.unique(stretch).tolist():
            ended = whole.only(stretch == number)
            yield number, self._between(ended, seen) if known is None else self._to_edge(ended, known)
        if known is not None:
            self._near = known[~np.isin(known[:, 0], whole.names[:, 0])]

    def _between(self, whole: _FoundGaps, seen: Sequence[_FoundGaps]) -> GapCounts:
        number = np.zeros((len(whole.names), len(seen)), np.int64)
        for column, found in enumerate(seen):
            rows = rows_equal_to(whole.names, found.names)
            number[:, column] = np.bincount(rows[rows >= 0], minlength=len(number))
        return GapCounts.of(self.patterns.hidden, self.loss, whole.bins, number)

    def _seen_near(self, seen: Sequence[_FoundGaps]) -> Ints:
        """The events near others whose window has gone on up to now."""
        end = 0 if self.patterns.ends[1] is None else 1
        new = [
            np.stack([found.names[:, end], np.full(len(found.names), step, np.int64), found.bins], axis=1)
            for step, found in enumerate(seen)
        ]
        return np.concatenate([self._near, *new])

    def _to_edge(self, whole: _FoundGaps, known: Ints) -> GapCounts:
        rows = rows_equal_to(whole.names[:, :1], known[:, :1])
        near = SeenNear(rows[rows >= 0], *known[rows >= 0, 1:].T)
        return GapCounts.at_edge(self.patterns.hidden, self.loss, len(whole.names), near)

    def _found(self, results: Sequence[ResultBatch]) -> _FoundGaps:
        parts = [self._of_result(result) for result in results]
        if not parts:
            nothing = np.zeros(0, np.int64)
            return _FoundGaps(np.zeros((0, 2), np.int64), nothing, nothing)
        return _FoundGaps(*map(np.concatenate, zip(*((p.names, p.bins, p.place) for p in parts), strict=True)))

    def _of_result(self, result: ResultBatch) -> _FoundGaps:
        matches = result.matches
        assert matches is not None
        last = len(result.schema.steps) - 1
        ends = [matches.of_step(step, latest=False) for step in (0, last)]
        lengths = (matches.buffer.times(ends[1]) - matches.buffer.times(ends[0])) / self._unit
        return _FoundGaps(np.stack(ends, axis=1), bin_of(lengths), result.order[:, 0])

    # ── snapshots ──

    def state(self) -> Ints:
        return self._near

    def restore(self, state: Any) -> None:
        near = indices(state, FAR, "the events near gaps", (None, 3))
        for column, stop in ((1, len(self.patterns.hidden)), (2, BINS)):
            indices(near[:, column].copy(), stop, "the events near gaps")
        self._near = near


def rows_equal_to(known: Ints, rows: Ints) -> Ints:
    """The row of `known` that equals each of `rows`; -1 where none does."""
    _, group = np.unique(np.concatenate([known, rows]), axis=0, return_inverse=True)
    group = group.ravel()
    place = np.full(group.max(initial=-1) + 1, -1, np.int64)
    place[group[: len(known)]] = np.arange(len(known))
    return place[group[len(known) :]]
