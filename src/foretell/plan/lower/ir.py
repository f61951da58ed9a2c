"""What a subscription is in the numbers of its machine: states that wait, edges that judge and keep, code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field

from foretell.language import tree
from foretell.machine.kernels.layout import NEXT
from foretell.plan.lower.bytecode import Code, compile_expression
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.registers import Register, Store

NO_CODE = 0
NO_MARK = -1

#: In place of a slot: the chain of the events of repeated steps.
CHAINED = -1


@dataclass(frozen=True)
class Update:
    """What an edge writes into a slot. `argument` is a column, a step or a negation; `code` is for COMPUTE."""

    kind: int
    slot: int
    argument: int
    code: int = NO_CODE
    is_float: bool = False


@dataclass(frozen=True)
class Guard:
    """Conditions: a predicate's number (-1: none) for what is static, code for the rest."""

    predicate: int = -1
    code: int = NO_CODE


@dataclass(frozen=True)
class Thread:
    """An operator under which a state waits: it must let an event pass that is not bound under it.

    Where ties are simultaneous, `mark` is the slot that says whether it sleeps until the instant is over, or ends with
    the instant.
    """

    kind: int
    where: Guard
    absent: tuple[Guard, ...]
    mark: int = NO_MARK


@dataclass(frozen=True)
class Tick:
    """What is counted in a slot, unless its thread sleeps."""

    slot: int
    counted: Guard
    mark: int = NO_MARK


@dataclass(frozen=True)
class Key:
    """All that a state waits for equals something bound: `column` of an event must be what `slot` holds."""

    column: int
    slot: int


@dataclass(frozen=True)
class WaitingState:
    """How a state waits. States of two subscriptions that wait alike, and are reached alike, are one."""

    threads: tuple[Thread, ...]
    ticks: tuple[Tick, ...] = ()
    key: Key | None = None
    waits: bool = False
    final: bool = False

    @property
    def strict(self) -> bool:
        """Whether only the very next event can be bound: no instance stays here."""
        return self.final or (not self.ticks and [t.kind for t in self.threads] == [NEXT])


@dataclass(frozen=True)
class LoweredEdge:
    source: int | None
    target: int
    thread: int
    judged: Guard
    updates: tuple[Update, ...]


@dataclass
class Numbers:
    """What the subscriptions of a machine have in common: slots and columns, predicates, code."""

    code_of: Callable[[str], int]
    store: Store = field(default_factory=Store)
    predicates: dict[tuple[tree.Expression, ...], int] = field(default_factory=dict)
    codes: list[Code] = field(default_factory=list)
    reads: list[frozenset[int]] = field(default_factory=list)
    _known: dict[tuple[bytes, bytes, bytes], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.coded(compile_expression(tree.Literal(True), lambda _: None, self.code_of), frozenset())

    def copied(self) -> Numbers:
        """The same, to add to: a subscription that is refused half-way must not leave numbers behind."""
        numbers = copy(self)
        numbers.store = Store(dict(self.store.columns), dict(self.store.slots))
        numbers.predicates, numbers._known = dict(self.predicates), dict(self._known)
        numbers.codes, numbers.reads = list(self.codes), list(self.reads)
        return numbers

    def coded(self, code: Code, reads: frozenset[int]) -> int:
        """The number of a code, and the slots it reads."""
        known = code.ops.tobytes(), code.constants_f.tobytes(), code.constants_i.tobytes()
        if known not in self._known:
            self._known[known] = len(self.codes)
            self.codes.append(code)
            self.reads.append(reads)
        return self._known[known]

    def predicate(self, conditions: Iterable[tree.Expression]) -> int:
        asked = tuple(conditions)
        return self.predicates.setdefault(asked, len(self.predicates)) if asked else -1


@dataclass(frozen=True)
class Lowered:
    """`finals` are the registers that a finished match is asked for."""

    program: SubscriptionPlan
    states: tuple[WaitingState, ...]
    edges: tuple[LoweredEdge, ...]
    finals: tuple[Register, ...]
    registers: Mapping[Register, int]
