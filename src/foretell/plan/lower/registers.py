"""Where the values lie that conditions compare: in the columns of a batch, or in the registers of an instance.

A part of a condition that speaks of one event alone, such as `2 * a.price`, is an *event expression*: it is computed
for all events of a batch at once, as a column. A condition that needs it later finds it in a register, written when its
event was bound. So the kernel only ever compares columns and registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.type_check import Scope, type_of
from foretell.machine.kernels.layout import FIRST_SLOT
from foretell.plan.expressions import (
    EventStart,
    MatchStart,
    OccurrenceCount,
    PresenceFlag,
    about_current_event,
    map_children,
)
from foretell.plan.lower.bytecode import Operand


@dataclass(frozen=True)
class Register:
    """What a register holds: of which step, which expression of its event, and which one (the first, the latest)."""

    kind: str  # position, first, last, previous, variable, began, count, known, sum, min, max, leading, ticks, where
    step: str = ""
    expression: tree.Expression | None = None


#: When the match began.
BEGAN = Register("began")

#: How the kinds of registers begin that belong to a variable, not to a step.
OF_VARIABLES = ("variable", "bucket of variable")


@dataclass
class Store:
    """The columns and slots of one machine, numbered as they are asked for.

    Subscriptions call the same steps by different names; here they go by their numbers, so that what is equal in two
    subscriptions lies in one slot.
    """

    columns: dict[tree.Expression, int] = field(default_factory=dict)
    slots: dict[tuple[Register, Type], int] = field(default_factory=dict)


@dataclass
class Registers:
    """The columns and registers of one subscription, in the store of its machine."""

    subscription: CheckedSubscription
    parameters: dict[str, Type] = field(default_factory=dict)
    store: Store = field(default_factory=Store)
    registers: dict[Register, int] = field(default_factory=dict)
    types: dict[Register, Type] = field(default_factory=dict)

    def column(self, expression: tree.Expression) -> int:
        return self.store.columns.setdefault(expression, len(self.store.columns))

    def register(self, register: Register, kind: Type) -> int:
        if register not in self.registers:
            common = self._numbered(register), kind
            self.registers[register] = self.store.slots.setdefault(common, FIRST_SLOT + len(self.store.slots))
            self.types[register] = kind
        return self.registers[register]

    def _numbered(self, register: Register) -> Register:
        names = self.subscription.variables if register.kind.startswith(OF_VARIABLES) else self.subscription.steps
        number = list(names).index(register.step) if register.step in names else -1
        return replace(register, step=str(number))

    def event_type(self, expression: tree.Expression) -> Type:
        """The type of an expression about one event."""
        subscription = self.subscription
        if isinstance(expression, EventStart):
            return subscription.time
        if isinstance(expression, PresenceFlag):
            return Type.INT
        scope = Scope(subscription.attributes, subscription.tree.streams, subscription.time, open=True)
        return type_of(expression, scope)

    def of_event(self, expression: tree.Expression) -> Operand:
        return Operand("column", self.column(expression), self.event_type(expression))

    def kept(self, kind: str, step: str, expression: tree.Expression) -> Operand:
        """The register for an expression of a step's event, or of the event bound before."""
        found = self.event_type(expression)
        return Operand("slot", self.register(Register(kind, step, expression), found), found)


#: What lies in a place of its own, and so is no part of an expression about one event.
_ELSEWHERE = (tree.Variable, tree.Parameter, tree.Aggregate, tree.Elapsed, MatchStart, PresenceFlag, OccurrenceCount)


