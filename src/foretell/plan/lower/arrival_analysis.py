"""Analysis of a `;` sequence of single steps: which conditions are about one event, and which join several.

Every step of such a pattern is bound in every match, and to one event. So `prev`, `duration`, variables and aggregates
are only other ways to name the event of some step, and each condition resolves to one about the events of named steps
(`ResolvedCondition`). An equality that all steps share (P-ToPSS's `ip = $x`, section 3.2) becomes a key: arrivals are
listed by its value (AYAC's hashed queues, section 5.2), and no condition is left to evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.expressions import MatchStart, PresenceFlag, about_current_event, event_type
from foretell.records import record


class StepValue(NamedTuple):
    """An expression about the event of one step, with that event as the current one."""

    step: str
    expression: tree.Expression


@record
class StepPresenceFlag(tree.Expression):
    """1 where an attribute of a step's event is not NULL, else 0."""

    step: str
    attribute: str


@record
class ResolvedCondition:
    """A condition in which every event is named by its step. `steps` are the steps that it is about."""

    expression: tree.Expression
    steps: frozenset[str]


@record
class NegatedGap:
    """A negated step, and the number of the step before it."""

    step: str
    after: int


@record
class SequenceConditions:
    """The conditions of a sequence, by the number of events that they need.

    | field | holds |
    | --- | --- |
    | steps | the steps in their order |
    | gaps | the negated steps |
    | keys | for each value that all steps share: the expression that gives it, by step |
    | local | the conditions about one event, by step or negated step |
    | joins | the conditions about several steps |
    | unresolved_gaps | negated steps that compare with events of the match other than by the keys |
    """

    steps: tuple[str, ...]
    gaps: tuple[NegatedGap, ...]
    keys: tuple[Mapping[str, tree.Expression], ...]
    local: Mapping[str, tuple[tree.Expression, ...]]
    joins: tuple[ResolvedCondition, ...]
    unresolved_gaps: tuple[str, ...]


def analyse_sequence(subscription: CheckedSubscription) -> SequenceConditions:
    """The conditions of a pattern that is a `;` sequence of single steps; foretell.plan.strategy says whether it is."""
    return _SequenceAnalysis(subscription).conditions()


class _SequenceAnalysis:
    def __init__(self, subscription: CheckedSubscription) -> None:
        self.subscription = subscription
        self.steps, self.places = subscription.positive, subscription.positive_numbers
        assert isinstance(subscription.pattern, tree.Sequence)
        parts = subscription.pattern.parts
        self.gaps = tuple(NegatedGap(str(n.step.name), i) for i, part in enumerate(parts[1:]) for n in part.absent)
        self.binders: dict[str, list[StepValue]] = {}
        for step in self.steps:
            for variable, value in subscription.steps[step].binders:
                self.binders.setdefault(variable, []).append(StepValue(step, value))

    def conditions(self) -> SequenceConditions:
        equal, rest = _EqualityClasses(), []
        for condition in (*self._conditions(), *self._agreements()):
            pair = self._equated(condition)
            if pair is None:
                rest.append(condition)
            else:
                equal.add(*pair)
        keys = []
        for values in equal.classes():
            by_step = {value.step: value.expression for value in values}
            if len(by_step) == len(self.steps):
                keys.append(by_step)
            # Equality is transitive: comparing each value with that of the next step, bound before it, is enough.
            rest += self._chained(values, across_steps=len(by_step) < len(self.steps))
        of_gaps, keys_with_gaps, unresolved = self._gap_conditions(keys, equal)
        about_one: dict[str, list[tree.Expression]] = {step: [] for step in self.steps}
        for condition in rest:
            if len(condition.steps) == 1:
                about_one[next(iter(condition.steps))].append(condition.expression)
        local = {step: tuple(conditions) for step, conditions in about_one.items()} | of_gaps
        joins = tuple(c for c in rest if len(c.steps) > 1)
        return SequenceConditions(self.steps, self.gaps, tuple(keys_with_gaps), local, joins, tuple(unresolved))

    def _conditions(self) -> Iterator[ResolvedCondition]:
        for step in self.steps:
            for condition in self.subscription.steps[step].conditions:
                yield self._resolved(step, self._by_step(condition, step))

    def _agreements(self) -> Iterator[ResolvedCondition]:
        """Every value that binds a variable equals the first, and is not NULL."""
        for first, *others in self.binders.values():
            bound = self._by_step(first.expression, first.step)
            if not others:
                yield self._resolved(first.step, tree.IsNull(bound, negated=True))
            for other in others:
                equal = tree.Binary("=", self._by_step(other.expression, other.step), bound)
                yield self._resolved(other.step, equal)

    def _resolved(self, owner: str, expression: tree.Expression) -> ResolvedCondition:
        return ResolvedCondition(expression, frozenset({owner, *_named_steps(expression, self.steps[0])}))

    def _equated(self, condition: ResolvedCondition) -> tuple[StepValue, StepValue] | None:
        """The two sides of an equality of values of two events, if they have one type."""
        match condition.expression:
            case tree.Binary(operator="=", left=left, right=right):
                pair = step_value(left), step_value(right)
                if pair[0] is None or pair[1] is None or pair[0].step == pair[1].step:
                    return None
                types = [event_type(self.subscription, value.expression) for value in pair if value is not None]
                return (pair[0], pair[1]) if types[0] is types[1] and types[0] is not Type.NULL else None
        return None

    def _chained(self, values: list[StepValue], *, across_steps: bool) -> Iterator[ResolvedCondition]:
        in_order = sorted(values, key=lambda value: self.places[value.step])
        for earlier, later in pairwise(in_order):
            if across_steps or earlier.step == later.step:
                left, right = (about_step(value.expression, value.step) for value in (earlier, later))
                yield ResolvedCondition(tree.Binary("=", left, right), frozenset({earlier.step, later.step}))

    def _gap_conditions(
        self, keys: list[dict[str, tree.Expression]], equal: _EqualityClasses
    ) -> tuple[dict[str, tuple[tree.Expression, ...]], list[dict[str, tree.Expression]], list[str]]:
        """The local conditions of negated steps, the keys with theirs, and the negated steps that need more."""
        local: dict[str, tuple[tree.Expression, ...]] = {}
        keys_with_gaps, unresolved = [dict(key) for key in keys], []
        for gap in self.gaps:
            own: list[tree.Expression] = []
            keyed: dict[int, tree.Expression] = {}
            for condition in self.subscription.steps[gap.step].conditions:
                resolved = self._resolved(gap.step, self._by_step(condition, gap.step, self.steps[gap.after]))
                number, value = self._key_of_gap(resolved, gap.step, keys, equal) or (-1, None)
                if resolved.steps == {gap.step}:
                    own.append(resolved.expression)
                elif value is not None and number not in keyed:
                    keyed[number] = value
                else:
                    unresolved.append(gap.step)
            if keyed and len(keyed) < len(keys):
                unresolved.append(gap.step)
            for number, value in keyed.items():
                keys_with_gaps[number][gap.step] = value
            local[gap.step] = tuple(own)
        return local, keys_with_gaps, list(dict.fromkeys(unresolved))

    def _key_of_gap(
        self,
        condition: ResolvedCondition,
        gap: str,
        keys: list[dict[str, tree.Expression]],
        equal: _EqualityClasses,
    ) -> tuple[int, tree.Expression] | None:
        """The number of the key that a negated step shares, and the expression that gives its value."""
        pair = self._equated(condition)
        if pair is None:
            return None
        own, other = pair if pair[0].step == gap else pair[::-1]
        for number, key in enumerate(keys):
            if own.step == gap and equal.root(other) in {equal.root(StepValue(*item)) for item in key.items()}:
                return number, own.expression
        return None

    # ── names of events ──

    def _by_step(self, expression: tree.Expression, owner: str, before: str | None = None) -> tree.Expression:
        """The expression with every event named by its step. `before` is the step that precedes a negated one."""
        match expression:
            case tree.Attribute(event=event) | tree.TimeOf(event=event) | tree.StreamOf(event=event):
                step = self._step_of(event, owner, before)
                return tree.Literal(None) if step is None else replace(expression, event=tree.BoundEvent(step))
            case tree.Variable(name=name):
                first = self.binders[name][0]
                return self._by_step(first.expression, first.step)
            case tree.Elapsed():
                return tree.Binary("-", tree.TimeOf(tree.BoundEvent(owner)), MatchStart())
            case tree.Aggregate(function=function, step=step, attribute=attribute):
                return _aggregate_of_one(function, str(step), attribute)
        return tree.map_children(expression, lambda child: self._by_step(child, owner, before))

    def _step_of(self, event: tree.EventReference, owner: str, before: str | None) -> str | None:
        match event:
            case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step):
                return str(step)
            case tree.Previous() if before is not None:
                return before
            case tree.Previous():
                place = self.places[owner]
                return self.steps[place - 1] if place else None
        return owner


