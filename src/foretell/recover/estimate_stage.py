"""Estimates from the matches of hidden patterns: scored, reported where they are probable enough, and withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.types import Scalar
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.estimate_scorer import check_delays
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.records import record
from foretell.recover.candidates import VariantMatches
from foretell.recover.hidden_patterns import HiddenPattern, Role, Variant, all_lost_sets, variant_of
from foretell.recover.row_estimates import FoundMatches, RowEstimates
from foretell.recover.selected_estimates import SelectedEstimates
from foretell.recover.standing_estimates import StandingEstimates
from foretell.storage.recorded_values import require

#: More patterns would take long to plan and to run.
MOST_PATTERNS = 1_000


@record
class PrunedVariant:
    variant: Variant
    best: float


class EstimateStage:
    """The estimates of one statement with LOSING, from the results of `statements`, its hidden patterns. Those of each
    row of its table are apart."""

    def __init__(
        self,
        subscription: CheckedSubscription,
        model: DelayModel,
        lost: Sequence[frozenset[str]] | None = None,
        *,
        instants: bool = True,
    ) -> None:
        """`lost` are the sets of lost steps that run, where a snapshot has recorded them; else all that may reach the
        threshold. With `instants` no event lasts: windows go by the times between events alone."""
        check_delays(subscription, model)
        self.subscription = subscription
        #: The variants that cannot reach the threshold, with the best probability of each.
        self.pruned: list[PrunedVariant] = []
        self._variants: list[VariantMatches] = []
        for steps in all_lost_sets(subscription) if lost is None else lost:
            variant = VariantMatches(subscription, variant_of(subscription, steps, model), narrows=instants)
            if lost is None and steps and not variant.runs.value:
                self.pruned.append(PrunedVariant(variant.variant, variant.best))
            else:
                self._variants.append(variant)
        self._patterns = {
            pattern.statement.name: (number, pattern)
            for number, variant in enumerate(self._variants)
            for pattern in variant.variant.patterns
        }
        self._refuse_many()
        self.statements = [pattern.statement for _, pattern in self._patterns.values()]
        self._rows: dict[Scalar, RowEstimates] = {}

    def _refuse_many(self) -> None:
        if len(self._patterns) > MOST_PATTERNS:
            losable = [step for step, loss in self.subscription.loss.items() if loss > 0]
            message = f"subscription '{self.subscription.name}': LOSING of {len(losable)} steps needs "
            message += f"{len(self._patterns):,} patterns, more than {MOST_PATTERNS:,}"
            hint = f"name those most often lost: LOSING 0.05 OF {losable[0]}, {losable[1]}; or raise ABOVE"
            raise InputError("losing-many", message, hint=hint)

    @property
    def patterns(self) -> Sequence[str]:
        return tuple(self._patterns)

    @property
    def lost(self) -> list[list[str]]:
        """The sets of lost steps that run."""
        return [sorted(variant.variant.scorer.lost) for variant in self._variants]

    @property
    def nbytes(self) -> int:
        return sum(row.nbytes for row in self._rows.values())

    @property
    def held(self) -> Iterable[ResultBatch]:
        return (result for row in self._rows.values() for result in row.held)

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None:
        for row in self._rows.values():
            row.renew(renewed)

    def process(self, results: Sequence[ResultBatch], now: int | float) -> list[ResultBatch]:
        by_row: dict[Scalar, list[tuple[int, HiddenPattern, ResultBatch]]] = {}
        for result in results:
            if len(result):
                by_row.setdefault(result.id, []).append((*self._patterns[result.schema.name], result))
        estimates = [
            result for row_id, found in by_row.items() for result in self._row(row_id).process(self._of(found))
        ]
        for row in self._rows.values():
            row.forget(now)
        return estimates

    def _of(self, found: Sequence[tuple[int, HiddenPattern, ResultBatch]]) -> list[FoundMatches]:
        """The matches of one row, those of a variant together."""
        matches = [FoundMatches([], []) for _ in self._variants]
        for number, pattern, result in found:
            variant = self._variants[number]
            if pattern.role is Role.CANDIDATE:
                matches[number].candidates.append(variant.probable(pattern, result))
            else:
                matches[number].telling.append(variant.telling(pattern, result))
        return matches

    def _row(self, row_id: Scalar) -> RowEstimates:
        if row_id not in self._rows:
            holds = self.subscription.tree.after.policy is tree.Policy.HOLD
            kind = StandingEstimates if holds else SelectedEstimates
            self._rows[row_id] = kind(self.subscription, self._variants)
        return self._rows[row_id]

    def remove_rows(self, ids: Iterable[Scalar]) -> None:
        for row_id in ids:
            self._rows.pop(row_id, None)

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {"lost": self.lost, "rows": [[row_id, row.state()] for row_id, row in self._rows.items()]}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None) -> None:
        for row_id, recorded in state["rows"]:
            require(row_id not in self._rows, "the estimates")
            assert like is not None
            self._row(row_id).restore(recorded, bounds, replace(like, id=row_id))
