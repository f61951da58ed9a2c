"""The treatment of raw matches by a subscription: late conditions, HAVING and RETURN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.condition_scope import is_static
from foretell.plan.lower.match_expressions import (
    CandidateEvent,
    EventAttribute,
    MatchExpression,
    MatchExpressionCompiler,
    RegisterValue,
    RowParameter,
    StepEvent,
)
from foretell.plan.lower.registers import Register, RegisterKind
from foretell.records import record

if TYPE_CHECKING:
    from foretell.plan.lower.program import SubscriptionPlan


class PositionSource(Enum):
    """Where a finished match has the position of a step's event."""

    REGISTER = "a register that the kernel wrote out"
    FIRST_EVENT = "the first event of the match"
    LAST_EVENT = "the last event of the match"
    CHAIN = "the chain of bound events, because the step may have several"


@record
class StepPosition:
    source: PositionSource
    output: int = -1


@record
class StepCondition:
    """A condition that must be true for every event bound to a step."""

    step: int
    condition: MatchExpression


@record
class SharedValue:
    """A value that an event has to share with the match: an attribute of the event, and what it equals, of one type."""

    attribute: str
    of_match: MatchExpression


@record
class EventSearch:
    """Conditions on an event that the match has not bound: `static` ones on the event alone, the others on both. Those
    that are equalities of a value of each are `shared`: they find the events."""

    static: tuple[tree.Expression, ...]
    relative: tuple[MatchExpression, ...]
    shared: tuple[SharedValue, ...] = ()


@record
class LeadingAbsence:
    """A negated step before the first event. The register `output` is NULL where the pattern took another way."""

    search: EventSearch
    output: int


@record
class TrailingAbsence:
    """A negated step after the last event, in the matches that the kernel reports at one of these states."""

    search: EventSearch
    states: tuple[int, ...]


@record
class GapAbsence:
    """A negated step in a gap, if it names events that are bound after the gap."""

    search: EventSearch


@record
class GapCount:
    """A step `a[index]` that counts by events bound after it."""

    search: EventSearch
    step: int
    index: int


