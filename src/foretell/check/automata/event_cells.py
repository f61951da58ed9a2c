"""Cells: the combinations of value classes of all attributes that conditions name, each with the conditions that hold.

Where all conditions compare attributes with constants, every event lies in a cell, and all events of a cell satisfy the
same conditions: the cells have all feasible combinations. Otherwise they have those that a few values show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from foretell.check.automata.event_conditions import (
    STREAM,
    attributes_of,
    constants_of,
    is_plain_comparison,
    leaves,
    names_time,
)
from foretell.check.automata.event_scope import EventScope, SourceStream
from foretell.check.automata.value_classes import Truths, ValueClass, value_classes
from foretell.events.event import Event
from foretell.events.types import Scalar, Type
from foretell.language import tree
from foretell.records import record
from foretell.reference.expressions import Frame, holds, value

#: Beyond it several INTs equal one FLOAT.
_LARGEST_EXACT = 2.0**53


class TooManyCellsError(Exception):
    """Conditions on more attributes than can be combined."""


@record
class Cell:
    """`classes` are the numbers of the value classes of each axis; `holding` has a bit for each condition."""

    classes: tuple[int, ...]
    holding: int
    stream: str
    attributes: Mapping[str, Scalar]


@record
class EventCells:
    """`axes` are the attributes with their classes. `exact`: whether every event lies in a cell."""

    axes: tuple[tuple[str, tuple[ValueClass, ...]], ...]
    cells: tuple[Cell, ...]
    exact: bool


def event_cells(conditions: Sequence[tree.Expression], scope: EventScope, most: int) -> EventCells:
    return _CellConstruction(conditions, scope, most).cells()


def is_exact(condition: tree.Expression, scope: EventScope) -> bool:
    """Whether its truth changes at constants of single attributes alone."""
    worked_out = {name for source in scope.sources for name in source.derived}
    if any(isinstance(constant, float) and abs(constant) > _LARGEST_EXACT for constant in constants_of(condition)):
        return False
    return all(
        is_plain_comparison(leaf) and not names_time(leaf) and not attributes_of(leaf) & worked_out
        for leaf in leaves(condition)
    )


class _CellConstruction:
    def __init__(self, conditions: Sequence[tree.Expression], scope: EventScope, most: int) -> None:
        self._conditions, self._scope, self._most = conditions, scope, most
        self._leaves = dict.fromkeys(leaf for condition in conditions for leaf in leaves(condition))
        self._named = {leaf: attributes_of(leaf) for leaf in self._leaves}
        self._names = sorted({name for named in self._named.values() for name in named} - {STREAM})
        places = {name: place for place, name in enumerate(self._names)}
        #: The places of the attributes that each condition names.
        self._places = [sorted(places[n] for n in attributes_of(c) - {STREAM}) for c in conditions]
        self._known: dict[tuple[object, ...], bool] = {}

    def cells(self) -> EventCells:
        axes = tuple((name, self._classes(name)) for name in self._names)
        exact = all(is_exact(condition, self._scope) for condition in self._conditions)
        return EventCells(axes, tuple(self._combined(axes)), exact)

    def _combined(self, axes: Sequence[tuple[str, tuple[ValueClass, ...]]]) -> Iterator[Cell]:
        count = 0
        for source in self._scope.sources:
            numbers = [self._classes_in(source, name, classes) for name, classes in axes]
            count += prod(map(len, numbers))
            if count > self._most:
                raise TooManyCellsError
            for chosen in product(*numbers):
                attributes = {
                    name: classes[number].example
                    for (name, classes), number in zip(axes, chosen, strict=True)
                    if source.has(name)
                }
                yield Cell(chosen, self._holding(source.name, chosen, attributes), source.name, attributes)

    def _classes_in(self, source: SourceStream, name: str, classes: Sequence[ValueClass]) -> list[int]:
        """The classes of an attribute in the events of a stream, NULL last. Without the attribute it is NULL."""
        if not source.has(name):
            return [number for number, found in enumerate(classes) if found.has_null]
        if source.schema.time == name:
            return [number for number, found in enumerate(classes) if found.example is not None]
        return sorted(range(len(classes)), key=lambda number: (classes[number].example is None, number))

    def _holding(self, stream: str, chosen: Sequence[int], attributes: Mapping[str, Scalar]) -> int:
        """The conditions that hold in a cell. Each is evaluated once for all cells with the same classes of the
        attributes that it names."""
        found, frame = 0, None
        for number, condition in enumerate(self._conditions):
            name = (number, stream, *(chosen[place] for place in self._places[number]))
            if name not in self._known:
                frame = frame or self._with(stream, attributes)
                self._known[name] = holds(condition, frame)
            found |= self._known[name] << number
        return found

    def _with(self, stream: str, attributes: Mapping[str, Scalar]) -> Frame:
        return Frame(self._scope.types, self._scope.time, this=Event(stream, attributes, 0, 0, ()))

    def _classes(self, name: str) -> tuple[ValueClass, ...]:
        own = [leaf for leaf, named in self._named.items() if name in named]
        alone = [leaf for leaf in own if len(self._named[leaf]) == 1]
        constants = {constant for leaf in own for constant in constants_of(leaf)}
        kind = self._kind(name, constants)
        extra = {} if all(map(is_plain_comparison, own)) else dict.fromkeys(_samples(kind, constants))
        together = len(alone) < len(own)

        def truths(candidate: Scalar) -> Truths:
            frame = self._with(self._scope.sources[0].name, {name: candidate})
            found = tuple(value(leaf, frame) for leaf in alone)
            return (*found, candidate) if together else found

        return value_classes(kind, constants, extra, truths)

    def _kind(self, name: str, constants: set[Scalar]) -> Type:
        known = self._scope.types.get(name, Type.UNKNOWN)
        if known not in (Type.UNKNOWN, Type.NULL):
            return known
        if any(isinstance(constant, str) for constant in constants):
            return Type.STRING
        if constants and all(isinstance(constant, bool) for constant in constants):
            return Type.BOOL
        return Type.FLOAT


def _samples(kind: Type, constants: set[Scalar]) -> Iterator[Scalar]:
    """Values to try where a condition is more than comparisons."""
    if kind is Type.STRING:
        texts = [constant for constant in constants if isinstance(constant, str)]
        for text in texts:
            yield text.replace("%", "").replace("_", "x")
            yield text.replace("%", "x").replace("_", "x")
            yield text.upper()
            yield text.lower()
        yield "".join(texts)
        yield ""
        return
    if kind is Type.BOOL:
        return
    numbers = [constant for constant in constants if isinstance(constant, int | float)]
    found = {0, 1, 2, -1, *numbers, *(n + 1 for n in numbers), *(-n for n in numbers), *(2 * n for n in numbers)}
    for number in sorted(found)[:32]:
        yield float(number) if kind is Type.FLOAT else int(number)
