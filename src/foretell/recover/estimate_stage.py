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
from foretell.events.delays.delay_model import DelayModel, gaps_document
from foretell.events.notification import WITHDRAWN
from foretell.language.checked import CheckedSubscription
from foretell.language.estimate_scorer import check_delays
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.plan.lower.post_match import PositionSource, StepPosition
from foretell.plan.result_schema import result_schema
from foretell.records import record
from foretell.recover.gap_learner import GapLearner, ModelVersions, learnable, recorded_steps
from foretell.recover.gap_scores import GapScores
from foretell.recover.hidden_patterns import HiddenPattern, Role, Variant, all_lost_sets, variant_of
from foretell.storage.recorded_values import FAR, indices, require, times

#: A variant is left out where its best probability, computed at some lengths, is less than so much of the threshold.
_CERTAINLY_LESS = 0.9

#: What an entry of a table of candidates takes.
_ENTRY_BYTES = 300


@record
class CandidateMatches:
    """Matches of a hidden pattern as those of its statement: the positions of their events, by the steps present."""

    results: ResultBatch
    positions: Ints
    likely: Floats

    def only(self, keep: Flags) -> CandidateMatches:
        return CandidateMatches(self.results.filter(keep), self.positions[keep], self.likely[keep])

    @property
    def names(self) -> list[bytes]:
        """Equal where the events are."""
        return [row.tobytes() for row in np.ascontiguousarray(self.positions)]

    @property
    def order(self) -> list[int]:
        """The place at which each is known: even at an event, odd between two."""
        return [int(place) for place in self.results.order[:, 0]]


@record
class PrunedVariant:
    variant: Variant
    best: float


class EstimateStage:
    """The estimates of one statement with LOSING, from the results of `statements`, its hidden patterns."""

    def __init__(
        self, subscription: CheckedSubscription, model: DelayModel, recorded: Mapping[str, Any] | None = None
    ) -> None:
        """A snapshot has `recorded` the sets of lost steps that run, else all run that may reach the threshold; and the
        gaps whose counts are learned."""
        check_delays(subscription, model)
        self.subscription = subscription
        lost = None if recorded is None else [frozenset(map(str, steps)) for steps in recorded["lost"]]
        gaps = learnable(subscription, model) if recorded is None else recorded_steps(recorded.get("gaps", ()))
        self._learner = GapLearner(subscription, model, gaps) if gaps else None
        #: The variants that cannot reach the threshold, with the best probability of each.
        self.pruned: list[PrunedVariant] = []
        self._variants: list[_VariantEstimates] = []
        for steps in all_lost_sets(subscription) if lost is None else lost:
            variant = _VariantEstimates(subscription, variant_of(subscription, steps, model))
            if (
                lost is None
                and not gaps
                and steps
                and variant.best < variant.variant.scorer.losing.above * _CERTAINLY_LESS
            ):
                self.pruned.append(PrunedVariant(variant.variant, variant.best))
            else:
                self._variants.append(variant)
        self._patterns = {
            pattern.statement.name: (variant, pattern)
            for variant in self._variants
            for pattern in variant.variant.patterns
        }
        learning = () if self._learner is None else self._learner.statements
        self.statements = [*(pattern.statement for _, pattern in self._patterns.values()), *learning]
        self.patterns: Sequence[str] = tuple(statement.name for statement in self.statements)

    @property
    def nbytes(self) -> int:
        learning = 0 if self._learner is None else self._learner.nbytes
        return learning + _ENTRY_BYTES * sum(len(v.reported) + len(v.seen) for v in self._variants)

    def process(self, results: Sequence[ResultBatch], now: int | float) -> list[ResultBatch]:
        found: dict[str, list[ResultBatch]] = {}
        for result in results:
            if len(result):
                found.setdefault(result.schema.name, []).append(result)
        versions = self._versions(found)
        estimates = [
            result
            for variant in self._variants
            for result in variant.process(
                [(p, r) for p in variant.variant.patterns for r in found.get(p.statement.name, ())], versions
            )
        ]
        for variant in self._variants:
            variant.forget(now)
        return estimates

    def _versions(self, found: Mapping[str, Sequence[ResultBatch]]) -> ModelVersions | None:
        """The models that the candidates of a batch are scored with; None where the model stays."""
        if self._learner is None or self._learner.learning is None:
            return None
        self._learner.add(found)
        return self._learner.versions(r for name in self._patterns for r in found.get(name, ()))

    def learned(self) -> Mapping[str, object]:
        gaps = {} if self._learner is None else self._learner.learned()
        return {"gaps": gaps_document(gaps)} if gaps else {}

    def take_notes(self) -> list[str]:
        return [] if self._learner is None else self._learner.take_notes()

    def state(self) -> Mapping[str, Any]:
        gaps = [] if self._learner is None else self._learner.state()
        return {"lost": self.lost, "variants": [variant.state() for variant in self._variants], "gaps": gaps}

    @property
    def lost(self) -> list[list[str]]:
        """The sets of lost steps that run."""
        return [sorted(variant.variant.scorer.lost) for variant in self._variants]

    def restore(self, state: Mapping[str, Any], positions: int) -> None:
        require(len(state["variants"]) == len(self._variants), "the estimates")
        for variant, recorded in zip(self._variants, state["variants"], strict=True):
            variant.restore(recorded, positions)
        if self._learner is not None:
            self._learner.restore(state["gaps"])


