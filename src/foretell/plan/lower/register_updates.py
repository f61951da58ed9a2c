"""Register updates: the slots that an edge writes when it binds an event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from heapq import merge
from itertools import islice

from foretell.events.types import Type
from foretell.language import tree
from foretell.machine.kernels.layout import (
    ASLEEP,
    CHAIN,
    COMPUTE,
    COUNT,
    COUNT_KNOWN,
    GAP,
    MAX_FLOAT,
    MAX_INT,
    MAX_TEXT,
    MIN_FLOAT,
    MIN_INT,
    MIN_TEXT,
    POSITION,
    SET,
    SUM_FLOAT,
    SUM_INT,
)
from foretell.plan.expressions import CounterValue, EventStart, IndexKey, about_current_event
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.deferral import Deferral
from foretell.plan.lower.ir import CHAINED, NO_CODE, RegisterUpdate
from foretell.plan.lower.operands import EvaluationContext
from foretell.plan.lower.registers import MATCH_START, Register, RegisterKind
from foretell.plan.nfa.automaton import Edge
from foretell.plan.nfa.conjunction_scopes import ConjunctionScope
from foretell.plan.nfa.counters import CounterUpdate
from foretell.plan.nfa.terms import Wait, conjunction_depth, started_waits, threads
from foretell.records import record

#: Registers that an edge does not write for binding an event of their step.
_WRITTEN_ELSEWHERE = (
    RegisterKind.LEADING,
    RegisterKind.OCCURRENCES,
    RegisterKind.GAP_START,
    RegisterKind.THREAD_MARK,
    RegisterKind.BEFORE_SCOPE,
)

#: Registers that go by no step. Steps have other names.
_OF_ANY_STEP, _BEFORE_SCOPE = "", " "

_AGGREGATE_INTS = {RegisterKind.SUM: SUM_INT, RegisterKind.MIN: MIN_INT, RegisterKind.MAX: MAX_INT}
_AGGREGATES = {
    Type.FLOAT: {RegisterKind.SUM: SUM_FLOAT, RegisterKind.MIN: MIN_FLOAT, RegisterKind.MAX: MAX_FLOAT},
    Type.STRING: {RegisterKind.MIN: MIN_TEXT, RegisterKind.MAX: MAX_TEXT},
}


@record
class VariableBinding:
    """A variable that an edge binds: its register and its value. `code` computes the value where it is no column."""

    register: Register
    value: tree.Expression
    code: int


@record
class RegisterUpdates:
    """Lowers the register updates of edges, once all registers are allocated."""

    context: LoweringContext
    deferral: Deferral
    _registers: defaultdict[str, dict[Register, None]] = field(default_factory=lambda: defaultdict(dict))
    _order: dict[Register, int] = field(default_factory=dict)
    _counting: dict[CounterUpdate, RegisterUpdate] = field(default_factory=dict)

    def bindings(self, edge: Edge) -> list[VariableBinding]:
        """The variables that an edge binds."""
        context = self.context.of_step(edge.leaf.step, edge.source)
        bindings = []
        for name, value in edge.binds:
            register = Register(RegisterKind.VARIABLE, name)
            self.context.allocator.slot(register, self.context.subscription.variables[name])
            operand = context.resolve(value)
            is_column = operand is not None and operand.kind == "column"
            code = NO_CODE if is_column else self.context.guards.compile(value, context)
            bindings.append(VariableBinding(register, value, code))
        return bindings

    def updates(self, edge: Edge, bindings: list[VariableBinding]) -> list[RegisterUpdate]:
        """All updates of an edge, in the order in which the kernel may not change them."""
        subscription, allocator = self.context.subscription, self.context.allocator
        updates: list[RegisterUpdate] = []
        # First: they read the variables and events as they were.
        for register, scope in self.context.scopes.variables.items():
            updates += self._of_scope_variable(edge, register, scope)
        for register in self._indexed[_BEFORE_SCOPE]:
            updates += self._of_other_side(edge, register)
        for binding in bindings:
            updates += self._of_variable(binding)
        for gap in self._ending_gaps(edge):
            slot = allocator.slots[Register(RegisterKind.GAP_START, gap)]
            updates.append(RegisterUpdate(GAP, slot, list(self.deferral.steps).index(gap)))
        for absent in edge.leading:
            updates.append(RegisterUpdate(POSITION, allocator.slots[Register(RegisterKind.LEADING, absent)], 0))
        states = self.context.automaton.states
        before = None if edge.source is None else states[edge.source].term
        started = started_waits(before, edge.thread, states[edge.target].term)
        updates += self._of_marks(started)
        for wait in started:
            updates += self._of_counters(wait)
        updates += self._of_rounds(edge)
        for register in self._concerned_by(edge.leaf.step):
            update = self._of_register(register, allocator.slots[register], edge, started)
            if update is not None:
                updates.append(update)
        if subscription.steps[edge.leaf.step].shape.repeated:
            updates.append(RegisterUpdate(CHAIN, CHAINED, subscription.positive_numbers[edge.leaf.step]))
        return updates

    # ── variables ──

    def _of_variable(self, binding: VariableBinding) -> Iterator[RegisterUpdate]:
        allocator = self.context.allocator
        slot, kind = allocator.slots[binding.register], allocator.types[binding.register]
        value = about_current_event(binding.value)
        if binding.code != NO_CODE:
            yield RegisterUpdate(COMPUTE, slot, 0, binding.code, kind is Type.FLOAT)
        else:
            yield RegisterUpdate(SET, slot, allocator.column(value))
        key = binding.register.index_key
        if key in allocator.slots:
            yield RegisterUpdate(SET, allocator.slots[key], allocator.column(IndexKey(value, kind)))

    def _of_scope_variable(self, edge: Edge, register: Register, scope: ConjunctionScope) -> Iterator[RegisterUpdate]:
        """A side of `&` sees the value that was visible before the conjunction, then the value that it binds itself."""
        step, name, state = edge.leaf.step, register.name, self.context.state(edge.source)
        allocator, guards = self.context.allocator, self.context.guards
        slot, is_float = allocator.slots[register], allocator.types[register] is Type.FLOAT
        scopes = self.context.scopes.enclosing(step)
        if self._enters(edge, scope):
            inside = conjunction_depth(state.term, step)
            variables = self.context.scopes.visible_variables(scopes[:inside], [name])
            before = EvaluationContext(allocator, None, None, state.bound, variables=variables)
            yield RegisterUpdate(COMPUTE, slot, 0, guards.compile(tree.Variable(name), before), is_float)
        context = self.context.of_step(step, edge.source)
        for variable, value in self.context.subscription.steps[step].binders:
            if step in scope.steps and variable == name:
                yield RegisterUpdate(COMPUTE, slot, 0, guards.compile(value, context), is_float)

    def _of_other_side(self, edge: Edge, register: Register) -> Iterator[RegisterUpdate]:
        """A side of `&` sees what the other sides bound before the conjunction, and nothing that they bind in it."""
        if self._enters(edge, self.context.scopes.scope_of(register)):
            allocator, guards = self.context.allocator, self.context.guards
            kind = allocator.types[register]
            code = guards.read(allocator.slot_operand(register.original, kind))
            yield RegisterUpdate(COMPUTE, allocator.slots[register], 0, code, kind is Type.FLOAT)

    def _enters(self, edge: Edge, scope: ConjunctionScope) -> bool:
        """Whether an edge binds the first event of a conjunction."""
        step = edge.leaf.step
        term = self.context.state(edge.source).term
        return step in scope.steps | scope.others and conjunction_depth(term, step) < scope.depth

    # ── waits that begin ──

    def _of_marks(self, started: tuple[Wait, ...]) -> Iterator[RegisterUpdate]:
        """A thread that begins sleeps until the instant of its event is over."""
        if not self.context.subscription.simultaneous:
            return
        slots = self.context.allocator.slots
        for name in [wait.name for wait in started] or [""]:
            mark = Register(RegisterKind.THREAD_MARK, name)
            if mark in slots:
                yield RegisterUpdate(COMPUTE, slots[mark], 0, self.context.guards.constant(ASLEEP))

    def _of_counters(self, wait: Wait) -> Iterator[RegisterUpdate]:
        """A wait that begins resets its counters, and notes where its deferred negations and counts begin."""
        slots = self.context.allocator.slots
        numbered = {a.leaf: None for a in wait.alternatives if a.leaf.index and a.leaf.after_previous}
        for leaf in numbered:
            if leaf not in self.deferral.counts:
                slot = slots[Register(RegisterKind.OCCURRENCES, leaf.step)]
                yield RegisterUpdate(COMPUTE, slot, 0, self.context.guards.constant(None))
        gaps = [step for step in wait.connector.absent if step in self.deferral.steps]
        gaps += [leaf.step for leaf in numbered if leaf in self.deferral.counts]
        for step in gaps:
            yield RegisterUpdate(POSITION, slots[Register(RegisterKind.GAP_START, step)], 0)

    def _ending_gaps(self, edge: Edge) -> list[str]:
        """The deferred count and the deferred negations that end with an edge."""
        counts = [edge.leaf.step] if edge.leaf in self.deferral.counts else []
        if edge.source is None or edge.thread < 0:
            return counts
        absent = threads(self.context.automaton.states[edge.source].term)[edge.thread].absent
        return counts + [step for step in absent if step in self.deferral.steps]

    def _of_rounds(self, edge: Edge) -> Iterator[RegisterUpdate]:
        """The counters of rounds, and of the events of conjunctions, that an edge changes and that others test."""
        allocator, guards = self.context.allocator, self.context.guards
        for update in edge.updates:
            register = Register(RegisterKind.COUNTER, scope=update.counter)
            if register not in allocator.slots:
                continue
            if update not in self._counting:
                if update.value is None:
                    one_more = tree.Binary("+", CounterValue(update.counter), tree.Literal(1))
                    code = guards.compile(one_more, self.context.of_step(edge.leaf.step, edge.source))
                else:
                    code = guards.constant(update.value)
                self._counting[update] = RegisterUpdate(COMPUTE, allocator.slots[register], 0, code)
            yield self._counting[update]

    # ── registers of steps ──

    def _concerned_by(self, step: str) -> Iterator[Register]:
        """The registers that an event of a step may write, in the order of their allocation."""
        indexed = self._indexed
        return merge(indexed[_OF_ANY_STEP], indexed[step], key=self._order.__getitem__)

    @property
    def _indexed(self) -> defaultdict[str, dict[Register, None]]:
        """The registers by step, those that an event of any step may write, and those of BEFORE_SCOPE."""
        slots, known = self.context.allocator.slots, len(self._order)
        for register in islice(slots, known, None) if known < len(slots) else ():
            key = register.name
            if register.kind is RegisterKind.BEFORE_SCOPE:
                key = _BEFORE_SCOPE
            elif register.kind is RegisterKind.PREVIOUS or register in (MATCH_START, *self.context.scopes.starts):
                key = _OF_ANY_STEP
            self._registers[key][register] = None
            self._order[register] = len(self._order)
        return self._registers

    def _of_register(
        self, register: Register, slot: int, edge: Edge, started: tuple[Wait, ...]
    ) -> RegisterUpdate | None:
        """The write of an edge's event into a register; `started` are the waits that begin with it."""
        allocator, step, before = self.context.allocator, edge.leaf.step, self.context.state(edge.source).bound
        if register.kind is RegisterKind.PREVIOUS:
            assert register.expression is not None
            precedes = not register.name or any(wait.name == register.name for wait in started)
            return RegisterUpdate(SET, slot, allocator.column(register.expression)) if precedes else None
        if register == MATCH_START or register in self.context.scopes.starts:
            steps = self.context.scopes.starts.get(register, frozenset())
            begins = edge.source is None if register == MATCH_START else step in steps and not before & steps
            return RegisterUpdate(SET, slot, allocator.column(EventStart())) if begins else None
        if register.name != step or register.kind in _WRITTEN_ELSEWHERE or register.of_variable:
            return None
        if register.kind is RegisterKind.POSITION:
            return RegisterUpdate(POSITION, slot, 0)
        if register.kind is RegisterKind.COUNT:
            return RegisterUpdate(COUNT, slot, 0)
        assert register.expression is not None
        column = allocator.column(register.expression)
        if RegisterKind.FIRST in (register.kind, register.source) and step in before:
            return None
        if register.kind in (RegisterKind.FIRST, RegisterKind.LAST):
            return RegisterUpdate(SET, slot, column)
        if register.kind is RegisterKind.INDEX_KEY:
            key = IndexKey(register.expression, allocator.types[register])
            return RegisterUpdate(SET, slot, allocator.column(key))
        return RegisterUpdate(self._aggregate(register), slot, column)

    def _aggregate(self, register: Register) -> int:
        if register.kind is RegisterKind.COUNT_PRESENT:
            return COUNT_KNOWN
        return _AGGREGATES.get(self.context.allocator.types[register], _AGGREGATE_INTS)[register.kind]
