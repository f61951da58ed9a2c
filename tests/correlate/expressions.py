"""Random correlation expressions, and every small one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from foretell.language import tree

STEPS = "abcd"


def expression(random: Random, depth: int) -> tree.Correlation:
    if depth == 0 or random.random() < 0.25:
        return tree.On(random.choice(STEPS))
    count = random.randint(2, 3)
    several = tuple(expression(random, depth - 1) for _ in range(count))
    body = several[0]
    kind = random.choice(["repeat", "persist", "loop"])
    made: list[tree.Correlation] = [
        tree.Accumulate(several),
        tree.Select(several, strict=random.random() < 0.5),
        tree.Sequential(several),
        tree.Unless(body, several[1]),
        tree.Fail(body),
        tree.Push(random.choice("xyz"), body),
        tree.Push(random.choice("xyz"), body),
        tree.Again(kind, body),
        tree.Again(kind, body, random.randint(1, 3)),
        tree.Parallel(several),
        tree.Modes(tuple(tree.Mode(random.choice(STEPS), part) for part in several)),
    ]
    return random.choice(made)


def small_expressions() -> Iterator[tree.Correlation]:
    """Every expression of up to two operators over two steps, with tokens that show how it completes."""
    inner: list[tree.Correlation] = [tree.On("a"), tree.On("b")]
    once = [*inner, *_operated(inner, inner)]
    for whole in _operated(once, inner):
        yield tree.Parallel((tree.Push("ok", whole), tree.Push("failed", tree.Fail(whole))))


def _operated(first: list[tree.Correlation], second: list[tree.Correlation]) -> list[tree.Correlation]:
    found: list[tree.Correlation] = [tree.Fail(body) for body in first]
    found += [
        tree.Again(kind, body, number)
        for kind in ("repeat", "persist", "loop")
        for number in (None, 1, 2)
        for body in first
    ]
    for x, y in product(first, second):
        found += [
            tree.Accumulate((x, y)),
            tree.Select((x, y)),
            tree.Select((x, y), strict=True),
            tree.Sequential((x, y)),
            tree.Sequential((y, x)),
            tree.Unless(x, y),
            tree.Unless(y, x),
            tree.Parallel((x, y)),
            tree.Push("x", x),
            tree.Modes((tree.Mode("a", x), tree.Mode("b", y))),
        ]
    return found
