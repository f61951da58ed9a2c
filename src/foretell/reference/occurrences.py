"""Every way a pattern can lie on a lane (LANGUAGE section 3), one operator at a time.

An occurrence binds events to steps so that the order holds. Conditions are not asked here, except those in `;{θ}`
that decide which event comes next; what must still be shown of an occurrence is written down as its duties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty
from foretell.reference.lane import Lane, Placed


@dataclass(frozen=True)
class Bound:
    step: str
    at: Placed


@dataclass(frozen=True)
class Absent:
    """No event strictly between the two satisfies the negated step."""

    step: str
    after: Placed
    before: Placed


@dataclass(frozen=True)
class AbsentBefore:
    """None in the window before the match."""

    step: str


@dataclass(frozen=True)
class AbsentAfter:
    """None after the match until its window has passed."""

    step: str


@dataclass(frozen=True)
class Counted:
    """`at` is the index-th event that satisfies the step since `after`, or every index-th in the lane."""

    step: str
    index: int
    at: Placed
    after: Placed | None


Duty = Absent | AbsentBefore | AbsentAfter | Counted


@dataclass(frozen=True)
class Occurrence:
    """`pending` names the negated steps before parts that bind nothing: they apply on the way to what follows."""

    bound: tuple[Bound, ...] = ()
    duties: tuple[Duty, ...] = ()
    pending: tuple[str, ...] = ()

    def __add__(self, other: Occurrence) -> Occurrence:
        pending = other.pending if other.bound else self.pending + other.pending
        return Occurrence(self.bound + other.bound, self.duties + other.duties, pending)

    @property
    def first(self) -> Placed:
        return min((b.at for b in self.bound), key=_number)

    @property
    def last(self) -> Placed | None:
        return max((b.at for b in self.bound), key=_number, default=None)


def _names(negations: tuple[tree.Negation, ...]) -> tuple[str, ...]:
    return tuple(negation.step.name for negation in negations)


def _number(placed: Placed) -> int:
    return placed.number


@dataclass(frozen=True)
class Search:
    """`candidates` are the events worth trying for a step; `where` judges a θ for an event after what is bound."""

    lane: Lane
    candidates: Mapping[str, tuple[Placed, ...]]
    where: Callable[[tree.Expression, Placed, Occurrence], bool]

    def occurrences(self, pattern: tree.Pattern, before: Occurrence) -> Iterator[Occurrence]:
        """Of `pattern`, beginning strictly after all of `before`. An empty one binds nothing."""
        match pattern:
            case tree.Step(name=name) | tree.Chosen(step=tree.Step(name=name)):
                for at in self._trying(name, before):
                    yield Occurrence((Bound(name, at),))
            case tree.Numbered(step=tree.Step(name=name), index=index):
                for at in self._trying(name, before):
                    yield Occurrence((Bound(name, at),), (Counted(name, index, at, before.last),))
            case tree.Sequence():
                # Negations before the first part are bounded by the window, whichever part comes first in the end.
                leading = tuple(AbsentBefore(n.step.name) for n in pattern.parts[0].absent)
                for one in self._sequence(pattern.parts, before, Occurrence()):
                    trailing: tuple[Duty, ...] = ()
                    if pattern.absent:
                        trailing = tuple(AbsentAfter(step) for step in one.pending + _names(pattern.absent))
                    yield one + Occurrence((), leading + trailing) if one.bound else one
            case tree.Repeat():
                yield from self._repeat(pattern, before, Occurrence(), 0)
            case tree.Alternation(branches=branches):
                for branch in branches:
                    yield from self.occurrences(branch, before)
            case tree.Conjunction(sides=sides):
                yield from self._conjunction(sides, before)

    def _trying(self, step: str, before: Occurrence) -> Iterator[Placed]:
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
        for one in self.occurrences(part.pattern, before + so_far):
            if not so_far.bound:
                extended = one  # the first part that binds an event has nothing that leads to it
            elif not one.bound:
                # The operator goes with the part; the negations stay, on the way to what follows.
                extended = so_far + Occurrence(pending=absent)
            else:
                led = self._led(part.operator, so_far.pending + absent, before + so_far, one)
                if led is None:
                    continue
                extended = so_far + led + one
            yield from self._sequence(tuple(rest), before, extended)

    def _led(
        self,
        operator: tree.Operator | None,
        absent: tuple[str, ...],
        before: Occurrence,
        one: Occurrence,
    ) -> Occurrence | None:
        """The duties of the way from `before` to `one`; None where the operator does not allow it."""
        last = before.last
        assert last is not None
        if isinstance(operator, tree.Next | tree.FirstWhere) and not self._is_next(operator, before, last, one.first):
            return None
        return Occurrence((), tuple(Absent(step, last, one.first) for step in absent))

    def _is_next(self, operator: tree.Next | tree.FirstWhere, before: Occurrence, last: Placed, first: Placed) -> bool:
        """`P , Q` is `P ;{true} Q`; where ties are simultaneous every event of that first instant will do."""

        def fits(event: Placed) -> bool:
            return isinstance(operator, tree.Next) or self.where(operator.condition, event, before)

        return fits(first) and not any(fits(e) for e in self.lane.between(last, first))

    def _repeat(self, repeat: tree.Repeat, before: Occurrence, so_far: Occurrence, times: int) -> Iterator[Occurrence]:
        if times >= repeat.low or can_be_empty(repeat.body):
            yield so_far
        if repeat.high is not None and times >= repeat.high:
            return
        for one in self.occurrences(repeat.body, before + so_far):
            if not one.bound:
                continue
            led = self._led(repeat.under, so_far.pending, before + so_far, one) if so_far.bound else Occurrence()
            if led is not None:
                yield from self._repeat(repeat, before, so_far + led + one, times + 1)

    def _conjunction(self, sides: tuple[tree.Pattern, ...], before: Occurrence) -> Iterator[Occurrence]:
        if not sides:
            yield Occurrence()
            return
        first, *rest = sides
        for one in self.occurrences(first, before):
            for others in self._conjunction(tuple(rest), before):
                if not {b.at for b in one.bound} & {b.at for b in others.bound}:
                    # Nothing follows inside a side of `&`, so what is pending there says nothing.
                    yield Occurrence(one.bound + others.bound, one.duties + others.duties)
