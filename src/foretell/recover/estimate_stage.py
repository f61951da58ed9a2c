"""Estimates from the matches of hidden patterns: scored, reported where they are probable enough, and withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretell.arrays import Ints
from foretell.events.delays.delay_model import DelayModel, gaps_document
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Scalar
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.estimate_scorer import check_delays
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.input.revisions import LateInput
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.machine.result_stage import ReportedEstimate, ResultStage
from foretell.plan.losing_size import LosingLimits
from foretell.plan.match_plan import InputPlan
from foretell.recover.candidates import VariantMatches
from foretell.recover.gap_learner import GapLearner, ModelVersions, learnable, recorded_steps
from foretell.recover.gap_tables import ModelTables
from foretell.recover.hidden_patterns import HiddenPattern, Role, all_lost_sets
from foretell.recover.late_revisions import LateRevisions, may_be_revised, reported_estimates
from foretell.recover.row_estimates import FoundMatches, RowEstimates
from foretell.recover.selected_estimates import SelectedEstimates
from foretell.recover.standing_estimates import StandingEstimates
from foretell.recover.statement_size import check_tables, pattern_count, too_many_patterns
from foretell.storage.recorded_values import require


class EstimateStage(ResultStage):
    """The estimates of one statement with LOSING, from the results of `statements`, its hidden patterns. Those of each
    row of its table are apart."""

    def __init__(
        self,
        subscription: CheckedSubscription,
        model: DelayModel,
        recorded: Mapping[str, Any] | None = None,
        *,
        most: LosingLimits | None = None,
        instants: bool = True,
        live: bool = False,
    ) -> None:
        """A snapshot has `recorded` the sets of lost steps that run, else all run that may reach the threshold; and the
        gaps whose counts are learned. With `instants` no event lasts: windows go by the times between events alone.
        A run is `live` where estimates may be confirmed."""
        most = most or LosingLimits()
        check_tables(subscription, model, most.tables)
        check_delays(subscription, model)
        self.subscription = subscription
        lost = None if recorded is None else [frozenset(map(str, steps)) for steps in recorded["lost"]]
        gaps = learnable(subscription, model) if recorded is None else recorded_steps(recorded.get("gaps", ()))
        self._learner = GapLearner(subscription, model, gaps) if gaps else None
        self.tables = ModelTables(subscription)
        #: The variants that run, and those that cannot reach the threshold. What is learned may change that.
        self.running: list[VariantMatches] = []
        self.pruned: list[VariantMatches] = []
        left = most.patterns - len(self._learning_statements)
        for steps in all_lost_sets(subscription) if lost is None else lost:
            variant = VariantMatches(subscription, steps, model, self.tables, narrows=instants and not gaps)
            if lost is None and steps and not gaps and not variant.runs.value:
                self.pruned.append(variant)
                continue
            self.running.append(variant)
            left -= pattern_count(subscription, steps)
            if left < 0:
                raise too_many_patterns(subscription, most.patterns)
        self._patterns = {
            pattern.statement.name: (number, pattern)
            for number, variant in enumerate(self.running)
            for pattern in variant.variant.patterns
        }
        self.statements = [*(pattern.statement for _, pattern in self._patterns.values()), *self._learning_statements]
        self.patterns: Sequence[str] = tuple(statement.name for statement in self.statements)
        self._rows: dict[Scalar, RowEstimates] = {}
        self._live = live
        self._late = LateRevisions(self.running)

    @property
    def _learning_statements(self) -> tuple[CheckedSubscription, ...]:
        return () if self._learner is None else self._learner.statements

    @property
    def lost(self) -> list[list[str]]:
        """The sets of lost steps that run."""
        return [sorted(variant.scorer.lost) for variant in self.running]

    @property
    def nbytes(self) -> int:
        learning = 0 if self._learner is None else self._learner.nbytes
        return learning + self._late.nbytes + sum(row.nbytes for row in self._rows.values())

    @property
    def held(self) -> Iterable[ResultBatch]:
        return (result for row in self._rows.values() for result in row.held)

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None:
        for row in self._rows.values():
            row.renew(renewed)

    def process(self, results: Sequence[ResultBatch], now: int | float) -> list[ResultBatch]:
        by_row: dict[Scalar, list[tuple[int, HiddenPattern, ResultBatch]]] = {}
        versions = self._versions([result for result in results if len(result)])
        for result in results:
            if len(result) and result.schema.name in self._patterns:
                by_row.setdefault(result.id, []).append((*self._patterns[result.schema.name], result))
        estimates = [
            result
            for row_id, found in by_row.items()
            for result in self._row(row_id).process(self._of(found, versions))
        ]
        for row in self._rows.values():
            row.forget(now)
        return estimates

    def _versions(self, results: Sequence[ResultBatch]) -> ModelVersions | None:
        """The models that the candidates of a batch are scored with; None where the model stays."""
        if self._learner is None or self._learner.learning is None:
            return None
        self._learner.add(results)
        return self._learner.versions(result for result in results if result.schema.name in self._patterns)

    def _of(
        self, found: Sequence[tuple[int, HiddenPattern, ResultBatch]], versions: ModelVersions | None
    ) -> list[FoundMatches]:
        """The matches of one row, those of a variant together."""
        matches = [FoundMatches([], []) for _ in self.running]
        for number, pattern, result in found:
            variant = self.running[number]
            if pattern.role is Role.CANDIDATE:
                matches[number].candidates.append(variant.probable(pattern, result, versions))
            else:
                matches[number].telling.append(variant.telling(pattern, result, versions))
        return matches

    def _row(self, row_id: Scalar) -> RowEstimates:
        if row_id not in self._rows:
            if self.subscription.tree.after.policy is tree.Policy.HOLD:
                self._rows[row_id] = StandingEstimates(self.subscription, self.running, live=self._live)
            else:
                self._rows[row_id] = SelectedEstimates(self.subscription, self.running)
        return self._rows[row_id]

    # ── estimates that were reported ──

    def late(self, late: LateInput, stream: MergedStream) -> list[ResultBatch]:
        return list(self._late.process(late, self._rows, stream))

    def reported(self, stream: MergedStream, now: int | float) -> Iterator[ReportedEstimate]:
        for row in self._rows.values():
            for variant, results in list(row.reported):
                current = results.filter(may_be_revised(results, self.subscription.within, now))
                if len(current):
                    yield from reported_estimates(row, variant, current, stream, now)

    def texts(self) -> Iterable[Ints]:
        return self._late.texts()

    def remove_rows(self, ids: ArrowArray) -> None:
        for row_id in ids.to_pylist():
            self._rows.pop(row_id, None)

    # ── models and snapshots ──

    def learned(self) -> Mapping[str, object]:
        gaps = {} if self._learner is None else self._learner.learned()
        return {"gaps": gaps_document(gaps)} if gaps else {}

    def take_notes(self) -> Sequence[str]:
        return () if self._learner is None else self._learner.take_notes()

    def state(self) -> Mapping[str, Any]:
        gaps = [] if self._learner is None else self._learner.state()
        rows = [[row_id, row.state()] for row_id, row in self._rows.items()]
        return {"lost": self.lost, "rows": rows, "gaps": gaps, "late": self._late.state()}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None) -> None:
        for row_id, recorded in state["rows"]:
            require(row_id not in self._rows, "the estimates")
            assert like is not None
            self._row(row_id).restore(recorded, bounds, replace(like, id=row_id))
        if "late" in state:  # early snapshots have none
            self._late.restore(state["late"], bounds, self._rows, InputPlan.of(self.subscription))
        if self._learner is not None:
            self._learner.restore(state["gaps"], bounds.positions)