class _EqualityClasses:
    """Equivalence classes of values that conditions equate (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[StepValue, StepValue] = {}

    def add(self, left: StepValue, right: StepValue) -> None:
        self._parent.setdefault(left, left)
        self._parent.setdefault(right, right)
        self._parent[self.root(left)] = self.root(right)

    def root(self, value: StepValue) -> StepValue:
        while self._parent.get(value, value) != value:
            value = self._parent[value]
        return value

    def classes(self) -> list[list[StepValue]]:
        classes: dict[StepValue, list[StepValue]] = {}
        for value in self._parent:
            classes.setdefault(self.root(value), []).append(value)
        return list(classes.values())


def step_value(expression: tree.Expression) -> StepValue | None:
    """The expression as a value of one step's event; None where it is about several events or none."""
    if isinstance(expression, StepPresenceFlag):
        return StepValue(expression.step, PresenceFlag(expression.attribute))
    nodes = list(expression.walk())
    steps = {str(node.step) for node in nodes if isinstance(node, tree.BoundEvent)}
    if len(steps) != 1 or any(isinstance(node, tree.Parameter | MatchStart | StepPresenceFlag) for node in nodes):
        return None
    return StepValue(steps.pop(), about_current_event(expression))


def about_step(expression: tree.Expression, step: str) -> tree.Expression:
    """An expression about the current event, with that event replaced by the event of a step."""
    match expression:
        case tree.Attribute() | tree.TimeOf() | tree.StreamOf():
            return replace(expression, event=tree.BoundEvent(step))
        case PresenceFlag(attribute=attribute):
            return StepPresenceFlag(step, attribute)
    return tree.map_children(expression, lambda child: about_step(child, step))


def _named_steps(expression: tree.Expression, first: str) -> set[str]:
    """The steps whose events an expression names; `first` is the step that a match begins with."""
    steps = set()
    for node in expression.walk():
        match node:
            case tree.BoundEvent(step=step) | StepPresenceFlag(step=step):
                steps.add(str(step))
            case MatchStart():
                steps.add(first)
    return steps


def _aggregate_of_one(function: str, step: str, attribute: str | None) -> tree.Expression:
    """An aggregate over the one event of a step."""
    if attribute is None:
        return tree.Literal(1)
    value = tree.Attribute(tree.BoundEvent(step), attribute)
    match function:
        case "count":
            return StepPresenceFlag(step, attribute)
        case "avg":
            return tree.Binary("/", value, tree.Literal(1))
    return value
