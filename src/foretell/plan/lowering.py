"""A subscription's automaton in the numbers of its machine: predicates, code, slots, and what each edge keeps.

Conditions about the event alone are *static*: they have numbers and are answered by the filter for whole batches. The
others become code. What the kernel does not judge is listed: conditions for the finished match, and absences that name
steps bound after the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan import automaton as machine
from foretell.plan.bytecode import Code, Op, Operand, compile_expression, link
from foretell.plan.conditions import bound_by, has_parameter, is_of_another, is_relative, is_static
from foretell.plan.deadlines import deadlines
from foretell.plan.distances import distances, is_strict, lagged
from foretell.plan.program import Program
from foretell.plan.registers import (
    BEGAN,
    OF_VARIABLES,
    Every,
    Hashed,
    Register,
    Registers,
    Selected,
    Start,
    Store,
    Ticks,
    Viewpoint,
    of_this,
)
from foretell.plan.terms import Both, Done, Leaf, Link, Wait, begun, depth, moves, threads, waits

# The kernels' numbers (their modules may import nothing of ours, so they stand twice).
NEXT, ANY, WHERE = 0, 1, 2
(POSITION, SET, COUNT, COUNT_KNOWN, SUM_INT, SUM_FLOAT, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT, CHAIN, RUN, GAP,
 MIN_TEXT, MAX_TEXT) = range(15)  # fmt: skip

NO_CODE = 0
NO_MARK = -1

#: The mark of a wait that begins: it sees nothing of the present instant (see machine.instances).
ASLEEP = 2

#: Registers that are not written for being of the step that an event is bound to.
_ELSEWHERE = ("leading", "ticks", "where", "mark")

#: In place of a slot: the chain of the events of repeated steps.
CHAINED = -1


@dataclass(frozen=True)
class Update:
    """What an edge writes into a slot. `argument` is a column, a step or a negation; `code` is for RUN."""

    kind: int
    slot: int
    argument: int
    code: int = NO_CODE
    is_float: bool = False


@dataclass(frozen=True)
class Judged:
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
    where: Judged
    absent: tuple[Judged, ...]
    mark: int = NO_MARK


@dataclass(frozen=True)
class Tick:
    """What is counted in a slot, unless its thread sleeps."""

    slot: int
    counted: Judged
    mark: int = NO_MARK


@dataclass(frozen=True)
class Key:
    """All that a state waits for equals something bound: `column` of an event must be what `slot` holds."""

    column: int
    slot: int


@dataclass(frozen=True)
class Waiting:
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
    judged: Judged
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

    program: Program
    states: tuple[Waiting, ...]
    edges: tuple[LoweredEdge, ...]
    finals: tuple[Register, ...]
    registers: Mapping[Register, int]


def lower(
    subscription: CheckedSubscription,
    numbers: Numbers,
    parameters: Mapping[str, Type] | None = None,
    *,
    selected: bool = False,
    keyed: bool = True,
) -> Lowered:
    """A subscription in numbers; `parameters` are the columns of its FOR EACH table.

    With `selected` the conditions on parameters are answered beforehand, for all rows at once: see plan.selection.
    Without `keyed` instances are never looked up by value.
    """
    return _Lowering(subscription, numbers, dict(parameters or {}), selected=selected, keyed=keyed).lowered()


class _Lowering:
    def __init__(
        self,
        subscription: CheckedSubscription,
        numbers: Numbers,
        parameters: dict[str, Type],
        *,
        selected: bool,
        keyed: bool,
    ) -> None:
        self.selected, self.keyed = selected, keyed
        self.subscription = subscription
        self.numbers = numbers
        self.automaton = machine.build(subscription)
        self.distances = distances(self.automaton) if is_strict(self.automaton, subscription) else {}
        self.registers = Registers(subscription, parameters, numbers.store)
        self.first, self.last = self._ends()
        self.deferred: dict[str, None] = {}
        self.sides: dict[Register, frozenset[str]] = {}  # whose beginning a register keeps
        self.seen: dict[Register, _Side] = {}  # for which side a register keeps a variable
        self.leading = {step: None for edge in self.automaton.edges for step in edge.leading}
        late = (leaf for leaf, state in self._counting() if self._is_counted_late(leaf, state))
        self.counted_late = dict.fromkeys(late)
        for leaf in self.counted_late:
            self._defer(leaf.step)

    def lowered(self) -> Lowered:
        finals = self._finals()
        judged = [self._judged(edge) for edge in self.automaton.edges]
        variables = [self._variables(edge) for edge in self.automaton.edges]
        states = tuple(self._waiting(i, state) for i, state in enumerate(self.automaton.states))
        # All registers are known only now; an edge writes every one that its event has a part in.
        edges = tuple(
            LoweredEdge(e.source, e.target, e.thread, j, tuple(self._updates(e, v)))
            for e, j, v in zip(self.automaton.edges, judged, variables, strict=True)
        )
        numbered = {register: i for i, register in enumerate(finals)}
        remembers = any(not leaf.counted_here for leaf in self.counted_late)
        deferred = tuple(self.deferred)
        program = Program(
            self.subscription,
            self.automaton,
            numbered,
            tuple(self.leading),
            deferred,
            remembers,
            self.first,
            self.last,
            tuple(self._deadlines()),
        )
        return Lowered(program, states, edges, finals, self.registers.registers)

    def _deadlines(self) -> Iterator[tuple[int, int | None, int | float]]:
        """As far as the time since when they count is kept."""
        slots = self.registers.registers
        for one in deadlines(self.subscription, self.automaton):
            register = Register("last", str(one.since), tree.TimeOf(tree.This()))
            if one.since is None or register in slots:
                yield one.state, None if one.since is None else slots[register], one.amount

    def _ends(self) -> tuple[str | None, str | None]:
        """The steps that every match begins and ends with, where those have no other event."""
        edges, states = self.automaton.edges, self.automaton.states
        ends = {number for number, state in enumerate(states) if isinstance(state.term, Done)}
        late = any(isinstance(state.term, Done) and state.term.trailing for state in states)
        first = _only([(e.leaf.step, e.source is None) for e in edges])
        return first, None if late else _only([(e.leaf.step, e.target in ends) for e in edges])

    def _finals(self) -> tuple[Register, ...]:
        """The registers that a finished match is asked for."""
        found: dict[Register, Type] = {}
        for name in self.subscription.positive:
            if not self.subscription.steps[name].shape.repeated:
                self.registers.register(Register("position", name), Type.INT)
                if name not in (self.first, self.last):
                    found[Register("position", name)] = Type.INT
        for absent in self.leading:
            found[Register("leading", absent)] = Type.INT
        for name, kind in self.subscription.variables.items():
            found[Register("variable", name)] = kind
        found |= self._aggregates()
        for register, kind in found.items():
            self.registers.register(register, kind)
        return tuple(found)

    def _aggregates(self) -> dict[Register, Type]:
        """What RETURN and HAVING aggregate over a repeated step, kept on the way rather than gathered at the end."""
        tree_ = self.subscription.tree
        asked = [r.expression for r in tree_.returns] + ([] if tree_.having is None else [tree_.having])
        found: dict[Register, Type] = {}
        for node in (n for e in asked for n in e.walk()):
            if isinstance(node, tree.Aggregate) and self.subscription.steps[str(node.step)].shape.repeated:
                for register in registers_of(node):
                    expression = register.expression
                    kind = Type.INT if register.kind in ("count", "known") else self.registers.event_type(expression)  # type: ignore[arg-type]
                    found[register] = kind
        return found

    # ── states ──

    def _waiting(self, number: int, state: machine.State) -> Waiting:
        term = state.term
        if isinstance(term, Done) and not term.trailing:
            return Waiting((), final=True)
        threads_ = tuple(self._thread(name, link_, state, view) for name, link_, view in self._links(state))
        ticks = tuple(self._ticking(state))
        key = self._key(number, state, ticks) if self.keyed else None
        return Waiting(threads_, ticks, key, waits=isinstance(term, Done))

    def _thread(self, name: str, link_: Link, state: machine.State, view: Viewpoint) -> Thread:
        """Each link must let an event pass, unless the event is bound under it."""
        kind, where = ANY, Judged()
        match link_.operator:
            case tree.Next():
                kind = NEXT
            case tree.FirstWhere(condition=condition):
                kind = WHERE
                where = self._split(tree.conjuncts(condition), view)
        absent = []
        for step in link_.absent:
            if self._is_deferred(step, state):
                self._defer(step)
            else:
                absent.append(self._split(self.subscription.steps[step].conditions, self._absent_view(step, state)))
        return Thread(kind, where, tuple(absent), self._mark(name))

    def _mark(self, name: str) -> int:
        """The slot of a thread's mark."""
        if not self.subscription.simultaneous:
            return NO_MARK
        return self.registers.register(Register("mark", name), Type.INT)

    def _operator_view(self, state: machine.State, wait: Wait, around: tuple[Both, ...]) -> Viewpoint:
        """How a θ sees things: beside `&` only what is bound in its own thread, and before the conjunction."""
        if not around:
            return Viewpoint(self.registers, None, None, state.bound)
        sides = _sides(self.subscription.pattern, wait.name)[: len(around)]
        own = sum(1 for _ in takewhile(lambda both: not both.anchored, around))
        began = BEGAN
        if own:
            began = Register(f"began in {own}", min(sides[own - 1].steps))
            self.sides[began] = sides[own - 1].steps
        operator = wait.link.operator
        named = machine.named([operator.condition])[1] if isinstance(operator, tree.FirstWhere) else ()
        variables = self._seen(sides, sorted(named))
        return Viewpoint(self.registers, None, None, state.bound, {}, wait.name, began, variables)

    def _seen(self, sides: list[_Side], variables: Iterable[str]) -> dict[str, Register]:
        """The registers of variables that other sides of `&` may bind too: a θ sees only what its own side has."""
        found: dict[str, Register] = {}
        steps = list(self.subscription.steps)
        for side in sides:
            for name in variables:
                if name in found or machine.binders(self.subscription, name) & side.others:
                    first = min(map(steps.index, side.steps))
                    found[name] = Register(f"variable of {first} in {side.depth}", name)
                    self.seen[found[name]] = side
                    self.registers.register(found[name], self.subscription.variables[name])
        return found

    def _absent_view(self, step: str, state: machine.State) -> Viewpoint:
        return Viewpoint(self.registers, step, None, state.bound)

    def _ticking(self, state: machine.State) -> Iterable[Tick]:
        """What a state counts: the events that satisfy each a[i] it waits for."""
        leaves = {move.leaf: None for move in moves(state.term) if move.leaf.index and move.leaf.counted_here}
        for leaf in (one for one in leaves if one not in self.counted_late):
            step = self.subscription.steps[leaf.step]
            view = Viewpoint(self.registers, leaf.step, leaf.step, state.bound)
            slot = self.registers.register(Register("ticks", leaf.step), Type.INT)
            mine = (wait.name for wait, _ in waits(state.term) if any(o.leaf == leaf for o in wait.options))
            mark = next(map(self._mark, mine), NO_MARK)  # a side of & that has not begun does not sleep
            yield Tick(slot, self._split(step.counted, view), mark)

    def _links(self, state: machine.State) -> list[tuple[str, Link, Viewpoint]]:
        """A state's threads: their names, their links, and from where their θ are judged.

        A state that is done but for a negation waits for its window to pass.
        """
        if isinstance(state.term, Done) and state.term.trailing:
            view = Viewpoint(self.registers, None, None, state.bound)
            return [("", Link(tree.Later(), state.term.trailing), view)]
        return [(wait.name, wait.link, self._operator_view(state, wait, around)) for wait, around in waits(state.term)]

    def _is_deferred(self, step: str, state: machine.State) -> bool:
        """Whether a negated step names what may be bound only after the gap.

        Beside `&` the event before the gap need not be the one bound last, which is all that the kernel knows.
        """
        if isinstance(state.term, Both) and any(is_relative(c) for c in self.subscription.steps[step].conditions):
            return True
        later = self.automaton.later(state)
        named, variables = machine.named(self.subscription.steps[step].conditions)
        return bool(named & later) or any(
            v not in state.variables and machine.binders(self.subscription, v) & later for v in variables
        )

    def _defer(self, step: str) -> None:
        self.deferred[step] = None
        self.registers.register(Register("where", step), Type.INT)

    # ── counts ──

    def _counting(self) -> Iterator[tuple[Leaf, machine.State]]:
        """Every a[i] with every state that waits for it."""
        for edge in self.automaton.edges:
            if edge.leaf.index:
                yield edge.leaf, machine.BEFORE if edge.source is None else self.automaton.states[edge.source]

    def _is_counted_late(self, leaf: Leaf, state: machine.State) -> bool:
        """Whether it is known only on the finished match what an a[i] counts by.

        A variable that it binds itself differs for each of its events, and beside `&` what it names may come later.
        Where nothing precedes it counts in the whole lane, and can do so beforehand by its own event only.
        """
        step = self.subscription.steps[leaf.step]
        if not leaf.counted_here:
            return self._every(leaf) is None
        later = self.automaton.later(state)
        named, variables = machine.named(step.counted)
        return bool(named & later - {leaf.step}) or any(
            v not in state.variables and machine.binders(self.subscription, v) & later for v in variables
        )

    # ── keys ──

    def _key(self, number: int, state: machine.State, ticks: tuple[Tick, ...]) -> Key | None:
        """By what the instances of a state can be found: an equality that all it waits for has in common.

        That makes PER implicit (P-ToPSS's `ip = $x`, AYAC's hashed queues), and is Cayuga's index of affected
        instances where `;{name = a.name}` says it.
        """
        if self.subscription.simultaneous or ticks:
            return None
        wanted: list[dict[tuple[tree.Expression, Register], None]] = []
        links = self._links(state)
        for _, link_, view in links:
            if isinstance(link_.operator, tree.Next):
                return None
            if isinstance(link_.operator, tree.FirstWhere):
                where = tree.conjuncts(link_.operator.condition)
                wanted.append(self._equalities(where, view))
            for step in link_.absent:
                if not self._is_deferred(step, state):
                    conditions = self.subscription.steps[step].conditions
                    wanted.append(self._equalities(conditions, self._absent_view(step, state)))
        for edge in self.automaton.leaving(number):
            if edge.thread < 0 or not isinstance(links[edge.thread][1].operator, tree.FirstWhere):
                view = Viewpoint(self.registers, edge.leaf.step, edge.leaf.step, state.bound, dict(edge.binding))
                own = [c.expression for c in edge.judged if c.owner == edge.leaf.step]
                own += [tree.Binary("=", tree.Variable(v), e) for v, e in edge.agreeing]
                wanted.append(self._equalities(own, view))
        common = [e for e in wanted[0] if all(e in others for others in wanted)] if wanted else []
        if not common:
            return None
        expression, register = common[0]
        kind = self.registers.types[register]
        bucket = Register(f"bucket of {register.kind}", register.step, register.expression)
        return Key(self.registers.column(Hashed(expression, kind)), self.registers.register(bucket, kind))

    def _equalities(
        self, conditions: Iterable[tree.Expression], view: Viewpoint
    ) -> dict[tuple[tree.Expression, Register], None]:
        """The expressions of an event that must equal what a register holds."""
        found: dict[tuple[tree.Expression, Register], None] = {}
        for condition in conditions:
            match view.spelled(condition):
                case tree.Binary(operator="=", left=one, right=other):
                    for event, bound in ((one, other), (other, one)):
                        register = self._held(view, bound)
                        if register is None or not is_static(of_this(event)):
                            continue
                        place = view.operand(event)
                        if (
                            place is not None
                            and place.kind == "column"
                            and place.type is self.registers.types[register]
                        ):
                            found[of_this(event), register] = None
        return found

    def _held(self, view: Viewpoint, expression: tree.Expression) -> Register | None:
        """The register in which an expression lies that does not change while its instance waits."""
        operand = view.operand(expression)
        if operand is None or operand.kind != "slot":
            return None
        register = next(r for r, slot in self.registers.registers.items() if slot == operand.index)
        if register.kind == "variable":
            binders = [e for s in self.subscription.steps.values() for v, e in s.binders if v == register.step]
            return register if all(is_static(e) for e in binders) else None
        return register if register.kind in ("first", "last") else None

    # ── conditions ──

    def _split(self, conditions: Iterable[tree.Expression], view: Viewpoint) -> Judged:
        static: list[tree.Expression] = []
        compared: list[tree.Expression] = []
        for condition in conditions:
            answered = isinstance(condition, Every) or is_static(condition)
            (static if answered else compared).append(condition)
        return Judged(self.numbers.predicate(static), self._code(compared, view))

    def _code(self, conditions: list[tree.Expression], view: Viewpoint) -> int:
        if not conditions:
            return NO_CODE
        together = conditions[0]
        for condition in conditions[1:]:
            together = tree.Binary("AND", together, condition)
        return self._compiled(together, view)

    def _compiled(self, expression: tree.Expression, view: Viewpoint) -> int:
        reads: set[int] = set()

        def operand(part: tree.Expression) -> Operand | None:
            found = view.operand(part)
            if found is not None and found.kind == "slot":
                reads.add(found.index)
            return found

        code = compile_expression(view.spelled(expression), operand, self.numbers.code_of)
        return self.numbers.coded(code, frozenset(reads))

    # ── edges ──

    def _judged(self, edge: machine.Edge) -> Judged:
        """Code and predicate of an edge."""
        bound = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        binding = dict(edge.binding)
        own = [self._by_distance(c.expression, edge) for c in edge.judged if c.owner == edge.leaf.step]
        if self.selected and edge.source is None:
            own = [*(c for c in own if not has_parameter(c)), Selected()]
        view = Viewpoint(self.registers, edge.leaf.step, edge.leaf.step, bound, binding)
        own += [tree.Binary("=", tree.Variable(v), e) for v, e in edge.agreeing]
        own += [tree.IsNull(e, negated=True) for _, e in edge.binding]
        if edge.leaf.index and edge.leaf not in self.counted_late:
            own.append(self._counted(edge.leaf))
        judged = self._split(own, view)
        code = judged.code
        for condition in (c for c in edge.judged if c.owner != edge.leaf.step):
            earlier = Viewpoint(self.registers, condition.owner, edge.leaf.step, bound, binding)
            more = self._compiled(condition.expression, earlier)
            code = more if code == NO_CODE else self._both(code, more)
        return Judged(judged.predicate, code)

    def _by_distance(self, condition: tree.Expression, edge: machine.Edge) -> tree.Expression:
        """A condition with bound events as earlier events of the lane, if it can then be answered for whole batches.

        Where every operator is `,` a match's events follow one another in the lane, so it is often known how far back
        the event of a step lies.
        """
        known = self.distances.get(edge.source)
        if known is None:
            return condition
        found = lagged(condition, edge.leaf.step, known)
        return found if found is not None and is_static(found) else condition

    def _counted(self, leaf: Leaf) -> tree.Expression:
        """Whether the event is the one that an a[i] means."""
        if leaf.counted_here:
            return tree.Binary("=", Ticks(leaf.step), tree.Literal(leaf.index))
        every = self._every(leaf)
        assert every is not None
        return every

    def _every(self, leaf: Leaf) -> Every | None:
        """An `a[i]` that nothing precedes, where it counts by its own event: anything else differs for each match."""
        step = self.subscription.steps[leaf.step]
        view = Viewpoint(self.registers, leaf.step, leaf.step, frozenset())
        conditions, values = [], []
        for condition in step.counted:
            bound = bound_by(condition, step.binders)
            if bound is not None:
                values.append(bound)
                continue
            spelled = view.spelled(condition)
            others = [n for n in spelled.walk() if is_of_another(n, leaf.step)]
            spelled = of_this(spelled)
            if others or not is_static(spelled, given=tree.Parameter):
                return None
            conditions.append(spelled)
        return Every(leaf.step, leaf.index, tuple(conditions), tuple(values))

    def _both(self, one: int, other: int) -> int:
        """Two codes that must both hold, as one."""
        first, second = self.numbers.codes[one], self.numbers.codes[other]
        linked = link([first, second])
        ops = np.concatenate([linked.code.ops, np.array([[Op.AND, 0, 0]], np.int32)])
        depth = max(first.depth, second.depth + 1)
        code = Code(ops, linked.code.constants_f, linked.code.constants_i, depth)
        return self.numbers.coded(code, self.numbers.reads[one] | self.numbers.reads[other])

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

    # ── what edges keep ──

    def _updates(self, edge: machine.Edge, variables: list[tuple[Register, tree.Expression, int]]) -> list[Update]:
        step = edge.leaf.step
        before = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        updates: list[Update] = []
        numbers, deferred = self.registers.registers, list(self.deferred)
        for register, side in self.seen.items():
            updates += self._shown(edge, register, side)  # first, as it reads what variables were
        for register, expression, code in variables:
            slot, kind = numbers[register], self.registers.types[register]
            if code != NO_CODE:
                updates.append(Update(RUN, slot, 0, code, kind is Type.FLOAT))
            else:
                updates.append(Update(SET, slot, self.registers.column(of_this(expression))))
            bucket = Register("bucket of variable", register.step, register.expression)
            if bucket in numbers:
                column = self.registers.column(Hashed(of_this(expression), kind))
                updates.append(Update(SET, numbers[bucket], column))
        updates += [Update(GAP, numbers[Register("where", gap)], deferred.index(gap)) for gap in self._gaps(edge)]
        updates += [Update(POSITION, numbers[Register("leading", absent)], 0) for absent in edge.leading]
        following = self._begun(edge)
        if self.subscription.simultaneous:
            names = [wait.name for wait in following] or [""]
            marks = [numbers[Register("mark", one)] for one in names if Register("mark", one) in numbers]
            updates += [Update(RUN, mark, 0, self._constant(ASLEEP)) for mark in marks]
        for wait in following:
            counted = {o.leaf: None for o in wait.options if o.leaf.index and o.leaf.counted_here}
            ticking = [leaf.step for leaf in counted if leaf not in self.counted_late]
            updates += [Update(RUN, numbers[Register("ticks", one)], 0, self._constant(None)) for one in ticking]
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

    def _shown(self, edge: machine.Edge, register: Register, side: _Side) -> Iterator[Update]:
        """What a side sees of a variable: what was seen before the conjunction, then what it binds itself."""
        step, slot, name = edge.leaf.step, self.registers.registers[register], register.step
        is_float = self.registers.types[register] is Type.FLOAT
        state = machine.BEFORE if edge.source is None else self.automaton.states[edge.source]
        around = _sides(self.subscription.pattern, step)
        inside = depth(state.term, step)
        if step in side.steps | side.others and inside < side.depth:
            before = Viewpoint(self.registers, None, None, state.bound, variables=self._seen(around[:inside], [name]))
            yield Update(RUN, slot, 0, self._compiled(tree.Variable(name), before), is_float)
        view = Viewpoint(self.registers, step, step, state.bound)
        for variable, value in self.subscription.steps[step].binders:
            if step in side.steps and variable == name:
                yield Update(RUN, slot, 0, self._compiled(value, view), is_float)

    def _begun(self, edge: machine.Edge) -> tuple[Wait, ...]:
        """The waits that the event of an edge precedes."""
        source = None if edge.source is None else self.automaton.states[edge.source].term
        return begun(source, edge.thread, self.automaton.states[edge.target].term)

    def _constant(self, value: int | None) -> int:
        """The code of a constant."""
        code = compile_expression(tree.Literal(value), lambda _: None, self.numbers.code_of)
        return self.numbers.coded(code, frozenset())

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
        if register == BEGAN or register in self.sides:
            steps = self.sides.get(register, frozenset({step}) | before)
            begins = step in steps and not before & steps
            return Update(SET, slot, self.registers.column(Start())) if begins else None
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
                hashed = Hashed(register.expression, self.registers.types[register])
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


def _only(bound: list[tuple[str, bool]]) -> str | None:
    """The step that all chosen edges bind, if no other edge binds it."""
    steps, others = ({step for step, chosen in bound if chosen is wanted} for wanted in (True, False))
    return steps.pop() if len(steps) == 1 and not steps & others else None


@dataclass(frozen=True)
class _Side:
    """The steps of a side of `&`, those of the other sides, and in how many conjunctions it stands."""

    steps: frozenset[str]
    others: frozenset[str]
    depth: int


def _sides(pattern: tree.Pattern, step: str) -> list[_Side]:
    """The sides of `&` in which a step stands, the outer ones first."""
    found: list[_Side] = []
    for node in pattern.walk():
        if isinstance(node, tree.Conjunction):
            sides = [frozenset(str(n.name) for n in side.walk() if isinstance(n, tree.Step)) for side in node.sides]
            everyone = frozenset().union(*sides)
            found += [_Side(side, everyone - side, len(found) + 1) for side in sides if step in side]
    return found


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
