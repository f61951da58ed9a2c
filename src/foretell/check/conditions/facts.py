"""Facts about the symbols of a set of formulas, and names for new symbols."""

from __future__ import annotations

from fractions import Fraction

import z3

from foretell.check.conditions.values import Formula, Term
from foretell.events.types import Type

#: The largest FLOAT; a FLOAT beyond it is infinite.
MOST_FLOAT = Fraction(2**1024 - 2**970)
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1


class Facts:
    """`certain` hold of every event. `hints` do not: they make roundings exact and functions simple, so that the
    reference evaluator is likely to confirm a model that meets them; `preferences` make its numbers short, and
    `simplifications` small and whole.
    `notes` name what the formulas only approximate.
    """

    def __init__(self) -> None:
        self.certain: list[Formula] = []
        self.hints: list[Formula] = []
        self.preferences: list[Formula] = []
        self.simplifications: list[Formula] = []
        self.notes: dict[str, None] = {}
        self._count = 0

    def fresh(self, kind: Type, texts: z3.SortRef) -> Term:
        """A new symbol of the sort of a type."""
        self._count += 1
        return z3.Const(f"#{self._count}", sort_of(kind, texts))

    def fresh_flag(self) -> Formula:
        self._count += 1
        return z3.Bool(f"#{self._count}")

    def approximate(self, subject: str) -> None:
        self.notes.setdefault(subject)


def sort_of(kind: Type, texts: z3.SortRef) -> z3.SortRef:
    """INT, points in time and durations are whole numbers, a FLOAT is a real number."""
    match kind:
        case Type.BOOL | Type.NULL:
            return z3.BoolSort()
        case Type.INT | Type.TIMESTAMP | Type.DURATION:
            return z3.IntSort()
        case Type.STRING:
            return texts
    return z3.RealSort()


def real(number: int | float | Fraction) -> Term:
    exact = Fraction(number)
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}")
