"""The automaton of a subscription, still in names: its states, its edges, and the conditions of each edge.

A state is a term (the rest of the pattern) with the steps and variables that are bound on the way there. So it is known
at compile time at which edge all steps that a condition names are bound. The earliest such edge evaluates it; a
condition that has to wait for the end of a repetition, or is about each event of one, is left for the finished match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from foretell.errors import LanguageError
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.derivatives import (
    START,
    Continuation,
    Done,
    Leaf,
    SideTerm,
    Term,
    Wait,
    continuations,
    initial_continuations,
)

#: A pattern that needs more states than this is refused, such as `a{100000}`.
MOST_STATES = 20_000


@dataclass(frozen=True)
class Condition:
    """A condition of a step, numbered in the order of the text. `owner` is the step it was written for."""

    number: int
    owner: str
    expression: tree.Expression = field(compare=False)


@dataclass(frozen=True)
class State:
    """The rest of the pattern, the steps and variables bound so far, and the conditions on steps still to be bound."""

    term: Term
    bound: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    pending: frozenset[Condition] = frozenset()


#: The state before the first event.
INITIAL = State(Wait(START, ()))


@dataclass(frozen=True)
class Edge:
    """An edge binds one event to a leaf, under the connector of a thread of its source (None: it begins the match).

    | field | holds |
    | --- | --- |
    | conditions | those of the leaf's step, and those of earlier steps that had to wait for it |
    | binds | the variables that it binds, and their values |
    | agrees | the variables that are bound already, and the values that must equal them |
    | leading | the negated steps that may not come in the window before the match |
    """

    source: int | None
    leaf: Leaf
    thread: int
    conditions: tuple[Condition, ...]
    binds: tuple[tuple[str, tree.Expression], ...]
    agrees: tuple[tuple[str, tree.Expression], ...]
    target: int
    leading: tuple[str, ...] = ()


@dataclass(frozen=True)
class Automaton:
    """The NFA of a subscription. `final` are the conditions left for the finished match."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    final: tuple[Condition, ...]

    def reachable_steps(self, state: State) -> frozenset[str]:
        """The steps that may be bound after a state."""
        return _ReachableSteps().of(state.term)

    def leaving(self, state: int | None) -> Iterator[Edge]:
        """The edges from a state; None is the state before the first event."""
        return (edge for edge in self.edges if edge.source == state)


def build(subscription: CheckedSubscription) -> Automaton:
    """The automaton of a subscription: its states are the partial derivatives of its pattern."""
    return _AutomatonBuilder(subscription).build()


