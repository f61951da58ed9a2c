"""Scopes of conjunctions: the θ of an operator in a side of `&` sees that side's events, and those before the `&`."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.language import tree


@dataclass(frozen=True)
class ConjunctionScope:
    """A side of `&`: its steps, the steps of the other sides, and the number of conjunctions around it."""

    steps: frozenset[str]
    others: frozenset[str]
    depth: int


def enclosing_scopes(pattern: tree.Pattern, step: str) -> list[ConjunctionScope]:
    """The scopes that a step stands in, the outer ones first."""
    scopes: list[ConjunctionScope] = []
    for node in pattern.walk():
        if isinstance(node, tree.Conjunction):
            sides = [frozenset(str(n.name) for n in side.walk() if isinstance(n, tree.Step)) for side in node.sides]
            all_steps = frozenset().union(*sides)
            depth = len(scopes) + 1
            scopes += [ConjunctionScope(side, all_steps - side, depth) for side in sides if step in side]
    return scopes
