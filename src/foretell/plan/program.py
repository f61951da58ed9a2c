"""The program of a subscription: its automaton as flat arrays, ready for the kernel.

Conditions about the event alone are *static*: they have numbers and are answered by the filter for whole batches. The
others become code. What the kernel does not judge is listed: conditions for the finished match, and absences that name
steps bound after the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.plan import automaton as machine
from foretell.plan.bytecode import Code, Linked, Op, UncompilableError, compile_expression, link
from foretell.plan.registers import (
    AnyOf,
    Began,
    Every,
    Known,
    Register,
    Registers,
    Selected,
    Start,
    Ticks,
    Viewpoint,
    of_this,
)
from foretell.plan.terms import Both, Done, Leaf, Link, Term, Wait, beginnings, begun, moves, threads

Ints = NDArray[np.int64]

# The kernel's numbers (foretell.machine.kernel may import nothing of ours, so they stand twice).
NEXT, ANY, WHERE = 0, 1, 2
POSITION, SET, COUNT, COUNT_KNOWN, SUM_INT, SUM_FLOAT, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT, CHAIN, RUN, GAP = range(
    13
)

NO_CODE = 0


class UnsupportedError(Exception):
    """A form that the compiled engine does not run."""


@dataclass(frozen=True)
class Update:
    kind: int
    slot: int
    argument: int
    code: int = NO_CODE


@dataclass(frozen=True)
class FinalAbsence:
    """A negated step that names what is bound after its gap: looked for when the match is finished."""

    step: str
    after: str
    before: str


@dataclass(frozen=True)
class Program:
    """Everything the kernel and the stages after it need of one subscription. The arrays are as the kernel reads them.

    `columns` and `predicates` are what has to be computed for each batch; `registers` says what each slot holds.
    """

    subscription: CheckedSubscription
    automaton: machine.Automaton
    columns: tuple[tree.Expression, ...]
    predicates: tuple[tuple[tree.Expression, ...], ...]
    registers: dict[Register, int]
    types: dict[Register, Type]
    code: Linked
    arrays: tuple[NDArray[np.generic], ...]
    updates: tuple[Ints, ...]
    steps: tuple[str, ...]
    fan: tuple[int, int, int]
    leading: tuple[str, ...]
    deferred: tuple[str, ...]

    @property
    def ambiguous(self) -> bool:
        """Whether the same events may be bound to the same steps in two ways: two edges bind one leaf at one state."""
        leaving = [(edge.source, edge.leaf.step) for edge in self.automaton.edges]
        return len(set(leaving)) < len(leaving)

    @property
    def chains(self) -> bool:
        """Whether events of repeated steps, or gaps, are kept in chains."""
        return any(s.shape.repeated for s in self.subscription.steps.values()) or bool(self.deferred)

    @property
    def waits(self) -> bool:
        """Whether some matches are known only when their window has passed."""
        return bool(self.arrays[15].any())


def build(
    subscription: CheckedSubscription,
    code_of: Callable[[str], int],
    parameters: Mapping[str, Type] | None = None,
    *,
    selected: bool = False,
) -> Program:
    """The program of a subscription; `parameters` are the columns of its FOR EACH table.

    With `selected` the conditions on parameters are answered beforehand, for all rows at once: see selection_of.
    """
    return _Lowering(subscription, code_of, dict(parameters or {}), selected=selected).build()


class _Lowering:
    def __init__(
        self,
        subscription: CheckedSubscription,
        code_of: Callable[[str], int],
        parameters: dict[str, Type],
        *,
        selected: bool,
    ) -> None:
        self.selected = selected
        self.subscription = subscription
        self.code_of = code_of
        self.automaton = machine.build(subscription)
        self.registers = Registers(subscription, parameters)
        self.codes: list[Code] = [compile_expression(tree.Literal(True), lambda _: None, code_of)]
        self.predicates: dict[tuple[tree.Expression, ...], int] = {}
        self.threads: list[tuple[int, int, int, int, int]] = []
        self.negations: list[tuple[int, int]] = []
        self.ticks: list[tuple[int, int, int]] = []
        self.deferred: dict[str, None] = {}
        self.leading = {step: None for edge in self.automaton.edges for step in edge.leading}
        if subscription.simultaneous and any(isinstance(n, tree.Conjunction) for n in subscription.pattern.walk()):
            raise UnsupportedError("TIES SIMULTANEOUS with &")

    def build(self) -> Program:
        for name in self.subscription.positive:
            if not self.subscription.steps[name].shape.repeated:
                self.registers.register(Register("position", name), Type.INT)
        states, edges = self.automaton.states, self.automaton.edges
        for absent in self.leading:
            self.registers.register(Register("leading", absent), Type.INT)
        thread_starts, tick_starts = [0], [0]
        for state in states:
            self._threads(state)
            thread_starts.append(len(self.threads))
            self._ticking(state)
            tick_starts.append(len(self.ticks))
        ordered = sorted(edges, key=lambda e: -1 if e.source is None else e.source)
        judged = [self._judged(edge) for edge in ordered]
        variables = [self._variables(edge) for edge in ordered]
        # All registers are known only now; an edge writes every one that its event has a part in.
        updates = [self._updates(edge, some) for edge, some in zip(ordered, variables, strict=True)]
        linked = link(self.codes)
        return self._program(ordered, judged, updates, thread_starts, tick_starts, linked)

    # ── states ──

    def _threads(self, state: machine.State) -> None:
        """The threads of a state: each link that must let an event pass, unless the event is bound under it."""
        for link_ in self._links(state.term):
            kind, where = ANY, (NO_CODE, -1)
            match link_.operator:
                case tree.Next():
                    kind = NEXT
                case tree.FirstWhere(condition=condition):
                    kind = WHERE
                    if isinstance(state.term, Both) and _is_relative(condition):
                        raise UnsupportedError("prev or duration in ;{θ} beside &")
                    view = Viewpoint(self.registers, None, None, state.bound)
                    where = self._split(tree.conjuncts(condition), view)
            first = len(self.negations)
            for step in link_.absent:
                if self._is_deferred(step, state):
                    self._defer(step)
                    continue
                view = Viewpoint(self.registers, step, None, state.bound)
                code, predicate = self._split(self.subscription.steps[step].conditions, view)
                self.negations.append((predicate, code))
            self.threads.append((kind, where[1], where[0], first, len(self.negations)))

    def _ticking(self, state: machine.State) -> None:
        """What a state counts: the events that satisfy each a[i] it waits for."""
        leaves = {move.leaf: None for move in moves(state.term) if move.leaf.index and move.leaf.counted_here}
        for leaf in leaves:
            step = self.subscription.steps[leaf.step]
            if any(v not in state.variables for v, _ in step.binders):
                raise UnsupportedError("a[i] that binds a variable after something else")
            view = Viewpoint(self.registers, leaf.step, leaf.step, state.bound)
            code, predicate = self._split(step.counted, view)
            slot = self.registers.register(Register("ticks", leaf.step), Type.INT)
            self.ticks.append((slot, predicate, code))

    def _links(self, term: Term) -> tuple[Link, ...]:
        """The links of a state's threads; one that is done but for a negation waits for its window to pass."""
        if isinstance(term, Done) and term.trailing:
            return (Link(tree.Later(), term.trailing),)
        return threads(term)

    def _is_deferred(self, step: str, state: machine.State) -> bool:
        """Whether a negated step names what may be bound only after the gap.

        Beside `&` the event before the gap need not be the one bound last, which is all that the kernel knows.
        """
        if isinstance(state.term, Both) and any(_is_relative(c) for c in self.subscription.steps[step].conditions):
            return True
        later = self.automaton.later(state)
        named, variables = machine.named(self.subscription.steps[step].conditions)
        return bool(named & later) or any(
            v not in state.variables and machine.binders(self.subscription, v) & later for v in variables
        )

    def _defer(self, step: str) -> None:
        self.deferred[step] = None
        self.registers.register(Register("where", step), Type.INT)

    def _split(self, conditions: Iterable[tree.Expression], view: Viewpoint) -> tuple[int, int]:
        """Conditions as code for what compares, and the number of a predicate (-1: none) for what does not."""
        static: list[tree.Expression] = []
        compared: list[tree.Expression] = []
        for condition in conditions:
            (static if is_static(condition) else compared).append(condition)
        predicate = -1
        if static:
            predicate = self.predicates.setdefault(tuple(static), len(self.predicates))
        return self._code(compared, view), predicate

    def _code(self, conditions: list[tree.Expression], view: Viewpoint) -> int:
        if not conditions:
            return NO_CODE
        together = conditions[0]
        for condition in conditions[1:]:
            together = tree.Binary("AND", together, condition)
        return self._compiled(together, view)

    def _compiled(self, expression: tree.Expression, view: Viewpoint) -> int:
        try:
            self.codes.append(compile_expression(view.spelled(expression), view.operand, self.code_of))
        except UncompilableError as error:
            raise UnsupportedError(f"'{expression_text(error.expression)}' in a condition") from None
        return len(self.codes) - 1

    # ── edges ──

    def _judged(self, edge: machine.Edge) -> tuple[int, int]:
        """Code and predicate of an edge."""
        bound = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        binding = dict(edge.binding)
        own = [c.expression for c in edge.judged if c.owner == edge.leaf.step]
        if self.selected and edge.source is None:
            own = [*(c for c in own if not _has_parameter(c)), Selected()]
        view = Viewpoint(self.registers, edge.leaf.step, edge.leaf.step, bound, binding)
        own += [tree.Binary("=", tree.Variable(v), e) for v, e in edge.agreeing]
        own += [tree.IsNull(e, negated=True) for _, e in edge.binding]
        if edge.leaf.index and edge.leaf.counted_here:
            own.append(tree.Binary("=", Ticks(edge.leaf.step), tree.Literal(edge.leaf.index)))
        elif edge.leaf.index:
            own.append(self._every(edge.leaf, view))
        code, predicate = self._split(own, view)
        waited = [c for c in edge.judged if c.owner != edge.leaf.step]
        for condition in waited:
            earlier = Viewpoint(self.registers, condition.owner, edge.leaf.step, bound, binding)
            more = self._compiled(condition.expression, earlier)
            code = more if code == NO_CODE else self._both(code, more)
        return code, predicate

    def _every(self, leaf: Leaf, view: Viewpoint) -> Every:
        """An `a[i]` that nothing precedes. It counts by its own event: anything else would differ for each match."""
        step = self.subscription.steps[leaf.step]
        conditions = []
        for condition in step.counted:
            if _binds(condition, step.binders):
                continue
            spelled = view.spelled(condition)
            others = [n for n in spelled.walk() if _is_of_another(n, leaf.step)]
            spelled = of_this(spelled)
            if others or not is_static(spelled):
                raise UnsupportedError("a[i] that nothing precedes, counted by more than its own event")
            conditions.append(spelled)
        return Every(leaf.step, leaf.index, tuple(conditions))

    def _both(self, one: int, other: int) -> int:
        """Two codes that must both hold, as one."""
        first, second = self.codes[one], self.codes[other]
        linked = link([first, second])
        ops = np.concatenate([linked.code.ops, np.array([[Op.AND, 0, 0]], np.int32)])
        depth = max(first.depth, second.depth + 1)
        self.codes.append(Code(ops, linked.code.constants_f, linked.code.constants_i, depth))
        return len(self.codes) - 1

    def _variables(self, edge: machine.Edge) -> list[tuple[Register, tree.Expression, int]]:
        """What an edge binds: each variable's register and, where it is no column, the code for its value."""
        found = []
        bound = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        view = Viewpoint(self.registers, edge.leaf.step, edge.leaf.step, bound)
        for name, expression in edge.binding:
            register = Register("variable", name)
            self.registers.register(register, self.subscription.variables[name])
            operand = view.operand(expression)
            code = NO_CODE if operand is not None and operand.kind == "column" else self._compiled(expression, view)
            found.append((register, expression, code))
        return found

    def _updates(self, edge: machine.Edge, variables: list[tuple[Register, tree.Expression, int]]) -> list[Update]:
        step = edge.leaf.step
        before = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        updates = []
        for register, expression, code in variables:
            slot = self.registers.registers[register]
            if code != NO_CODE:
                updates.append(Update(RUN, slot, 0, code))
            else:
                updates.append(Update(SET, slot, self.registers.column(of_this(expression))))
        numbers, deferred = self.registers.registers, list(self.deferred)
        updates += [Update(GAP, numbers[Register("where", gap)], deferred.index(gap)) for gap in self._gaps(edge)]
        updates += [Update(POSITION, numbers[Register("leading", absent)], 0) for absent in edge.leading]
        for wait in self._begun(edge):
            counted = [o.leaf.step for o in wait.options if o.leaf.index and o.leaf.counted_here]
            updates += [Update(RUN, numbers[Register("ticks", one)], 0, self._null()) for one in counted]
            absent = [one for one in wait.link.absent if one in deferred]
            updates += [Update(POSITION, numbers[Register("where", one)], 0) for one in absent]
        for register, slot in list(self.registers.registers.items()):
            update = self._update(register, slot, step, before, beginning=edge.source is None)
            if update is not None:
                updates.append(update)
        if self.subscription.steps[step].shape.repeated:
            updates.append(Update(CHAIN, 0, self.subscription.positive.index(step)))
        return updates

    def _begun(self, edge: machine.Edge) -> tuple[Wait, ...]:
        """The waits that the event of an edge precedes."""
        source = None if edge.source is None else self.automaton.states[edge.source].term
        return begun(source, edge.thread, self.automaton.states[edge.target].term)

    def _null(self) -> int:
        """The code of NULL."""
        self.codes.append(compile_expression(tree.Literal(None), lambda _: None, self.code_of))
        return len(self.codes) - 1

    def _gaps(self, edge: machine.Edge) -> list[str]:
        """The deferred absences that end with an edge."""
        if edge.source is None or edge.thread < 0:
            return []
        return [s for s in threads(self.automaton.states[edge.source].term)[edge.thread].absent if s in self.deferred]

    def _update(
        self, register: Register, slot: int, step: str, before: frozenset[str], *, beginning: bool
    ) -> Update | None:
        """What an event bound to `step` writes into a register."""
        if register.kind == "previous":
            assert register.expression is not None
            return Update(SET, slot, self.registers.column(register.expression))
        if register.kind == "began":
            return Update(SET, slot, self.registers.column(Start())) if beginning else None
        if register.step != step or register.kind in ("variable", "leading", "ticks", "where"):
            return None
        if register.kind == "position":
            return Update(POSITION, slot, 0)
        if register.kind == "count":
            return Update(COUNT, slot, 0)
        assert register.expression is not None
        column = self.registers.column(register.expression)
        if register.kind == "first":
            return None if step in before else Update(SET, slot, column)
        if register.kind == "last":
            return Update(SET, slot, column)
        return Update(self._aggregate(register), slot, column)

    def _aggregate(self, register: Register) -> int:
        if register.kind == "known":
            return COUNT_KNOWN
        kind = self.registers.types[register]
        if kind is Type.STRING:
            raise UnsupportedError(f"{register.kind} of strings")
        floats = kind is Type.FLOAT
        return {
            ("sum", False): SUM_INT,
            ("sum", True): SUM_FLOAT,
            ("min", False): MIN_INT,
            ("min", True): MIN_FLOAT,
            ("max", False): MAX_INT,
            ("max", True): MAX_FLOAT,
        }[register.kind, floats]

    # ── arrays ──

    def _program(
        self,
        edges: list[machine.Edge],
        judged: list[tuple[int, int]],
        updates: list[list[Update]],
        thread_starts: list[int],
        tick_starts: list[int],
        linked: Linked,
    ) -> Program:
        states = self.automaton.states
        span = np.stack([linked.starts, linked.stops], axis=1)
        span[NO_CODE] = 0
        starting = [i for i, e in enumerate(edges) if e.source is None]
        counts = np.bincount([e.source for e in edges if e.source is not None], minlength=len(states))
        edge_starts = len(starting) + np.concatenate([[0], np.cumsum(counts)])
        within = self.subscription.within
        update_starts = np.cumsum([0, *(len(u) for u in updates)])
        flat = [u for some in updates for u in some]
        threads = np.array(self.threads, np.int64).reshape(-1, 5)
        negations = np.array(self.negations, np.int64).reshape(-1, 2)
        ticks = np.array(self.ticks, np.int64).reshape(-1, 3)
        touching = [self._touching(i, edges, judged, thread_starts, tick_starts) for i in range(len(states))]
        arrays = (
            np.array(thread_starts, np.int64),
            threads[:, 0].copy(),
            threads[:, 1].copy(),
            span[threads[:, 2]],
            threads[:, 3:5].copy(),
            negations[:, 0].copy(),
            span[negations[:, 1]],
            edge_starts.astype(np.int64),
            np.array([e.thread for e in edges], np.int64),
            np.array([p for _, p in judged], np.int64),
            span[[c for c, _ in judged]],
            np.stack([update_starts[:-1], update_starts[1:]], axis=1),
            np.array([e.target for e in edges], np.int64),
            np.full(len(states), -1 if within is None else within, self._time_dtype()),
            np.array([0 if isinstance(s.term, Done) and not s.term.trailing else -1 for s in states], np.int64),
            np.array([isinstance(s.term, Done) and bool(s.term.trailing) for s in states], np.int64),
            np.array(starting, np.int64),
            np.array(tick_starts, np.int64),
            ticks[:, 0].copy(),
            ticks[:, 1].copy(),
            span[ticks[:, 2]],
            np.array(touching, np.int64),
        )
        code_of_update = span[[u.code for u in flat]]
        floats = [u.kind == RUN and self._is_float(u.slot) for u in flat]
        return Program(
            self.subscription,
            self.automaton,
            tuple(self.registers.columns),
            tuple(self.predicates),
            self.registers.registers,
            self.registers.types,
            linked,
            arrays,
            (
                np.array([u.kind for u in flat], np.int64),
                np.array([u.slot for u in flat], np.int64),
                np.array([c[0] if u.kind == RUN else u.argument for u, c in zip(flat, code_of_update)], np.int64),
                code_of_update[:, 1].copy(),
                np.array(floats, np.int64),
            ),
            self.subscription.positive,
            (max([1, *counts.tolist()]), len(starting), 1 + 2 * len(self.deferred)),
            tuple(self.leading),
            tuple(self.deferred),
        )

    def _touching(
        self,
        state: int,
        edges: list[machine.Edge],
        judged: list[tuple[int, int]],
        thread_starts: list[int],
        tick_starts: list[int],
    ) -> int:
        """The predicate without which an event leaves a state's instances alone; -1 where there is none.

        It is that of the operator where the state waits under one `;{θ}`; elsewhere any of those of its edges,
        negations and counters. An event always touches what waits for the very next one.
        """
        mine = self.threads[thread_starts[state] : thread_starts[state + 1]]
        if not mine:
            return -1  # nothing waits at a final state
        touching: set[int] = set()
        for kind, predicate, _, first, stop in mine:
            if kind == NEXT:
                return -1
            touching.update(p for p, _ in self.negations[first:stop])
            if kind == WHERE:
                touching.add(predicate)
        touching.update(p for _, p, _ in self.ticks[tick_starts[state] : tick_starts[state + 1]])
        only = len(mine) == 1 and mine[0][0] == WHERE
        for edge, (_, predicate) in zip(edges, judged, strict=True):
            # A side of `&` that has not begun waits under no operator.
            if edge.source == state and (edge.thread < 0 or not only):
                touching.add(predicate)
        if -1 in touching:
            return -1
        options = tuple(self._numbered(p) for p in sorted(touching))
        if len(options) == 1:
            return next(iter(touching))
        return self.predicates.setdefault((AnyOf(options),), len(self.predicates))

    def _numbered(self, predicate: int) -> tuple[tree.Expression, ...]:
        return list(self.predicates)[predicate]

    def _is_float(self, slot: int) -> bool:
        return any(s == slot and self.registers.types[r] is Type.FLOAT for r, s in self.registers.registers.items())

    def _time_dtype(self) -> type[np.generic]:
        return np.float64 if self.subscription.time is Type.FLOAT else np.int64


