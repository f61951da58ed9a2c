"""The patterns that a statement with LOSING runs as: ordinary statements, whose matches make its estimates.

Each set of lost steps has a pattern of its own (`language.reduced_patterns`); its matches are the candidates. Whether
a lost step was seen outside its gap after all is asked by further patterns, which bind the candidate's events and the
one that tells: an event that would do for the step, before another event that it could follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import pairwise

from foretell.events.delays.delay_model import DelayModel
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.estimate_scorer import EstimateScorer
from foretell.language.reduced_patterns import (
    MissingSteps,
    compared,
    lost_sets,
    pattern_parts,
    sighting,
    without,
)
from foretell.plan.strategy import narrowed_window
from foretell.records import record

#: Begins names of ours: no name in a text has it.
OURS = "\0"

#: The events of telling patterns that are not the candidate's.
_SEEN, _AGAIN = f"{OURS}seen", f"{OURS}again"


class Role(Enum):
    """The meaning of the matches of a hidden pattern."""

    CANDIDATE = "candidates"
    LATER = "a lost step seen after its gap"
    BEFORE = "a lost first step seen before the window"


@record
class HiddenPattern:
    """`statement` runs; `steps` are those of the candidate, by their numbers in it. `extra` is the number of the event
    that tells; None where it is one of the candidate's. With LATER, `gap_end` is the step present at which the gap
    ends; None where it ends with the window."""

    role: Role
    statement: CheckedSubscription
    steps: tuple[int, ...]
    extra: int | None = None
    gap_end: str | None = None


@record
class Variant:
    """Candidates without some lost steps, and the patterns that tell of these. `present` are the other steps."""

    scorer: EstimateScorer
    present: tuple[str, ...]
    patterns: tuple[HiddenPattern, ...]


def all_lost_sets(subscription: CheckedSubscription) -> list[frozenset[str]]:
    """Every set of steps that may be lost together, the empty one first."""
    return [frozenset[str](), *lost_sets(subscription)]


def variant_of(subscription: CheckedSubscription, lost: frozenset[str], model: DelayModel) -> Variant:
    scorer = EstimateScorer(subscription, lost, model)
    builder = _PatternBuilder(scorer)
    return Variant(scorer, builder.present, tuple(builder.patterns()))


def narrowed(variant: Variant, longest: float) -> Variant:
    """The variant with shorter windows, where candidates that are longer than this are not probable enough: less is
    kept for them. A negated step at an edge needs the window as it is."""
    whole = variant.scorer.subscription
    if whole.within is None:
        return variant
    within = narrowed_window(whole.within, longest * variant.scorer.unit).value
    return replace(variant, patterns=tuple(_narrowed(pattern, within, whole.within) for pattern in variant.patterns))


def _narrowed(pattern: HiddenPattern, within: int | float, whole: int | float) -> HiddenPattern:
    statement, parts = pattern.statement, pattern_parts(pattern.statement)
    at_edges = parts[0].absent or (isinstance(statement.pattern, tree.Sequence) and statement.pattern.absent)
    if at_edges or pattern.role is Role.BEFORE or (pattern.role is Role.LATER and pattern.gap_end is None):
        return pattern
    # A lost step may be seen up to a window after its gap.
    most = within if pattern.role is Role.CANDIDATE else within + whole
    return replace(pattern, statement=replace(statement, within=most))


class _PatternBuilder:
    """The patterns of one set of lost steps."""

    def __init__(self, scorer: EstimateScorer) -> None:
        self._whole, self._lost = scorer.subscription, scorer.lost
        self._reduced = without(self._whole, self._lost) if self._lost else self._whole
        self.present = tuple(step for step in self._whole.positive if step not in self._lost)
        lost = " and ".join(s for s in self._whole.positive if s in self._lost)
        self._name = f"{self._whole.name}{OURS} without {lost}"

    def patterns(self) -> Iterator[HiddenPattern]:
        numbers = tuple(range(len(self.present)))
        name = self._name if self._lost else self._whole.name
        candidate = replace(self._reduced, tree=self._tree(name), hidden=True)
        yield HiddenPattern(Role.CANDIDATE, candidate, numbers)
        first = self._whole.positive.index(self.present[0])
        if first > 0 and self._whole.within is not None:
            yield self._before(self._whole.positive[first - 1])
        for step in self._whole.positive:
            if step in self._lost and self._whole.positive.index(step) > first:
                yield from self._later(step)

    def _tree(self, name: str) -> tree.Subscription:
        missing = MissingSteps.lost(self._whole, self._lost)
        returned = self._whole.tree.returns
        if missing.variables and not returned:
            returned = tuple(tree.Returned(tree.Variable(name), name) for name in self._whole.variables)
        returns = tuple(replace(r, expression=_nullified(r.expression, missing)) for r in returned)
        after = tree.AfterMatch()
        return replace(self._reduced.tree, name=name, losing=None, after=after, returns=returns)

    # ── patterns that tell ──

    def _before(self, step: str) -> HiddenPattern:
        """The step before the first present, seen before the window and after no other event that it could come
        before."""
        first = self.present[0]
        seen = self._seen(step, first)
        again = self._again(first, first)
        parts = [tree.SequencePart(tree.Step(seen.name)), *self._bare_parts()]
        parts[1] = replace(parts[1], operator=tree.Later(), absent=(tree.Negation(tree.Step(again.name)),))
        steps = {seen.name: seen, again.name: again, **self._bare_steps()}
        numbers = tuple(range(1, len(self.present) + 1))
        return HiddenPattern(Role.BEFORE, self._telling(f"{step} before", parts, steps), numbers, extra=0)

    def _later(self, step: str) -> Iterator[HiddenPattern]:
        """A lost step seen after its gap: by an event of the candidate, or by another one after any of them."""
        positive = self._whole.positive
        earlier = next(s for s in reversed(positive[: positive.index(step)]) if s in self.present)
        end = next((s for s in positive[positive.index(step) :] if s in self.present), None)
        seen, again = self._seen(step, earlier), self._again(earlier, earlier)
        start = len(self.present) - 1 if end is None else self.present.index(end)
        for place in range(start, len(self.present)):
            if place > start:
                yield self._by_present(step, seen, end, place)
            yield self._by_other(step, seen, again, end, start, place)

    def _by_present(self, step: str, seen: CheckedStep, end: str | None, place: int) -> HiddenPattern:
        """A later event of the candidate would do for the lost step."""
        steps = self._bare_steps()
        own = steps[self.present[place]]
        binders = tuple(tree.Binary("=", tree.Variable(v), value) for v, value in seen.binders)
        conditions = (*own.conditions, *seen.conditions, *binders)
        steps[own.name] = replace(own, conditions=conditions)
        telling = self._telling(f"{step} at {self.present[place]}", self._bare_parts(), steps)
        return HiddenPattern(Role.LATER, telling, tuple(range(len(self.present))), gap_end=end)

    def _by_other(
        self, step: str, seen: CheckedStep, again: CheckedStep, end: str | None, start: int, place: int
    ) -> HiddenPattern:
        """Another event after an event of the candidate, and after no other that it could follow."""
        parts, steps = self._bare_parts(), self._bare_steps()
        added: dict[str, CheckedStep] = {}
        for number in range(start + 1, place + 1):
            name = f"{again.name} {number}"
            added[name] = replace(again, shape=replace(again.shape, name=name))
            parts[number] = replace(parts[number], absent=(tree.Negation(tree.Step(name)),))
            own = steps[self.present[number]]
            steps[own.name] = replace(own, conditions=(*own.conditions, _not(again.conditions)))
        added[again.name], added[seen.name] = again, seen
        seen_part = tree.SequencePart(tree.Step(seen.name), tree.Later(), (tree.Negation(tree.Step(again.name)),))
        parts.insert(place + 1, seen_part)
        if place + 2 < len(parts):
            parts[place + 2] = replace(parts[place + 2], operator=tree.Later())
        ordered: dict[str, CheckedStep] = {}
        for part in parts:
            assert isinstance(part.pattern, tree.Step)
            for name in (*(n.step.name for n in part.absent), part.pattern.name):
                ordered[name] = added.get(name) or steps[name]
        numbers = tuple(n if n <= place else n + 1 for n in range(len(self.present)))
        last = seen.name if place == len(self.present) - 1 else None
        telling = self._telling(f"{step} after {self.present[place]}", parts, ordered, last)
        return HiddenPattern(Role.LATER, telling, numbers, extra=place + 1, gap_end=end)

    def _telling(
        self, suffix: str, parts: Sequence[tree.SequencePart], steps: dict[str, CheckedStep], last: str | None = None
    ) -> CheckedSubscription:
        """`last` is the step that tells, where it comes after the candidate's."""
        within = self._whole.within
        statement = replace(self._tree(f"{self._name}: {suffix}"), having=None)
        if last is not None:
            beyond = tree.Binary("-", *(tree.TimeOf(tree.BoundEvent(step)) for step in (last, self.present[-1])))
            own = tuple(replace(r, expression=_shortened(r.expression, beyond)) for r in statement.returns)
            statement = replace(statement, returns=own)
        return replace(
            self._whole,
            tree=statement,
            pattern=tree.sequence(tuple(parts)),
            steps=steps,
            within=None if within is None else 2 * within,
            hidden=True,
        )

    def _bare_parts(self) -> list[tree.SequencePart]:
        """The steps present without negations: a telling match counts only where there is a candidate."""
        parts = [replace(part, absent=()) for part in pattern_parts(self._reduced)]
        for number, part in enumerate(parts):
            if isinstance(part.operator, tree.FirstWhere):
                condition = _with_named_previous(part.operator.condition, self.present[number - 1])
                parts[number] = replace(part, operator=replace(part.operator, condition=condition))
        return parts

    def _bare_steps(self) -> dict[str, CheckedStep]:
        """Other events may lie between those of the candidate: `prev` goes by name."""
        steps = {name: self._reduced.steps[name] for name in self.present}
        for before, name in pairwise(self.present):
            conditions = tuple(_with_named_previous(c, before) for c in steps[name].conditions)
            steps[name] = replace(steps[name], conditions=conditions)
        return steps

    # ── steps that would do ──

    def _seen(self, step: str, neighbour: str) -> CheckedStep:
        """An event outside its gap that would do for a step, beside another event than that of `neighbour`."""
        found = sighting(self._whole, step, self._lost, neighbour)
        return replace(found, shape=replace(found.shape, name=_SEEN))

    def _again(self, step: str, neighbour: str) -> CheckedStep:
        """The same as a negated step."""
        found = compared(self._seen(step, neighbour))
        return replace(found, shape=replace(found.shape, name=_AGAIN))


