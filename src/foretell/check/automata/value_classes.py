"""Classes of the values of one attribute: the values of a class satisfy the same conditions.

Comparisons with constants cut the domain of an attribute into points and gaps. Where all conditions on an attribute are
such comparisons, one value of each point and gap is enough to know all combinations of conditions that a value can
satisfy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from foretell.events.types import Scalar, Type
from foretell.records import record

#: The end of a range of values: a value, and whether the range reaches past it. None is the end of the domain.
Cut = tuple[Any, int] | None

#: The truth of each condition for a value: true, false or unknown.
Truths = tuple[object, ...]

_END_OF_INT = 2**63


@record
class ValueClass:
    """`ranges` are the values of the class, without overlaps and in order; `has_null` whether NULL is in it."""

    ranges: tuple[tuple[Cut, Cut], ...]
    has_null: bool
    example: Scalar


@record
class SampledRange:
    low: Cut
    high: Cut
    example: Scalar


def value_classes(
    kind: Type, constants: Iterable[Scalar], extra: Iterable[Scalar], truths: Callable[[Scalar], Truths]
) -> tuple[ValueClass, ...]:
    """The classes of the values of a type, by the truth of the conditions for one value of each range.

    `extra` are further values to try where conditions are more than comparisons with constants; they have no range.
    """
    ranges: dict[Truths, list[tuple[Cut, Cut]]] = {}
    examples: dict[Truths, Scalar] = {}
    for found in value_ranges(kind, constants):
        name = truths(found.example)
        ranges.setdefault(name, []).append((found.low, found.high))
        examples.setdefault(name, found.example)
    for value in (*extra, *_plain_values(kind)):
        name = truths(value)
        if name in ranges:
            examples[name] = value
        else:
            ranges[name], examples[name] = [], value
    null = truths(None)
    ranges.setdefault(null, [])
    examples.setdefault(null, None)
    return tuple(
        ValueClass(tuple(joined(found)), has_null=name == null, example=examples[name])
        for name, found in ranges.items()
    )


def value_ranges(kind: Type, constants: Iterable[Scalar]) -> Iterator[SampledRange]:
    """The points and gaps into which constants cut the domain of a type, in order."""
    match kind:
        case Type.BOOL:
            yield SampledRange((0, 0), (1, 0), False)
            yield SampledRange((1, 0), (2, 0), True)
        case Type.INT | Type.TIMESTAMP:
            yield from _whole_ranges(sorted({n for c in constants for n in _whole_neighbours(c)}))
        case Type.STRING:
            yield from _dense_ranges(sorted({str(c) for c in constants}), "", lambda low: low + "\0", _text_between)
        case _:
            found = sorted({float(c) for c in constants if isinstance(c, int | float)})
            yield from _dense_ranges(found, -math.inf, lambda low: low + 1.0, _number_between)


def _whole_neighbours(constant: Scalar) -> Iterator[int]:
    if isinstance(constant, int | float) and math.isfinite(constant):
        yield math.floor(constant)
        yield math.ceil(constant)


def _whole_ranges(points: Sequence[int]) -> Iterator[SampledRange]:
    """Of 64 bits, as values of INT and TIMESTAMP are."""
    points = [point for point in points if -_END_OF_INT <= point < _END_OF_INT]
    if not points:
        yield SampledRange(None, None, 0)
        return
    if points[0] > -_END_OF_INT:
        yield SampledRange(None, (points[0], 0), points[0] - 1)
    for place, point in enumerate(points):
        yield SampledRange((point, 0), (point + 1, 0), point)
        if place == len(points) - 1:
            if point + 1 < _END_OF_INT:
                yield SampledRange((point + 1, 0), None, point + 1)
        elif point + 1 < points[place + 1]:
            yield SampledRange((point + 1, 0), (points[place + 1], 0), point + 1)


def _dense_ranges(
    points: Sequence[Any], least: Any, above: Callable[[Any], Any], between: Callable[[Any, Any], Any]
) -> Iterator[SampledRange]:
    if not points:
        yield SampledRange(None, None, 0.0 if isinstance(least, float) else "other")
        return
    if points[0] > least:
        below = points[0] - 1.0 if isinstance(least, float) else ""
        yield SampledRange(None, (points[0], 0), below)
    for point, following in pairwise((*points, None)):
        yield SampledRange((point, 0), (point, 1), point)
        inside = above(point) if following is None else between(point, following)
        if following is None or point < inside < following:
            yield SampledRange((point, 1), None if following is None else (following, 0), inside)


def _text_between(low: str, _: str) -> str:
    return low + "\0"


def _number_between(low: float, high: float) -> float:
    return low / 2 + high / 2


def _plain_values(kind: Type) -> tuple[Scalar, ...]:
    """Values that a reader likes to see, where nothing is asked of the attribute."""
    return ("other",) if kind is Type.STRING else ()


def joined(ranges: Sequence[tuple[Cut, Cut]]) -> Iterator[tuple[Cut, Cut]]:
    """Ranges in order, those that touch as one."""
    last: tuple[Cut, Cut] | None = None
    for low, high in ranges:
        if last is not None and last[1] == low:
            last = last[0], high
            continue
        if last is not None:
            yield last
        last = low, high
    if last is not None:
        yield last