@dataclass(frozen=True)
class Comparison:
    """`expression operator :parameter`, of the event that begins a match."""

    expression: tree.Expression
    operator: str
    parameter: str


def selection_of(subscription: CheckedSubscription) -> tuple[Comparison, ...] | None:
    """The comparisons by which rows of a template begin with an event, if that is all its parameters do.

    Then one machine serves all rows: it carries along which rows began with its first event. They are an interval of
    the rows sorted by equalities and one inequality; templates that ask for more run row by row.
    """
    tree_, pattern = subscription.tree, subscription.pattern
    elsewhere: list[tree.Expression | None] = [tree_.having, *(r.expression for r in tree_.returns)]
    if tree_.table is None or any(e is not None and _has_parameter(e) for e in elsewhere):
        return None
    if tree_.after.policy is not tree.Policy.HOLD or any(s.shape.chosen for s in subscription.steps.values()):
        return None
    first = {move.leaf.step for move in beginnings(pattern)}
    if len(first) != 1 or any(isinstance(node, tree.Numbered) for node in pattern.walk()):
        return None
    if any(isinstance(n, tree.FirstWhere) and _has_parameter(n.condition) for n in pattern.walk()):
        return None
    found: list[Comparison] = []
    for name, step in subscription.steps.items():
        for condition in (*step.conditions, *(e for _, e in step.binders)):
            if not _has_parameter(condition):
                continue
            comparison = _comparison(condition)
            if name not in first or comparison is None or step.shape.repeated:
                return None
            found.append(comparison)
    return tuple(found) if sum(c.operator != "=" for c in found) <= 1 and found else None