class _VariantEstimates:
    """The estimates without some steps. `reported` has those that may be withdrawn, with the place at which they became
    known; `seen` has candidates of which a lost step was seen, with the place. Both have the time until when."""

    def __init__(self, subscription: CheckedSubscription, variant: Variant) -> None:
        self.variant = variant
        self._schema = result_schema(subscription)
        self._steps = np.array([subscription.positive.index(step) for step in variant.present], np.int64)
        self._scores, self._model = GapScores(variant.scorer, variant.present), variant.scorer.model
        self._within = subscription.within
        self._unit = variant.scorer.unit
        self.reported: dict[bytes, tuple[int, float]] = {}
        self.seen: dict[bytes, tuple[int, float]] = {}
        self._kept = 0

    @cached_property
    def best(self) -> float:
        return self._scores.best

    def process(
        self, found: Sequence[tuple[HiddenPattern, ResultBatch]], versions: ModelVersions | None
    ) -> Iterator[ResultBatch]:
        telling = [self._telling(p, results, versions) for p, results in found if p.role is not Role.CANDIDATE]
        self._note_seen(telling)
        for pattern, results in found:
            if pattern.role is Role.CANDIDATE:
                yield from self._reported(self._probable(pattern, results, versions))
        for candidates in telling:
            yield from self._withdrawn(candidates)

    # ── matches of hidden patterns ──

    def _probable(
        self, pattern: HiddenPattern, results: ResultBatch, versions: ModelVersions | None
    ) -> CandidateMatches:
        """The matches whose candidates are probable enough. Where the model changes, those that tell of a lost step are
        all kept: their candidate may have been probable before."""
        assert results.matches is not None
        columns = [results.matches.of_step(step, latest=False) for step in pattern.steps]
        positions = np.stack(columns, axis=1)
        if versions is not None and pattern.role is not Role.CANDIDATE:
            return CandidateMatches(results, positions, np.ones(len(positions)))
        at = np.stack([results.matches.buffer.times(column) for column in columns], axis=1) / self._unit
        likely = np.empty(len(at))
        if versions is None:
            likely[:] = self._scores.probabilities(at)
        else:
            for model, rows in versions.of(results.order[:, 0]):
                likely[rows] = self._scores_of(model).probabilities(at[rows])
        return CandidateMatches(results, positions, likely).only(self._scores.reached(likely))

    def _scores_of(self, model: DelayModel) -> GapScores:
        """The scores of the model as it is at some place of the stream."""
        if model is not self._model:
            scorer = replace(self.variant.scorer, model=model)
            self._scores, self._model = GapScores(scorer, self.variant.present), model
        return self._scores

    def _telling(
        self, pattern: HiddenPattern, results: ResultBatch, versions: ModelVersions | None
    ) -> CandidateMatches:
        """The matches that tell of a lost step of a probable candidate: with LATER, from the end of its gap on and at
        most a window later."""
        candidates = self._probable(pattern, results, versions)
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
            starts = candidates.results.start
            for row, (name, place) in enumerate(zip(candidates.names, candidates.order, strict=True)):
                if name not in self.seen or place < self.seen[name][0]:
                    self.seen[name] = place, self._until(starts[row].item())

    def _until(self, time: int | float) -> float:
        """The time until when an estimate is still concerned."""
        return math.inf if self._within is None else time + 2 * self._within

    def _reported(self, candidates: CandidateMatches) -> Iterator[ResultBatch]:
        keep = np.ones(len(candidates.positions), np.bool_)
        can_be_withdrawn = len(self.variant.patterns) > 1
        if can_be_withdrawn:
            ends = candidates.results.end
            for row, (name, place) in enumerate(zip(candidates.names, candidates.order, strict=True)):
                seen = self.seen.get(name)
                keep[row] = seen is None or seen[0] > place
                if keep[row]:
                    self.reported[name] = place, self._until(ends[row].item())
        candidates = candidates.only(keep)
        certain = (
            candidates.likely >= 1.0 if not self.variant.scorer.lost else np.zeros(len(candidates.likely), np.bool_)
        )
        for chosen, kind in ((certain, "match"), (~certain, "estimate")):
            if chosen.any():
                yield self._as_own(candidates.only(chosen), kind)

    def _withdrawn(self, candidates: CandidateMatches) -> Iterator[ResultBatch]:
        keep = np.zeros(len(candidates.positions), np.bool_)
        for row, (name, place) in enumerate(zip(candidates.names, candidates.order, strict=True)):
            known = self.reported.get(name)
            if known is not None and known[0] < place and self.seen[name][0] == place:
                del self.reported[name]
                keep[row] = True
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

    # ── what can no longer matter, and snapshots ──

    def forget(self, now: int | float) -> None:
        """Drop what can no longer matter, now and then."""
        size = len(self.reported) + len(self.seen)
        if size < 2 * self._kept + 1024:
            return
        self.reported = {name: entry for name, entry in self.reported.items() if entry[1] >= now}
        self.seen = {name: entry for name, entry in self.seen.items() if entry[1] >= now}
        self._kept = len(self.reported) + len(self.seen)

    def state(self) -> Mapping[str, Any]:
        return {"reported": self._recorded(self.reported), "seen": self._recorded(self.seen)}

    def _recorded(self, table: Mapping[bytes, tuple[int, float]]) -> Mapping[str, NDArray[Any]]:
        positions = np.frombuffer(b"".join(table), np.int64).reshape(len(table), len(self.variant.present))
        entries = list(table.values())
        return {
            "positions": positions,
            "places": np.array([place for place, _ in entries], np.int64),
            "until": np.array([until for _, until in entries], np.float64),
        }

    def restore(self, state: Mapping[str, Any], positions: int) -> None:
        self.reported = self._restored(state["reported"], positions)
        self.seen = self._restored(state["seen"], positions)

    def _restored(self, recorded: Mapping[str, Any], stop: int) -> dict[bytes, tuple[int, float]]:
        positions = indices(recorded["positions"], stop, "the estimates", (None, len(self.variant.present)))
        places = indices(recorded["places"], FAR, "the estimates", (len(positions),))
        until = times(recorded["until"], np.float64, (len(positions),), "the estimates")
        rows = zip(positions, places.tolist(), until.tolist(), strict=True)
        return {row.tobytes(): (place, time) for row, place, time in rows}
