"""The matches found so far, as guesses for statements that differ in constants only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace

from foretell.check.conditions.constant_transfer import Constant, ConstantTransfer, Shape, shape_of
from foretell.check.witness import Witness
from foretell.events.types import Scalar
from foretell.language.checked import CheckedSubscription
from foretell.records import record

#: The matches that are kept for statements of one shape, and the shapes.
MOST_MATCHES, MOST_SHAPES = 4, 10_000

#: Values keep their distance from constants, or a multiple of it.
_FACTORS = (1, 16)


@record
class KnownMatch:
    """A match by the events of a witness, with the row of the FOR EACH table, and the steps that it binds."""

    witness: Witness
    row: Mapping[str, Scalar]
    steps: frozenset[str]


class KnownMatches:
    """Matches of statements by their shapes, the latest first."""

    def __init__(self) -> None:
        self._by_shape: OrderedDict[Hashable, list[tuple[tuple[Constant, ...], KnownMatch]]] = OrderedDict()

    def guesses(self, statement: CheckedSubscription) -> Iterator[KnownMatch]:
        """Matches that the statement may have, each to be confirmed."""
        shape = _shape(statement)
        for constants, known in list(self._by_shape.get(shape.key, ())):
            for factor in _FACTORS:
                yield _moved(known, ConstantTransfer(constants, shape.constants), factor, statement)

    def add(self, statement: CheckedSubscription, match: KnownMatch) -> None:
        shape = _shape(statement)
        known = self._by_shape.setdefault(shape.key, [])
        known.insert(0, (shape.constants, match))
        del known[MOST_MATCHES:]
        if len(self._by_shape) > MOST_SHAPES:
            self._by_shape.popitem(last=False)


def _shape(statement: CheckedSubscription) -> Shape:
    own = statement.tree
    clauses = (own.streams, own.table, own.per, own.pattern, own.definitions, own.within, own.having, own.after)
    types = (statement.time, statement.simultaneous, own.losing, *statement.steps)
    return shape_of((*clauses, *types))


def _moved(known: KnownMatch, transfer: ConstantTransfer, factor: int, statement: CheckedSubscription) -> KnownMatch:
    """The match with its values moved. Times keep their distance from the first one, or from a constant beside that."""
    events = known.witness.events
    begin = events[0].time
    moved = []
    for event in events:
        passed = transfer.scalar(event.time - begin)
        time = begin + (passed if isinstance(passed, int | float) else 0)
        start = None if event.start is None else time - (event.time - event.start)
        attributes = {
            name: time if value == event.time and value is not None else transfer.scalar(value, factor)
            for name, value in event.attributes.items()
        }
        moved.append(replace(event, time=time, start=start, attributes=attributes))
    window = statement.within
    until = None if known.witness.until is None or window is None else moved[-1].time + 2 * window + 1
    row = {name: transfer.scalar(value, factor) for name, value in known.row.items()}
    return KnownMatch(Witness(tuple(moved), until), row, known.steps)
