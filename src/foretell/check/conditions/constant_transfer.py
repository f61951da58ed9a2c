"""Examples carried over from conditions to others that differ from them in constants only.

A program of thousands of statements has few shapes: `price > 12 AND name = 'n7'` and `price > 90 AND name = 'n8'` are
one. An event that shows something of the first is likely to show it of the second once its values are moved with the
constants that they are near to: 12.5 becomes 90.5. That is a guess, which the caller confirms as it does those of z3.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields
from itertools import combinations_with_replacement

from foretell.events.types import Scalar
from foretell.language import tree
from foretell.records import record

Constant = int | float | str

#: With more numbers than this, their sums and products are not looked at.
MOST_COMBINED = 8


@record
class Shape:
    """A tree without its constants, and these in the order of the text."""

    key: Hashable
    constants: tuple[Constant, ...]


def shape_of(nodes: Sequence[object]) -> Shape:
    """The shape of nodes, or of what is in the fields of one."""
    constants: list[Constant] = []
    return Shape(tuple(_key(node, constants) for node in nodes), tuple(constants))


def _key(value: object, constants: list[Constant]) -> Hashable:
    match value:
        case tuple():
            return tuple(_key(item, constants) for item in value)
        case tree.Literal(value=int() | float() | str() as constant) if not isinstance(constant, bool):
            constants.append(constant)
            return type(constant).__name__
        case tree.Span(micros=micros) | tree.Moment(micros=micros):
            constants.append(micros)
            return type(value).__name__
        case tree.Node():
            return type(value), *(_key(getattr(value, name), constants) for name in _fields(type(value)))
    return type(value), str(value)


def _fields(kind: type[tree.Node]) -> tuple[str, ...]:
    if kind not in _known_fields:
        _known_fields[kind] = tuple(field.name for field in fields(kind) if field.compare)
    return _known_fields[kind]


_known_fields: dict[type[tree.Node], tuple[str, ...]] = {}


class ConstantTransfer:
    """Values moved from the constants of one tree to those of another with the same shape."""

    def __init__(self, old: Sequence[Constant], new: Sequence[Constant]) -> None:
        pairs = list(zip(old, new, strict=True))
        self._texts = {before: after for before, after in pairs if isinstance(before, str)}
        numbers = [(b, a) for b, a in pairs if not isinstance(b, str) and not isinstance(a, str)]
        self._anchors = [(0, 0), *dict.fromkeys(numbers)]
        if len(self._anchors) <= MOST_COMBINED:
            self._anchors += list(_combined(self._anchors[1:]))

    def scalar(self, value: Scalar, factor: int = 1) -> Scalar:
        """A text that is a constant becomes the other one, a number keeps its distance from the nearest constant, or
        a multiple of that."""
        if isinstance(value, str):
            return self._texts.get(value, value)
        if value is None or isinstance(value, bool):
            return value
        before, after = min(self._anchors, key=lambda anchor: abs(anchor[0] - value))
        moved = after + factor * (value - before)
        return round(moved) if isinstance(value, int) else float(moved)


def _combined(numbers: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The sums, differences and products of pairs of numbers."""
    for (one_old, one_new), (two_old, two_new) in combinations_with_replacement(numbers, 2):
        yield one_old + two_old, one_new + two_new
        yield one_old - two_old, one_new - two_new
        yield one_old * two_old, one_new * two_new
