"""What an edge keeps of the event that it binds: in which slot what is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
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
from foretell.plan.expressions import EventStart, IndexKey, about_current_event
from foretell.plan.lower.condition_split import ConditionSplit
from foretell.plan.lower.ir import CHAINED, NO_CODE, Update
from foretell.plan.lower.registers import BEGAN, OF_VARIABLES, Register, Registers, Viewpoint
from foretell.plan.nfa import automaton as machine
from foretell.plan.nfa.conjunction_scopes import Side, SideRegisters
from foretell.plan.nfa.derivatives import Leaf, Wait, begun, depth, threads

#: Registers that are not written for being of the step that an event is bound to.
_ELSEWHERE = ("leading", "ticks", "where", "mark")

#: A variable's register with its value and, where that is no column, the code for it.
Bound = tuple[Register, tree.Expression, int]


@dataclass(frozen=True)
class RegisterUpdates:
    """`deferred` are the absences, and `counted_late` the a[i], that are judged on the finished match."""

    subscription: CheckedSubscription
    automaton: machine.Automaton
    registers: Registers
    judging: ConditionSplit
    sides: SideRegisters
    deferred: Collection[str]
    counted_late: Collection[Leaf]

    def bound(self, edge: machine.Edge) -> list[Bound]:
        """What an edge binds: each variable's register and, where it is no column, the code for its value."""
        found = []
        bound = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        view = Viewpoint(self.registers, edge.leaf.step, edge.leaf.step, bound)
        for name, expression in edge.binding:
            register = Register("variable", name)
            self.registers.register(register, self.subscription.variables[name])
            operand = view.operand(expression)
            code = (
                NO_CODE if operand is not None and operand.kind == "column" else self.judging.compiled(expression, view)
            )
            found.append((register, expression, code))
        return found

    def updates(self, edge: machine.Edge, variables: list[Bound]) -> list[Update]:
        step = edge.leaf.step
        before = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        updates: list[Update] = []
        numbers, deferred = self.registers.registers, list(self.deferred)
        for register, side in self.sides.variables.items():
            updates += self._shown(edge, register, side)  # first, as it reads what variables were
        for register, expression, code in variables:
            slot, kind = numbers[register], self.registers.types[register]
            if code != NO_CODE:
                updates.append(Update(COMPUTE, slot, 0, code, kind is Type.FLOAT))
            else:
                updates.append(Update(SET, slot, self.registers.column(about_current_event(expression))))
            bucket = Register("bucket of variable", register.step, register.expression)
            if bucket in numbers:
                column = self.registers.column(IndexKey(about_current_event(expression), kind))
                updates.append(Update(SET, numbers[bucket], column))
        updates += [Update(GAP, numbers[Register("where", gap)], deferred.index(gap)) for gap in self._gaps(edge)]
        updates += [Update(POSITION, numbers[Register("leading", absent)], 0) for absent in edge.leading]
        following = self._begun(edge)
        if self.subscription.simultaneous:
            names = [wait.name for wait in following] or [""]
            marks = [numbers[Register("mark", one)] for one in names if Register("mark", one) in numbers]
            updates += [Update(COMPUTE, mark, 0, self.judging.constant(ASLEEP)) for mark in marks]
        for wait in following:
            counted = {o.leaf: None for o in wait.options if o.leaf.index and o.leaf.counted_here}
            ticking = [leaf.step for leaf in counted if leaf not in self.counted_late]
            updates += [
                Update(COMPUTE, numbers[Register("ticks", one)], 0, self.judging.constant(None)) for one in ticking
            ]
            looking = [one for one in wait.link.absent if one in deferred]
            looking += [leaf.step for leaf in counted if leaf in self.counted_late]
            updates += [Update(POSITION, numbers[Register("where", one)], 0) for one in looking]
        for register, slot in list(numbers.items()):
            update = self._update(register, slot, step, before, following)
            if update is not None:
                updates.append(update)
        if self.subscription.steps[step].shape.repeated:
            updates.append(Update(CHAIN, CHAINED, self.subscription.positive.index(step)))
        return updates

    def _shown(self, edge: machine.Edge, register: Register, side: Side) -> Iterator[Update]:
        """What a side sees of a variable: what was seen before the conjunction, then what it binds itself."""
        step, slot, name = edge.leaf.step, self.registers.registers[register], register.step
        is_float = self.registers.types[register] is Type.FLOAT
        state = machine.BEFORE if edge.source is None else self.automaton.states[edge.source]
        around = self.sides.of(step)
        inside = depth(state.term, step)
        if step in side.steps | side.others and inside < side.depth:
            before = Viewpoint(
                self.registers, None, None, state.bound, variables=self.sides.see(around[:inside], [name])
            )
            yield Update(COMPUTE, slot, 0, self.judging.compiled(tree.Variable(name), before), is_float)
        view = Viewpoint(self.registers, step, step, state.bound)
        for variable, value in self.subscription.steps[step].binders:
            if step in side.steps and variable == name:
                yield Update(COMPUTE, slot, 0, self.judging.compiled(value, view), is_float)

    def _begun(self, edge: machine.Edge) -> tuple[Wait, ...]:
        """The waits that the event of an edge precedes."""
        source = None if edge.source is None else self.automaton.states[edge.source].term
        return begun(source, edge.thread, self.automaton.states[edge.target].term)

    def _gaps(self, edge: machine.Edge) -> list[str]:
        """The deferred absences, and the deferred count, that end with an edge."""
        counted = [edge.leaf.step] if edge.leaf in self.counted_late else []
        if edge.source is None or edge.thread < 0:
            return counted
        return counted + [
            s for s in threads(self.automaton.states[edge.source].term)[edge.thread].absent if s in self.deferred
        ]

    def _update(
        self, register: Register, slot: int, step: str, before: frozenset[str], following: tuple[Wait, ...]
    ) -> Update | None:
        """What an event bound to `step` writes into a register; `following` are the waits that begin with it."""
        if register.kind == "previous":
            assert register.expression is not None
            mine = not register.step or any(wait.name == register.step for wait in following)
            return Update(SET, slot, self.registers.column(register.expression)) if mine else None
        if register == BEGAN or register in self.sides.beginnings:
            steps = self.sides.beginnings.get(register, frozenset({step}) | before)
            begins = step in steps and not before & steps
            return Update(SET, slot, self.registers.column(EventStart())) if begins else None
        if register.step != step or register.kind in _ELSEWHERE or register.kind.startswith(OF_VARIABLES):
            return None
        if register.kind == "position":
            return Update(POSITION, slot, 0)
        if register.kind == "count":
            return Update(COUNT, slot, 0)
        assert register.expression is not None
        column = self.registers.column(register.expression)
        match register.kind:
            case "first":
                return None if step in before else Update(SET, slot, column)
            case "last":
                return Update(SET, slot, column)
            case "bucket of first" | "bucket of last":
                if register.kind == "bucket of first" and step in before:
                    return None
                hashed = IndexKey(register.expression, self.registers.types[register])
                return Update(SET, slot, self.registers.column(hashed))
        return Update(self._aggregate(register), slot, column)

    def _aggregate(self, register: Register) -> int:
        if register.kind == "known":
            return COUNT_KNOWN
        kind = self.registers.types[register]
        of_ints = {"sum": SUM_INT, "min": MIN_INT, "max": MAX_INT}
        of_type = {
            Type.FLOAT: {"sum": SUM_FLOAT, "min": MIN_FLOAT, "max": MAX_FLOAT},
            Type.STRING: {"min": MIN_TEXT, "max": MAX_TEXT},
        }
        return of_type.get(kind, of_ints)[register.kind]
