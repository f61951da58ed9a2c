"""The alphabet of one or two statements: the combinations of their one-event conditions that an event can satisfy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Protocol

from foretell.check.answer import Truth
from foretell.check.automata.event_cells import EventCells, TooManyCellsError, event_cells, is_exact
from foretell.check.automata.event_scope import EventScope
from foretell.events.types import Scalar
from foretell.language import tree
from foretell.records import record

#: More combinations are not told apart.
MOST_LETTERS = 256
_MOST_CELLS = 4096
#: Conditions that are more than comparisons with constants: all combinations of them are tried.
_MOST_OPEN = 8


class TooManyLettersError(Exception):
    """One event can satisfy more combinations of conditions than are told apart."""


@record
class Example:
    """An event by its stream and its attributes."""

    stream: str
    attributes: Mapping[str, Scalar]


@record
class Feasibility:
    """Whether an event can satisfy some conditions and not others, with such an event where it is known."""

    truth: Truth
    example: Example | None = None


class EventOracle(Protocol):
    """A solver for conditions on one event."""

    def feasibility(self, holding: Sequence[tree.Expression], failing: Sequence[tree.Expression], /) -> Feasibility: ...

    def implies(self, condition: tree.Expression, consequence: tree.Expression, /) -> bool: ...


@record
class Letter:
    """A combination of conditions: `holding` has a bit for each that holds. Without an example the combination may be
    impossible."""

    holding: int
    example: Example | None


@record
class Alphabet:
    """`complete`: every letter has an example. In either case there is a letter for every event.

    `free`: every sequence of examples is one of events of a lane. Otherwise conditions name the time, keys of the lane,
    or attributes that LET works out.
    """

    conditions: tuple[tree.Expression, ...]
    letters: tuple[Letter, ...]
    free: bool
    cells: EventCells

    @cached_property
    def numbers(self) -> Mapping[tree.Expression, int]:
        return {condition: number for number, condition in enumerate(self.conditions)}

    @cached_property
    def everything(self) -> int:
        """The bits of all letters."""
        return (1 << len(self.letters)) - 1

    @property
    def complete(self) -> bool:
        return all(letter.example is not None for letter in self.letters)

    def satisfying(self, conditions: Sequence[tree.Expression]) -> int:
        """The bits of the letters on which all conditions hold."""
        wanted = sum({1 << self.numbers[condition] for condition in conditions})
        return sum(1 << n for n, letter in enumerate(self.letters) if letter.holding & wanted == wanted)


def alphabet(conditions: Sequence[tree.Expression], scope: EventScope, oracle: EventOracle | None = None) -> Alphabet:
    """The alphabet of conditions on one event; TooManyLettersError where it would be too large."""
    distinct = tuple(dict.fromkeys(conditions))
    try:
        cells = event_cells(distinct, scope, _MOST_CELLS)
    except TooManyCellsError as error:
        raise TooManyLettersError from error
    examples: dict[int, Example] = {}
    for cell in cells.cells:
        examples.setdefault(cell.holding, Example(cell.stream, cell.attributes))
    letters = [Letter(holding, example) for holding, example in sorted(examples.items())]
    if not cells.exact:
        letters += _others(distinct, scope, examples, oracle)
    if len(letters) > MOST_LETTERS:
        raise TooManyLettersError
    bound = scope.bound_together
    free = not any(str(n.name) in bound for c in distinct for n in c.walk() if isinstance(n, tree.Attribute))
    free = free and not any(isinstance(n, tree.TimeOf) for c in distinct for n in c.walk())
    return Alphabet(distinct, tuple(letters), free, cells)


def _others(
    conditions: Sequence[tree.Expression],
    scope: EventScope,
    known: Mapping[int, Example],
    oracle: EventOracle | None,
) -> Iterator[Letter]:
    """The combinations that no cell shows: where an oracle does not refute them they may be possible."""
    opened = [number for number, condition in enumerate(conditions) if not is_exact(condition, scope)]
    if len(opened) > _MOST_OPEN:
        raise TooManyLettersError
    mask = sum(1 << number for number in opened)
    for rest, choice in product({holding & ~mask for holding in known}, product((0, 1), repeat=len(opened))):
        holding = rest | sum(bit << number for bit, number in zip(choice, opened, strict=True))
        if holding in known:
            continue
        found = Feasibility(Truth.UNKNOWN)
        if oracle is not None:
            holds = [c for n, c in enumerate(conditions) if holding >> n & 1]
            fails = [c for n, c in enumerate(conditions) if not holding >> n & 1]
            found = oracle.feasibility(holds, fails)
        if found.truth is not Truth.NO:
            yield Letter(holding, found.example)
