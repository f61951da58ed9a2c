"""Estimates from the matches of hidden patterns: scored, reported where they are probable enough, and withdrawn.

A lost step that was seen outside its gap withdraws an estimate, or prevents it where it is known before (decision
0015). So the stage keeps which estimates were reported, for as long as they may be withdrawn, and what was seen of
candidates that only time completes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.events.delays.delay_model import DelayModel
from foretell.events.notification import WITHDRAWN
from foretell.language.checked import CheckedSubscription
from foretell.language.estimate_scorer import check_delays
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.plan.lower.post_match import PositionSource, StepPosition
from foretell.plan.result_schema import result_schema
from foretell.plan.strategy import Decision, runs_without
from foretell.records import record
from foretell.recover.candidate_table import CandidateTable
from foretell.recover.gap_scores import CERTAINLY_LESS, GapScores
from foretell.recover.hidden_patterns import HiddenPattern, Role, Variant, all_lost_sets, narrowed, variant_of
from foretell.storage.recorded_values import require


@record
class CandidateMatches:
    """Matches of a hidden pattern as those of its statement: the positions of their events, by the steps present."""

    results: ResultBatch
    positions: Ints
    likely: Floats

    def only(self, keep: Flags) -> CandidateMatches:
        return CandidateMatches(self.results.filter(keep), self.positions[keep], self.likely[keep])

    @property
    def places(self) -> Ints:
        """The place at which each is known: even at an event, odd between two."""
        return self.results.order[:, 0]


@record
class PrunedVariant:
    variant: Variant
    best: float


class EstimateStage:
    """The estimates of one statement with LOSING, from the results of `statements`, its hidden patterns."""

    def __init__(
        self, subscription: CheckedSubscription, model: DelayModel, lost: Sequence[frozenset[str]] | None = None
    ) -> None:
        """`lost` are the sets of lost steps that run, where a snapshot has recorded them; else all that may reach the
        threshold."""
        check_delays(subscription, model)
        self.subscription = subscription
        #: The variants that cannot reach the threshold, with the best probability of each.
        self.pruned: list[PrunedVariant] = []
        self._variants: list[_VariantEstimates] = []
        for steps in all_lost_sets(subscription) if lost is None else lost:
            variant = _VariantEstimates(subscription, variant_of(subscription, steps, model))
            if lost is None and steps and not variant.runs.value:
                self.pruned.append(PrunedVariant(variant.variant, variant.best))
            else:
                self._variants.append(variant)
        self._patterns = {
            pattern.statement.name: (variant, pattern)
            for variant in self._variants
            for pattern in variant.variant.patterns
        }
        self.statements = [pattern.statement for _, pattern in self._patterns.values()]

    @property
    def patterns(self) -> Sequence[str]:
        return tuple(self._patterns)

    @property
    def nbytes(self) -> int:
        return sum(variant.known.nbytes for variant in self._variants)

    def process(self, results: Sequence[ResultBatch], now: int | float) -> list[ResultBatch]:
        found: dict[str, list[ResultBatch]] = {}
        for result in results:
            if len(result):
                found.setdefault(result.schema.name, []).append(result)
        estimates = [
            result
            for variant in self._variants
            for result in variant.process(
                [(p, r) for p in variant.variant.patterns for r in found.get(p.statement.name, ())]
            )
        ]
        for variant in self._variants:
            variant.known.forget(now)
        return estimates

    def state(self) -> Mapping[str, Any]:
        return {"lost": self.lost, "variants": [variant.known.state() for variant in self._variants]}

    @property
    def lost(self) -> list[list[str]]:
        """The sets of lost steps that run."""
        return [sorted(variant.variant.scorer.lost) for variant in self._variants]

    def restore(self, state: Mapping[str, Any], positions: int) -> None:
        require(len(state["variants"]) == len(self._variants), "the estimates")
        for variant, recorded in zip(self._variants, state["variants"], strict=True):
            variant.known.restore(recorded, positions)


class _VariantEstimates:
    """The estimates without some steps; `known` has those that may be withdrawn."""

    def __init__(self, subscription: CheckedSubscription, variant: Variant) -> None:
        self._scores = GapScores(variant.scorer, variant.present)
        self.variant = narrowed(variant, self._scores.longest)
        self._schema = result_schema(subscription)
        self._steps = np.array([subscription.positive.index(step) for step in variant.present], np.int64)
        self._within = subscription.within
        self._unit = variant.scorer.unit
        self.known = CandidateTable(len(variant.present))

    @cached_property
    def best(self) -> float:
        return self._scores.best

    @property
    def runs(self) -> Decision[bool]:
        """Whether a match may be probable enough. The best probability is computed at some lengths."""
        return runs_without(self.best, self.variant.scorer.losing.above * CERTAINLY_LESS)

    def process(self, found: Sequence[tuple[HiddenPattern, ResultBatch]]) -> Iterator[ResultBatch]:
        telling = [self._telling(p, results) for p, results in found if p.role is not Role.CANDIDATE]
        self._note_seen(telling)
        for pattern, results in found:
            if pattern.role is Role.CANDIDATE:
                yield from self._reported(self._probable(pattern, results))
        for candidates in telling:
            yield from self._withdrawn(candidates)

    # ── matches of hidden patterns ──

    def _probable(self, pattern: HiddenPattern, results: ResultBatch) -> CandidateMatches:
        """The matches whose candidates are probable enough."""
        assert results.matches is not None
        columns = [results.matches.of_step(step, latest=False) for step in pattern.steps]
        positions = np.stack(columns, axis=1)
        at = np.stack([results.matches.buffer.times(column) for column in columns], axis=1)
        likely = self._scores.probabilities(at / self._unit)
        return CandidateMatches(results, positions, likely).only(self._scores.reached(likely))

    def _telling(self, pattern: HiddenPattern, results: ResultBatch) -> CandidateMatches:
        """The matches that tell of a lost step of a probable candidate: with LATER, from the end of its gap on and at
        most a window later."""
        candidates = self._probable(pattern, results)
        if pattern.role is Role.BEFORE or not len(candidates.positions):
            return candidates
        matches = candidates.results.matches
        assert matches is not None
        if pattern.extra is None:
            when = candidates.results.end
        else:
            when = matches.buffer.times(matches.of_step(pattern.extra, latest=False))
        if pattern.gap_end is not None:
            until = matches.buffer.times(candidates.positions[:, self.variant.present.index(pattern.gap_end)])
        else:
            assert self._within is not None
            until = matches.buffer.times(candidates.positions[:, 0]) + self._within
        keep = when > until
        if self._within is not None:
            keep &= when <= until + self._within
        return candidates.only(keep)

    # ── reported and withdrawn ──

    def _note_seen(self, telling: Sequence[CandidateMatches]) -> None:
        for candidates in telling:
            numbers = self.known.numbers(candidates.positions)
            self.known.note_seen(numbers, candidates.places, self._until(candidates.results.start))

    def _until(self, time: NDArray[Any]) -> Floats:
        """The times until when estimates are still concerned."""
        return time + (math.inf if self._within is None else 2.0 * self._within)

    def _reported(self, candidates: CandidateMatches) -> Iterator[ResultBatch]:
        if len(self.variant.patterns) > 1:
            candidates = self._noted(candidates)
        if self.variant.scorer.lost:
            certain = np.zeros(len(candidates.likely), np.bool_)
        else:
            certain = candidates.likely >= 1.0
        for chosen, kind in ((certain, "match"), (~certain, "estimate")):
            if chosen.any():
                yield self._as_own(candidates.only(chosen), kind)

    def _noted(self, candidates: CandidateMatches) -> CandidateMatches:
        """The candidates of which no lost step was seen before they are due; they may be withdrawn."""
        numbers, places = self.known.numbers(candidates.positions), candidates.places
        keep = self.known.seen[numbers] > places
        self.known.note_reported(numbers[keep], places[keep], self._until(candidates.results.end[keep]))
        return candidates.only(keep)

    def _withdrawn(self, candidates: CandidateMatches) -> Iterator[ResultBatch]:
        keep = self.known.withdraw(self.known.numbers(candidates.positions), candidates.places)
        if keep.any():
            gone = candidates.only(keep)
            yield self._as_own(replace(gone, likely=np.zeros(len(gone.likely))), WITHDRAWN)

    def _as_own(self, candidates: CandidateMatches, kind: str) -> ResultBatch:
        """The candidates as results of the statement: their events with its steps, in its numbers."""
        results, positions = candidates.results, candidates.positions
        matches = results.matches
        assert matches is not None
        count, width = positions.shape
        starts = np.arange(count + 1) * width
        bound = BoundEvents(results.lane, starts, positions.reshape(-1), np.tile(self._steps, count))
        last = positions[:, -1] if kind == WITHDRAWN else matches.raw.position
        raw = replace(matches.raw, first=positions[:, 0].copy(), position=last, chain=np.full(count, -1, np.int64))
        chain = (StepPosition(PositionSource.CHAIN),) * len(self._schema.steps)
        own = replace(matches, plan=replace(matches.plan, positions=chain), raw=raw, gathered=(bound, Gaps.none()))
        return replace(
            results,
            schema=self._schema,
            matches=own,
            start=matches.buffer.starts(positions[:, 0]),
            places=results.order,
            estimates=None if kind == "match" else EstimateColumns(candidates.likely, kind),
        )
