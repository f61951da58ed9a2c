"""A subscription's automaton in the numbers of its machine: predicates, code, slots, and what each edge keeps.

Conditions about the event alone are *static*: they have numbers and are answered by the filter for whole batches. The
others become code. What the kernel does not judge is listed: conditions for the finished match, and absences that name
steps bound after the gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.kernels.layout import ANY, NEXT, WHERE
from foretell.plan.condition_scope import bound_by, has_parameter, is_of_another, is_relative, is_static
from foretell.plan.expressions import EveryNth, IndexKey, OccurrenceCount, RowSelected, about_current_event
from foretell.plan.lower.condition_split import ConditionSplit
from foretell.plan.lower.ir import (
    NO_CODE,
    NO_MARK,
    Guard,
    Key,
    Lowered,
    LoweredEdge,
    Numbers,
    Thread,
    Tick,
    WaitingState,
)
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.register_updates import RegisterUpdates
from foretell.plan.lower.registers import BEGAN, Register, Registers, Viewpoint, registers_of
from foretell.plan.nfa import automaton as machine
from foretell.plan.nfa.conjunction_scopes import SideRegisters
from foretell.plan.nfa.derivatives import Connector, Done, Interleaving, Leaf, Wait, moves, waits
from foretell.plan.nfa.expiry import deadlines
from foretell.plan.nfa.lag_rewrite import distances, is_strict, lagged


def lower_nfa(
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
        self.judging = ConditionSplit(numbers)
        self.deferred: dict[str, None] = {}
        self.sides = SideRegisters(subscription, self.registers)
        self.leading = {step: None for edge in self.automaton.edges for step in edge.leading}
        late = (leaf for leaf, state in self._counting() if self._is_counted_late(leaf, state))
        self.counted_late = dict.fromkeys(late)
        self.keeping = RegisterUpdates(
            subscription, self.automaton, self.registers, self.judging, self.sides, self.deferred, self.counted_late
        )
        for leaf in self.counted_late:
            self._defer(leaf.step)

    def lowered(self) -> Lowered:
        finals = self._finals()
        judged = [self._judged(edge) for edge in self.automaton.edges]
        variables = [self.keeping.bound(edge) for edge in self.automaton.edges]
        states = tuple(self._waiting(i, state) for i, state in enumerate(self.automaton.states))
        # All registers are known only now; an edge writes every one that its event has a part in.
        edges = tuple(
            LoweredEdge(e.source, e.target, e.thread, j, tuple(self.keeping.updates(e, v)))
            for e, j, v in zip(self.automaton.edges, judged, variables, strict=True)
        )
        numbered = {register: i for i, register in enumerate(finals)}
        remembers = any(not leaf.counted_here for leaf in self.counted_late)
        deferred = tuple(self.deferred)
        program = SubscriptionPlan(
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

    def _waiting(self, number: int, state: machine.State) -> WaitingState:
        term = state.term
        if isinstance(term, Done) and not term.trailing:
            return WaitingState((), final=True)
        threads_ = tuple(self._thread(name, link_, state, view) for name, link_, view in self._links(state))
        ticks = tuple(self._ticking(state))
        key = self._key(number, state, ticks) if self.keyed else None
        return WaitingState(threads_, ticks, key, waits=isinstance(term, Done))

    def _thread(self, name: str, link_: Connector, state: machine.State, view: Viewpoint) -> Thread:
        """Each link must let an event pass, unless the event is bound under it."""
        kind, where = ANY, Guard()
        match link_.operator:
            case tree.Next():
                kind = NEXT
            case tree.FirstWhere(condition=condition):
                kind = WHERE
                where = self.judging.split(tree.conjuncts(condition), view)
        absent = []
        for step in link_.absent:
            if self._is_deferred(step, state):
                self._defer(step)
            else:
                absent.append(
                    self.judging.split(self.subscription.steps[step].conditions, self._absent_view(step, state))
                )
        return Thread(kind, where, tuple(absent), self._mark(name))

    def _mark(self, name: str) -> int:
        """The slot of a thread's mark."""
        if not self.subscription.simultaneous:
            return NO_MARK
        return self.registers.register(Register("mark", name), Type.INT)

    def _operator_view(self, state: machine.State, wait: Wait, around: tuple[Interleaving, ...]) -> Viewpoint:
        """How a θ sees things: beside `&` only what is bound in its own thread, and before the conjunction."""
        if not around:
            return Viewpoint(self.registers, None, None, state.bound)
        sides = self.sides.of(wait.name)[: len(around)]
        own = sum(1 for _ in takewhile(lambda both: not both.anchored, around))
        began = BEGAN
        if own:
            began = self.sides.began(sides[own - 1], own)
        operator = wait.link.operator
        named = machine.named([operator.condition])[1] if isinstance(operator, tree.FirstWhere) else ()
        variables = self.sides.see(sides, sorted(named))
        return Viewpoint(self.registers, None, None, state.bound, {}, wait.name, began, variables)

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
            yield Tick(slot, self.judging.split(step.counted, view), mark)

    def _links(self, state: machine.State) -> list[tuple[str, Connector, Viewpoint]]:
        """A state's threads: their names, their links, and from where their θ are judged.

        A state that is done but for a negation waits for its window to pass.
        """
        if isinstance(state.term, Done) and state.term.trailing:
            view = Viewpoint(self.registers, None, None, state.bound)
            return [("", Connector(tree.Later(), state.term.trailing), view)]
        return [(wait.name, wait.link, self._operator_view(state, wait, around)) for wait, around in waits(state.term)]

    def _is_deferred(self, step: str, state: machine.State) -> bool:
        """Whether a negated step names what may be bound only after the gap.

        Beside `&` the event before the gap need not be the one bound last, which is all that the kernel knows.
        """
        if isinstance(state.term, Interleaving) and any(
            is_relative(c) for c in self.subscription.steps[step].conditions
        ):
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
        return Key(self.registers.column(IndexKey(expression, kind)), self.registers.register(bucket, kind))

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
                        if register is None or not is_static(about_current_event(event)):
                            continue
                        place = view.operand(event)
                        if (
                            place is not None
                            and place.kind == "column"
                            and place.type is self.registers.types[register]
                        ):
                            found[about_current_event(event), register] = None
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

    # ── edges ──

    def _judged(self, edge: machine.Edge) -> Guard:
        """Code and predicate of an edge."""
        bound = frozenset() if edge.source is None else self.automaton.states[edge.source].bound
        binding = dict(edge.binding)
        own = [self._by_distance(c.expression, edge) for c in edge.judged if c.owner == edge.leaf.step]
        if self.selected and edge.source is None:
            own = [*(c for c in own if not has_parameter(c)), RowSelected()]
        view = Viewpoint(self.registers, edge.leaf.step, edge.leaf.step, bound, binding)
        own += [tree.Binary("=", tree.Variable(v), e) for v, e in edge.agreeing]
        own += [tree.IsNull(e, negated=True) for _, e in edge.binding]
        if edge.leaf.index and edge.leaf not in self.counted_late:
            own.append(self._counted(edge.leaf))
        judged = self.judging.split(own, view)
        code = judged.code
        for condition in (c for c in edge.judged if c.owner != edge.leaf.step):
            earlier = Viewpoint(self.registers, condition.owner, edge.leaf.step, bound, binding)
            more = self.judging.compiled(condition.expression, earlier)
            code = more if code == NO_CODE else self.judging.both(code, more)
        return Guard(judged.predicate, code)

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
            return tree.Binary("=", OccurrenceCount(leaf.step), tree.Literal(leaf.index))
        every = self._every(leaf)
        assert every is not None
        return every

    def _every(self, leaf: Leaf) -> EveryNth | None:
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
            spelled = about_current_event(spelled)
            if others or not is_static(spelled, given=tree.Parameter):
                return None
            conditions.append(spelled)
        return EveryNth(leaf.step, leaf.index, tuple(conditions), tuple(values))


def _only(bound: list[tuple[str, bool]]) -> str | None:
    """The step that all chosen edges bind, if no other edge binds it."""
    steps, others = ({step for step, chosen in bound if chosen is wanted} for wanted in (True, False))
    return steps.pop() if len(steps) == 1 and not steps & others else None
