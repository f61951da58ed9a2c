"""Time conditions between two steps, as bounds: `c @(t(c) - t(a) < 5 min)` says how far apart a and c may be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription


@dataclass(frozen=True)
class TimeBound:
    """`low` ≤ t(later) - t(earlier) ≤ `high`, in the unit of the streams' time."""

    later: str
    earlier: str
    low: float = -math.inf
    high: float = math.inf


def time_bounds(subscription: CheckedSubscription) -> list[TimeBound]:
    """All conditions of this kind. Whether an end belongs to it does not matter to a probability."""
    return [
        bound
        for step in subscription.steps.values()
        for condition in step.conditions
        for bound in _bounds(condition, step)
    ]


def _bounds(condition: tree.Expression, step: CheckedStep) -> Iterator[TimeBound]:
    match condition:
        case tree.Binary(operator="AND", left=left, right=right):
            yield from _bounds(left, step)
            yield from _bounds(right, step)
        case tree.Binary(operator="<" | "<=" | ">" | ">=" as operator, left=left, right=right):
            terms = _sum(left, step) - _sum(right, step)
            if sorted(terms.signs.values()) == [-1, 1] and terms.constant is not None:
                later, earlier = (next(s for s, sign in terms.signs.items() if sign == wanted) for wanted in (1, -1))
                end = -terms.constant
                yield TimeBound(later, earlier, high=end) if "<" in operator else TimeBound(later, earlier, low=end)
        case tree.Between(value=inner, low=low, high=high, negated=False):
            yield from _bounds(tree.Binary(">=", inner, low), step)
            yield from _bounds(tree.Binary("<=", inner, high), step)


@dataclass(frozen=True)
class _Sum:
    """A sum of times of steps, by their signs, and a constant; the constant is None where there is anything else."""

    signs: dict[str, int]
    constant: float | None

    def __sub__(self, other: _Sum) -> _Sum:
        return self.plus(other, -1)

    def plus(self, other: _Sum, sign: int) -> _Sum:
        steps = {*self.signs, *other.signs}
        signs = {s: self.signs.get(s, 0) + sign * other.signs.get(s, 0) for s in steps}
        known = self.constant is not None and other.constant is not None
        constant = (self.constant or 0.0) + sign * (other.constant or 0.0) if known else None
        return _Sum({s: n for s, n in signs.items() if n}, constant)


_OTHER = _Sum({}, None)


def _sum(expression: tree.Expression, step: CheckedStep) -> _Sum:
    match expression:
        case tree.TimeOf(event=tree.This()):
            return _Sum({step.name: 1}, 0.0)
        case tree.TimeOf(event=tree.BoundEvent(step=other)):
            return _Sum({str(other): 1}, 0.0)
        case tree.Span(micros=micros):
            return _Sum({}, float(micros))
        case tree.Literal(value=int() | float() as number) if not isinstance(number, bool):
            return _Sum({}, float(number))
        case tree.Binary(operator="+" | "-" as operator, left=left, right=right):
            return _sum(left, step).plus(_sum(right, step), 1 if operator == "+" else -1)
        case tree.Unary(operator="-", operand=operand):
            return _Sum({}, 0.0) - _sum(operand, step)
    return _OTHER
