"""A `;` sequence of single steps as arrival lists: what each step keeps, and where each condition is judged.

Every step of such a pattern is bound in every match, and to one event. So `prev`, `duration`, variables and aggregates
are only other ways to name the event of some step, and a condition is about the events of the steps it names
(`Question`). Matches are enumerated from the last step backwards (AYAC, section 4.2): a condition is judged when the
earliest of its steps is bound. What asks of every step that some value be the same (P-ToPSS's `ip = $x`, section 3.2)
is not judged at all: it says in which list an arrival stands (AYAC's hashed queues, section 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.bytecode import Code, Linked, Operand, compile_expression, link
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.registers import Began, Known, Register, Registers, Selected, Start, mapped, of_this
from foretell.plan.nfa.automaton import build

Value = tuple[str, tree.Expression]  # of the event of a step: an expression about one event


@dataclass(frozen=True)
class KnownOf(tree.Expression):
    """1 where an attribute of a step's event is not NULL, else 0."""

    step: str
    attribute: str


@dataclass(frozen=True)
class Question:
    """A condition in which every event is named by its step. `steps` are those it is about."""

    expression: tree.Expression
    steps: frozenset[str]


@dataclass(frozen=True)
class Gap:
    """A negated step and the place of the step before it."""

    step: str
    after: int


@dataclass(frozen=True)
class Asked:
    """All that a sequence asks. `keys` has for each value that all steps share what it is of each step's event.

    `own` are the questions about one event, of steps and negated steps, `between` those about several steps. `open`
    has the negated steps that ask for more than one event can answer, and that the keys do not answer either.
    """

    steps: tuple[str, ...]
    gaps: tuple[Gap, ...]
    keys: tuple[Mapping[str, tree.Expression], ...]
    own: Mapping[str, tuple[tree.Expression, ...]]
    between: tuple[Question, ...]
    open: tuple[str, ...]


def ask(subscription: CheckedSubscription) -> Asked:
    """What a `;` sequence of single steps asks of its events (strategy.hindrance says whether it is one)."""
    return _Asking(subscription).asked()


