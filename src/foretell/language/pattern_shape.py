"""Analysis of patterns: their steps, which steps repeat together, and the negations at the edges.

`settle` makes the pattern that every engine works on: each repetition has the operator it repeats under, and the
conditions written with `@` have moved to their steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from foretell.errors import LanguageError, Place
from foretell.language import tree
from foretell.language.tree import Operator, Pattern
from foretell.records import record


@record
class StepShape:
    """The role of a step in its pattern.

    `loops` are the repetitions around it that can bind it more than once; steps that share one are bound anew
    together.
    """

    name: str
    place: Place
    negated: bool
    loops: frozenset[int]
    conditions: tuple[tree.Expression, ...]
    numbered: bool = False
    chosen: str | None = None

    @property
    def repeated(self) -> bool:
        return bool(self.loops)


def settle(pattern: Pattern, lead: Operator | None = None, follow: Operator | None = None) -> Pattern:
    """The pattern with every repetition's operator filled in and `@` conditions removed.

    A repetition repeats under the operator that leads to it, or where it comes first under the one that follows,
    or where it stands alone under `,`. Inside parentheses a sequence keeps its own meaning; `|` and `&` hand the
    operators of their surroundings on to their parts; negations do not count as parts. (Decision 0002, item 7.)
    """
    match pattern:
        case tree.Conditioned(pattern=inner):
            return settle(inner, lead, follow)
        case tree.Repeat(body=body, under=under):
            operator = under or lead or follow or tree.Next()
            return replace(pattern, body=settle(body, operator), under=operator)
        case tree.Conjunction(sides=sides):
            return replace(pattern, sides=tuple(settle(s, lead, follow) for s in sides))
        case tree.Alternation(branches=branches):
            return replace(pattern, branches=tuple(settle(b, lead, follow) for b in branches))
        case tree.Sequence(parts=(part,)):
            return replace(pattern, parts=(replace(part, pattern=settle(part.pattern, lead, follow)),))
        case tree.Sequence(parts=parts):
            first = replace(parts[0], pattern=settle(parts[0].pattern, None, parts[1].operator))
            rest = tuple(replace(p, pattern=settle(p.pattern, p.operator)) for p in parts[1:])
            return replace(pattern, parts=(first, *rest))
    return pattern


def can_be_empty(pattern: Pattern) -> bool:
    """Whether the pattern also matches no event at all, as `a?` does."""
    match pattern:
        case tree.Repeat(body=body, low=low):
            return low == 0 or can_be_empty(body)
        case tree.Conditioned(pattern=inner):
            return can_be_empty(inner)
        case tree.Conjunction(sides=sides):
            return all(can_be_empty(s) for s in sides)
        case tree.Alternation(branches=branches):
            return any(can_be_empty(b) for b in branches)
        case tree.Sequence(parts=parts):
            return all(can_be_empty(p.pattern) for p in parts)
    return False


def has_optional_after_negation(pattern: Pattern) -> bool:
    """Whether a negation stands before a part that can be empty, as in `a ; !c ; b? ; d` (decision 0002, item 8)."""
    return any(
        part.absent and can_be_empty(part.pattern)
        for node in pattern.walk()
        if isinstance(node, tree.Sequence)
        for part in node.parts[1:]
    )


def step_shapes(pattern: Pattern) -> Iterator[StepShape]:
    """The pattern's steps, negated ones too, in the order of the text."""
    return _shapes(pattern, frozenset(), (), count())


def _shapes(
    pattern: Pattern, loops: frozenset[int], conditions: tuple[tree.Expression, ...], numbers: Iterator[int]
) -> Iterator[StepShape]:
    match pattern:
        case tree.Step(name=name):
            yield StepShape(str(name), pattern.place, False, loops, conditions)
        case tree.Numbered(step=step):
            yield StepShape(str(step.name), step.place, False, loops, conditions, numbered=True)
        case tree.Chosen(which=which, step=step):
            yield StepShape(str(step.name), step.place, False, loops, conditions, chosen=which)
        case tree.Conditioned(pattern=inner, condition=condition):
            yield from _shapes(inner, loops, (condition, *conditions), numbers)
        case tree.Repeat(body=body, high=high):
            # `a?` binds one event at most and is no loop.
            inner_loops = loops if high == 1 else loops | {next(numbers)}
            yield from _shapes(body, inner_loops, conditions, numbers)
        case tree.Sequence(parts=parts, absent=absent):
            for part in parts:
                yield from _negated(part.absent, loops)
                yield from _shapes(part.pattern, loops, (), numbers)
            yield from _negated(absent, loops)
        case tree.Silence(absent=absent):
            yield from _negated(absent, loops)
        case tree.Conjunction(sides=children) | tree.Alternation(branches=children):
            for child in children:
                yield from _shapes(child, loops, (), numbers)


def _negated(negations: tuple[tree.Negation, ...], loops: frozenset[int]) -> Iterator[StepShape]:
    for negation in negations:
        yield StepShape(str(negation.step.name), negation.place, True, loops, negation.conditions)


