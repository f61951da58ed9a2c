"""The NFA of a pattern over letters: it reads the events from a match's first to its last, and accepts at the last.

Its states are the terms of the pattern (`plan.nfa`), with the counts of `a[i]`. A letter is bound to a step, or it
passes: then every thread must let it pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from foretell.check.automata.step_letters import Bound, StepLetters
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.derivatives import Continuation, Derivatives, TooLargeError
from foretell.plan.nfa.step_sets import StepNumbers
from foretell.plan.nfa.term_graph import TermGraph
from foretell.plan.nfa.terms import Connector, Done, Term, threads

#: More states, or moves between them, are not looked at.
MOST_STATES = 2_000
MOST_MOVES = 20_000

#: The accepting state.
ACCEPTED = 0

#: The nesting of a pattern that the construction follows.
_DEEPEST = 200


class UnboundedPatternError(Exception):
    """A pattern that has no automaton over letters: it is too large, or not about the order of events alone. The
    argument says why."""


class LetterState(NamedTuple):
    """A term, and how often each `a[i]` that it waits for was seen."""

    term: int
    counts: tuple[int, ...]


class LetterAutomaton:
    """`first` and `following` have the successors as bits of states, by letter and by state and letter."""

    def __init__(self, letters: StepLetters, graph: TermGraph) -> None:
        self._letters, self._graph = letters, graph
        self.size = len(letters.alphabet.letters)
        self._numbers: dict[LetterState, int] = {}
        self._states: list[LetterState | None] = [None]
        self._done = {number for number, term in enumerate(graph.terms) if isinstance(term, Done)}
        self.first = self._bits_by_letter(self._bound(None, (), graph.initial))
        self.following: list[list[int]] = [[0] * self.size]
        self._explore()

    def __len__(self) -> int:
        return len(self._states)

    def successors(self, states: int, letter: int) -> int:
        """The states after a letter, from any of several."""
        found = 0
        while states:
            low = states & -states
            found |= self.following[low.bit_length() - 1][letter]
            states ^= low
        return found

    def _explore(self) -> None:
        moves = 0
        while len(self.following) < len(self._states):
            state = self._states[len(self.following)]
            assert state is not None
            found = self._bits_by_letter(self._moves(state))
            moves += sum(bits.bit_count() for bits in found)
            self.following.append(found)
            if len(self._states) > MOST_STATES or moves > MOST_MOVES:
                raise UnboundedPatternError("its automaton is too large")

    def _bits_by_letter(self, moves: Iterable[tuple[int, LetterState]]) -> list[int]:
        found = [0] * self.size
        for letters, state in moves:
            bit = 1 << self._number(state)
            for letter in range(self.size):
                if letters >> letter & 1:
                    found[letter] |= bit
        return found

    def _number(self, state: LetterState) -> int:
        if state.term in self._done:
            return ACCEPTED
        if state not in self._numbers:
            self._numbers[state] = len(self._states)
            self._states.append(state)
        return self._numbers[state]

    def _moves(self, state: LetterState) -> Iterator[tuple[int, LetterState]]:
        term = self._graph.terms[state.term]
        yield from self._bound(term, state.counts, self._graph.continuations[state.term])
        passing = self._passing(threads(term))
        for letters, counts in self._counted(term, state.counts):
            if letters & passing:
                yield letters & passing, LetterState(state.term, counts)

    def _bound(
        self, term: Term | None, counts: tuple[int, ...], continuations: Iterable[Continuation]
    ) -> Iterator[tuple[int, LetterState]]:
        """Letters that are bound, and the states after them."""
        connectors = () if term is None else threads(term)
        numbered = [] if term is None else self._numbered(term)
        for continuation in continuations:
            step, index = continuation.leaf.step, continuation.leaf.index
            others = [c for number, c in enumerate(connectors) if number != continuation.thread]
            letters = self._letters.binding(step) & self._passing(others)
            if connectors and continuation.thread >= 0:
                letters &= self._letters.leading(connectors[continuation.thread].operator)[0]
            if index:
                letters &= self._in_place(step, index, counts, numbered)
            if letters:
                for following in continuation.following:
                    target = self._graph.numbers[following.term]
                    yield letters, LetterState(target, (0,) * len(self._numbered(following.term)))

    def _passing(self, connectors: Iterable[Connector]) -> int:
        """The letters that threads let pass."""
        letters = self._letters.alphabet.everything
        for connector in connectors:
            letters &= self._letters.leading(connector.operator)[1]
            for step in connector.absent if connector.operator is not None else ():
                letters &= ~self._letters.breaking(step)
        return letters

    # ── a[i] ──

    def _numbered(self, term: Term) -> list[tuple[str, int]]:
        """The steps `a[i]` that a term waits for, with i."""
        found = self._graph.continuations[self._graph.numbers[term]] if not isinstance(term, Done) else ()
        return [*dict.fromkeys((c.leaf.step, c.leaf.index) for c in found if c.leaf.index)]

    def _counted(self, term: Term, counts: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Letters with the counts after them."""
        numbered = self._numbered(term)
        if not numbered:
            yield self._letters.alphabet.everything, ()
            return
        for letter in range(self.size):
            after = tuple(
                min(count + self._counts(step, letter), index)
                for count, (step, index) in zip(counts, numbered, strict=True)
            )
            yield 1 << letter, after

    def _counts(self, step: str, letter: int) -> int:
        counting = self._letters.counting(step)
        return 0 if counting is None else counting >> letter & 1

    def _in_place(self, step: str, index: int, counts: tuple[int, ...], numbered: list[tuple[str, int]]) -> int:
        """The letters that are the i-th to count; where that is not known, all or none."""
        counting = self._letters.counting(step)
        if counting is None:
            return self._letters.alphabet.everything if self._letters.bound is Bound.AT_LEAST else 0
        return counting if counts[numbered.index((step, index))] == index - 1 else 0


def term_graph(subscription: CheckedSubscription) -> TermGraph:
    """The terms of a pattern whose matches are a question of the order of events; UnboundedPatternError of others."""
    pattern = subscription.pattern
    if subscription.known_late:
        raise UnboundedPatternError("the choice of LAST is known only when its window has passed")
    _refuse_others(pattern)
    try:
        derivatives = Derivatives(pattern, most=MOST_MOVES)
        graph = TermGraph(derivatives, StepNumbers.of(subscription.steps), most=MOST_STATES, most_edges=MOST_MOVES)
    except TooLargeError as error:
        raise UnboundedPatternError("its automaton is too large") from error
    if any(c.leaf.index and not c.leaf.after_previous for c in graph.initial):
        raise UnboundedPatternError("a first step with [i] counts from the beginning of the lane")
    return graph


def _refuse_others(pattern: tree.Pattern) -> None:
    if _depth(pattern) > _DEEPEST:
        raise UnboundedPatternError(f"it is nested more than {_DEEPEST} deep")
    for node in pattern.walk():
        match node:
            case tree.Silence():
                raise UnboundedPatternError("a negation alone is about time")
            case tree.Sequence(parts=parts, absent=absent) if absent or parts[0].absent:
                raise UnboundedPatternError("a negation at the edge of the pattern is about time")
            case tree.Conjunction() if any(isinstance(inner, tree.Numbered) for inner in node.walk()):
                raise UnboundedPatternError("a step with [i] inside '&' counts since an event outside of it")


def _depth(pattern: tree.Node) -> int:
    deepest, todo = 0, [(pattern, 1)]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        todo += [(child, depth + 1) for child in node.children() if isinstance(child, tree.Pattern | tree.SequencePart)]
    return deepest
