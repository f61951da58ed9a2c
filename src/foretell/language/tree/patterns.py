"""Patterns: steps, the operators between them, negations, repetitions."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.errors import NOWHERE, Place
from foretell.language.tree.expressions import Expression
from foretell.language.tree.nodes import Node


class Operator(Node):
    """The operator between two parts of a sequence."""


@dataclass(frozen=True)
class Next(Operator):
    """`,`: the very next event."""


@dataclass(frozen=True)
class Later(Operator):
    """`;`: any later event."""


@dataclass(frozen=True)
class FirstWhere(Operator):
    """`;{θ}`: the first later event for which θ holds."""

    condition: Expression


class Pattern(Node):
    pass


@dataclass(frozen=True)
class Step(Pattern):
    name: str


@dataclass(frozen=True)
class Numbered(Pattern):
    """`a[i]`: the i-th event that satisfies a."""

    step: Step
    index: int


@dataclass(frozen=True)
class Chosen(Pattern):
    """`FIRST a` or `LAST a`."""

    which: str
    step: Step


@dataclass(frozen=True)
class Conditioned(Pattern):
    """`a @(condition)`."""

    pattern: Pattern
    condition: Expression


@dataclass(frozen=True)
class Repeat(Pattern):
    """`a{low,high}`: no upper bound where `high` is None.

    `under` is the operator between rounds; None until `pattern_shape.settle` takes it from the surroundings.
    """

    body: Pattern
    low: int
    high: int | None
    under: Operator | None = None


@dataclass(frozen=True)
class Negation(Node):
    """`!b`, with its `@(...)` conditions."""

    step: Step
    conditions: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class SequencePart(Node):
    """One part of a sequence, with the operator and negations before it: `; !b ; P` is SequencePart(P, Later(), (!b,)).

    The first part has no operator; its negations are about the time before the match.
    """

    pattern: Pattern
    operator: Operator | None = None
    absent: tuple[Negation, ...] = ()


@dataclass(frozen=True)
class Sequence(Pattern):
    """Parts one after the other; `absent` are the negations after the last."""

    parts: tuple[SequencePart, ...]
    absent: tuple[Negation, ...] = ()


@dataclass(frozen=True)
class Silence(Pattern):
    """`!b` alone: a pattern of negations only."""

    absent: tuple[Negation, ...]


@dataclass(frozen=True)
class Conjunction(Pattern):
    sides: tuple[Pattern, ...]


@dataclass(frozen=True)
class Alternation(Pattern):
    branches: tuple[Pattern, ...]


def sequence(parts: tuple[SequencePart, ...], absent: tuple[Negation, ...] = (), *, place: Place = NOWHERE) -> Pattern:
    """A sequence in normal form: sequences associate to the left, and one part alone is that part."""
    first = parts[0].pattern
    if isinstance(first, Sequence) and not first.absent and not parts[0].absent:
        parts = (*first.parts, *parts[1:])
    if len(parts) == 1 and not parts[0].absent and not absent:
        return parts[0].pattern
    return Sequence(parts, absent, place=place)


def conjunction(*sides: Pattern, place: Place = NOWHERE) -> Conjunction:
    """`&` of all sides, as one node whatever the parentheses."""
    flat = (s.sides if isinstance(s, Conjunction) else (s,) for s in sides)
    return Conjunction(tuple(side for nested in flat for side in nested), place=place)


def alternation(*branches: Pattern, place: Place = NOWHERE) -> Alternation:
    """`|` of all branches, as one node whatever the parentheses."""
    flat = (b.branches if isinstance(b, Alternation) else (b,) for b in branches)
    return Alternation(tuple(branch for nested in flat for branch in nested), place=place)
