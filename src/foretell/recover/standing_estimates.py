"""Estimates under AFTER MATCH HOLD: none removes another, so each set of lost steps is by itself.

A lost step that was seen outside its gap withdraws an estimate, or prevents it where it is known before (decision
0015). So the estimates that were reported are kept for as long as they may be withdrawn, and what was seen of
candidates that only time completes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.notification import WITHDRAWN
from foretell.language.checked import CheckedSubscription
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.recover.candidate_table import CandidateTable
from foretell.recover.candidates import CandidateMatches, VariantMatches
from foretell.recover.kept_estimates import KeptEstimates
from foretell.recover.row_estimates import FoundMatches
from foretell.storage.recorded_values import require


class StandingEstimates:
    """`live` is a run in which estimates may be confirmed."""

    def __init__(self, subscription: CheckedSubscription, variants: Sequence[VariantMatches], *, live: bool) -> None:
        self._variants = [_VariantEstimates(variant, subscription.within, live=live) for variant in variants]

    @property
    def nbytes(self) -> int:
        return sum(variant.known.nbytes + variant.kept.nbytes for variant in self._variants)

    @property
    def held(self) -> Iterable[ResultBatch]:
        return (part for variant in self._variants for part in variant.kept.parts)

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None:
        for variant in self._variants:
            variant.kept.renew(renewed)

    @property
    def reported(self) -> Iterable[tuple[int, ResultBatch]]:
        return ((number, part) for number, variant in enumerate(self._variants) for part in variant.kept.parts)

    def stands(self, variant: int, positions: Ints) -> Flags:
        return self._variants[variant].stand(positions)

    def revise(self, variant: int, positions: Ints, *, confirmed: bool) -> None:
        known = self._variants[variant].known
        known.settle(known.numbers(positions))

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
        kept = [variant.kept.state() for variant in self._variants]
        return {"variants": [variant.known.state() for variant in self._variants], "kept": kept}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch) -> None:
        require(len(state["variants"]) == len(self._variants), "the estimates")
        for variant, recorded in zip(self._variants, state["variants"], strict=True):
            variant.known.restore(recorded, bounds)
        kept = state.get("kept", [[]] * len(self._variants))  # early snapshots have none
        require(len(kept) == len(self._variants), "the estimates")
        for variant, parts in zip(self._variants, kept, strict=True):
            variant.kept.restore(parts, variant.matches, bounds, like)


class _VariantEstimates:
    """The estimates without some steps; `known` has those that may be withdrawn or confirmed, and what was seen of
    candidates, `kept` those that may be confirmed as they were reported."""

    def __init__(self, matches: VariantMatches, within: int | float | None, *, live: bool) -> None:
        self.matches, self._live = matches, live
        self._concerned = math.inf if within is None else 2.0 * within
        self.known, self.kept = CandidateTable(len(matches.steps)), KeptEstimates()

    def stand(self, positions: Ints) -> Flags:
        return self.known.stand(self.known.numbers(positions))

    def forget(self, now: int | float) -> None:
        self.kept.forget(lambda results: results.end + self._concerned, now, self.stand)
        self.known.forget(now)

    def process(self, found: FoundMatches) -> Iterator[ResultBatch]:
        for telling in found.telling:
            numbers = self.known.numbers(telling.positions)
            self.known.note_seen(numbers, telling.known, telling.results.start + self._concerned)
        for candidates in found.candidates:
            yield from self._reported(candidates)
        for telling in found.telling:
            yield from self._withdrawn(telling)

    def _reported(self, candidates: CandidateMatches) -> Iterator[ResultBatch]:
        if self.matches.can_be_withdrawn or self._live:
            candidates = self._noted(candidates)
        certain = self.matches.certain(candidates)
        for chosen, kind in ((certain, "match"), (~certain, "estimate")):
            if chosen.any():
                own = self.matches.as_own(candidates.only(chosen), kind)
                if self._live and kind == "estimate":
                    self.kept.add(own[0])
                yield from own

    def _noted(self, candidates: CandidateMatches) -> CandidateMatches:
        """The candidates of which no step was seen by the time they are known; they may be withdrawn."""
        numbers = self.known.numbers(candidates.positions)
        keep = ~self.known.seen_by(numbers, candidates.known)
        candidates = candidates.only(keep)
        self.known.note_reported(numbers[keep], candidates.known, candidates.results.end + self._concerned)
        return candidates

    def _withdrawn(self, telling: CandidateMatches) -> Iterator[ResultBatch]:
        keep = self.known.withdraw(self.known.numbers(telling.positions), telling.known)
        if keep.any():
            gone = telling.only(keep)
            yield from self.matches.as_own(replace(gone, likely=np.zeros(len(gone))), WITHDRAWN)
