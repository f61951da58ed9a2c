"""The machine of a subscription, still in words: its states, its edges, and what each edge asks and keeps.

A state is a term (what is left of the pattern) together with what is bound on the way there, so that it is known
beforehand at which edge a condition has everything it names. A condition is judged at the earliest such edge; one that
has to wait for a repetition to end, or was asked of each event of one, is judged on the finished match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from foretell.errors import LanguageError
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.derivatives import BEGINNING, Done, Leaf, Move, Side, Term, Wait, beginnings, moves

#: A pattern that needs more states than this is refused: `a{1000,2000}` would be a machine of its own kind.
MOST_STATES = 20_000


@dataclass(frozen=True)
class Condition:
    """A condition of a step, numbered in the order of the text. `owner` is the step it was written for."""

    number: int
    owner: str
    expression: tree.Expression = field(compare=False)


@dataclass(frozen=True)
class State:
    """What is left, what is bound, and the conditions that wait for a step to be bound."""

    term: Term
    bound: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    waiting: frozenset[Condition] = frozenset()


#: Before the first event.
BEFORE = State(Wait(BEGINNING, ()))


@dataclass(frozen=True)
class Edge:
    """One event bound at a leaf. `judged` is asked first, of the event being tried or, for an earlier owner, of what
    is kept of it; `binding` are the variables bound here, `agreeing` those that were."""

    source: int | None
    leaf: Leaf
    thread: int
    judged: tuple[Condition, ...]
    binding: tuple[tuple[str, tree.Expression], ...]
    agreeing: tuple[tuple[str, tree.Expression], ...]
    target: int
    leading: tuple[str, ...] = ()


@dataclass(frozen=True)
class Automaton:
    """`final` are the conditions left for the finished match."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    final: tuple[Condition, ...]

    def later(self, state: State) -> frozenset[str]:
        """The steps that may still be bound."""
        return _Reachable().steps(state.term)

    def leaving(self, state: int | None) -> Iterator[Edge]:
        return (edge for edge in self.edges if edge.source == state)


def build(subscription: CheckedSubscription) -> Automaton:
    return _Builder(subscription).build()


class _Builder:
    def __init__(self, subscription: CheckedSubscription) -> None:
        self.subscription = subscription
        self.states: dict[State, int] = {}
        self.edges: list[Edge] = []
        self.final: dict[Condition, None] = {}
        self.reachable = _Reachable()
        self.conditions: dict[str, tuple[Condition, ...]] = {}
        number = 0
        for name, step in subscription.steps.items():
            self.conditions[name] = tuple(Condition(number + i, name, c) for i, c in enumerate(step.conditions))
            number += len(step.conditions)

    def build(self) -> Automaton:
        todo: list[State | None] = [None]
        while todo:
            source = todo.pop()
            following = beginnings(self.subscription.pattern) if source is None else moves(source.term)
            for move in following:
                for term in move.following:
                    target = self._edge(source, move, term)
                    if target is not None:
                        todo.append(target)
        return Automaton(tuple(self.states), tuple(self.edges), tuple(self.final))

    def _edge(self, source: State | None, move: Move, term: Term) -> State | None:
        """Adds the edge; the target if it is new and goes on."""
        before = source or BEFORE
        step = self.subscription.steps[move.leaf.step]
        bound = before.bound | {step.name}
        binding = tuple((v, e) for v, e in step.binders if v not in before.variables)
        variables = before.variables | {v for v, _ in binding}
        later = self.reachable.steps(term)
        judged, waiting = [], []
        for condition in (*sorted(before.waiting, key=lambda c: c.number), *self.conditions[step.name]):
            match self._when(condition, step.name, bound, variables, later):
                case "now":
                    judged.append(condition)
                case "later":
                    waiting.append(condition)
                case "finally":
                    self.final[condition] = None
        target = State(term, bound, variables, frozenset(waiting))
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
                move.leaf,
                move.thread,
                tuple(judged),
                _once(binding),
                tuple((v, e) for v, e in step.binders if v in before.variables) + _repeated(binding),
                number,
                move.leading,
            )
        )
        return target if new and not isinstance(term, Done) else None

    def _when(
        self,
        condition: Condition,
        binding: str,
        bound: frozenset[str],
        variables: frozenset[str],
        later: frozenset[str],
    ) -> str:
        """When a condition can be judged, at the edge that binds `binding`: now, at a later edge, on the match."""
        shapes = {name: step.shape for name, step in self.subscription.steps.items()}
        owner = shapes[condition.owner]
        missing = False
        for step in _named(condition.expression) - {condition.owner}:
            if shapes[step].loops & owner.loops:
                continue  # steps repeated together are seen as far as they are bound
            if shapes[step].repeated:
                if step in later:
                    return "finally"
            elif step not in bound and step in later:
                missing = True
        for variable in _variables(condition.expression) - variables:
            if binders(self.subscription, variable) & later:
                missing = True
        if not missing:
            return "now"
        # What is asked of each event of a repetition, or of what was bound just before it, is not kept for later.
        return "finally" if owner.repeated or _is_momentary(condition.expression) else "later"


class _Reachable:
    """The steps that a term may still bind."""

    def __init__(self) -> None:
        self._found: dict[Side, frozenset[str]] = {}

    def steps(self, term: Term) -> frozenset[str]:
        if term not in self._found:
            seen: dict[Term, None] = {term: None}
            todo: list[Term] = [term]
            steps: set[str] = set()
            while todo:
                for move in moves(todo.pop()):
                    steps.add(move.leaf.step)
                    for following in move.following:
                        if following not in seen:
                            seen[following] = None
                            todo.append(following)
            self._found[term] = frozenset(steps)
        return self._found[term]


def _once(binding: tuple[tuple[str, tree.Expression], ...]) -> tuple[tuple[str, tree.Expression], ...]:
    return tuple(dict(reversed(binding)).items())


def _repeated(binding: tuple[tuple[str, tree.Expression], ...]) -> tuple[tuple[str, tree.Expression], ...]:
    """A step that binds the same variable twice: the second must agree with the first."""
    first = dict(reversed(binding))
    return tuple((v, e) for v, e in binding if first[v] is not e)


def named(conditions: Iterable[tree.Expression]) -> tuple[set[str], set[str]]:
    """The steps and the variables that conditions name."""
    steps = {step for c in conditions for step in _named(c)}
    return steps, {v for c in conditions for v in _variables(c)}


def binders(subscription: CheckedSubscription, variable: str) -> set[str]:
    """The steps that bind a variable."""
    return {n for n, s in subscription.steps.items() if any(v == variable for v, _ in s.binders)}


def _named(expression: tree.Expression) -> set[str]:
    kinds = tree.BoundEvent | tree.FirstOf | tree.LastOf | tree.Aggregate
    return {str(node.step) for node in expression.walk() if isinstance(node, kinds)}


def _variables(expression: tree.Expression) -> set[str]:
    return {node.name for node in expression.walk() if isinstance(node, tree.Variable)}


def _is_momentary(expression: tree.Expression) -> bool:
    """Whether a condition asks something that is only so while its event is tried."""
    kinds = tree.Previous | tree.Elapsed | tree.Aggregate | tree.FirstOf | tree.LastOf
    return any(isinstance(node, kinds) for node in expression.walk())
