"""Counts the gaps of a running statement, from the matches of its gap patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.events.delays.gap_counts import BINS, GapCounts, SeenNear, bin_of
from foretell.events.delays.seen_places import SeenPlaces, place_of
from foretell.events.types import Scalar, Type
from foretell.language.checked import CheckedSubscription
from foretell.machine.matches.results import ResultBatch
from foretell.records import record
from foretell.recover.gap_patterns import GapPatterns
from foretell.storage.recorded_values import array, require, require_range

#: What an event near another one takes while the window of that goes on.
_NEAR_BYTES = 32


@record
class _FoundGaps:
    """Matches of a gap pattern: for each the positions of both ends and the row of the FOR EACH table, the bin of its
    length, its place in the order of events, and the bin of the place of a hidden step within it."""

    names: Ints
    bins: Ints
    place: Ints
    within: Ints

    @classmethod
    def joined(cls, parts: Sequence[_FoundGaps]) -> _FoundGaps:
        columns = ((p.names, p.bins, p.place, p.within) for p in (_NO_GAPS, *parts))
        return cls(*map(np.concatenate, zip(*columns, strict=True)))

    def only(self, keep: Flags | Ints) -> _FoundGaps:
        return _FoundGaps(self.names[keep], self.bins[keep], self.place[keep], self.within[keep])


_NO_GAPS = _FoundGaps(np.zeros((0, 3), np.int64), *(np.zeros(0, np.int64) for _ in range(3)))


class GapTally:
    """`loss` is how likely an event of each hidden step was lost."""

    def __init__(self, patterns: GapPatterns, loss: Sequence[float]) -> None:
        self.patterns, self.loss = patterns, tuple(loss)
        self._at_edge = None in patterns.ends
        self._rows: dict[Scalar, int] = {None: 0}
        #: What was seen near events whose window goes on: event and row, the step, and the bin of the distance.
        self._near = np.zeros((0, 4), np.int64)

    @property
    def nbytes(self) -> int:
        return _NEAR_BYTES * len(self._near)

    def gaps(self, found: Mapping[str, Sequence[ResultBatch]], stride: int) -> Iterator[tuple[int, GapCounts]]:
        """The counts of the gaps that have ended in a batch, by the stretch of so many events in which each did."""
        whole, passed = self._gaps_in(found)
        seen = {step: self._found(found.get(pattern.name, ())) for step, pattern in self.patterns.seen.items()}
        held = {step: self._found(found.get(pattern.name, ())) for step, pattern in self.patterns.held.items()}
        known = self._seen_near([*seen.values()]) if self._at_edge else None
        numbers = [(part.place + 1) // 2 // stride for part in (whole, *(seen[step] for step in held))]
        for number in np.unique(np.concatenate(numbers)).tolist():
            now = numbers[0] == number
            ended = whole.only(now)
            counts = self._between(ended, passed[now], seen) if known is None else self._to_edge(ended, known)
            lasting = {step: self._held(number, stride, seen[step], met) for step, met in held.items()}
            yield number, replace(counts, held=lasting)
        if known is not None:
            self._near = known[rows_equal_to(whole.names[:, 1:], known[:, :2]) < 0]

    def _gaps_in(self, found: Mapping[str, Sequence[ResultBatch]]) -> tuple[_FoundGaps, Ints]:
        """The gaps, and how many events the operator has not passed over in each."""
        parts = [self._found(found.get(pattern.name, ())) for pattern in self.patterns.whole]
        passed = np.repeat(np.arange(len(parts)), [len(part.names) for part in parts])
        return _FoundGaps.joined(parts), passed

    def _between(self, whole: _FoundGaps, passed: Ints, seen: Mapping[str, _FoundGaps]) -> GapCounts:
        number = np.zeros((len(whole.names), len(self.patterns.hidden)), np.int64)
        places = dict[str, SeenPlaces]()
        for column, step in enumerate(self.patterns.hidden):
            if step == self.patterns.passed:
                number[:, column] = passed
                continue
            rows = rows_equal_to(whole.names, seen[step].names)
            number[:, column] = np.bincount(rows[rows >= 0], minlength=len(number))
            inside = seen[step].only(rows >= 0)
            places[step] = SeenPlaces.of(inside.bins, inside.within)
        return replace(GapCounts.of(self.patterns.hidden, self.loss, whole.bins, number), places=places)

    def _held(self, number: int, stride: int, seen: _FoundGaps, held: _FoundGaps) -> Floats:
        """By length, how many events of a hidden step were seen in a stretch, and how many met all conditions."""
        rows = [f.bins[(f.place + 1) // 2 // stride == number] for f in (seen, held)]
        counts = np.stack([np.bincount(bins, minlength=BINS) for bins in rows]).astype(float)
        return counts.cumsum(axis=1) if self._at_edge else counts

    def _seen_near(self, seen: Sequence[_FoundGaps]) -> Ints:
        """The events near others whose window has gone on up to now."""
        end = 0 if self.patterns.ends[1] is None else 1
        new = [
            np.stack([*found.names.T[[end, 2]], np.full(len(found.names), step), found.bins], axis=1)
            for step, found in enumerate(seen)
        ]
        return np.concatenate([self._near, *new])

    def _to_edge(self, whole: _FoundGaps, known: Ints) -> GapCounts:
        rows = rows_equal_to(whole.names[:, 1:], known[:, :2])
        near = SeenNear(rows[rows >= 0], *known[rows >= 0, 2:].T)
        return GapCounts.at_edge(self.patterns.hidden, self.loss, len(whole.names), near)

    def _found(self, results: Sequence[ResultBatch]) -> _FoundGaps:
        return _FoundGaps.joined([self._of_result(result) for result in results])

    def _of_result(self, result: ResultBatch) -> _FoundGaps:
        matches = result.matches
        assert matches is not None
        last = len(result.schema.steps) - 1
        start, step, end = (matches.of_step(step, latest=False) for step in (0, min(1, last), last))
        began, seen, ended = (matches.buffer.times(positions) for positions in (start, step, end))
        lengths = ended - began
        part = np.divide(seen - began, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        number, rows = self._rows_of(result)
        return _FoundGaps(
            np.stack([start[number], end[number], rows], axis=1),
            bin_of(lengths[number] / unit_of(self.patterns.whole[0])),
            result.order[number, 0],
            place_of(part[number]),
        )

    def _rows_of(self, result: ResultBatch) -> tuple[Ints, Ints]:
        """Each match with each row of a FOR EACH table that it belongs to."""
        number, row = result.notification_rows
        known, which = np.unique(row, return_inverse=True)
        codes = [self._rows.setdefault(result.id_of(r), len(self._rows)) for r in known.tolist()]
        return number, np.array(codes, np.int64)[which.ravel()]

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {"near": self._near, "rows": [*self._rows]}

    def restore(self, state: Mapping[str, Any], positions: int) -> None:
        rows = {row_id: number for number, row_id in enumerate(state["rows"])}
        require(len(rows) == len(state["rows"]), "the events near gaps")
        near: Ints = array(state["near"], np.int64, (None, 4), "the events near gaps")
        for column, stop in enumerate((positions, len(rows), len(self.patterns.hidden), BINS)):
            require_range(near[:, column], stop, "the events near gaps")
        self._rows, self._near = rows, near


def by_statement(results: Iterable[ResultBatch]) -> dict[str, list[ResultBatch]]:
    found: dict[str, list[ResultBatch]] = {}
    for result in results:
        found.setdefault(result.schema.name, []).append(result)
    return found


def unit_of(subscription: CheckedSubscription) -> int:
    """So many steps of the streams' time are one of the delays': microseconds are seconds."""
    return 1_000_000 if subscription.time is Type.TIMESTAMP else 1


def rows_equal_to(known: Ints, rows: Ints) -> Ints:
    """The row of `known` that equals each of `rows`; -1 where none does."""
    _, group = np.unique(np.concatenate([known, rows]), axis=0, return_inverse=True)
    group = group.ravel()
    place = np.full(group.max(initial=-1) + 1, -1, np.int64)
    place[group[: len(known)]] = np.arange(len(known))
    return place[group[len(known) :]]
