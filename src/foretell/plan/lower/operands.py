"""Resolution of the sub-expressions of a condition to operands: columns, registers and parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace

from foretell.events.types import Type
from foretell.language import tree
from foretell.plan.expressions import (
    BoundPosition,
    CounterValue,
    EventStart,
    MatchStart,
    OccurrenceCount,
    PresenceFlag,
    about_current_event,
)
from foretell.plan.lower.bytecode import Operand
from foretell.plan.lower.registers import MATCH_START, Register, RegisterAllocator, RegisterKind, aggregate_registers
from foretell.records import record

#: Expressions with an operand of their own, which are no part of an expression about one event.
_OWN_OPERAND = (
    tree.Variable,
    tree.Parameter,
    tree.Aggregate,
    tree.Elapsed,
    MatchStart,
    PresenceFlag,
    OccurrenceCount,
    CounterValue,
    BoundPosition,
)


@record
class EvaluationContext:
    """The context in which a condition is evaluated, by which its names resolve to operands.

    | field | holds |
    | --- | --- |
    | owner | the step whose condition it is; None for the θ of an operator |
    | target | the step that the current event would be bound to; None for a θ or a negated step |
    | bound | the steps bound before |
    | binding | the variables that the current event binds |
    | thread | of a θ in a side of `&`: the thread whose last event `prev` is |
    | start | the register with the time since which `duration` counts |
    | variables | the registers of variables that other sides of `&` may bind too |
    | sides | the steps of other sides of `&`, each with the side that does not see them: its number and depth |
    | begins | whether the match begins with the current event |
    """

    allocator: RegisterAllocator
    owner: str | None
    target: str | None
    bound: Collection[str]
    binding: Mapping[str, tree.Expression] = field(default_factory=dict)
    thread: str = ""
    start: Register = MATCH_START
    variables: Mapping[str, Register] = field(default_factory=dict)
    sides: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    begins: bool = False

    def resolve(self, expression: tree.Expression) -> Operand | None:
        """The operand that holds an expression's value; None where it has to be computed."""
        match expression:
            case tree.Variable(name=name):
                return self._variable(name)
            case MatchStart():
                return self._match_start()
            case PresenceFlag():
                return self.allocator.column_operand(expression)
            case OccurrenceCount(step=step):
                return self.allocator.slot_operand(Register(RegisterKind.OCCURRENCES, step), Type.INT)
            case CounterValue(counter=counter):
                return self.allocator.slot_operand(Register(RegisterKind.COUNTER, scope=counter), Type.INT)
            case BoundPosition(step=step):
                return self.allocator.slot_operand(Register(RegisterKind.POSITION, step), Type.INT)
            case tree.Aggregate():
                return self._aggregate(expression)
            case tree.Parameter(name=name):
                parameters = self.allocator.parameters
                return Operand("parameter", list(parameters).index(name), parameters[name])
        events = {node for node in expression.walk() if isinstance(node, tree.EventReference)}
        if len(events) != 1 or any(isinstance(node, _OWN_OPERAND) for node in expression.walk()):
            return None
        operand = self._about_event(events.pop(), about_current_event(expression))
        # The register of an unbound step is NULL, so it may hold only an expression that is NULL then.
        return operand if operand.kind == "column" or _propagates_null(expression) else None

    def _about_event(self, event: tree.EventReference, expression: tree.Expression) -> Operand:
        allocator = self.allocator
        match event:
            case tree.This() if self.target is None or self.owner == self.target:
                return allocator.column_operand(expression)
            case tree.This():
                assert self.owner is not None
                return allocator.event_operand(RegisterKind.LAST, self.owner, expression)
            case tree.Previous():
                return allocator.event_operand(RegisterKind.PREVIOUS, self.thread, expression)
            case tree.FirstOf(step=step) if step != self._current_step or step in self.bound:
                return self._of_step(Register(RegisterKind.FIRST, str(step), expression))
            case tree.FirstOf(step=step) | tree.LastOf(step=step) | tree.BoundEvent(step=step):
                if step == self._current_step:
                    return allocator.column_operand(expression)
                return self._of_step(Register(RegisterKind.LAST, str(step), expression))
        raise AssertionError(event)

    def _of_step(self, register: Register) -> Operand:
        """A register of a bound step, as the condition sees it."""
        kind = Type.INT
        if register.kind not in (RegisterKind.COUNT, RegisterKind.COUNT_PRESENT):
            assert register.expression is not None
            kind = self.allocator.event_type(register.expression)
        operand = self.allocator.slot_operand(register, kind)
        if register.name not in self.sides:
            return operand
        return self.allocator.slot_operand(register.before_scope(*self.sides[register.name]), kind)

    @property
    def _current_step(self) -> str | None:
        """The step whose event the current event is, or would be."""
        return self.owner if self.target is None else self.target

    def _variable(self, name: str) -> Operand:
        if name in self.binding:
            bound = replace(self, owner=self.target).resolve(self.binding[name])
            if bound is not None:
                return bound
        register = self.variables.get(name, Register(RegisterKind.VARIABLE, name))
        return self.allocator.slot_operand(register, self.allocator.subscription.variables[name])

    def _match_start(self) -> Operand:
        if self.begins:
            return self.allocator.column_operand(EventStart())
        return self.allocator.slot_operand(self.start, self.allocator.subscription.time)

    def _aggregate(self, aggregate: tree.Aggregate) -> Operand | None:
        if aggregate.function == "avg":
            return None
        (register,) = aggregate_registers(aggregate)
        return self._of_step(register)

    def desugar(self, expression: tree.Expression) -> tree.Expression:
        """The expression in terms that have operands: averages as quotients, `duration` as a difference."""
        single = self.allocator.subscription.single
        return _desugared(expression, self._current_step, single, in_operator=self.owner is None)


def _desugared(
    expression: tree.Expression, current: str | None, single: frozenset[str], *, in_operator: bool
) -> tree.Expression:
    match expression:
        case tree.Elapsed():
            until: tree.EventReference = tree.Previous() if in_operator else tree.This()
            return tree.Binary("-", tree.TimeOf(until), MatchStart())
        case tree.Aggregate(function=function, step=step, attribute=attribute) if step == current and step in single:
            return _aggregate_of_current(function, attribute)
        case tree.Aggregate(function="min" | "max" | "sum", step=step, attribute=str(attribute)) if step in single:
            return tree.Attribute(tree.BoundEvent(step), attribute)
        case tree.Aggregate(function="count"):
            return tree.Call("coalesce", (expression, tree.Literal(0)))
        case tree.Aggregate(function="avg", step=step, attribute=attribute):
            return tree.Binary("/", tree.Aggregate("sum", step, attribute), tree.Aggregate("count", step, attribute))
    return tree.map_children(expression, lambda child: _desugared(child, current, single, in_operator=in_operator))


def _aggregate_of_current(function: str, attribute: str | None) -> tree.Expression:
    """An aggregate over the current event alone."""
    if attribute is None:
        return tree.Literal(1)
    value = tree.Attribute(tree.This(), attribute)
    match function:
        case "count":
            return PresenceFlag(attribute)
        case "avg":
            return tree.Binary("/", value, tree.Literal(1))
    return value


def _propagates_null(expression: tree.Expression) -> bool:
    """Whether an expression about one event is certainly NULL where the attributes of the event are."""
    for node in expression.walk():
        match node:
            case tree.IsNull() | tree.In() | tree.Between() | tree.Case() | tree.Call(function="coalesce"):
                return False
            case tree.Binary(operator="AND" | "OR"):
                return False
    return True