@record
class PostMatchPlan:
    """`positions` has one entry for each step that binds events, in the order of the pattern.

    `gaps` are numbered as the kernel numbers the gaps that it writes out. `returns` are the RETURN columns or, without
    RETURN, the variables; `bindings` has for each variable the values of the steps that bind it, for partial matches.
    """

    positions: tuple[StepPosition, ...]
    time: Type
    within: int | float | None
    simultaneous: bool
    conditions: tuple[StepCondition, ...]
    leading: tuple[LeadingAbsence, ...]
    trailing: tuple[TrailingAbsence, ...]
    gaps: tuple[GapAbsence | GapCount, ...]
    having: MatchExpression | None
    returns: Mapping[str, MatchExpression]
    bindings: Mapping[str, tuple[MatchExpression, ...]]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The columns of the FOR EACH table that are asked of a finished match: it is another one for each row then."""
        nodes = (node for expression in self._expressions() for node in expression.root.walk())
        return tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, RowParameter)))

    def _expressions(self) -> Iterator[MatchExpression]:
        yield from (condition.condition for condition in self.conditions)
        for absence in (*self.leading, *self.trailing, *self.gaps):
            yield from absence.search.relative
            yield from (value.of_match for value in absence.search.shared)
        if self.having is not None:
            yield self.having
        yield from self.returns.values()

    def of_partial_matches(self) -> PostMatchPlan:
        """The same for partial matches, which have not bound the event that every match ends with."""
        chain = StepPosition(PositionSource.CHAIN)
        positions = (chain if p.source is PositionSource.LAST_EVENT else p for p in self.positions)
        return replace(self, positions=tuple(positions))


def _shared_value(condition: MatchExpression) -> SharedValue | None:
    """The value that an equality makes the tried event share with the match; None where it is something else."""
    match condition.root:
        case tree.Binary(operator="=", left=left, right=right):
            for own, other in ((left, right), (right, left)):
                match own, other:
                    case (
                        EventAttribute(event=CandidateEvent(), name=name, kind=kind),
                        RegisterValue(kind=known) | EventAttribute(event=StepEvent(until_candidate=False), kind=known),
                    ) if kind is known and kind not in (Type.FLOAT, Type.NULL):
                        return SharedValue(name, MatchExpression(other))
    return None


def post_match_plan(plan: SubscriptionPlan) -> PostMatchPlan:
    return _PostMatchCompiler(plan).compile()


def _number(subscription: CheckedSubscription, step: str) -> int:
    return subscription.positive.index(step)


class _PostMatchCompiler:
    def __init__(self, plan: SubscriptionPlan) -> None:
        self.plan, self.subscription = plan, plan.subscription
        self.expressions = MatchExpressionCompiler(plan.subscription, plan.finals)

    def compile(self) -> PostMatchPlan:
        subscription, having = self.subscription, self.subscription.tree.having
        final = self.plan.automaton.final
        return PostMatchPlan(
            positions=tuple(map(self._position, subscription.positive)),
            time=subscription.time,
            within=subscription.within,
            simultaneous=subscription.simultaneous,
            conditions=tuple(
                StepCondition(_number(subscription, c.owner), self.expressions.compile(c.expression, c.owner))
                for c in final
            ),
            leading=tuple(
                LeadingAbsence(self._search(step), self.plan.finals[Register(RegisterKind.LEADING, step)])
                for step in self.plan.leading
            ),
            trailing=tuple(
                TrailingAbsence(self._search(step), tuple(sorted(states)))
                for step, states in self.plan.trailing.items()
            ),
            gaps=tuple(map(self._gap, self.plan.deferred)),
            having=None if having is None else self.expressions.compile(having),
            returns=self._returns(),
            bindings={variable: self._bindings(variable) for variable in subscription.variables},
        )

    def _position(self, step: str) -> StepPosition:
        register = Register(RegisterKind.POSITION, step)
        if register in self.plan.finals:
            return StepPosition(PositionSource.REGISTER, self.plan.finals[register])
        if step == self.plan.first:
            return StepPosition(PositionSource.FIRST_EVENT)
        return StepPosition(PositionSource.LAST_EVENT if step == self.plan.last else PositionSource.CHAIN)

    def _search(
        self, step: str, conditions: tuple[tree.Expression, ...] | None = None, *, finds: bool = True
    ) -> EventSearch:
        """The search for an event of a step. With `finds` the values that it shares with the match find it."""
        conditions = self.subscription.steps[step].conditions if conditions is None else conditions
        relative = [self.expressions.compile(c, step) for c in conditions if not is_static(c)]
        shared = {c: value for c in relative if finds and (value := _shared_value(c)) is not None}
        return EventSearch(
            tuple(c for c in conditions if is_static(c)),
            tuple(c for c in relative if c not in shared),
            tuple(shared.values()),
        )

    def _gap(self, step: str) -> GapAbsence | GapCount:
        checked = self.subscription.steps[step]
        if not checked.shape.numbered:
            return GapAbsence(self._search(step))
        numbered = (n for n in self.subscription.pattern.walk() if isinstance(n, tree.Numbered))
        index = next(n.index for n in numbered if n.step.name == step)
        return GapCount(self._search(step, checked.counted, finds=False), _number(self.subscription, step), index)

    def _returns(self) -> dict[str, MatchExpression]:
        returns = self.subscription.tree.returns
        if returns:
            return {str(column.name): self.expressions.compile(column.expression) for column in returns}
        return {name: self.expressions.compile(tree.Variable(name)) for name in self.subscription.variables}

    def _bindings(self, variable: str) -> tuple[MatchExpression, ...]:
        return tuple(
            self.expressions.compile_binding(value, step)
            for step in self.subscription.positive
            for name, value in self.subscription.steps[step].binders
            if name == variable
        )