class _Asking:
    def __init__(self, subscription: CheckedSubscription) -> None:
        self.subscription = subscription
        self.steps = subscription.positive
        self.types = Registers(subscription)
        assert isinstance(subscription.pattern, tree.Sequence)
        parts = subscription.pattern.parts
        self.gaps = tuple(Gap(str(n.step.name), i) for i, part in enumerate(parts[1:]) for n in part.absent)
        self.binders: dict[str, list[Value]] = {}
        for step in self.steps:
            for name, value in subscription.steps[step].binders:
                self.binders.setdefault(name, []).append((step, value))

    def asked(self) -> Asked:
        questions = [*self._conditions(self.steps), *self._agreements()]
        same, rest = _Same(), []
        for question in questions:
            pair = self._equal(question)
            if pair is None:
                rest.append(question)
            else:
                same.add(*pair)
        keys = []
        for members in same.classes():
            by_step = dict(members)
            if len(by_step) == len(self.steps):
                keys.append(by_step)
            # Equality is handed on, so each is compared with the next, and backwards the next is bound already.
            rest += self._chained(members, across=len(by_step) < len(self.steps))
        absent, keyed, unanswered = self._absences(keys, same)
        own = {s: tuple(q.expression for q in rest if q.steps == {s}) for s in self.steps} | absent
        between = tuple(q for q in rest if len(q.steps) > 1)
        return Asked(self.steps, self.gaps, tuple(keyed), own, between, tuple(unanswered))

    def _place(self, value: Value) -> int:
        return self.steps.index(value[0])

    def _conditions(self, steps: Iterable[str]) -> Iterator[Question]:
        for step in steps:
            for condition in self.subscription.steps[step].conditions:
                yield self._question(step, self._spelled(condition, step))

    def _agreements(self) -> Iterator[Question]:
        """What binds a variable agrees with what bound it first, and is not NULL."""
        for (first, value), *others in self.binders.values():
            bound = self._spelled(value, first)
            if not others:
                yield self._question(first, tree.IsNull(bound, negated=True))
            for step, another in others:
                yield self._question(step, tree.Binary("=", self._spelled(another, step), bound))

    def _question(self, owner: str, expression: tree.Expression) -> Question:
        return Question(expression, frozenset({owner, *named(expression, self.steps[0])}))

    def _equal(self, question: Question) -> tuple[Value, Value] | None:
        """The two values that a question wants to be equal, where they are of two events and of one type."""
        match question.expression:
            case tree.Binary(operator="=", left=left, right=right):
                one, other = value_of(left), value_of(right)
                if one is None or other is None or one[0] == other[0]:
                    return None
                kinds = [self.types.event_type(v) for _, v in (one, other)]
                return (one, other) if kinds[0] is kinds[1] and kinds[0] is not Type.NULL else None
        return None

    def _chained(self, members: list[Value], *, across: bool) -> Iterator[Question]:
        for one, other in pairwise(sorted(members, key=self._place)):
            if across or one[0] == other[0]:
                left, right = (of_step(value, step) for step, value in (one, other))
                yield Question(tree.Binary("=", left, right), frozenset({one[0], other[0]}))

    def _absences(
        self, keys: list[dict[str, tree.Expression]], same: _Same
    ) -> tuple[dict[str, tuple[tree.Expression, ...]], list[dict[str, tree.Expression]], list[str]]:
        """What negated steps ask of their own event, the keys with theirs, and which of them ask for more."""
        own: dict[str, tuple[tree.Expression, ...]] = {}
        keyed, unanswered = [dict(key) for key in keys], []
        for gap in self.gaps:
            before = self.steps[gap.after]
            mine: list[tree.Expression] = []
            found: dict[int, tree.Expression] = {}
            for condition in self.subscription.steps[gap.step].conditions:
                question = self._question(gap.step, self._spelled(condition, gap.step, before))
                number = self._joined(question, gap.step, keys, same)
                if question.steps == {gap.step}:
                    mine.append(question.expression)
                elif number is not None and number[0] not in found:
                    found[number[0]] = number[1]
                else:
                    unanswered.append(gap.step)
            if found and len(found) < len(keys):
                unanswered.append(gap.step)
            for i, value in found.items():
                keyed[i][gap.step] = value
            own[gap.step] = tuple(mine)
        return own, keyed, list(dict.fromkeys(unanswered))

    def _joined(
        self, question: Question, step: str, keys: list[dict[str, tree.Expression]], same: _Same
    ) -> tuple[int, tree.Expression] | None:
        """The key that a negated step wants to have too, and what it is of its event."""
        pair = self._equal(question)
        if pair is None:
            return None
        (mine, value), other = pair if pair[0][0] == step else pair[::-1]
        for number, key in enumerate(keys):
            if mine == step and same.root(other) in {same.root(v) for v in key.items()}:
                return number, value
        return None

    # ── spelling ──

    def _spelled(self, expression: tree.Expression, own: str, before: str | None = None) -> tree.Expression:
        """The expression with every event named by its step. `before` is the step that precedes a negated one."""
        match expression:
            case tree.Attribute(event=event) | tree.TimeOf(event=event) | tree.StreamOf(event=event):
                step = self._step(event, own, before)
                return tree.Literal(None) if step is None else replace(expression, event=tree.BoundEvent(step))
            case tree.Variable(name=name):
                step, value = self.binders[name][0]
                return self._spelled(value, step)
            case tree.Elapsed():
                return tree.Binary("-", tree.TimeOf(tree.BoundEvent(own)), Began())
            case tree.Aggregate(function=function, step=step, attribute=attribute):
                return _alone(function, str(step), attribute)
        return mapped(expression, lambda e: self._spelled(e, own, before))

    def _step(self, event: tree.EventReference, own: str, before: str | None) -> str | None:
        match event:
            case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step):
                return str(step)
            case tree.Previous() if before is not None:
                return before
            case tree.Previous():
                place = self.steps.index(own)
                return self.steps[place - 1] if place else None
        return own


