"""Registers of a run and columns of a batch: where the values lie that conditions compare.

A part of a condition that is about one event alone, such as `2 * a.price`, is computed for all events of a batch at
once, as a column. A condition that needs it later reads it from a register, which the run wrote when the event was
bound. So the kernel compares only columns and registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.kernels.layout import FIRST_SLOT
from foretell.plan.expressions import event_type
from foretell.plan.lower.bytecode import Operand
from foretell.records import record


class RegisterKind(StrEnum):
    """The value that a register holds."""

    POSITION = "position"  # the position of a step's event
    FIRST = "first"  # an expression about the first event of a step
    LAST = "last"  # an expression about the last event of a step
    PREVIOUS = "previous"  # an expression about the event bound last, in the whole match or in one thread
    VARIABLE = "variable"  # a variable
    MATCH_START = "match start"  # when the match began
    SCOPE_START = "scope start"  # when the first event of a side of `&` began
    SCOPE_VARIABLE = "scope variable"  # a variable as a side of `&` sees it
    BEFORE_SCOPE = "before scope"  # another register as it was before a `&`
    INDEX_KEY = "index key"  # the dictionary code of another register's value, by which an index finds the run
    COUNT = "count"  # the number of events of a step
    COUNT_PRESENT = "count present"  # the number of events of a step of which an attribute is not NULL
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    LEADING = "leading"  # the position at which a negated step before the first event must have been absent
    OCCURRENCES = "occurrences"  # the counter of an a[i]
    GAP_START = "gap start"  # the position after which a deferred negation or count looks
    COUNTER = "counter"  # the rounds of a repetition, or the events of a conjunction, less one
    THREAD_MARK = "thread mark"  # whether a thread sleeps until the instant is over (TIES SIMULTANEOUS)


#: The registers that hold positions of events.
POSITION_KINDS = (RegisterKind.POSITION, RegisterKind.GAP_START, RegisterKind.LEADING)


@record
class Register:
    """A register of a run, by the value that it holds.

    | field | holds |
    | --- | --- |
    | name | the step, the variable, or the thread (named by a step that it waits for) |
    | expression | of the step's event, where the register holds no position or count of events |
    | scope | of the registers of a side of `&`: the number of its first step; of a counter: its number |
    | depth | of these: the number of conjunctions around the side |
    | source | of an index key: the kind of the register whose value it encodes; of a register before a `&`: the kind of
    the register whose value it keeps |
    """

    kind: RegisterKind
    name: str = ""
    expression: tree.Expression | None = None
    scope: int = -1
    depth: int = 0
    source: RegisterKind | None = None

    @property
    def of_variable(self) -> bool:
        """Whether `name` is that of a variable."""
        kinds = (RegisterKind.VARIABLE, RegisterKind.SCOPE_VARIABLE)
        return self.kind in kinds or self.source in kinds

    @property
    def index_key(self) -> Register:
        """The register with the dictionary code of this one's value."""
        return replace(self, kind=RegisterKind.INDEX_KEY, source=self.kind)

    def before_scope(self, scope: int, depth: int) -> Register:
        """The register with the value that this one had before a `&`, for a side of it."""
        return replace(self, kind=RegisterKind.BEFORE_SCOPE, scope=scope, depth=depth, source=self.kind)

    @property
    def original(self) -> Register:
        """Of a register before a `&`: the register whose value it keeps."""
        assert self.source is not None
        return Register(self.source, self.name, self.expression)


MATCH_START = Register(RegisterKind.MATCH_START)

_AGGREGATES = {"sum": RegisterKind.SUM, "min": RegisterKind.MIN, "max": RegisterKind.MAX}


def aggregate_registers(aggregate: tree.Aggregate) -> tuple[Register, ...]:
    """The registers that hold an aggregate: of an average its sum and its count."""
    step = str(aggregate.step)
    attribute = None if aggregate.attribute is None else tree.Attribute(tree.This(), aggregate.attribute)
    count = RegisterKind.COUNT if attribute is None else RegisterKind.COUNT_PRESENT
    match aggregate.function:
        case "count":
            return (Register(count, step, attribute),)
        case "avg":
            return Register(RegisterKind.SUM, step, attribute), Register(count, step, attribute)
    return (Register(_AGGREGATES[aggregate.function], step, attribute),)


@record
class SlotKey:
    """A register as the subscriptions of one NFA know it: its step or variable goes by `number`, not by its name.

    So a register that is equal in two subscriptions lies in one slot, whatever they call its step.
    """

    register: Register
    number: int
    type: Type


@dataclass
class SlotTable:
    """The columns and slots of one NFA, numbered in the order of their first use. Snapshots refer to the slots."""

    columns: dict[tree.Expression, int] = field(default_factory=dict)
    slots: dict[SlotKey, int] = field(default_factory=dict)

    @property
    def position_slots(self) -> tuple[int, ...]:
        return tuple(slot for key, slot in self.slots.items() if key.register.kind in POSITION_KINDS)

    @property
    def list_slots(self) -> tuple[int, ...]:
        """The slots with the numbers of lists of runs."""
        return tuple(slot for key, slot in self.slots.items() if key.register.kind is RegisterKind.INDEX_KEY)

    @property
    def text_slots(self) -> tuple[int, ...]:
        """The slots with codes of texts."""
        lists = self.list_slots
        return tuple(slot for key, slot in self.slots.items() if key.type is Type.STRING and slot not in lists)

    def copy(self) -> SlotTable:
        return SlotTable(dict(self.columns), dict(self.slots))


@dataclass
class RegisterAllocator:
    """Allocates the columns and slots of one subscription in the table of its NFA."""

    subscription: CheckedSubscription
    parameters: dict[str, Type] = field(default_factory=dict)
    table: SlotTable = field(default_factory=SlotTable)
    slots: dict[Register, int] = field(default_factory=dict)
    types: dict[Register, Type] = field(default_factory=dict)
    registers: dict[int, Register] = field(default_factory=dict)  # the first of each slot

    def column(self, expression: tree.Expression) -> int:
        return self.table.columns.setdefault(expression, len(self.table.columns))

    def slot(self, register: Register, kind: Type) -> int:
        if register not in self.slots:
            key = SlotKey(replace(register, name=""), self._number(register), kind)
            self.slots[register] = self.table.slots.setdefault(key, FIRST_SLOT + len(self.table.slots))
            self.types[register] = kind
            self.registers.setdefault(self.slots[register], register)
        return self.slots[register]

    def _number(self, register: Register) -> int:
        if register.of_variable:
            names = list(self.subscription.variables)
            return names.index(register.name) if register.name in names else -1
        return self.subscription.step_numbers.get(register.name, -1)

    def event_type(self, expression: tree.Expression) -> Type:
        """The type of an expression about one event."""
        return event_type(self.subscription, expression)

    def column_operand(self, expression: tree.Expression) -> Operand:
        """The column with an expression about the current event."""
        return Operand("column", self.column(expression), self.event_type(expression))

    def slot_operand(self, register: Register, kind: Type) -> Operand:
        return Operand("slot", self.slot(register, kind), kind)

    def event_operand(self, kind: RegisterKind, name: str, expression: tree.Expression) -> Operand:
        """The register with an expression about the event of a step, or about the event bound before."""
        return self.slot_operand(Register(kind, name, expression), self.event_type(expression))
