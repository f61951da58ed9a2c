"""Scopes of conjunctions: the θ of an operator in a side of `&` sees that side's events, and those before the `&`."""

from __future__ import annotations

from foretell.language import tree
from foretell.records import record


@record
class ConjunctionScope:
    """A side of `&`: its steps, the steps of the other sides, and the number of conjunctions around it."""

    steps: frozenset[str]
    others: frozenset[str]
    depth: int


class ConjunctionScopes:
    """The scopes of a pattern. It is walked once: there may be hundreds of steps, and each asks for its own."""

    def __init__(self, pattern: tree.Pattern) -> None:
        #: The steps of each side of each conjunction, the outer conjunctions first.
        self._sides = [
            [frozenset(str(n.name) for n in side.walk() if isinstance(n, tree.Step)) for side in node.sides]
            for node in pattern.walk()
            if isinstance(node, tree.Conjunction)
        ]

    def enclosing(self, step: str) -> list[ConjunctionScope]:
        """The scopes that a step stands in, the outer ones first."""
        scopes: list[ConjunctionScope] = []
        for sides in self._sides:
            own = [side for side in sides if step in side]
            if own:
                all_steps, depth = frozenset().union(*sides), len(scopes) + 1
                scopes += [ConjunctionScope(side, all_steps - side, depth) for side in own]
        return scopes
