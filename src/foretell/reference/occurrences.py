"""Enumeration of the candidate bindings of a pattern on a lane, one operator at a time.

An occurrence binds events to steps so that the order holds. Conditions are not evaluated here, except those in `;{θ}`
that decide which event comes next; what remains to be checked of an occurrence is listed as its constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty
from foretell.reference.lane import Lane, PlacedEvent


@dataclass(frozen=True)
class Binding:
    """An event bound to a step."""

    step: str
    at: PlacedEvent


@dataclass(frozen=True)
class NoneBetween:
    """No event strictly between the two satisfies the negated step."""

    step: str
    after: PlacedEvent
    before: PlacedEvent


@dataclass(frozen=True)
class NoneBefore:
    """No event in the window before the match satisfies the negated step."""

    step: str


@dataclass(frozen=True)
class NoneAfter:
    """No event after the match, until its window has passed, satisfies the negated step."""

    step: str


@dataclass(frozen=True)
class IndexedCount:
    """`at` is the index-th event that satisfies the step since `after`; without `after`, every index-th in the lane."""

    step: str
    index: int
    at: PlacedEvent
    after: PlacedEvent | None


Constraint = NoneBetween | NoneBefore | NoneAfter | IndexedCount


@dataclass(frozen=True)
class Occurrence:
    """Bindings of a pattern, with the constraints that remain to be checked.

    `pending` are the negated steps before parts that bind nothing: they apply on the way to what follows.
    """

    bound: tuple[Binding, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    pending: tuple[str, ...] = ()

    def __add__(self, other: Occurrence) -> Occurrence:
        pending = other.pending if other.bound else self.pending + other.pending
        return Occurrence(self.bound + other.bound, self.constraints + other.constraints, pending)

    @property
    def first(self) -> PlacedEvent:
        return min((b.at for b in self.bound), key=_number)

    @property
    def last(self) -> PlacedEvent | None:
        return max((b.at for b in self.bound), key=_number, default=None)


def _names(negations: tuple[tree.Negation, ...]) -> tuple[str, ...]:
    return tuple(negation.step.name for negation in negations)


def _number(placed: PlacedEvent) -> int:
    return placed.number


@dataclass(frozen=True)
class OccurrenceSearch:
    """The search for occurrences in one lane.

    `candidates` are the events worth trying for each step; `where` evaluates a θ for an event after an occurrence.
    """

    lane: Lane
    candidates: Mapping[str, tuple[PlacedEvent, ...]]
    where: Callable[[tree.Expression, PlacedEvent, Occurrence], bool]

    def occurrences(self, pattern: tree.Pattern, before: Occurrence) -> Iterator[Occurrence]:
        """The occurrences of `pattern` that begin strictly after all of `before`. An empty one binds nothing."""
        match pattern:
            case tree.Step(name=name) | tree.Chosen(step=tree.Step(name=name)):
                for at in self._candidates_after(name, before):
                    yield Occurrence((Binding(name, at),))
            case tree.Numbered(step=tree.Step(name=name), index=index):
                for at in self._candidates_after(name, before):
                    yield Occurrence((Binding(name, at),), (IndexedCount(name, index, at, before.last),))
            case tree.Sequence():
                # Negations before the first part are bounded by the window, whichever part comes first in the end.
                leading = tuple(NoneBefore(n.step.name) for n in pattern.parts[0].absent)
                for whole in self._sequence(pattern.parts, before, Occurrence()):
                    trailing: tuple[Constraint, ...] = ()
                    if pattern.absent:
                        trailing = tuple(NoneAfter(step) for step in whole.pending + _names(pattern.absent))
                    yield whole + Occurrence((), leading + trailing) if whole.bound else whole
            case tree.Repeat():
                yield from self._repeat(pattern, before, Occurrence(), 0)
            case tree.Alternation(branches=branches):
                for branch in branches:
                    yield from self.occurrences(branch, before)
            case tree.Conjunction(sides=sides):
                yield from self._conjunction(sides, before)

    def _candidates_after(self, step: str, before: Occurrence) -> Iterator[PlacedEvent]:
        last = before.last
        return (e for e in self.candidates[step] if last is None or self.lane.follows(e, last))

    def _sequence(
        self, parts: tuple[tree.SequencePart, ...], before: Occurrence, so_far: Occurrence
    ) -> Iterator[Occurrence]:
        if not parts:
            yield so_far
            return
        part, *rest = parts
        absent = _names(part.absent)
        for found in self.occurrences(part.pattern, before + so_far):
            if not so_far.bound:
                extended = found  # nothing leads to the first part that binds an event
            elif not found.bound:
                # The operator goes with the part; the negations stay, on the way to what follows.
                extended = so_far + Occurrence(pending=absent)
            else:
                way = self._connected(part.operator, so_far.pending + absent, before + so_far, found)
                if way is None:
                    continue
                extended = so_far + way + found
            yield from self._sequence(tuple(rest), before, extended)

    def _connected(
        self,
        operator: tree.Operator | None,
        absent: tuple[str, ...],
        before: Occurrence,
        following: Occurrence,
    ) -> Occurrence | None:
        """The constraints on the way from `before` to `following`; None where the operator does not allow it."""
        last = before.last
        assert last is not None
        if isinstance(operator, tree.Next | tree.FirstWhere) and not self._is_next(
            operator, before, last, following.first
        ):
            return None
        return Occurrence((), tuple(NoneBetween(step, last, following.first) for step in absent))

    def _is_next(
        self, operator: tree.Next | tree.FirstWhere, before: Occurrence, last: PlacedEvent, first: PlacedEvent
    ) -> bool:
        """`P , Q` is `P ;{true} Q`; where ties are simultaneous every event of that first instant fits."""

        def fits(event: PlacedEvent) -> bool:
            return isinstance(operator, tree.Next) or self.where(operator.condition, event, before)

        return fits(first) and not any(fits(e) for e in self.lane.between(last, first))

    def _repeat(self, repeat: tree.Repeat, before: Occurrence, so_far: Occurrence, times: int) -> Iterator[Occurrence]:
        if times >= repeat.low or can_be_empty(repeat.body):
            yield so_far
        if repeat.high is not None and times >= repeat.high:
            return
        for turn in self.occurrences(repeat.body, before + so_far):
            if not turn.bound:
                continue
            way = self._connected(repeat.under, so_far.pending, before + so_far, turn) if so_far.bound else Occurrence()
            if way is not None:
                yield from self._repeat(repeat, before, so_far + way + turn, times + 1)

    def _conjunction(self, sides: tuple[tree.Pattern, ...], before: Occurrence) -> Iterator[Occurrence]:
        if not sides:
            yield Occurrence()
            return
        first, *rest = sides
        for side in self.occurrences(first, before):
            for others in self._conjunction(tuple(rest), before):
                if not {b.at for b in side.bound} & {b.at for b in others.bound}:
                    # Nothing follows inside a side of `&`, so what is pending there says nothing.
                    yield Occurrence(side.bound + others.bound, side.constraints + others.constraints)
