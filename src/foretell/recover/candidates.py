"""Candidates for estimates: the matches of hidden patterns, scored, and as results of their statement."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.events.delays.delay_model import DelayModel
from foretell.events.detail_columns import joined
from foretell.events.notification import WITHDRAWN
from foretell.language.checked import CheckedSubscription
from foretell.language.estimate_scorer import EstimateScorer
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.machine.matches.uncertainty import joint_probabilities, split_by_certainty
from foretell.plan.lower.post_match import PositionSource, PostMatchPlan, StepPosition
from foretell.plan.result_schema import result_schema
from foretell.plan.strategy import Decision, runs_without
from foretell.records import record
from foretell.recover.completions import Completions
from foretell.recover.gap_learner import ModelVersions
from foretell.recover.gap_scores import GapScores
from foretell.recover.gap_tables import ModelTables
from foretell.recover.hidden_patterns import HiddenPattern, Role, Variant, narrowed, variant_of


@record
class CandidateMatches:
    """Matches of a hidden pattern as those of its statement: the positions of their events, by the steps present.
    `versions` are the models that they are scored with, where the model changes."""

    results: ResultBatch
    positions: Ints
    likely: Floats
    versions: ModelVersions | None

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, keep: Flags) -> CandidateMatches:
        return replace(
            self, results=self.results.filter(keep), positions=self.positions[keep], likely=self.likely[keep]
        )

    @property
    def names(self) -> list[bytes]:
        """Equal where the events are."""
        return [row.tobytes() for row in np.ascontiguousarray(self.positions)]

    @property
    def known(self) -> Completions:
        """When each is known."""
        return Completions(self.results.order, self.results.end)


class VariantMatches:
    """The matches of the hidden patterns of a variant."""

    def __init__(
        self,
        subscription: CheckedSubscription,
        lost: frozenset[str],
        model: DelayModel,
        tables: ModelTables,
        *,
        narrows: bool = True,
    ) -> None:
        self.scorer = EstimateScorer(subscription, lost, model)
        self.present = tuple(step for step in subscription.positive if step not in lost)
        self._narrows, self._tables, self._model = narrows, tables, model
        self._scores = GapScores(self.scorer, self.present, tables.of(model))
        self.subscription = subscription
        self.schema = result_schema(subscription)
        self.steps = np.array([subscription.positive.index(step) for step in self.present], np.int64)
        self._unit = self.scorer.unit

    @cached_property
    def variant(self) -> Variant:
        """The patterns: most variants that cannot reach the threshold never need them."""
        whole = variant_of(self.subscription, self.scorer.lost, self.scorer.model)
        return narrowed(whole, self._scores.longest) if self._narrows else whole

    @cached_property
    def best(self) -> float:
        """No match is more probable."""
        return self._scores.best

    @property
    def runs(self) -> Decision[bool]:
        """Whether a match may be probable enough."""
        above = self.scorer.losing.above
        return runs_without(self.best if above > 0 else 1.0, above)

    @property
    def can_be_withdrawn(self) -> bool:
        """Whether a lost step may be seen after all."""
        return len(self.variant.patterns) > 1

    def probable(
        self, pattern: HiddenPattern, results: ResultBatch, versions: ModelVersions | None
    ) -> CandidateMatches:
        """The matches whose candidates are probable enough. Where the model changes, those that tell of a lost step are
        all kept: their candidate may have been probable before."""
        assert results.matches is not None
        columns = [results.matches.of_step(step, latest=False) for step in pattern.steps]
        positions = np.stack(columns, axis=1)
        if versions is not None and pattern.role is not Role.CANDIDATE:
            return CandidateMatches(results, positions, np.ones(len(positions)), versions)
        at = np.stack([results.matches.buffer.times(column) for column in columns], axis=1) / self._unit
        if versions is None:
            likely = self._scores.probabilities(at)
        else:
            likely = np.empty(len(at))
            for model, rows in versions.of(results.order[:, 0]):
                likely[rows] = self._scores_of(model).probabilities(at[rows])
        return CandidateMatches(results, positions, likely, versions).only(self._scores.reached(likely))

    def _scores_of(self, model: DelayModel) -> GapScores:
        """The scores of the model as it is at some place of the stream."""
        if model is not self._model:
            scorer = replace(self.scorer, model=model)
            self._scores, self._model = GapScores(scorer, self.present, self._tables.of(model)), model
        return self._scores

    def telling(self, pattern: HiddenPattern, results: ResultBatch, versions: ModelVersions | None) -> CandidateMatches:
        """The matches that tell of a lost step of a probable candidate: with LATER, from the end of its gap on and at
        most a window later."""
        candidates = self.probable(pattern, results, versions)
        if pattern.role is Role.BEFORE or not len(candidates):
            return candidates
        matches, within = candidates.results.matches, self.subscription.within
        assert matches is not None
        if pattern.extra is None:
            when = candidates.results.end
        else:
            when = matches.buffer.times(matches.of_step(pattern.extra, latest=False))
        if pattern.gap_end is not None:
            until = matches.buffer.times(candidates.positions[:, self.present.index(pattern.gap_end)])
        else:
            assert within is not None
            until = matches.buffer.starts(candidates.positions[:, 0]) + within
        keep = when > until
        if within is not None:
            keep &= when <= until + within
        return candidates.only(keep)

    def certain(self, candidates: CandidateMatches) -> Flags:
        """The candidates that no loss could have broken."""
        if self.scorer.lost:
            return np.zeros(len(candidates), np.bool_)
        return np.asarray(candidates.likely >= 1.0)

    def as_own(self, candidates: CandidateMatches, kind: str) -> list[ResultBatch]:
        """The candidates as results of the statement: their events with its steps, in its numbers."""
        results, positions = candidates.results, candidates.positions
        matches = results.matches
        assert matches is not None
        count, width = positions.shape
        starts = np.arange(count + 1) * width
        bound = BoundEvents(results.lane, starts, positions.reshape(-1), np.tile(self.steps, count))
        by_time = matches.raw.position < 0
        last = np.where(by_time, -1, positions[:, -1])
        raw = replace(matches.raw, first=positions[:, 0].copy(), position=last, chain=np.full(count, -1, np.int64))
        own = replace(matches, plan=self.plan_of(matches), raw=raw, gathered=(bound, Gaps.none()))
        result = replace(
            results,
            schema=self.schema,
            matches=own,
            start=matches.buffer.starts(positions[:, 0]),
            places=results.order,
        )
        if kind == "match":
            certain, *estimates = split_by_certainty(result, self.hidden)
            return [certain, *(self._detailed(e, candidates.versions) for e in estimates)]
        likely, joint = candidates.likely, joint_probabilities(result)
        # A match over estimates is no more certain than they are.
        columns = EstimateColumns(likely if joint is None else likely * joint, kind, self.hidden)
        result = replace(result, estimates=columns)
        return [result if kind == WITHDRAWN else self._detailed(result, candidates.versions)]

    def _detailed(self, result: ResultBatch, versions: ModelVersions | None) -> ResultBatch:
        """The estimates with their details, by the models that they were scored with."""
        matches, estimates = result.matches, result.estimates
        assert matches is not None
        assert estimates is not None
        if not len(result):
            return result
        ends = matches.buffer.times(matches.position).reshape(len(result), -1)
        if versions is None:
            details = self._scores.details(ends)
        else:
            parts = versions.of(result.order[:, 0])
            details = joined([(rows, self._scores_of(model).details(ends[rows])) for model, rows in parts])
        return replace(result, estimates=replace(estimates, details=details))

    def plan_of(self, matches: MatchBatch) -> PostMatchPlan:
        """The plan by which matches have the steps of the statement."""
        chain = (StepPosition(PositionSource.CHAIN),) * len(self.schema.steps)
        return replace(matches.plan, positions=chain)

    @cached_property
    def hidden(self) -> tuple[tuple[str, int], ...]:
        """The steps of which an event may be lost, each with the number of the step present before it."""
        found, before, subscription = list[tuple[str, int]](), -1, self.subscription
        for name, step in subscription.steps.items():
            may_be_lost = step.shape.negated and subscription.loss[name] > 0
            if name in self.present:
                before += 1
            elif may_be_lost or name in self.scorer.lost:
                found.append((name, max(before, 0)))
        return tuple(found)
