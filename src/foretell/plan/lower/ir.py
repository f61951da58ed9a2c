"""Intermediate representation of a lowered NFA: states, guarded edges and register updates, all by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field

from foretell.language import tree
from foretell.machine.kernels.layout import NEXT
from foretell.plan.lower.bytecode import Code
from foretell.plan.lower.expression_compiler import compile_expression
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.registers import Register, SlotTable
from foretell.plan.lower.text_functions import TextFunction
from foretell.records import record

NO_CODE = 0
NO_MARK = -1

#: In place of a slot: the chain of the events of repeated steps.
CHAINED = -1


@record
class RegisterUpdate:
    """A write of an edge into a slot. `argument` is a column, a step or a negation; `code` is for COMPUTE."""

    kind: int
    slot: int
    argument: int
    code: int = NO_CODE
    is_float: bool = False


@record
class Guard:
    """The condition of an edge: the number of a predicate (-1: none), and of the code for its other part. Where one
    executor serves all rows of a template, `profile` is the number of the static conditions with parameters (-1: none).
    """

    predicate: int = -1
    code: int = NO_CODE
    profile: int = -1


@record
class Thread:
    """An operator under which a state waits. An event that is not bound under it must pass it.

    `kind` is NEXT, ANY or WHERE (foretell.machine.kernels.layout), `where` the θ, `absent` the negated steps. With
    TIES SIMULTANEOUS, `mark` is the slot that says whether it sleeps until the instant is over, or ends with it.
    """

    kind: int
    where: Guard
    absent: tuple[Guard, ...]
    mark: int = NO_MARK


@record
class StepCounter:
    """The counter of an a[i]: a slot that counts the events that satisfy `a`, unless its thread sleeps."""

    slot: int
    counted: Guard
    mark: int = NO_MARK


@record
class RunKey:
    """The key of a state's index of runs: every event that it waits for has in `column` the value of the run's slot."""

    column: int
    slot: int


@record
class WaitingState:
    """How a state waits. Of two subscriptions, states that wait alike and are reached alike are merged.

    `waits` states are complete but for a negation at the end: time alone makes them a match.
    """

    threads: tuple[Thread, ...]
    counters: tuple[StepCounter, ...] = ()
    key: RunKey | None = None
    waits: bool = False
    final: bool = False

    @property
    def strict(self) -> bool:
        """Whether only the very next event can be bound: no run stays here."""
        return self.final or (not self.counters and [t.kind for t in self.threads] == [NEXT])


@record
class LoweredEdge:
    """An edge that binds an event where its guard holds. `thread` is that of the source, -1 where a side begins."""

    source: int | None
    target: int
    thread: int
    guard: Guard
    updates: tuple[RegisterUpdate, ...]


@dataclass
class SymbolTable:
    """The numbers that the subscriptions of one NFA share: those of columns and slots, predicates, code, and the static
    conditions with parameters of one place, which make the profiles of rows.

    `late` has the code of guards of which a predicate is a part (plan.lower.late_guards), by both numbers; `texts` are
    the strings in its code, each with its number, in the order in which they were asked for.
    """

    code_of: Callable[[str], int]
    slot_table: SlotTable = field(default_factory=SlotTable)
    predicates: dict[tuple[tree.Expression, ...], int] = field(default_factory=dict)
    profiles: dict[tuple[tree.Expression, ...], int] = field(default_factory=dict)
    codes: list[Code] = field(default_factory=list)
    reads: list[frozenset[int]] = field(default_factory=list)  # of each code, the slots that it reads
    texts: dict[str, int] = field(default_factory=dict)
    late: dict[tuple[int, int], Code] = field(default_factory=dict)
    _numbers: dict[tuple[bytes, bytes, bytes, tuple[TextFunction, ...]], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.add_code(compile_expression(tree.Literal(True), lambda _: None, self.text_code), frozenset())

    def text_code(self, text: str) -> int:
        """The code of a string."""
        self.texts[text] = code = self.code_of(text)
        return code

    def agrees_with(self, code_of: Callable[[str], int]) -> bool:
        """Whether strings have the same codes elsewhere; they are asked for in the same order."""
        return all(code_of(text) == code for text, code in self.texts.items())

    def copy(self) -> SymbolTable:
        """A copy to add to, so that a subscription that is refused half-way leaves no numbers behind."""
        symbols = copy(self)
        symbols.slot_table = self.slot_table.copy()
        symbols.predicates, symbols._numbers = dict(self.predicates), dict(self._numbers)
        symbols.profiles = dict(self.profiles)
        symbols.codes, symbols.reads, symbols.texts = list(self.codes), list(self.reads), dict(self.texts)
        symbols.late = dict(self.late)
        return symbols

    def add_code(self, code: Code, reads: frozenset[int]) -> int:
        """The number of a code, the same for equal codes."""
        arrays = code.ops.tobytes(), code.constants_f.tobytes(), code.constants_i.tobytes()
        content = (*arrays, code.text_functions)
        if content not in self._numbers:
            self._numbers[content] = len(self.codes)
            self.codes.append(code)
            self.reads.append(reads)
        return self._numbers[content]

    def add_predicate(self, conditions: Iterable[tree.Expression]) -> int:
        """The number of a conjunction of conditions; -1 without conditions."""
        conjunction = tuple(conditions)
        return self.predicates.setdefault(conjunction, len(self.predicates)) if conjunction else -1

    def add_profile(self, conditions: Iterable[tree.Expression]) -> int:
        """The number of static conditions with parameters; -1 without any."""
        conjunction = tuple(conditions)
        return self.profiles.setdefault(conjunction, len(self.profiles)) if conjunction else -1


@record
class LoweredNfa:
    """The NFA of one subscription. `finals` are the registers that a finished match carries, `slots` those of all."""

    program: SubscriptionPlan
    states: tuple[WaitingState, ...]
    edges: tuple[LoweredEdge, ...]
    finals: tuple[Register, ...]
    slots: Mapping[Register, int]