def _not(conditions: Sequence[tree.Expression]) -> tree.Expression:
    """True where the conditions do not all hold, also where that is unknown."""
    whole: tree.Expression = tree.Literal(True)
    for condition in conditions:
        whole = condition if whole == tree.Literal(True) else tree.Binary("AND", whole, condition)
    return tree.Case((whole,), (tree.Literal(False),), tree.Literal(True))


def _with_named_previous(expression: tree.Expression, before: str) -> tree.Expression:
    match expression:
        case tree.Attribute(event=tree.Previous()) | tree.StreamOf(event=tree.Previous()):
            return replace(expression, event=tree.BoundEvent(before))
        case tree.TimeOf(event=tree.Previous()):
            return tree.TimeOf(tree.BoundEvent(before))
    return tree.map_children(expression, lambda inner: _with_named_previous(inner, before))


def _shortened(expression: tree.Expression, beyond: tree.Expression) -> tree.Expression:
    """A RETURN column whose `duration` ends before the event that tells."""
    if isinstance(expression, tree.Elapsed):
        return tree.Binary("-", expression, beyond)
    return tree.map_children(expression, lambda inner: _shortened(inner, beyond))


def _nullified(expression: tree.Expression, missing: MissingSteps) -> tree.Expression:
    """A RETURN column of a match without the lost steps: what is of them is NULL, and none of them is counted."""
    match expression:
        case tree.Aggregate(function="count", step=step) if step in missing.names:
            return tree.Literal(0)
        case tree.Aggregate(step=step) if step in missing.names:
            return tree.Literal(None)
        case tree.Variable(name=name) if name in missing.variables:
            return tree.Literal(None)
        case tree.Attribute(event=event) | tree.StreamOf(event=event) | tree.TimeOf(event=event) if (
            getattr(event, "step", None) in missing.names
        ):
            return tree.Literal(None)
    return tree.map_children(expression, lambda inner: _nullified(inner, missing))
