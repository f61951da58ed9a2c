"""Expressions over finished matches: RETURN, HAVING, and the conditions that only a finished match can decide.

Operators stay as they are in the tree. Each leaf becomes one of the classes below, which say where a finished match has
the value: in an event of the buffer, in a register that the kernel wrote out, or in the events of a repeated step.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.arrival_analysis import about_step
from foretell.plan.lower.registers import Register, RegisterKind, aggregate_registers
from foretell.records import record

# ── events ──


@record
class CandidateEvent:
    """The event that is tried for the step whose condition is evaluated."""


@record
class PrecedingEvent:
    """The event bound just before the candidate."""


@record
class StepEvent:
    """The first or the latest event of a step, by the step's number; with `until_candidate` no later events count."""

    step: int
    latest: bool
    until_candidate: bool = False


MatchEvent: TypeAlias = CandidateEvent | PrecedingEvent | StepEvent

# ── leaves ──


@record
class EventAttribute(tree.Expression):
    event: MatchEvent
    name: str
    kind: Type


@record
class EventTime(tree.Expression):
    event: MatchEvent
    kind: Type


@record
class EventStream(tree.Expression):
    event: MatchEvent


@record
class RegisterValue(tree.Expression):
    """A register at the end of the match. `output` is its number among the registers that the kernel writes out."""

    output: int
    kind: Type


class AggregateScope(Enum):
    """The events that an aggregate is over."""

    STEP = "all events of the step"
    CANDIDATE = "the candidate alone, for a step that does not repeat"
    BEFORE_CANDIDATE = "the events of the step before the candidate"
    UNTIL_CANDIDATE = "the events of the step up to the candidate"


@record
class EventAggregate(tree.Expression):
    """An aggregate over events of a step, which are gathered from the buffer; without `attribute`, a count of them."""

    function: str
    step: int
    attribute: str | None
    kind: Type
    scope: AggregateScope


@record
class RegisterAggregate(tree.Expression):
    """An aggregate that the kernel kept up to date in registers: an average is a sum and a count."""

    function: str
    value: RegisterValue
    count: RegisterValue | None = None


@record
class MatchDuration(tree.Expression):
    """The time from the start of the match to the candidate or, without one, to its last event."""

    kind: Type


@record
class RowParameter(tree.Expression):
    """A column of the subscription's FOR EACH row."""

    name: str


@record
class MatchExpression:
    """An expression over finished matches: operators of the tree over the leaves above."""

    root: tree.Expression


@record
class MatchExpressionCompiler:
    """Compiles the expressions of one subscription; `outputs` numbers the registers that the kernel writes out."""

    subscription: CheckedSubscription
    outputs: Mapping[Register, int]

    def compile(self, expression: tree.Expression, owner: str | None = None) -> MatchExpression:
        """`owner` is the step whose condition this is; None for RETURN and HAVING."""
        return MatchExpression(self._leaves(expression, owner))

    def compile_binding(self, value: tree.Expression, step: str) -> MatchExpression:
        """The value that a step's event gives to a variable."""
        return self.compile(about_step(value, step))

    def _leaves(self, expression: tree.Expression, owner: str | None) -> tree.Expression:
        subscription = self.subscription
        match expression:
            case tree.Attribute(event=event, name=name):
                kind = subscription.attributes.get(name, Type.NULL)
                return EventAttribute(self._event(event, owner), str(name), kind)
            case tree.TimeOf(event=event):
                return EventTime(self._event(event, owner), subscription.time)
            case tree.StreamOf(event=event):
                return EventStream(self._event(event, owner))
            case tree.Aggregate():
                return self._aggregate(expression, owner)
            case tree.Variable(name=name):
                return RegisterValue(self.outputs[Register(RegisterKind.VARIABLE, name)], subscription.variables[name])
            case tree.Elapsed():
                return MatchDuration(Type.DURATION if subscription.time is Type.TIMESTAMP else subscription.time)
            case tree.Parameter(name=name):
                return RowParameter(str(name))
        return tree.map_children(expression, lambda part: self._leaves(part, owner))

    def _event(self, event: tree.EventReference, owner: str | None) -> MatchEvent:
        match event:
            case tree.This():
                return CandidateEvent()
            case tree.Previous():
                return PrecedingEvent()
            case tree.FirstOf(step=step) if step in self.subscription.positive and not self._is_alone(step, owner):
                return StepEvent(self._number(step), False, self._repeats_with(step, owner))
            case tree.BoundEvent(step=step) | tree.LastOf(step=step) | tree.FirstOf(step=step):
                if step == owner:
                    return CandidateEvent()
                return StepEvent(self._number(step), True, self._repeats_with(step, owner))
        raise AssertionError(event)

    def _aggregate(self, aggregate: tree.Aggregate, owner: str | None) -> tree.Expression:
        function, step, attribute = aggregate.function, str(aggregate.step), aggregate.attribute
        kind = Type.INT if attribute is None else self.subscription.attributes.get(attribute, Type.NULL)
        registers = aggregate_registers(aggregate)
        if owner is None and all(register in self.outputs for register in registers):
            value, *counts = (self.outputs[register] for register in registers)
            value_kind = Type.INT if function == "count" else kind
            count = RegisterValue(counts[0], Type.INT) if counts else None
            return RegisterAggregate(function, RegisterValue(value, value_kind), count)
        if self._is_alone(step, owner):
            return EventAggregate(function, -1, attribute, kind, AggregateScope.CANDIDATE)
        scope = AggregateScope.STEP
        if self._repeats_with(step, owner):
            scope = AggregateScope.BEFORE_CANDIDATE if step == owner else AggregateScope.UNTIL_CANDIDATE
        return EventAggregate(function, self._number(step), attribute, kind, scope)

    def _number(self, step: str) -> int:
        return self.subscription.positive.index(step)

    def _is_alone(self, step: str, owner: str | None) -> bool:
        """Whether the candidate is the only event that the step may have."""
        return step == owner and not self.subscription.steps[step].shape.repeated

    def _repeats_with(self, step: str, owner: str | None) -> bool:
        """Whether a step is repeated together with the owner of the condition, which then sees only earlier rounds."""
        steps = self.subscription.steps
        return owner is not None and bool(steps[owner].shape.loops & steps[step].shape.loops)
