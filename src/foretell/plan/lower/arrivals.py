"""Lowering of a `;` sequence of single steps to arrival lists: the values each step stores, the code of its conditions.

Matches are enumerated from the last step backwards (AYAC, section 4.2): a join condition is evaluated when the earliest
of its steps is bound.

Arrival lists pay where nothing is known of a combination before its last step: runs would only copy the events that
the lists hold anyway. A condition between earlier steps changes that: runs evaluate it once and drop the combinations
that fail, lists evaluate it again for every last step. Measured on ticks, `a ; b ; c` in one run (CPU time, the best of
two): where few b met a condition with a and half of all events were c, lists took up to 20 times as long; with the
condition between c and one of the others they took between the same time and 1/8 of it. Where a value that all steps
share finds the list, they took between 1.3 times as long and 1/24, whatever the other conditions: the runs of that
measurement were not indexed by the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.kernels.structs import ArrivalTables
from foretell.plan.expressions import EventStart, MatchStart, RowSelected, about_current_event
from foretell.plan.lower.arrival_analysis import NegatedGap, StepPresenceFlag, StepValue, analyse_sequence, step_value
from foretell.plan.lower.bytecode import Code, LinkedCode, Operand, link
from foretell.plan.lower.expression_compiler import compile_expression
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.registers import Register, RegisterAllocator, RegisterKind
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.records import record


@record
class ArrivalPlan:
    """The plan of foretell.machine.exec.arrival_executor. Negated steps are numbered after the other steps.

    | field | holds |
    | --- | --- |
    | program | the plan of the subscription: only HAVING and leading negations are left for the finished match |
    | gaps | the negated steps, each with the step before it |
    | predicates | for each step, the conditions that the filter evaluates |
    | columns | the expressions that are computed for each event |
    | keys | for each step, the expressions whose values select its list; none selects the list of the lane |
    | key_types | the types of the keys |
    | slots | the number of values of bound events that conditions compare with |
    | width | the largest number of values that an arrival stores |
    | stored_texts | for each step, which of the values that its arrivals store are texts |
    | code | the code of all conditions |
    | tables | the arrays of the kernel |
    """

    program: SubscriptionPlan
    steps: tuple[str, ...]
    gaps: tuple[NegatedGap, ...]
    predicates: tuple[tuple[tree.Expression, ...], ...]
    columns: tuple[tree.Expression, ...]
    keys: tuple[tuple[tree.Expression, ...], ...]
    key_types: tuple[Type, ...]
    slots: int
    width: int
    stored_texts: tuple[tuple[int, ...], ...]
    code: LinkedCode
    tables: ArrivalTables


def lower_arrivals(
    subscription: CheckedSubscription,
    code_of: Callable[[str], int],
    parameters: Mapping[str, Type] | None = None,
    *,
    selected: bool = False,
    edges: int = MOST_EDGES,
) -> ArrivalPlan:
    """The plan of a subscription for which foretell.plan.strategy chose arrival lists.

    `parameters`, `selected` and `edges` are those of foretell.plan.lower.nfa.lower_nfa.
    """
    program = _subscription_plan(subscription, edges)
    return _ArrivalLowering(program, code_of, dict(parameters or {}), selected=selected).plan()


def _subscription_plan(subscription: CheckedSubscription, edges: int) -> SubscriptionPlan:
    """The part that comes after the kernel: a match carries the positions of its events, and its variables."""
    automaton = build(subscription, edges)
    leading = tuple({step: None for edge in automaton.edges for step in edge.leading})
    finals = [Register(RegisterKind.POSITION, step) for step in subscription.positive]
    finals += [Register(RegisterKind.LEADING, step) for step in leading]
    finals += [Register(RegisterKind.VARIABLE, name) for name in subscription.variables]
    return SubscriptionPlan(subscription, automaton, {register: i for i, register in enumerate(finals)}, leading, ())


class _ArrivalLowering:
    def __init__(
        self, program: SubscriptionPlan, code_of: Callable[[str], int], parameters: dict[str, Type], *, selected: bool
    ) -> None:
        self.program, self.code_of, self.selected = program, code_of, selected
        self.conditions = analyse_sequence(program.subscription)
        self.steps = self.conditions.steps
        self.allocator = RegisterAllocator(program.subscription, parameters)
        self.stored: list[dict[int, int]] = [{} for _ in self.steps]  # for each step: the place of each stored column
        self.slots: dict[tuple[int, int], int] = {}  # by step and place
        self.codes: list[Code] = []
        self.bound: set[str] = set()  # variables

    def plan(self) -> ArrivalPlan:
        steps, gaps = self.steps, self.conditions.gaps
        all_steps = (*steps, *(gap.step for gap in gaps))
        split = [self._split(step) for step in all_steps]
        entry = [self._compiled(rest, self._on_arrival) for _, rest in split]
        joins: list[list[int]] = [[] for _ in steps]
        for join in self.conditions.joins:
            earliest = min(self.program.subscription.positive_numbers[step] for step in join.steps)
            joins[earliest] += self._compiled([join.expression], self._on_walk(earliest))
        final_loads = [list(self._final_loads(i)) for i in range(len(steps))]
        slot_loads: list[list[tuple[int, int]]] = [[] for _ in steps]
        for (step, place), slot in self.slots.items():
            slot_loads[step].append((place, slot))
        stored = [list(columns) for columns in self.stored]
        linked = link(self.codes)
        spans = np.stack([linked.starts, linked.stops], axis=1)
        tables = ArrivalTables(
            entry_starts=_starts(entry),
            entry_spans=spans[_rows(entry, 1)[:, 0]],
            join_starts=_starts(joins),
            join_spans=spans[_rows(joins, 1)[:, 0]],
            stored_starts=_starts(stored),
            stored_columns=_rows(stored, 1)[:, 0].copy(),
            slot_starts=_starts(slot_loads),
            slot_loads=_rows(slot_loads, 2),
            final_starts=_starts(final_loads),
            final_loads=_rows(final_loads, 2),
            position_finals=np.array(
                [self.program.finals[Register(RegisterKind.POSITION, step)] for step in steps], np.int64
            ),
            gap_after=np.array([gap.after for gap in gaps], np.int64),
            gap_keyed=np.array([bool(self._key(gap.step)) for gap in gaps], np.int64),
        )
        return ArrivalPlan(
            program=replace(self.program, automaton=replace(self.program.automaton, final=())),
            steps=steps,
            gaps=gaps,
            predicates=tuple(static for static, _ in split),
            columns=tuple(self.allocator.table.columns),
            keys=tuple(self._key(step) for step in all_steps),
            key_types=tuple(self.allocator.event_type(key[steps[0]]) for key in self.conditions.keys),
            slots=len(self.slots),
            width=max(map(len, stored)),
            stored_texts=tuple(map(self._texts, stored[:-1])),
            code=linked,
            tables=tables,
        )

    def _texts(self, stored: list[int]) -> tuple[int, ...]:
        columns = list(self.allocator.table.columns)
        types = [self.allocator.event_type(columns[column]) for column in stored]
        return tuple(place for place, kind in enumerate(types) if kind is Type.STRING)

    def _key(self, step: str) -> tuple[tree.Expression, ...]:
        return tuple(key[step] for key in self.conditions.keys if step in key)

    def _split(self, step: str) -> tuple[tuple[tree.Expression, ...], list[tree.Expression]]:
        """The local conditions of a step: those that the filter evaluates, and those that become code."""
        static: list[tree.Expression] = []
        rest: list[tree.Expression] = []
        selects = self.selected and step == self.steps[0]
        for condition in self.conditions.local[step]:
            parametrised = any(isinstance(node, tree.Parameter) for node in condition.walk())
            if parametrised and selects:
                continue
            plain = not parametrised and not any(
                isinstance(node, MatchStart | StepPresenceFlag) for node in condition.walk()
            )
            (static if plain else rest).append(about_current_event(condition) if plain else condition)
        if selects:
            static.append(RowSelected())
        return tuple(static), rest

    def _final_loads(self, step: int) -> Iterator[tuple[int, int]]:
        """The variables that the event of a step is the first to bind."""
        for variable, value in self.program.subscription.steps[self.steps[step]].binders:
            if variable not in self.bound:
                self.bound.add(variable)
                final = self.program.finals[Register(RegisterKind.VARIABLE, variable)]
                yield self._place(step, about_current_event(value)), final

    # ── code ──

    def _compiled(self, conditions: list[tree.Expression], locate: Callable[[StepValue], Operand]) -> list[int]:
        """The numbers of the codes of conditions, all of which must hold."""
        first = len(self.codes)
        for condition in conditions:
            self.codes.append(compile_expression(condition, lambda e: self._operand(e, locate), self.code_of))
        return list(range(first, len(self.codes)))

    def _operand(self, expression: tree.Expression, locate: Callable[[StepValue], Operand]) -> Operand | None:
        match expression:
            case tree.Parameter(name=name):
                types = self.allocator.parameters
                return Operand("parameter", list(types).index(name), types[name])
            case MatchStart():
                return locate(StepValue(self.steps[0], EventStart()))
        value = step_value(expression)
        return None if value is None else locate(value)

    def _on_arrival(self, value: StepValue) -> Operand:
        """The operand of a value when its event arrives: a column of the batch."""
        return self.allocator.column_operand(value.expression)

    def _on_walk(self, level: int) -> Callable[[StepValue], Operand]:
        """The operands of values when the walk tries an arrival of step `level`: stored with it, or in slots."""

        def locate(value: StepValue) -> Operand:
            step = self.program.subscription.positive_numbers[value.step]
            kind = self.allocator.event_type(value.expression)
            place = self._place(step, value.expression)
            if step == level:
                return Operand("column", place, kind)
            return Operand("slot", self.slots.setdefault((step, place), len(self.slots)), kind)

        return locate

    def _place(self, step: int, expression: tree.Expression) -> int:
        """The place of a value among those that an arrival stores. The last step stores none: its column has it."""
        column = self.allocator.column(expression)
        if step == len(self.steps) - 1:
            return column
        return self.stored[step].setdefault(column, len(self.stored[step]))


def _starts(lists: Sequence[Sequence[object]]) -> Ints:
    """The offset of each list in their concatenation, and its length."""
    return np.array([0, *accumulate(map(len, lists))], np.int64)


def _rows(lists: Sequence[Sequence[object]], width: int) -> Ints:
    return np.array([row for rows in lists for row in rows], np.int64).reshape(-1, width)
