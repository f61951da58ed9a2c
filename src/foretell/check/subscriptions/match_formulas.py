"""The conditions of a match on a path as formulas, each with its origin in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import z3

from foretell.check.conditions.arithmetic import comparison, rounded
from foretell.check.conditions.assumed_types import expressions_of, parameter_types
from foretell.check.conditions.event_model import EventModel
from foretell.check.conditions.facts import sort_of
from foretell.check.conditions.query import Labelled, Query
from foretell.check.conditions.values import FALSE, TRUE, Formula, SqlValue, all_of, both, negation
from foretell.check.subscriptions.match_frames import MatchFrames
from foretell.check.subscriptions.paths import (
    CountedStep,
    LeadingNegation,
    PathConstraint,
    PathTransition,
    PatternPath,
    Slot,
    TrailingNegation,
)
from foretell.errors import NOWHERE, Place
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.records import record

#: 2026-01-01, in microseconds.
SIMPLE_MOMENT = 1_767_225_600_000_000


@record
class Origin:
    """The part of a statement that a formula stands for: a condition of a step, a clause, or an operator."""

    form: str
    step: str = ""
    expression: tree.Expression | None = None
    place: Place = NOWHERE


class MatchFormulas:
    """The formulas of a match on a path. `parts` can be switched on and off, the facts of the query always hold."""

    def __init__(self, statement: CheckedSubscription, model: EventModel, path: PatternPath) -> None:
        self.statement = statement
        self.path = path
        self.query = Query(model, expressions_of(statement))
        self.frames = MatchFrames(statement, path, self.query.encoder)
        self.frames.parameters = {
            name: self._parameter(name, kind) for name, kind in parameter_types(statement).items()
        }
        self._order_times()
        self.parts: list[Labelled] = list(self._parts())

    def _parameter(self, name: str, kind: Type) -> SqlValue:
        value = z3.Const(f":{name}", sort_of(kind, self.query.texts.sort))
        return SqlValue(kind, value, z3.Bool(f":{name} is null"))

    def _order_times(self) -> None:
        """Events in the order of the lane end in the order of time; among equals the stream that is named first."""
        events = [self.frames.events[slot] for slot in self.path.slots]
        facts = self.query.facts
        for earlier, later in pairwise(events):
            facts.certain.append(earlier.end <= later.end)
            facts.orderings.append(earlier.end < later.end)
            if len(self.query.encoder.model.sources) > 1:
                facts.hints.append(z3.Or(earlier.end < later.end, earlier.stream <= later.stream))
            if "stream" in self.statement.tree.per:
                facts.hints.append(earlier.stream == later.stream)
        if events:
            earliest = SIMPLE_MOMENT if self.statement.time is Type.TIMESTAMP else 0
            facts.orderings.append(events[0].end >= earliest)

    def _parts(self) -> Iterator[Labelled]:
        yield from self._variables()
        for slot in self.path.bound:
            step = self.statement.steps[slot.step]
            frame = self.frames.of_step(slot)
            for condition in step.conditions:
                origin = Origin("condition", slot.step, condition, condition.place)
                yield Labelled(origin, self.query.encoder.holds(condition, frame))
        yield from self._window()
        for constraint in self.path.constraints:
            yield from self._constraint(constraint)
        having = self.statement.tree.having
        if having is not None:
            origin = Origin("HAVING", "", having, having.place)
            yield Labelled(origin, self.query.encoder.holds(having, self.frames.whole()))

    def _variables(self) -> Iterator[Labelled]:
        """The first event binds a variable, later ones must agree; NULL never does."""
        values: dict[str, SqlValue] = {}
        for slot in self.path.bound:
            for name, expression in self.statement.steps[slot.step].binders:
                own = self.query.encoder.value(expression, self.frames.of_step(slot))
                origin = Origin(
                    "variable", slot.step, tree.Binary("=", expression, tree.Variable(name)), expression.place
                )
                first = values.setdefault(name, own)
                if first is own:
                    yield Labelled(origin, negation(own.null))
                else:
                    agrees = comparison("=", first, own, self.query.facts).is_true
                    yield Labelled(origin, both(negation(own.null), agrees))
        for gap in self.path.gaps:
            for step in gap.steps:
                for name, _ in self.statement.steps[step].binders:
                    kind = self.statement.variables[name]
                    values.setdefault(name, self.query.encoder.unknown(Type.FLOAT if kind is Type.UNKNOWN else kind))
        self.frames.variables = values

    def _window(self) -> Iterator[Labelled]:
        window, bound = self.statement.within, self.path.bound
        if window is None or not bound:
            return
        start = self.frames.events[self.frames.first_of(bound)].start
        end = self.frames.events[self.frames.last_of(bound)].end
        latest = self._later(start, window)
        within = self.statement.tree.within
        place = NOWHERE if within is None else within.place
        yield Labelled(Origin("WITHIN", "", within, place), end <= latest)

    def _later(self, time: z3.ExprRef, window: int | float) -> z3.ExprRef:
        if self.statement.time is not Type.FLOAT and isinstance(window, int):
            return time + window
        exact = (time if self.statement.time is Type.FLOAT else z3.ToReal(time)) + z3.RealVal(str(window))
        return rounded(exact, FALSE, (), self.query.facts).value

    # ── the way from one step to the next ──

    def _constraint(self, constraint: PathConstraint) -> Iterator[Labelled]:
        match constraint:
            case PathTransition(before=before, following=following):
                last, first = self.frames.last_of(before), self.frames.first_of(following)
                if self.statement.simultaneous:
                    formula = self.frames.events[first].end > self.frames.events[last].end
                    yield Labelled(Origin("order", first.step), formula)
                yield from self._operator(constraint, last, first)
                for step in constraint.absent:
                    tried = [(slot, last, first) for slot in self.frames.between(last, first)]
                    yield from self._none_of(step, tried)
            case LeadingNegation(step=step):
                yield from self._leading(step)
            case CountedStep():
                yield from self._counted(constraint)
            case TrailingNegation():
                return  # nothing comes after the match

    def _operator(self, way: PathTransition, last: Slot, first: Slot) -> Iterator[Labelled]:
        passed = self.frames.between(last, first)
        operator = way.operator
        if isinstance(operator, tree.Next) and passed:
            yield Labelled(Origin("operator", first.step, None, operator.place), self._not_between(passed, last, first))
        if isinstance(operator, tree.FirstWhere):
            condition = operator.condition
            origin = Origin("operator", first.step, condition, condition.place)
            fits = self._fits(condition, first, way)
            others = [negation(both(self._is_between(p, last, first), self._fits(condition, p, way))) for p in passed]
            yield Labelled(origin, both(fits, *others))

    def _fits(self, condition: tree.Expression, slot: Slot, way: PathTransition) -> Formula:
        return self.query.encoder.holds(condition, self.frames.of_operator(slot, way.before))

    def _is_between(self, slot: Slot, after: Slot, before: Slot) -> Formula:
        """Whether an event at a place between two others comes between them: not where it is as late as one of them."""
        if not self.statement.simultaneous:
            return TRUE
        ends = [self.frames.events[s].end for s in (after, slot, before)]
        return z3.And(ends[0] < ends[1], ends[1] < ends[2])

    def _not_between(self, passed: tuple[Slot, ...], after: Slot, before: Slot) -> Formula:
        return all_of(negation(self._is_between(slot, after, before)) for slot in passed)

    def _none_of(self, step: str, tried: Sequence[tuple[Slot, Slot | None, Slot]]) -> Iterator[Labelled]:
        """No event of a gap satisfies a negated step."""
        place = self.statement.steps[step].shape.place
        for slot, after, until in tried:
            frame = self.frames.of_negation(slot, step, after, until)
            between = TRUE if after is None else self._is_between(slot, after, until)
            satisfied = all_of(self.query.encoder.holds(c, frame) for c in self.statement.steps[step].conditions)
            yield Labelled(Origin("negation", step, None, place), negation(both(between, satisfied)))

    def _leading(self, step: str) -> Iterator[Labelled]:
        """Events before the match are those that a[i] counts; those too early for the window do not matter."""
        window = self.statement.within
        first, last = self.frames.first_of(self.path.bound), self.frames.last_of(self.path.bound)
        earlier = self.path.slots[: self.frames.place(first)]
        for slot in earlier:
            inside = TRUE
            if window is not None:
                inside = self.frames.events[last].end <= self._later(self.frames.events[slot].end, window)
            for part in self._none_of(step, [(slot, None, first)]):
                yield Labelled(part.label, z3.Or(negation(inside), part.formula))

    def _counted(self, constraint: CountedStep) -> Iterator[Labelled]:
        conditions = self.statement.steps[constraint.step].counted
        after = self.frames.last_of(constraint.before) if constraint.before else None
        begin = 0 if after is None else self.frames.place(after) + 1
        terms = []
        for slot in self.path.slots[begin : self.frames.place(constraint.at) + 1]:
            frame = self.frames.of_trial(slot, constraint.step)
            counts = all_of(self.query.encoder.holds(c, frame) for c in conditions)
            if after is not None and self.statement.simultaneous:
                counts = both(counts, self.frames.events[slot].end > self.frames.events[after].end)
            terms.append(z3.If(counts, 1, 0))
        place = self.statement.steps[constraint.step].shape.place
        total = z3.Sum(terms)
        formula = total == constraint.index
        if after is None:
            formula = z3.Or([total == times * constraint.index for times in range(1, len(terms) + 1)])
        yield Labelled(Origin("count", constraint.step, None, place), formula)