class _AutomatonBuilder:
    def __init__(self, subscription: CheckedSubscription) -> None:
        self.subscription = subscription
        self.states: dict[State, int] = {}
        self.edges: list[Edge] = []
        self.final: dict[Condition, None] = {}
        self.reachable = _ReachableSteps()
        self.conditions: dict[str, tuple[Condition, ...]] = {}
        number = 0
        for name, step in subscription.steps.items():
            self.conditions[name] = tuple(Condition(number + i, name, c) for i, c in enumerate(step.conditions))
            number += len(step.conditions)

    def build(self) -> Automaton:
        todo: list[State | None] = [None]
        while todo:
            source = todo.pop()
            if source is None:
                following = initial_continuations(self.subscription.pattern)
            else:
                following = tuple(continuations(source.term))
            for continuation in following:
                for term in continuation.following:
                    target = self._add_edge(source, continuation, term)
                    if target is not None:
                        todo.append(target)
        return Automaton(tuple(self.states), tuple(self.edges), tuple(self.final))

    def _add_edge(self, source: State | None, continuation: Continuation, term: Term) -> State | None:
        """Adds an edge, and gives its target if that is new and goes on."""
        before = source or INITIAL
        step = self.subscription.steps[continuation.leaf.step]
        bound = before.bound | {step.name}
        binds = tuple((v, e) for v, e in step.binders if v not in before.variables)
        variables = before.variables | {v for v, _ in binds}
        later = self.reachable.of(term)
        conditions, pending = [], []
        for condition in (*sorted(before.pending, key=lambda c: c.number), *self.conditions[step.name]):
            match self._when(condition, bound, variables, later):
                case "now":
                    conditions.append(condition)
                case "later":
                    pending.append(condition)
                case "finally":
                    self.final[condition] = None
        target = State(term, bound, variables, frozenset(pending))
        new = target not in self.states
        number = self.states.setdefault(target, len(self.states))
        if number > MOST_STATES:
            raise LanguageError(
                "too-large",
                f"'{self.subscription.name}' needs more than {MOST_STATES:,} states",
                hint="repeat fewer times, or put fewer parts beside each other with &",
            )
        self.edges.append(
            Edge(
                None if source is None else self.states[source],
                continuation.leaf,
                continuation.thread,
                tuple(conditions),
                _first_of_each(binds),
                tuple((v, e) for v, e in step.binders if v in before.variables) + _repeated(binds),
                number,
                continuation.leading,
            )
        )
        return target if new and not isinstance(term, Done) else None

    def _when(
        self,
        condition: Condition,
        bound: frozenset[str],
        variables: frozenset[str],
        later: frozenset[str],
    ) -> str:
        """When a condition can be evaluated: now (by this edge), later (by another edge), finally (on the match)."""
        shapes = {name: step.shape for name, step in self.subscription.steps.items()}
        owner = shapes[condition.owner]
        missing = False
        for step in _named_steps(condition.expression) - {condition.owner}:
            if shapes[step].loops & owner.loops:
                continue  # of steps repeated together, the condition sees the events bound so far
            if shapes[step].repeated:
                if step in later:
                    return "finally"
            elif step not in bound and step in later:
                missing = True
        for variable in _named_variables(condition.expression) - variables:
            if binding_steps(self.subscription, variable) & later:
                missing = True
        if not missing:
            return "now"
        # The registers keep no condition for each event of a repetition, nor one about the event bound just before.
        return "finally" if owner.repeated or _is_momentary(condition.expression) else "later"


class _ReachableSteps:
    """The steps that a term may still bind, with a cache."""

    def __init__(self) -> None:
        self._known: dict[SideTerm, frozenset[str]] = {}

    def of(self, term: Term) -> frozenset[str]:
        if term not in self._known:
            seen: dict[Term, None] = {term: None}
            todo: list[Term] = [term]
            steps: set[str] = set()
            while todo:
                for continuation in continuations(todo.pop()):
                    steps.add(continuation.leaf.step)
                    for following in continuation.following:
                        if following not in seen:
                            seen[following] = None
                            todo.append(following)
            self._known[term] = frozenset(steps)
        return self._known[term]


def _first_of_each(binds: tuple[tuple[str, tree.Expression], ...]) -> tuple[tuple[str, tree.Expression], ...]:
    return tuple(dict(reversed(binds)).items())


def _repeated(binds: tuple[tuple[str, tree.Expression], ...]) -> tuple[tuple[str, tree.Expression], ...]:
    """Further values that one step binds to the same variable: they must agree with the first."""
    first = dict(reversed(binds))
    return tuple((v, e) for v, e in binds if first[v] is not e)


class References(NamedTuple):
    """The names of steps and of variables."""

    steps: set[str]
    variables: set[str]


def references(conditions: Collection[tree.Expression]) -> References:
    """The steps and the variables that conditions name."""
    steps = {step for condition in conditions for step in _named_steps(condition)}
    return References(steps, {name for condition in conditions for name in _named_variables(condition)})


def binding_steps(subscription: CheckedSubscription, variable: str) -> set[str]:
    """The steps that bind a variable."""
    return {n for n, s in subscription.steps.items() if any(v == variable for v, _ in s.binders)}


def _named_steps(expression: tree.Expression) -> set[str]:
    kinds = tree.BoundEvent | tree.FirstOf | tree.LastOf | tree.Aggregate
    return {str(node.step) for node in expression.walk() if isinstance(node, kinds)}


def _named_variables(expression: tree.Expression) -> set[str]:
    return {node.name for node in expression.walk() if isinstance(node, tree.Variable)}


def _is_momentary(expression: tree.Expression) -> bool:
    """Whether a condition depends on the moment at which its event is bound."""
    kinds = tree.Previous | tree.Elapsed | tree.Aggregate | tree.FirstOf | tree.LastOf
    return any(isinstance(node, kinds) for node in expression.walk())