@dataclass(frozen=True)
class Viewpoint:
    """From where a condition is judged: the step it was written for, and the step the event is tried for.

    `tried` is None where the event is tried for none: in θ and for negated steps, of which `owner` is the name.
    `bound` are the steps bound before, `binding` the variables that the event itself binds. The θ of a side of `&` goes
    by that side's own events: `thread` names it, `began` has when its first event began, and
    `variables` those that another side may bind too.
    """

    registers: Registers
    owner: str | None
    tried: str | None
    bound: frozenset[str]
    binding: dict[str, tree.Expression] = field(default_factory=dict)
    thread: str = ""
    began: Register = BEGAN
    variables: Mapping[str, Register] = field(default_factory=dict)

    def operand(self, expression: tree.Expression) -> Operand | None:
        """Where a sub-expression lies, if it lies somewhere."""
        match expression:
            case tree.Variable(name=name):
                return self._variable(name)
            case MatchStart():
                return self._began()
            case PresenceFlag():
                return self.registers.of_event(expression)
            case OccurrenceCount(step=step):
                return Operand("slot", self.registers.register(Register("ticks", step), Type.INT), Type.INT)
            case tree.Aggregate():
                return self._aggregate(expression)
            case tree.Parameter(name=name):
                parameters = self.registers.parameters
                return Operand("parameter", list(parameters).index(name), parameters[name])
        references = {node for node in expression.walk() if isinstance(node, tree.EventReference)}
        if len(references) != 1 or any(isinstance(node, _ELSEWHERE) for node in expression.walk()):
            return None
        operand = self._of(references.pop(), about_current_event(expression))
        # The register of an unbound step is NULL, so what is kept there must be NULL where its attributes are.
        return operand if operand.kind == "column" or _is_strict(expression) else None

    def _of(self, reference: tree.EventReference, expression: tree.Expression) -> Operand:
        registers = self.registers
        match reference:
            case tree.This() if self.tried is None or self.owner == self.tried:
                return registers.of_event(expression)
            case tree.This():
                assert self.owner is not None
                return registers.kept("last", self.owner, expression)
            case tree.Previous():
                return registers.kept("previous", self.thread, expression)
            case tree.FirstOf(step=step) if step != self._current or step in self.bound:
                return registers.kept("first", str(step), expression)
            case tree.FirstOf(step=step) | tree.LastOf(step=step) | tree.BoundEvent(step=step):
                if step == self._current:
                    return registers.of_event(expression)
                return registers.kept("last", str(step), expression)
        raise AssertionError(reference)

    @property
    def _current(self) -> str | None:
        """The step whose event is the one being tried."""
        return self.owner if self.tried is None else self.tried

    def _variable(self, name: str) -> Operand:
        kind = self.registers.subscription.variables[name]
        if name in self.binding:
            bound = replace(self, owner=self.tried).operand(self.binding[name])
            if bound is not None:
                return bound
        register = self.variables.get(name, Register("variable", name))
        return Operand("slot", self.registers.register(register, kind), kind)

    def _began(self) -> Operand:
        if self.tried is not None and not self.bound:
            return self.registers.of_event(EventStart())
        kind = self.registers.subscription.time
        return Operand("slot", self.registers.register(self.began, kind), kind)

    def _aggregate(self, aggregate: tree.Aggregate) -> Operand:
        attribute = None if aggregate.attribute is None else tree.Attribute(tree.This(), aggregate.attribute)
        if aggregate.function == "count":
            kind, name = Type.INT, "count" if attribute is None else "known"
        else:
            assert attribute is not None
            kind, name = self.registers.event_type(attribute), aggregate.function
        register = Register(name, str(aggregate.step), attribute)
        return Operand("slot", self.registers.register(register, kind), kind)

    def spelled(self, expression: tree.Expression) -> tree.Expression:
        """The expression in what the kernel has: averages as quotients, `duration` as a difference."""
        steps = self.registers.subscription.steps
        single = frozenset(name for name, step in steps.items() if not step.shape.repeated)
        return _rewritten(expression, self._current, single, in_operator=self.owner is None)


def _rewritten(
    expression: tree.Expression, own: str | None, single: frozenset[str], *, in_operator: bool
) -> tree.Expression:
    match expression:
        case tree.Elapsed():
            until: tree.EventReference = tree.Previous() if in_operator else tree.This()
            return tree.Binary("-", tree.TimeOf(until), MatchStart())
        case tree.Aggregate(function=function, step=step, attribute=attribute) if step == own and step in single:
            return _alone(function, attribute)
        case tree.Aggregate(function="min" | "max" | "sum", step=step, attribute=str(attribute)) if step in single:
            return tree.Attribute(tree.BoundEvent(step), attribute)
        case tree.Aggregate(function="count"):
            return tree.Call("coalesce", (expression, tree.Literal(0)))
        case tree.Aggregate(function="avg", step=step, attribute=attribute):
            return tree.Binary("/", tree.Aggregate("sum", step, attribute), tree.Aggregate("count", step, attribute))
    return map_children(expression, lambda e: _rewritten(e, own, single, in_operator=in_operator))


def _alone(function: str, attribute: str | None) -> tree.Expression:
    """An aggregate over the one event being tried."""
    if attribute is None:
        return tree.Literal(1)
    value = tree.Attribute(tree.This(), attribute)
    match function:
        case "count":
            return PresenceFlag(attribute)
        case "avg":
            return tree.Binary("/", value, tree.Literal(1))
    return value


def _is_strict(expression: tree.Expression) -> bool:
    """Whether an expression about one event is NULL for sure where the event's attributes are."""
    for node in expression.walk():
        match node:
            case tree.IsNull() | tree.In() | tree.Between() | tree.Call(function="coalesce"):
                return False
            case tree.Binary(operator="AND" | "OR"):
                return False
    return True


def registers_of(aggregate: tree.Aggregate) -> tuple[Register, ...]:
    """The registers in which an aggregate is kept: an average as a sum and a count."""
    step = str(aggregate.step)
    attribute = None if aggregate.attribute is None else tree.Attribute(tree.This(), aggregate.attribute)
    match aggregate.function:
        case "count":
            return (Register("count" if attribute is None else "known", step, attribute),)
        case "avg":
            return Register("sum", step, attribute), Register("known", step, attribute)
    return (Register(aggregate.function, step, attribute),)
