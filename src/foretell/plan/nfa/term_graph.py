"""The graph of a pattern's terms: what may follow each, and the steps that may still be bound after it."""

from __future__ import annotations

from collections import defaultdict

from foretell.plan.nfa.derivatives import Continuation, Derivatives, TooLargeError
from foretell.plan.nfa.step_sets import StepNumbers, StepSet
from foretell.plan.nfa.terms import Done, Term


class TermGraph:
    """All terms of a pattern, numbered, with their continuations. More than `most`, or more than `most_edges` between
    them, are refused by TooLargeError."""

    def __init__(self, derivatives: Derivatives, steps: StepNumbers, *, most: int, most_edges: int) -> None:
        self.initial = derivatives.initial_continuations()
        self.terms: list[Term] = []
        self.continuations: list[tuple[Continuation, ...]] = []
        self.numbers: dict[Term, int] = {}
        todo, edges = list(self._new(self.initial)), 0
        while todo:
            term = todo.pop()
            found = () if isinstance(term, Done) else tuple(derivatives.continuations(term))
            self.continuations[self.numbers[term]] = found
            todo += self._new(found)
            edges += sum(len(continuation.following) for continuation in found)
            if len(self.terms) > most or edges > most_edges:
                raise TooLargeError
        self._steps = steps
        self._later = self._reachable()

    def later(self, term: Term) -> StepSet:
        """The steps that may be bound after a term."""
        return StepSet(self._steps, self._later[self.numbers[term]])

    def _new(self, continuations: tuple[Continuation, ...]) -> list[Term]:
        """Numbers the terms that are new among those that follow."""
        new = []
        for continuation in continuations:
            for following in continuation.following:
                term = following.term
                if term not in self.numbers:
                    self.numbers[term] = len(self.terms)
                    self.terms.append(term)
                    self.continuations.append(())
                    new.append(term)
        return new

    def _reachable(self) -> list[int]:
        """For each term the bits of the steps after it, from the ends backwards until nothing is added."""
        successors = [
            {self.numbers[following.term] for continuation in found for following in continuation.following}
            for found in self.continuations
        ]
        predecessors: dict[int, list[int]] = defaultdict(list)
        for number, following in enumerate(successors):
            for successor in following:
                predecessors[successor].append(number)
        later = [self._steps.bits(c.leaf.step for c in found) for found in self.continuations]
        todo = dict.fromkeys(range(len(later)))
        while todo:
            number, _ = todo.popitem()
            more = later[number]
            for successor in successors[number]:
                more |= later[successor]
            if more != later[number]:
                later[number] = more
                todo.update(dict.fromkeys(predecessors[number]))
        return later
