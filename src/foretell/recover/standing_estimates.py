"""Estimates under AFTER MATCH HOLD: none removes another, so each set of lost steps is by itself.

A lost step that was seen outside its gap withdraws an estimate, or prevents it where it is known before (decision
0015). So the estimates that were reported are kept for as long as they may be withdrawn, and what was seen of
candidates that only time completes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags
from foretell.events.notification import WITHDRAWN
from foretell.language.checked import CheckedSubscription
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.recover.candidates import CandidateMatches, VariantMatches
from foretell.recover.row_estimates import FoundMatches, KeyedTimes, until_when
from foretell.storage.recorded_values import require

#: What an entry of a table of candidates takes.
_ENTRY_BYTES = 300


class StandingEstimates:
    def __init__(self, subscription: CheckedSubscription, variants: Sequence[VariantMatches]) -> None:
        self._variants = [_VariantEstimates(variant, subscription.within) for variant in variants]

    @property
    def nbytes(self) -> int:
        return _ENTRY_BYTES * sum(len(v.reported) + len(v.seen) for v in self._variants)

    @property
    def held(self) -> Iterable[ResultBatch]:
        return ()

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None: ...

    def process(self, found: Sequence[FoundMatches]) -> list[ResultBatch]:
        return [
            result
            for variant, matches in zip(self._variants, found, strict=True)
            for result in variant.process(matches)
        ]

    def forget(self, now: int | float) -> None:
        for variant in self._variants:
            variant.forget(now)

    def state(self) -> Mapping[str, Any]:
        return {"variants": [variant.state() for variant in self._variants]}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch) -> None:
        require(len(state["variants"]) == len(self._variants), "the estimates")
        for variant, recorded in zip(self._variants, state["variants"], strict=True):
            variant.restore(recorded, bounds)


class _VariantEstimates:
    """The estimates without some steps: those that may be withdrawn, and the candidates of which a step was seen."""

    def __init__(self, matches: VariantMatches, within: int | float | None) -> None:
        self._matches, self._within = matches, within
        self.reported = KeyedTimes(len(matches.steps))
        self.seen = KeyedTimes(len(matches.steps))
        self._kept = 0

    def process(self, found: FoundMatches) -> Iterator[ResultBatch]:
        for telling in found.telling:
            starts = telling.results.start.tolist()
            for name, key, start in zip(telling.names, telling.known, starts, strict=True):
                self.seen.note(name, key, until_when(start, self._within))
        for candidates in found.candidates:
            yield from self._reported(candidates)
        for telling in found.telling:
            yield from self._withdrawn(telling)

    def _reported(self, candidates: CandidateMatches) -> Iterator[ResultBatch]:
        if self._matches.can_be_withdrawn:
            candidates = candidates.only(self._note_reported(candidates))
        certain = self._matches.certain(candidates)
        for chosen, kind in ((certain, "match"), (~certain, "estimate")):
            if chosen.any():
                yield from self._matches.as_own(candidates.only(chosen), kind)

    def _note_reported(self, candidates: CandidateMatches) -> Flags:
        """The candidates of which no step was seen by the time they are known."""
        keep = np.ones(len(candidates), np.bool_)
        ends = candidates.results.end.tolist()
        for row, (name, key) in enumerate(zip(candidates.names, candidates.known, strict=True)):
            keep[row] = not self.seen.known_by(name, key)
            if keep[row]:
                self.reported.note(name, key, until_when(ends[row], self._within))
        return keep

    def _withdrawn(self, telling: CandidateMatches) -> Iterator[ResultBatch]:
        keep = np.zeros(len(telling), np.bool_)
        for row, (name, key) in enumerate(zip(telling.names, telling.known, strict=True)):
            known = self.reported.entries.get(name)
            if known is not None and known[0] < key and self.seen.entries[name][0] == key:
                del self.reported.entries[name]
                keep[row] = True
        if keep.any():
            gone = telling.only(keep)
            yield from self._matches.as_own(replace(gone, likely=np.zeros(len(gone))), WITHDRAWN)

    def forget(self, now: int | float) -> None:
        if len(self.reported) + len(self.seen) < 2 * self._kept + 1024:
            return
        self.reported.forget(now)
        self.seen.forget(now)
        self._kept = len(self.reported) + len(self.seen)

    def state(self) -> Mapping[str, Any]:
        return {"reported": self.reported.state(), "seen": self.seen.state()}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        self.reported.restore(state["reported"], bounds)
        self.seen.restore(state["seen"], bounds)
