"""The automaton of a subscription, still in names: its states, its edges, and the conditions of each edge.

A state is a term (the rest of the pattern) with the steps and variables that are bound on the way there. So it is known
at compile time at which edge all steps that a condition names are bound. The earliest such edge evaluates it; a
condition that has to wait for the end of a repetition, or is about each event of one, is left for the finished match.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.automaton_size import (
    MOST_EDGES,
    MOST_FINE_STATES,
    asked_steps,
    is_too_large,
    most_edges,
    refuse,
)
from foretell.plan.nfa.counters import CounterUpdate, PatternCounters, Test, before_updates
from foretell.plan.nfa.derivatives import START, Continuation, Derivatives, Following, TooLargeError
from foretell.plan.nfa.step_sets import NO_STEPS, StepNumbers, StepSet
from foretell.plan.nfa.term_graph import TermGraph
from foretell.plan.nfa.terms import Done, Gathering, Leaf, Term, Wait, gatherings
from foretell.records import record


@record
class Condition:
    """A condition of a step, numbered in the order of the text. `owner` is the step it was written for."""

    number: int
    owner: str
    expression: tree.Expression = field(compare=False)

    @cached_property
    def names(self) -> References:
        """The steps and variables that it names, but for its own step."""
        found = references([self.expression])
        return References(found.steps - {self.owner}, found.variables)


@record
class State:
    """The rest of the pattern, the steps and variables bound so far, and the conditions on steps still to be bound.

    In a compact automaton `bound` has only steps that something asks about, and no step that a counter counts.
    """

    term: Term
    bound: StepSet = NO_STEPS
    variables: frozenset[str] = frozenset()
    pending: frozenset[Condition] = frozenset()


#: The state before the first event.
INITIAL = State(Wait(START, ()))


@record
class Edge:
    """An edge binds one event to a leaf, under the connector of a thread of its source (None: it begins the match).

    | field | holds |
    | --- | --- |
    | conditions | those of the leaf's step, and those of earlier steps that had to wait for it |
    | binds | the variables that it binds, and their values |
    | agrees | the variables that are bound already, and the values that must equal them |
    | leading | the negated steps that may not come in the window before the match |
    | tests, updates | what must hold of the run's counters, and how the edge changes them |
    """

    source: int | None
    leaf: Leaf
    thread: int
    conditions: tuple[Condition, ...]
    binds: tuple[tuple[str, tree.Expression], ...]
    agrees: tuple[tuple[str, tree.Expression], ...]
    target: int
    leading: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()
    updates: tuple[CounterUpdate, ...] = ()


@record
class Automaton:
    """The NFA of a subscription. `final` are the conditions left for the finished match.

    A `compact` one counts rounds and the events of wide conjunctions in registers, and not by its states; `counted` is
    what each of its counters counts.
    """

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    final: tuple[Condition, ...]
    graph: TermGraph = field(compare=False, repr=False)
    compact: bool = False
    counted: tuple[tree.Pattern, ...] = ()

    def reachable_steps(self, state: State) -> StepSet:
        """The steps that may be bound after a state."""
        return self.graph.later(state.term)

    def leaving(self, state: int | None) -> Sequence[Edge]:
        """The edges from a state; None is the state before the first event."""
        return self._leaving[state]

    @cached_property
    def _leaving(self) -> defaultdict[int | None, list[Edge]]:
        leaving: defaultdict[int | None, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            leaving[edge.source].append(edge)
        return leaving


def build(subscription: CheckedSubscription, edges: int = MOST_EDGES) -> Automaton:
    """The automaton of a subscription: its states are the partial derivatives of its pattern.

    Where they would be many, counters take the place of some. With more than so many `edges`, and two for each step, it
    is refused. Which counters there are does not depend on that limit: snapshots refer to the states.
    """
    # Sides of `&` that are sequences have states of their own where that is possible. Simultaneous events need a mark
    # for each side that waits.
    sequences = not subscription.simultaneous
    found = _built(subscription, MOST_EDGES, fine=True, sequences=False)
    if found is None and (sequences or edges > MOST_EDGES):
        found = _built(subscription, max(edges, MOST_EDGES), fine=False, sequences=sequences)
    if found is None or max(len(found.edges), len(found.states)) > most_edges(subscription, edges):
        refuse(subscription, PatternCounters(subscription.pattern, sequences=sequences), edges)
    return found


def _built(subscription: CheckedSubscription, edges: int, *, fine: bool, sequences: bool) -> Automaton | None:
    """The automaton, if it has no more edges. With `fine` it has no counters where its states are few; with `sequences`
    counters stand for sides of `&` that are sequences, too."""
    counters = PatternCounters(subscription.pattern, sequences=sequences)
    if is_too_large(subscription, counters, edges):
        return None
    most = most_edges(subscription, edges)
    if fine and not counters.are_many(MOST_FINE_STATES):
        with suppress(TooLargeError):
            return _AutomatonBuilder(subscription, PatternCounters(), MOST_FINE_STATES, most, compact=False).build()
    with suppress(TooLargeError):
        return _AutomatonBuilder(subscription, counters, most, most, compact=True).build()
    return None


class _Key(NamedTuple):
    """A state by the number of its term and the bits of its steps: as itself it would take long to compare."""

    term: int
    bound: int
    variables: frozenset[str]
    pending: frozenset[Condition]


class _AutomatonBuilder:
    def __init__(
        self, subscription: CheckedSubscription, counters: PatternCounters, most: int, edges: int, *, compact: bool
    ) -> None:
        self.subscription, self.most, self.most_edges, self.compact = subscription, most, edges, compact
        self.numbers = StepNumbers.of(subscription.steps)
        derivatives = Derivatives(subscription.pattern, counters, most=self.most_edges)
        self.graph = TermGraph(derivatives, self.numbers, most=most, most_edges=self.most_edges)
        self.states: dict[_Key, int] = {}
        self.found: list[State] = []
        self.edges: list[Edge] = []
        self.final: dict[Condition, None] = {}
        self.gathered = self.numbers.bits(counters.gathered_steps)
        self.counted = counters.counted
        self.gathering = self._gathering_bits()
        self.kept = self.numbers.bits(asked_steps(subscription)) if compact else -1
        self.conditions: dict[str, tuple[Condition, ...]] = {}
        number = 0
        for name, step in subscription.steps.items():
            self.conditions[name] = tuple(Condition(number + i, name, c) for i, c in enumerate(step.conditions))
            number += len(step.conditions)

    def _gathering_bits(self) -> list[int]:
        """Of each term, the bits of the steps that it gathers. Many terms may go on with the same gathering."""
        known: dict[Gathering, int] = {}
        bits = [0] * len(self.graph.terms)
        for number, term in enumerate(self.graph.terms):
            for gathering in gatherings(term):
                if gathering not in known:
                    known[gathering] = self.numbers.bits(gathering.steps)
                bits[number] |= known[gathering]
        return bits

    def build(self) -> Automaton:
        todo: list[int | None] = [None]
        while todo:
            source = todo.pop()
            if source is None:
                continuations = self.graph.initial
            else:
                continuations = self.graph.continuations[self.graph.numbers[self.found[source].term]]
            for continuation in continuations:
                for following in continuation.following:
                    tests = before_updates(following.tests, continuation.updates)
                    if tests is not None:
                        target = self._add_edge(source, continuation, following, tests)
                        if target is not None:
                            todo.append(target)
        found = tuple(self.found), tuple(self.edges), tuple(self.final)
        return Automaton(*found, self.graph, compact=self.compact, counted=self.counted)

    def _add_edge(
        self, source: int | None, continuation: Continuation, following: Following, tests: tuple[Test, ...]
    ) -> int | None:
        """Adds an edge, and gives its target if that is new and goes on."""
        before = INITIAL if source is None else self.found[source]
        step = self.subscription.steps[continuation.leaf.step]
        term = self.graph.numbers[following.term]
        bound = self._bound(before, step.name, term)
        binds = tuple((v, e) for v, e in step.binders if v not in before.variables)
        variables = before.variables | {v for v, _ in binds} if binds else before.variables
        later = self.graph.later(self.graph.terms[term])
        conditions, pending = [], []
        for condition in (*sorted(before.pending, key=lambda c: c.number), *self.conditions[step.name]):
            match self._when(condition, bound, variables, later):
                case "now":
                    conditions.append(condition)
                case "later":
                    pending.append(condition)
                case "finally":
                    self.final[condition] = None
        target = _Key(term, bound.mask, variables, frozenset(pending))
        number = self.states.setdefault(target, len(self.states))
        new = number == len(self.found)
        if new:
            self.found.append(State(self.graph.terms[term], bound, variables, target.pending))
        self.edges.append(
            Edge(
                source=source,
                leaf=continuation.leaf,
                thread=continuation.thread,
                conditions=tuple(conditions),
                binds=_first_of_each(binds),
                agrees=tuple((v, e) for v, e in step.binders if v in before.variables) + _repeated(binds),
                target=number,
                leading=continuation.leading,
                tests=(*continuation.tests, *tests),
                updates=continuation.updates,
            )
        )
        if len(self.found) > self.most or len(self.edges) > self.most_edges:
            raise TooLargeError
        return number if new and not isinstance(following.term, Done) else None

    def _bound(self, before: State, step: str, term: int) -> StepSet:
        """The steps bound at the target of an edge: those that a gathering gathers, once it is complete."""
        complete = 0 if before is INITIAL else self.gathering[self.graph.numbers[before.term]]
        mask = before.bound.mask | complete | 1 << self.numbers[step]
        return StepSet(self.numbers, mask & ~self.gathering[term] & self.kept)

    def _when(self, condition: Condition, bound: StepSet, variables: frozenset[str], later: StepSet) -> str:
        """When a condition can be evaluated: now (by this edge), later (by another edge), finally (on the match)."""
        steps = self.subscription.steps
        owner = steps[condition.owner].shape
        missing, (named, named_variables) = False, condition.names
        is_gathered = bool(self.gathered >> self.numbers[condition.owner] & 1)
        if is_gathered and self.numbers.bits(named) & self.gathered:
            return "finally"  # no state knows which of them are bound
        for step in named:
            shape = steps[step].shape
            if shape.loops & owner.loops:
                continue  # of steps repeated together, the condition sees the events bound so far
            if shape.repeated:
                if step in later:
                    return "finally"
            elif step not in bound and step in later:
                missing = True
        for variable in named_variables - variables:
            if self.subscription.binding_steps(variable) & later:
                missing = True
        if not missing:
            return "now"
        # The registers keep no condition for each event of a repetition, nor one about the event bound just before.
        return "finally" if owner.repeated or is_gathered or _is_momentary(condition.expression) else "later"


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
    steps = {step for condition in conditions for step in condition.named_steps}
    return References(steps, {name for condition in conditions for name in _named_variables(condition)})


def _named_variables(expression: tree.Expression) -> set[str]:
    return {node.name for node in expression.walk() if isinstance(node, tree.Variable)}


def _is_momentary(expression: tree.Expression) -> bool:
    """Whether a condition depends on the moment at which its event is bound."""
    kinds = tree.Previous | tree.Elapsed | tree.Aggregate | tree.FirstOf | tree.LastOf
    return any(isinstance(node, kinds) for node in expression.walk())
