"""Facts about the symbols of a set of formulas, and names for new symbols."""

from __future__ import annotations

from fractions import Fraction

import z3

from foretell.check.conditions.values import Formula, Term
from foretell.events.types import Type

#: The largest FLOAT; a FLOAT beyond it is infinite.
MOST_FLOAT = Fraction(2**1024 - 2**970)
#: The number that a simple witness does not exceed.
SMALL = 1_000_000
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1


class Facts:
    """`certain` hold of every event. `hints` do not: they make roundings exact and functions simple, so that the
    reference evaluator is likely to confirm a model that meets them. `orderings` put events at different times.
    `notes` name what the formulas only approximate.
    """

    def __init__(self) -> None:
        self.certain: list[Formula] = []
        self.hints: list[Formula] = []
        self.orderings: list[Formula] = []
        #: The numbers of events, with their types.
        self.numbers: list[tuple[Term, Type]] = []
        self.notes: dict[str, None] = {}
        self._count = 0

    def fresh(self, kind: Type, texts: z3.SortRef) -> Term:
        """A new symbol of the sort of a type."""
        self._count += 1
        return z3.Const(f"#{self._count}", sort_of(kind, texts))

    def fresh_flag(self) -> Formula:
        self._count += 1
        return z3.Bool(f"#{self._count}")

    def finite(self) -> list[Formula]:
        """Hints, and no FLOAT is infinite."""
        floats = [value for value, kind in self.numbers if kind is Type.FLOAT]
        return [*self.hints, *(_within(value, real(MOST_FLOAT)) for value in floats)]

    def short(self) -> list[Formula]:
        """Hints, and each FLOAT has so few digits that it is exact."""
        wishes = [*self.hints, *self.orderings]
        for value, kind in self.numbers:
            if kind is Type.FLOAT:
                whole = z3.Int(f"{value} whole")
                wishes += [value * 64 == z3.ToReal(whole), _within(whole, 2**50)]
        return wishes

    def small(self) -> list[Formula]:
        """Hints, and numbers are whole and small: for events that somebody reads."""
        wishes = [*self.hints, *self.orderings]
        for value, kind in self.numbers:
            if kind is Type.FLOAT:
                wishes.append(value == z3.ToReal(z3.ToInt(value)))
            if kind in (Type.INT, Type.FLOAT):
                wishes.append(_within(value, SMALL))
        return wishes

    def approximate(self, subject: str) -> None:
        self.notes.setdefault(subject)


def _within(value: Term, most: object) -> Formula:
    return z3.And(value <= most, -value <= most)


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