_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _comparison(condition: tree.Expression) -> Comparison | None:
    match condition:
        case tree.Binary(operator=operator, left=value, right=tree.Parameter(name=name)):
            pass
        case tree.Binary(operator=mirrored, left=tree.Parameter(name=name), right=value) if mirrored in _MIRRORED:
            operator = _MIRRORED[mirrored]
        case _:
            return None
    return Comparison(value, operator, name) if operator in _MIRRORED and is_static(value) else None


def _has_parameter(expression: tree.Expression) -> bool:
    return any(isinstance(node, tree.Parameter) for node in expression.walk())


def is_static(condition: tree.Expression) -> bool:
    """Whether a condition is about the event being tried and constants only."""
    outside = (
        tree.Previous,
        tree.Bound,
        tree.First,
        tree.Last,
        tree.Aggregate,
        tree.Elapsed,
        tree.Variable,
        tree.Parameter,
        Ticks,
    )
    return not any(isinstance(node, outside) for node in condition.walk())


def _is_of_another(node: tree.Node, own: str) -> bool:
    """Whether a node speaks of more than the event tried for a step."""
    match node:
        case tree.Bound(step=step) | tree.First(step=step) | tree.Last(step=step):
            return step != own
    return isinstance(node, tree.Previous | Began | Known)


def _is_relative(condition: tree.Expression) -> bool:
    """Whether a condition goes by what is bound just before."""
    return any(isinstance(node, tree.Previous | tree.Elapsed) for node in condition.walk())


def _binds(condition: tree.Expression, binders: Iterable[tuple[str, tree.Expression]]) -> bool:
    """Whether a condition is one that binds a variable."""
    match condition:
        case tree.Binary(operator="=", left=tree.Variable(name=name), right=value) if (name, value) in binders:
            return True
        case tree.Binary(operator="=", left=value, right=tree.Variable(name=name)) if (name, value) in binders:
            return True
    return False
