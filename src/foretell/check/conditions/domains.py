"""Sets of values that an attribute may have where conditions compare it with constants: no solver is needed for those.

Most conditions are of this kind, and a file may have ten thousand statements. A set may leave out values, as that of
LIKE does, so only that there is a value is certain. That there is none, and what is not exactly known here (the order
of texts, FLOATs that are very close) is left to the solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.tree import MIRRORED_COMPARISON
from foretell.records import record

#: Values of one type: numbers, or texts, or truths.
Plain = bool | int | float | str

_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
#: Numbers further apart than this, as a part of their size, have many FLOATs between them.
_APART = 1e-9
#: Integers of this size are FLOATs.
_EXACT = 2**53


@record
class Domain:
    """The values between two bounds, or those of a list, without some; NULL as well where `nullable`."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    only: frozenset[Plain] | None = None
    without: frozenset[Plain] = frozenset()
    nullable: bool = True
    valued: bool = True  # False of NULL alone

    def __and__(self, other: Domain) -> Domain:
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        both = self.only if other.only is None else other.only if self.only is None else self.only & other.only
        return Domain(
            low=low,
            high=high,
            low_open=low_open,
            high_open=not closed,
            only=both,
            without=self.without | other.without,
            nullable=self.nullable and other.nullable,
            valued=self.valued and other.valued,
        )

    def has_value(self, kind: Type) -> bool | None:
        """Whether there is a value other than NULL; None where that is not known."""
        if not self.valued:
            return False
        if self.only is not None:
            return any(self._admits(value) for value in self.only - self.without)
        if kind is Type.BOOL:
            return not self.without >= {True, False}
        if kind is Type.STRING:
            return True
        if kind is Type.INT:
            return self._has_integer()
        return self._has_float()

    def _admits(self, value: Plain) -> bool:
        if isinstance(value, str):
            return True
        above = value > self.low or (value == self.low and not self.low_open)
        return above and (value < self.high or (value == self.high and not self.high_open))

    def _has_integer(self) -> bool | None:
        if math.isinf(self.low) or math.isinf(self.high):
            return True
        first = math.floor(self.low) + 1 if self.low_open else math.ceil(self.low)
        last = math.ceil(self.high) - 1 if self.high_open else math.floor(self.high)
        excluded = {number for number in self.without if first <= float(number) <= last and number == int(number)}
        return last - first + 1 > len(excluded)

    def _has_float(self) -> bool | None:
        if self.low > self.high:
            return False
        if self.low == self.high:
            return not self.low_open and not self.high_open and self.low not in self.without
        if math.isinf(self.low) or math.isinf(self.high):
            return True
        apart = self.high - self.low > _APART * max(abs(self.low), abs(self.high), 1e-200)
        return True if apart and len(self.without) < 1000 else None


def plain_domain(condition: tree.Expression, kinds: Mapping[str, Type]) -> tuple[str, Domain] | None:
    """The attribute of the event being tried that a condition restricts, and to which values; None where it is no
    comparison with constants."""
    match condition:
        case tree.IsNull(value=tree.Attribute(event=tree.This(), name=name), negated=negated):
            return str(name), Domain(nullable=not negated, valued=negated)
        case tree.Attribute(event=tree.This(), name=name):
            return _typed(str(name), Domain(only=frozenset({True}), nullable=False), (True,), kinds)
        case tree.Unary(operator="NOT", operand=tree.Attribute(event=tree.This(), name=name)):
            return _typed(str(name), Domain(only=frozenset({False}), nullable=False), (False,), kinds)
        case tree.Binary(operator=sign, left=tree.Attribute(event=tree.This(), name=name), right=tree.Literal(value=v)):
            return _compared(str(name), sign, v, kinds)
        case tree.Binary(operator=sign, left=tree.Literal(value=v), right=tree.Attribute(event=tree.This(), name=name)):
            return _compared(str(name), MIRRORED_COMPARISON.get(sign, sign), v, kinds)
        case tree.Between(
            value=tree.Attribute(event=tree.This(), name=name),
            low=tree.Literal(value=int() | float() as low),
            high=tree.Literal(value=int() | float() as high),
            negated=False,
        ):
            return _typed(str(name), Domain(low=low, high=high, nullable=False), (low, high), kinds)
        case tree.In(value=tree.Attribute(event=tree.This(), name=name), options=options, negated=negated):
            return _among(str(name), options, kinds, negated=negated)
        case tree.Like(
            value=tree.Attribute(event=tree.This(), name=name), pattern=tree.Literal(value=str(text)), negated=False
        ):
            return _text(str(name), text.replace("%", "").replace("_", "x"), kinds)
        case tree.Call(
            function="starts_with" | "ends_with" | "contains",
            arguments=(tree.Attribute(event=tree.This(), name=name), tree.Literal(value=str(text))),
        ):
            return _text(str(name), text, kinds)
    return None


def _text(name: str, text: str, kinds: Mapping[str, Type]) -> tuple[str, Domain] | None:
    """One of the texts that meet a condition."""
    return _typed(name, Domain(only=frozenset({text}), nullable=False), (text,), kinds)


def opposite_domain(condition: tree.Expression, kinds: Mapping[str, Type]) -> Domain | None:
    """The values, other than NULL, for which a plain condition does not hold; None where that is not one domain."""
    match condition:
        case tree.Binary(operator=sign) if sign in _OPPOSITES:
            found = plain_domain(tree.Binary(_OPPOSITES[sign], condition.left, condition.right), kinds)
        case tree.In(negated=negated):
            found = plain_domain(tree.In(condition.value, condition.options, not negated), kinds)
        case _:
            return None
    return None if found is None else found[1]


def _among(
    name: str, options: Iterable[tree.Expression], kinds: Mapping[str, Type], *, negated: bool
) -> tuple[str, Domain] | None:
    values = [option.value if isinstance(option, tree.Literal) else None for option in options]
    plain = [value for value in values if value is not None]
    if len(plain) < len(values):
        return None
    found = frozenset(plain)
    domain = Domain(without=found, nullable=False) if negated else Domain(only=found, nullable=False)
    return _typed(name, domain, plain, kinds)


def _compared(name: str, sign: str, value: Plain | None, kinds: Mapping[str, Type]) -> tuple[str, Domain] | None:
    if value is None:
        return None
    match sign:
        case "=":
            domain = Domain(only=frozenset({value}), nullable=False)
        case "<>":
            domain = Domain(without=frozenset({value}), nullable=False)
        case "<" | "<=" if isinstance(value, int | float):
            domain = Domain(high=value, high_open=sign == "<", nullable=False)
        case ">" | ">=" if isinstance(value, int | float):
            domain = Domain(low=value, low_open=sign == ">", nullable=False)
        case _:
            return None
    return _typed(name, domain, (value,), kinds)


def _typed(name: str, domain: Domain, values: Iterable[Plain], kinds: Mapping[str, Type]) -> tuple[str, Domain] | None:
    """The domain, where the constants are of the attribute's type; of whole numbers small ones alone are exact."""
    kind = kinds.get(name)
    for value in values:
        fits = {
            Type.BOOL: isinstance(value, bool),
            Type.STRING: isinstance(value, str),
            Type.INT: type(value) in (int, float) and abs(value) < _EXACT,  # type: ignore[arg-type]
            Type.FLOAT: type(value) in (int, float) and abs(value) < 1e300,  # type: ignore[arg-type]
        }
        if kind is None or not fits.get(kind, False):
            return None
    if kind is Type.INT and domain.only is not None:
        domain = Domain(only=frozenset(v for v in domain.only if v == int(v)), nullable=False)
    return name, domain
