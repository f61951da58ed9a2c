"""The automaton of a statement with LOSING, in words (AYAC, Fig. 1(b)): its edges pass over steps that were lost, each
with the best probability that its gap may have; and the patterns that run for it, with what they keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

import numpy as np

from foretell.display import duration_text
from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.pattern_gaps import Gap, PatternPlace, gaps_of
from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.language.reduced_patterns import places
from foretell.plan.losing_size import LosingLimits
from foretell.plan.strategy import runs_without
from foretell.records import record
from foretell.recover.candidate_table import CandidateTable
from foretell.recover.candidates import VariantMatches
from foretell.recover.estimate_stage import EstimateStage
from foretell.recover.gap_learner import learnable
from foretell.recover.gap_tables import GapTables

#: The candidates of a table whose bytes are counted: one more than fill it.
_MANY = 2**12 + 1


@dataclass(frozen=True)
class LossEdge:
    """An edge from one step present to the next, None at the edges of the window. `best` is the best probability of its
    gap, None where that is not known; `pruned` says why no match takes the edge."""

    source: str | None
    target: str | None
    lost: tuple[str, ...]
    absent: tuple[str, ...]
    score: str
    best: float | None
    pruned: str | None


@dataclass(frozen=True)
class LossPatterns:
    """The patterns for one set of lost steps, and the windows of those that run: one that finds candidates, the others
    tell of a lost step seen outside its gap. `candidate_bytes` is what a candidate that may be withdrawn takes."""

    lost: tuple[str, ...]
    best: float
    pruned: str | None
    windows: tuple[int | float | None, ...]
    candidate_bytes: int


@dataclass(frozen=True)
class LossAutomaton:
    """`patterns` is None without a model. `until` is how long a reported estimate is kept; None: for good."""

    edges: tuple[LossEdge, ...]
    patterns: tuple[LossPatterns, ...] | None
    until: int | float | None
    has_moments: bool

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def loss_automaton(
    subscription: CheckedSubscription, model: DelayModel | None, most: LosingLimits | None = None
) -> LossAutomaton:
    """Raises InputError for a model that lacks a delay."""
    stage = None if model is None else EstimateStage(subscription, model, most=most)
    within, known = subscription.within, None
    if stage is not None and model is not None:
        known = _KnownDelays(model, stage.tables.of(model))
    return LossAutomaton(
        tuple(_edges(subscription, known)),
        None if stage is None else tuple(_patterns(stage)),
        None if within is None else 2 * within,
        subscription.time is Type.TIMESTAMP,
    )


# ── edges ──


@record
class _KnownDelays:
    model: DelayModel
    tables: GapTables


def _edges(subscription: CheckedSubscription, known: _KnownDelays | None) -> Iterator[LossEdge]:
    order = [place for place in places(subscription) if not place.operator]
    at: list[int | None] = [None, *(n for n, place in enumerate(order) if not place.negated), None]
    for first, start in enumerate(at[:-1]):
        for end in at[first + 1 :]:
            if start is None and end is None:
                continue
            between = order[0 if start is None else start + 1 : end]
            lost = [place for place in between if not place.negated]
            if all(place.loss > 0 for place in lost) and (end is not None or not lost or subscription.within):
                yield _edge(subscription, known, order, start, end)


def _edge(
    subscription: CheckedSubscription,
    known: _KnownDelays | None,
    order: Sequence[PatternPlace],
    start: int | None,
    end: int | None,
) -> LossEdge:
    between = order[0 if start is None else start + 1 : end]
    losing = subscription.tree.losing
    assert losing is not None
    best = None
    if known is not None and subscription.within is not None:
        longest = subscription.within / (1_000_000 if subscription.time is Type.TIMESTAMP else 1)
        gap = replace(_gap(order, start, end, known.model), length=longest)
        best = (known.tables.edge(gap) if gap.end is None else known.tables.between(gap)).best(longest)
    # What is learned may change which estimates are probable enough: then all patterns run.
    goes_on_learning = known is not None and bool(learnable(subscription, known.model))
    runs = None if best is None or goes_on_learning else runs_without(best, losing.above)
    return LossEdge(
        None if start is None else order[start].name,
        None if end is None else order[end].name,
        tuple(place.name for place in between if not place.negated),
        tuple(place.name for place in between if place.negated),
        "".join("N" if place.negated else "P" for place in between),
        best,
        None if runs is None or runs.value else runs.why,
    )


def _gap(order: Sequence[PatternPlace], start: int | None, end: int | None, model: DelayModel) -> Gap:
    part = order[0 if start is None else start : len(order) if end is None else end + 1]
    ends = {order[place].name: 0.0 for place in (start, end) if place is not None}
    (before, after), between = gaps_of(part, ends, math.inf, model)
    if start is None:
        return before
    return after if end is None else between[0]


# ── patterns ──


def _patterns(stage: EstimateStage) -> Iterator[LossPatterns]:
    for variant in stage.running:
        yield _of_variant(variant, None)
    for pruned in stage.pruned:
        yield _of_variant(pruned, pruned.runs.why)


def _of_variant(variant: VariantMatches, pruned: str | None) -> LossPatterns:
    lost = tuple(step for step in variant.subscription.positive if step in variant.scorer.lost)
    if pruned:
        return LossPatterns(lost, variant.best, pruned, (), 0)
    windows = tuple(pattern.statement.within for pattern in variant.variant.patterns)
    kept = _candidate_bytes(len(variant.present)) if variant.can_be_withdrawn else 0
    return LossPatterns(lost, variant.best, None, windows, kept)


@cache
def _candidate_bytes(width: int) -> int:
    """The bytes of a candidate in a table that has just grown, when it takes the most."""
    table = CandidateTable(width)
    table.numbers(np.arange(_MANY * width).reshape(-1, width))
    return math.ceil(table.nbytes / _MANY)


# ── as text ──


def automaton_text(automaton: LossAutomaton) -> str:
    return "\n".join(f"  {line}" for line in _lines(automaton))


def _lines(automaton: LossAutomaton) -> Iterator[str]:
    for edge in automaton.edges:
        passed = [f"{step} lost" for step in edge.lost] + [f"no {step}" for step in edge.absent]
        conditions = f" with {', '.join(passed)}" if passed else ""
        score = f", S({edge.score})" if edge.score else ""
        best = "" if edge.best is None else f" at best {edge.best:.3g}"
        pruned = f", pruned: {edge.pruned}" if edge.pruned else ""
        yield f"{edge.source or 'begin'} -> {edge.target or 'end'}{conditions}{score}{best}{pruned}"
    if automaton.patterns is None:
        yield "scores: not known; give a model with --model"
        return
    for patterns in automaton.patterns:
        yield _patterns_line(patterns, automaton)
    forgotten = "never (add WITHIN)" if automaton.until is None else f"after {_time(automaton.until, automaton)}"
    yield f"estimates that may be withdrawn are forgotten {forgotten}; Limits.memory counts them"


def _patterns_line(patterns: LossPatterns, automaton: LossAutomaton) -> str:
    name = f"without {' and '.join(patterns.lost)}" if patterns.lost else "with all steps"
    if patterns.pruned is not None:
        return f"{name}: pruned, {patterns.pruned}"
    count = len(patterns.windows)
    windows = [_time(window, automaton) for window in dict.fromkeys(patterns.windows) if window is not None]
    within = f" within {', '.join(windows)}" if windows else " without a window"
    kept = f", {patterns.candidate_bytes} bytes for each estimate" if patterns.candidate_bytes else ""
    return f"{name}: {count} pattern{'s' if count > 1 else ''}{within}, at best {patterns.best:.3g}{kept}"


def _time(time: int | float, automaton: LossAutomaton) -> str:
    return duration_text(time / 1e6, exact=True) if automaton.has_moments else f"{time:g}"


def automaton_mermaid(automaton: LossAutomaton) -> str:
    lines = ["stateDiagram-v2"]
    for edge in automaton.edges:
        passed = "".join(f", {step} lost" for step in edge.lost) + "".join(f", no {step}" for step in edge.absent)
        score = "" if edge.best is None else f", at best {edge.best:.3g}"
        pruned = ", pruned" if edge.pruned else ""
        lines.append(
            f"    {edge.source or '[*]'} --> {edge.target or '[*]'} : {(passed + score + pruned)[2:] or 'then'}"
        )
    return "\n".join(lines)