class _Same:
    """Values that are asked to be equal, in classes (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[Value, Value] = {}

    def add(self, one: Value, other: Value) -> None:
        self._parent.setdefault(one, one)
        self._parent.setdefault(other, other)
        self._parent[self.root(one)] = self.root(other)

    def root(self, value: Value) -> Value:
        while self._parent.get(value, value) != value:
            value = self._parent[value]
        return value

    def classes(self) -> list[list[Value]]:
        found: dict[Value, list[Value]] = {}
        for value in self._parent:
            found.setdefault(self.root(value), []).append(value)
        return list(found.values())


def named(expression: tree.Expression, first: str) -> set[str]:
    """The steps whose events an expression names; `first` is where a match begins."""
    steps = set()
    for node in expression.walk():
        match node:
            case tree.BoundEvent(step=step) | KnownOf(step=step):
                steps.add(str(step))
            case Began():
                steps.add(first)
    return steps


def value_of(expression: tree.Expression) -> Value | None:
    """The step and the expression about its event, where an expression speaks of one event and nothing else."""
    if isinstance(expression, KnownOf):
        return expression.step, Known(expression.attribute)
    nodes = list(expression.walk())
    steps = {str(node.step) for node in nodes if isinstance(node, tree.BoundEvent)}
    if len(steps) != 1 or any(isinstance(node, tree.Parameter | Began | KnownOf) for node in nodes):
        return None
    return steps.pop(), of_this(expression)


def of_step(value: tree.Expression, step: str) -> tree.Expression:
    """An expression about one event with that event named by its step."""
    match value:
        case tree.Attribute() | tree.TimeOf() | tree.StreamOf():
            return replace(value, event=tree.BoundEvent(step))
        case Known(attribute=attribute):
            return KnownOf(step, attribute)
    return mapped(value, lambda e: of_step(e, step))


def _alone(function: str, step: str, attribute: str | None) -> tree.Expression:
    """An aggregate over the one event of a step."""
    if attribute is None:
        return tree.Literal(1)
    value = tree.Attribute(tree.BoundEvent(step), attribute)
    match function:
        case "count":
            return KnownOf(step, attribute)
        case "avg":
            return tree.Binary("/", value, tree.Literal(1))
    return value


# ── Lowering ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ArrivalPlan:
    """What machine.exec.arrival_executor runs. Steps are numbered in their order, negated steps go on after them.

    | field | holds |
    | --- | --- |
    | program | that of the subscription, with nothing left for the finished match but HAVING and leading absences |
    | predicates | of each step: the conditions that the filter answers |
    | columns | what is computed of each event |
    | keys | of each step: the expressions whose values say in which list it stands; none: in that of its lane |
    | slots | how many values of bound events conditions compare with |
    | width | how many values of an arrival are kept, at most |
    | arrays | as the kernel reads them, see foretell.machine.exec.arrival_executor |
    """

    program: SubscriptionPlan
    steps: tuple[str, ...]
    predicates: tuple[tuple[tree.Expression, ...], ...]
    columns: tuple[tree.Expression, ...]
    keys: tuple[tuple[tree.Expression, ...], ...]
    key_types: tuple[Type, ...]
    slots: int
    width: int
    code: Linked
    arrays: tuple[Ints, ...]


def lower(
    subscription: CheckedSubscription,
    code_of: Callable[[str], int],
    parameters: Mapping[str, Type] | None = None,
    *,
    selected: bool = False,
) -> ArrivalPlan:
    """The plan for what strategy.choose gives to arrival lists; the arguments are those of plan.lowering.lower."""
    return _Lowering(program_of(subscription), code_of, dict(parameters or {}), selected=selected).plan()


def program_of(subscription: CheckedSubscription) -> SubscriptionPlan:
    """What is asked of finished matches: they carry the events of their steps, and their variables."""
    automaton = build(subscription)
    leading = tuple({step: None for edge in automaton.edges for step in edge.leading})
    finals = [Register("position", step) for step in subscription.positive]
    finals += [Register("leading", step) for step in leading]
    finals += [Register("variable", name) for name in subscription.variables]
    return SubscriptionPlan(subscription, automaton, {register: i for i, register in enumerate(finals)}, leading, ())


class _Lowering:
    def __init__(
        self, program: SubscriptionPlan, code_of: Callable[[str], int], parameters: dict[str, Type], *, selected: bool
    ) -> None:
        self.program, self.code_of, self.selected = program, code_of, selected
        self.asked = ask(program.subscription)
        self.registers = Registers(program.subscription, parameters)
        self.kept: list[dict[int, int]] = [{} for _ in self.asked.steps]  # of each step, columns and their numbers
        self.slots: dict[tuple[int, int], int] = {}  # by step and number there
        self.codes: list[Code] = []

    def plan(self) -> ArrivalPlan:
        steps = self.asked.steps
        everyone = (*steps, *(gap.step for gap in self.asked.gaps))
        parts = [self._split(step) for step in everyone]
        entry = [self._compiled(rest, self._at_arrival) for _, rest in parts]
        judged: list[list[int]] = [[] for _ in steps]
        for question in self.asked.between:
            level = min(steps.index(step) for step in question.steps)
            judged[level] += self._compiled([question.expression], self._backwards(level))
        told = [list(self._told(i)) for i in range(len(steps))]
        filled: list[list[tuple[int, int]]] = [[] for _ in steps]
        for (step, number), slot in self.slots.items():
            filled[step].append((number, slot))
        kept = [list(one) for one in self.kept]
        linked = link(self.codes)
        span = np.stack([linked.starts, linked.stops], axis=1)
        automaton, finals = self.program.automaton, self.program.finals
        return ArrivalPlan(
            replace(self.program, automaton=replace(automaton, final=())),
            steps,
            tuple(static for static, _ in parts),
            tuple(self.registers.store.columns),
            tuple(self._key(step) for step in everyone),
            tuple(self.registers.event_type(key[steps[0]]) for key in self.asked.keys),
            len(self.slots),
            max(map(len, kept)),
            linked,
            (
                _starts(entry),
                span[_rows(entry, 1)[:, 0]],
                _starts(judged),
                span[_rows(judged, 1)[:, 0]],
                _starts(kept),
                _rows(kept, 1)[:, 0].copy(),
                _starts(filled),
                _rows(filled, 2),
                _starts(told),
                _rows(told, 2),
                np.array([finals[Register("position", step)] for step in steps], np.int64),
                np.array([gap.after for gap in self.asked.gaps], np.int64),
                np.array([bool(self._key(gap.step)) for gap in self.asked.gaps], np.int64),
            ),
        )

    def _key(self, step: str) -> tuple[tree.Expression, ...]:
        return tuple(key[step] for key in self.asked.keys if step in key)

    def _split(self, step: str) -> tuple[tuple[tree.Expression, ...], list[tree.Expression]]:
        """What is asked of a step's own event: what the filter answers, and the rest."""
        static: list[tree.Expression] = []
        rest: list[tree.Expression] = []
        for condition in self.asked.own[step]:
            selecting = any(isinstance(node, tree.Parameter) for node in condition.walk())
            if selecting and self.selected and step == self.asked.steps[0]:
                continue
            plain = not selecting and not any(isinstance(n, Began | KnownOf) for n in condition.walk())
            (static if plain else rest).append(of_this(condition) if plain else condition)
        if self.selected and step == self.asked.steps[0]:
            static.append(Selected())
        return tuple(static), rest

    def _told(self, step: int) -> Iterator[tuple[int, int]]:
        """The values of a step's event that a match carries: the variables it was the first to bind."""
        first: dict[str, Value] = {}
        for name in self.asked.steps:
            for variable, value in self.program.subscription.steps[name].binders:
                first.setdefault(variable, (name, value))
        for variable, (name, value) in first.items():
            if name == self.asked.steps[step]:
                yield self._number(step, of_this(value)), self.program.finals[Register("variable", variable)]

    # ── code ──

    def _compiled(self, conditions: list[tree.Expression], place: Callable[[Value], Operand]) -> list[int]:
        """The numbers of the codes of conditions; all of them must hold."""
        numbers = []
        for condition in conditions:
            self.codes.append(compile_expression(condition, lambda e: self._operand(e, place), self.code_of))
            numbers.append(len(self.codes) - 1)
        return numbers

    def _operand(self, expression: tree.Expression, place: Callable[[Value], Operand]) -> Operand | None:
        match expression:
            case tree.Parameter(name=name):
                kinds = self.registers.parameters
                return Operand("parameter", list(kinds).index(name), kinds[name])
            case Began():
                return place((self.asked.steps[0], Start()))
        value = value_of(expression)
        return None if value is None else place(value)

    def _at_arrival(self, value: Value) -> Operand:
        """Where values lie when an event arrives: in the columns of its batch."""
        return self.registers.of_event(value[1])

    def _backwards(self, level: int) -> Callable[[Value], Operand]:
        """Where they lie when an arrival is tried: its own with it, those of later steps in slots."""

        def place(value: Value) -> Operand:
            step, kind = self.asked.steps.index(value[0]), self.registers.event_type(value[1])
            number = self._number(step, value[1])
            if step == level:
                return Operand("column", number, kind)
            return Operand("slot", self.slots.setdefault((step, number), len(self.slots)), kind)

        return place

    def _number(self, step: int, expression: tree.Expression) -> int:
        """Where a value of a step's event is kept; the last step's is not, it lies in its column."""
        column = self.registers.column(expression)
        if step == len(self.asked.steps) - 1:
            return column
        return self.kept[step].setdefault(column, len(self.kept[step]))


def _starts(lists: Sequence[Sequence[object]]) -> Ints:
    """Where each list begins when all stand in a row; one more at the end."""
    return np.array([0, *accumulate(map(len, lists))], np.int64)


def _rows(lists: Sequence[Sequence[object]], width: int) -> Ints:
    return np.array([row for rows in lists for row in rows], np.int64).reshape(-1, width)
