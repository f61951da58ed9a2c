"""Patterns: steps, the operators between them, negations, repetitions."""

from __future__ import annotations

from foretell.errors import NOWHERE, Place
from foretell.language.tree.expressions import Expression
from foretell.language.tree.nodes import Node
from foretell.records import record


class Operator(Node):
    """The operator between two parts of a sequence."""


@record
class Next(Operator):
    """`,`: the very next event."""


@record
class Later(Operator):
    """`;`: any later event."""


@record
class FirstWhere(Operator):
    """`;{θ}`: the first later event for which θ holds."""

    condition: Expression


class Pattern(Node):
    pass


@record
class Step(Pattern):
    name: str


@record
class Numbered(Pattern):
    """`a[i]`: the i-th event that satisfies a."""

    step: Step
    index: int


@record
class Chosen(Pattern):
    """`FIRST a` or `LAST a`."""

    which: str
    step: Step


@record
class Conditioned(Pattern):
    """`a @(condition)`."""

    pattern: Pattern
    condition: Expression


@record
class Repeat(Pattern):
    """`a{low,high}`: no upper bound where `high` is None.

    `under` is the operator between rounds; None until `pattern_shape.settle` takes it from the surroundings.
    """

    body: Pattern
    low: int
    high: int | None
    under: Operator | None = None


@record
class Negation(Node):
    """`!b`, with its `@(...)` conditions."""

    step: Step
    conditions: tuple[Expression, ...] = ()


@record
class SequencePart(Node):
    """One part of a sequence, with the operator and negations before it: `; !b ; P` is SequencePart(P, Later(), (!b,)).

    The first part has no operator; its negations are about the time before the match.
    """

    pattern: Pattern
    operator: Operator | None = None
    absent: tuple[Negation, ...] = ()


@record
class Sequence(Pattern):
    """Parts one after the other; `absent` are the negations after the last."""

    parts: tuple[SequencePart, ...]
    absent: tuple[Negation, ...] = ()


@record
class Silence(Pattern):
    """`!b` alone: a pattern of negations only."""

    absent: tuple[Negation, ...]


@record
class Conjunction(Pattern):
    sides: tuple[Pattern, ...]


@record
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
    flat: tuple[Pattern, ...] = ()
    for side in sides:
        flat += side.sides if isinstance(side, Conjunction) else (side,)
    return Conjunction(flat, place=place)


def alternation(*branches: Pattern, place: Place = NOWHERE) -> Alternation:
    """`|` of all branches, as one node whatever the parentheses."""
    flat: tuple[Pattern, ...] = ()
    for branch in branches:
        flat += branch.branches if isinstance(branch, Alternation) else (branch,)
    return Alternation(flat, place=place)
