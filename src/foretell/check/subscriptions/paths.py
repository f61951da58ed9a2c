"""Paths through a pattern: which steps a match binds, in which order, and what holds on the way from one to the next.

It mirrors the enumeration of the reference evaluator on a lane that has no other events than those of the match, and
the events that a[i] counts before the i-th. More events never help a match: all else that looks at them is negations
and the operators `,` and `;{θ}`. So a statement can match if and only if the conditions of a path can hold.

A repetition has as many rounds as fit the wanted number of events. On an `open` path it has none, one, or two with a
gap between them, which stands for any number of further rounds of which nothing is known. The open paths are few, and
each match of the pattern is on one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import count

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty, most_events, step_shapes
from foretell.records import record

_numbers = count()


@record
class Slot:
    """An event of the lane: bound to a step, or counted for a step a[i] before its own."""

    step: str
    counted: bool = False
    number: int = field(default_factory=lambda: next(_numbers))


Slots = tuple[Slot, ...]


@record
class PathTransition:
    """The way from all that is bound before to the first of the events that follow."""

    operator: tree.Operator | None
    absent: tuple[str, ...]
    before: Slots
    following: Slots


@record
class LeadingNegation:
    """No event in the window before the match satisfies the step."""

    step: str


@record
class TrailingNegation:
    """No event after the match satisfies the step."""

    step: str


@record
class CountedStep:
    """`at` is the index-th event that satisfies the step since all that is bound before."""

    step: str
    index: int
    at: Slot
    before: Slots


PathConstraint = PathTransition | LeadingNegation | TrailingNegation | CountedStep


@record
class RepetitionGap:
    """Any number of rounds between two of a repetition, which may bind these steps."""

    steps: frozenset[str]
    before: Slots
    after: Slots


@record
class PatternPath:
    """The events of a match in the order of the lane; `pending` are negations that apply on the way to what follows."""

    slots: Slots = ()
    constraints: tuple[PathConstraint, ...] = ()
    gaps: tuple[RepetitionGap, ...] = ()
    pending: tuple[str, ...] = ()

    @property
    def bound(self) -> Slots:
        return tuple(slot for slot in self.slots if not slot.counted)

    @property
    def steps(self) -> frozenset[str]:
        """The steps that it binds, or may bind in a gap."""
        known = frozenset(slot.step for slot in self.bound)
        return known.union(*(gap.steps for gap in self.gaps))

    def then(self, other: PatternPath, way: tuple[PathConstraint, ...] = ()) -> PatternPath:
        """This path and another after it."""
        later = tuple(_preceded(constraint, self.bound) for constraint in other.constraints)
        pending = other.pending if other.bound else self.pending + other.pending
        constraints = self.constraints + way + later
        return PatternPath(self.slots + other.slots, constraints, self.gaps + other.gaps, pending)


def _preceded(constraint: PathConstraint, before: Slots) -> PathConstraint:
    if isinstance(constraint, PathTransition | CountedStep):
        return replace(constraint, before=before + constraint.before)
    return constraint


#: The most events that a[i] counts on a path.
MOST_COUNTED = 8


class PathSearch:
    """The search for paths of a settled pattern."""

    def __init__(self) -> None:
        #: By the number of a pattern, which stays alive with it.
        self._fewest: dict[int, tuple[tree.Pattern, int]] = {}

    def paths(self, pattern: tree.Pattern, size: int | None) -> Iterator[PatternPath]:
        """The paths with so many bound events; all of them where `size` is None, as it is on open paths."""
        if size is not None and not self._fits(pattern, size):
            return
        match pattern:
            case tree.Step(name=name) | tree.Chosen(step=tree.Step(name=name)):
                yield PatternPath((Slot(str(name)),))
            case tree.Numbered(step=tree.Step(name=name), index=index):
                yield from _counted(str(name), index, is_open=size is None)
            case tree.Sequence():
                leading = tuple(LeadingNegation(str(n.step.name)) for n in pattern.parts[0].absent)
                for whole in self._sequence(pattern.parts, PatternPath(), size):
                    names = whole.pending + _names(pattern.absent) if pattern.absent else ()
                    edges = leading + tuple(map(TrailingNegation, names))
                    yield whole.then(PatternPath((), edges)) if whole.bound else whole
            case tree.Repeat():
                yield from self._open_rounds(pattern) if size is None else self._rounds(pattern, PatternPath(), 0, size)
            case tree.Alternation(branches=branches):
                for branch in branches:
                    yield from self.paths(branch, size)
            case tree.Conjunction(sides=sides):
                yield from self._conjunction(sides, size)

    def _fits(self, pattern: tree.Pattern, size: int) -> bool:
        most = most_events(pattern)
        return self.fewest(pattern) <= size and (most is None or size <= most)

    def fewest(self, pattern: tree.Pattern) -> int:
        """The fewest events that the pattern binds."""
        known = self._fewest.get(id(pattern))
        if known is None:
            known = self._fewest[id(pattern)] = pattern, self._fewest_of(pattern)
        return known[1]

    def _fewest_of(self, pattern: tree.Pattern) -> int:
        match pattern:
            case tree.Repeat(body=body, low=low):
                return 0 if can_be_empty(body) else low * self.fewest(body)
            case tree.Alternation(branches=branches):
                return min(map(self.fewest, branches))
            case tree.Sequence(parts=parts):
                return sum(self.fewest(part.pattern) for part in parts)
            case tree.Conjunction(sides=sides):
                return sum(map(self.fewest, sides))
            case tree.Silence():
                return 0
        return 1

    def _sizes(self, first: tree.Pattern, rest: list[tree.Pattern], size: int | None) -> Iterator[int | None]:
        """How many of the events the first of several parts may bind."""
        if size is None:
            yield None
            return
        others = sum(map(self.fewest, rest))
        for own in range(self.fewest(first), size - others + 1):
            if rest or own == size:
                yield own

    def _sequence(
        self, parts: tuple[tree.SequencePart, ...], so_far: PatternPath, size: int | None
    ) -> Iterator[PatternPath]:
        if not parts:
            if not size:
                yield so_far
            return
        part, *rest = parts
        absent = _names(part.absent)
        for own in self._sizes(part.pattern, [p.pattern for p in rest], size):
            for found in self.paths(part.pattern, own):
                left = None if size is None or own is None else size - own
                yield from self._sequence(tuple(rest), _extended(so_far, part.operator, absent, found), left)

    def _rounds(self, repeat: tree.Repeat, so_far: PatternPath, times: int, size: int) -> Iterator[PatternPath]:
        if size == 0 and (times >= repeat.low or can_be_empty(repeat.body)):
            yield so_far
        if size == 0 or (repeat.high is not None and times >= repeat.high):
            return
        for own in range(max(1, self.fewest(repeat.body)), size + 1):
            for turn in self.paths(repeat.body, own):
                if turn.bound:
                    longer = _extended(so_far, repeat.under, (), turn)
                    yield from self._rounds(repeat, longer, times + 1, size - own)

    def _open_rounds(self, repeat: tree.Repeat) -> Iterator[PatternPath]:
        optional = repeat.low == 0 or can_be_empty(repeat.body)
        if optional:
            yield PatternPath()
        for first in self.paths(repeat.body, None):
            if not first.bound:
                continue
            if (optional or repeat.low <= 1) and repeat.high != 0:
                yield first
            if repeat.high is not None and repeat.high < 2:
                continue
            steps = frozenset(shape.name for shape in step_shapes(repeat.body) if not shape.negated)
            for last in self.paths(repeat.body, None):
                if last.bound:
                    whole = first.then(last)
                    yield replace(whole, gaps=(*whole.gaps, RepetitionGap(steps, first.slots, last.slots)))

    def _conjunction(self, sides: tuple[tree.Pattern, ...], size: int | None) -> Iterator[PatternPath]:
        if not sides:
            if not size:
                yield PatternPath()
            return
        first, *rest = sides
        for own in self._sizes(first, list(rest), size):
            for side in self.paths(first, own):
                left = None if size is None or own is None else size - own
                for others in self._conjunction(tuple(rest), left):
                    for slots in _shuffles(side.slots, others.slots):
                        yield PatternPath(slots, side.constraints + others.constraints, side.gaps + others.gaps)


def _names(negations: tuple[tree.Negation, ...]) -> tuple[str, ...]:
    return tuple(str(negation.step.name) for negation in negations)


def _counted(step: str, index: int, *, is_open: bool) -> Iterator[PatternPath]:
    """The i-th event, with the other events that are counted; some of those of the match may be among these."""
    if index - 1 > MOST_COUNTED:
        if is_open:
            yield PatternPath((Slot(step),), gaps=(RepetitionGap(frozenset(), (), ()),))
        return
    for others in range(index - 1, -1, -1):
        at = Slot(step)
        slots = (*(Slot(step, counted=True) for _ in range(others)), at)
        yield PatternPath(slots, (CountedStep(step, index, at, ()),))


def _extended(
    so_far: PatternPath, operator: tree.Operator | None, absent: tuple[str, ...], found: PatternPath
) -> PatternPath:
    """A part of a sequence after what comes before it. An operator goes with a part that binds nothing."""
    if not so_far.bound:
        return so_far.then(found)
    if not found.bound:
        return so_far.then(PatternPath(pending=absent))
    way = PathTransition(operator, so_far.pending + absent, so_far.bound, found.bound)
    return so_far.then(found, (way,))


def _shuffles(left: Slots, right: Slots) -> Iterator[Slots]:
    """All orders of two rows of events that keep the order of each."""
    if not left or not right:
        yield left + right
        return
    for rest in _shuffles(left[1:], right):
        yield (left[0], *rest)
    for rest in _shuffles(left, right[1:]):
        yield (right[0], *rest)