def check_edges(pattern: Pattern, *, at_start: bool = True, at_end: bool = True, whole: bool = True) -> None:
    """Refuses a negation at the edge of an inner group, where it is not between two events.

    At the start or the end of the whole pattern it is bounded by WITHIN; `|` hands its place on to its branches.
    """
    match pattern:
        case tree.Silence(absent=absent):
            if not whole:
                _misplaced(absent[0])
        case tree.Sequence(parts=parts, absent=absent):
            if parts[0].absent and not at_start:
                _misplaced(parts[0].absent[0])
            if absent and not at_end:
                _misplaced(absent[0])
            for i, part in enumerate(parts):
                first, last = i == 0 and not part.absent, i == len(parts) - 1 and not absent
                check_edges(part.pattern, at_start=at_start and first, at_end=at_end and last, whole=False)
        case tree.Alternation(branches=branches):
            for branch in branches:
                check_edges(branch, at_start=at_start, at_end=at_end, whole=False)
        case tree.Conjunction() | tree.Repeat() | tree.Conditioned():
            for child in pattern.children():
                if isinstance(child, Pattern):
                    check_edges(child, at_start=False, at_end=False, whole=False)


def _misplaced(negation: tree.Negation) -> None:
    raise LanguageError(
        "negation-place",
        f"'!{negation.step.name}' is at the edge of a group, not between two events",
        place=negation.place,
        hint="put it between two parts of a sequence, or first or last in the whole pattern with WITHIN",
    )


def edge_negations(pattern: Pattern) -> tuple[tree.Negation, ...]:
    """The negations that WITHIN has to bound: first, last, or alone."""
    match pattern:
        case tree.Silence(absent=absent):
            return absent
        case tree.Sequence(parts=parts, absent=absent):
            inner = edge_negations(parts[0].pattern)
            if len(parts) > 1:
                inner += edge_negations(parts[-1].pattern)
            return (*parts[0].absent, *inner, *absent)
        case tree.Alternation(branches=branches):
            return tuple(n for b in branches for n in edge_negations(b))
    return ()


def open_choices(pattern: Pattern) -> Iterator[tree.Chosen]:
    """The `LAST a` that no step must follow: the last event may be known only when the window has passed."""
    return _unfollowed(pattern, followed=False)


def has_trailing_negation(pattern: Pattern) -> bool:
    """Whether a negation comes last, in the whole pattern or in a branch of it."""
    return any(isinstance(node, tree.Sequence) and node.absent for node in pattern.walk())


def open_repetitions(pattern: Pattern) -> Iterator[tree.Repeat]:
    """The repetitions under `;` or `;{θ}` of a settled pattern that no step must follow, of no fixed number of rounds:
    another round may come at any time."""
    match pattern:
        case tree.Repeat(body=body, low=low, high=high, under=under):
            if high not in (1, low) and not isinstance(under, tree.Next):
                yield pattern
            else:
                yield from open_repetitions(body)
        case tree.Sequence(parts=parts):
            for part in reversed(parts):
                yield from open_repetitions(part.pattern)
                if not can_be_empty(part.pattern):
                    return
        case tree.Conjunction(sides=children) | tree.Alternation(branches=children):
            for child in children:
                yield from open_repetitions(child)


def most_events(pattern: Pattern) -> int | None:
    """The most events that a match of the pattern binds; None without a bound."""
    match pattern:
        case tree.Step() | tree.Numbered() | tree.Chosen():
            return 1
        case tree.Repeat(body=body, high=high):
            inner = most_events(body)
            return None if inner is None or high is None else inner * high
        case tree.Alternation(branches=branches):
            counts = [most_events(branch) for branch in branches]
            return None if None in counts else max(count for count in counts if count is not None)
        case tree.Sequence(parts=parts):
            counts = [most_events(part.pattern) for part in parts]
        case tree.Conjunction(sides=sides):
            counts = [most_events(side) for side in sides]
        case _:
            counts = []
    return None if None in counts else sum(count for count in counts if count is not None)


class StepOrder:
    """Which steps of a pattern come after which wherever both are bound."""

    def __init__(self, pattern: Pattern) -> None:
        #: For each step, the sequences around it, with its least and its greatest place in them. A statement may ask
        #: for thousands of pairs of steps: the pattern is walked once.
        self._places: dict[str, dict[int, tuple[int, int]]] = {}
        todo: list[tuple[tree.Node, tuple[tuple[int, int], ...]]] = [(pattern, ())]
        for sequence in count():
            if not todo:
                break
            node, around = todo.pop()
            if isinstance(node, tree.Sequence):
                todo += ((part.pattern, (*around, (sequence, i))) for i, part in enumerate(node.parts))
            else:
                if isinstance(node, tree.Step):
                    self._add(str(node.name), around)
                todo += ((child, around) for child in node.children())

    def _add(self, step: str, around: tuple[tuple[int, int], ...]) -> None:
        places = self._places.setdefault(step, {})
        for sequence, place in around:
            least, greatest = places.get(sequence, (place, place))
            places[sequence] = min(least, place), max(greatest, place)

    def follows(self, step: str, other: str) -> bool:
        """Whether a step comes after another."""
        later = self._places.get(step, {})
        places = self._places.get(other, {}).items()
        return any(sequence in later and least < later[sequence][1] for sequence, (least, _) in places)

    def followers(self, step: str) -> frozenset[str]:
        """The steps that come after a step."""
        return frozenset(other for other in self._places if self.follows(other, step))


def _unfollowed(pattern: Pattern, *, followed: bool) -> Iterator[tree.Chosen]:
    match pattern:
        case tree.Chosen(which="LAST") if not followed:
            yield pattern
        case tree.Conditioned(pattern=inner) | tree.Repeat(body=inner):
            yield from _unfollowed(inner, followed=followed)
        case tree.Sequence(parts=parts):
            for i, part in enumerate(parts):
                later = any(not can_be_empty(p.pattern) for p in parts[i + 1 :])
                yield from _unfollowed(part.pattern, followed=followed or later)
        case tree.Conjunction(sides=children) | tree.Alternation(branches=children):
            for child in children:
                yield from _unfollowed(child, followed=followed)
