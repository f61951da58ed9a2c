"""Counters of a run, which stand in for states: one that counts to a billion takes no more room than one that counts
to two.

A counted repetition keeps the number of its rounds in a register of the run. A conjunction of single steps
(`a & b & c`) keeps the number of events that it has gathered, instead of a state for each set of steps that may be
missing; whether a step is among the missing, its own register says. Where that is not enough, so do sides that are
sequences of single steps (`(a ; b) & (c , d)`): how far a side is, the registers of its steps say. Both count from 0,
with the first round or event.
"""

from __future__ import annotations

from collections.abc import Iterator

from foretell.language import tree
from foretell.records import record


@record
class CounterTest:
    """A counter is at least a value, or below it."""

    counter: int
    at_least: bool
    value: int

    def holds(self, count: int) -> bool:
        return (count >= self.value) is self.at_least


@record
class StepUnbound:
    """A step of a conjunction has no event yet."""

    step: str


@record
class StepBound:
    """A step of a conjunction has its event: the next one of its side may come."""

    step: str


#: What must hold of a run's counters.
Test = CounterTest | StepUnbound | StepBound


@record
class CounterUpdate:
    """A counter is set to a value, or goes up by one (None)."""

    counter: int
    value: int | None


def before_updates(tests: tuple[Test, ...], updates: tuple[CounterUpdate, ...]) -> tuple[Test, ...] | None:
    """The tests that must hold before updates so that `tests` hold after them; None where they never do.

    >>> tests = (CounterTest(0, True, 3), CounterTest(1, False, 5))
    >>> before_updates(tests, (CounterUpdate(0, None), CounterUpdate(1, 0)))
    (CounterTest(counter=0, at_least=True, value=2),)
    """
    values = {update.counter: update.value for update in updates}
    left: list[Test] = []
    for test in tests:
        if not isinstance(test, CounterTest) or test.counter not in values:
            left.append(test)
            continue
        value = values[test.counter]
        if value is None:
            left.append(CounterTest(test.counter, test.at_least, test.value - 1))
        elif not test.holds(value):
            return None
    return tuple(left)


class PatternCounters:
    """The counters of a pattern's repetitions and conjunctions. Without a pattern there are none. With `sequences`, a
    conjunction counts the events of sides that are sequences, too."""

    def __init__(self, pattern: tree.Pattern | None = None, *, sequences: bool = False) -> None:
        self.sequences = sequences
        self._numbers: dict[int, int] = {}
        self._gathered: dict[int, tuple[int, ...]] = {}
        self._steps: list[str] = []
        self._counted: list[tree.Pattern] = []
        self._most = 0
        if pattern is not None:
            self._add(pattern)

    def __len__(self) -> int:
        return len(self._numbers)

    def of_repeat(self, repeat: tree.Repeat) -> int | None:
        """The counter of a repetition's rounds; None where its states count them."""
        return self._numbers.get(id(repeat))

    def of_conjunction(self, conjunction: tree.Conjunction) -> int:
        """The counter of the events of a conjunction that has sides to gather."""
        return self._numbers[id(conjunction)]

    def gathered(self, conjunction: tree.Conjunction) -> tuple[int, ...]:
        """The indexes of the sides of which a counter counts the events: single steps, and sequences of them."""
        return self._gathered.get(id(conjunction), ())

    @property
    def gathered_steps(self) -> tuple[str, ...]:
        """The steps of which a counter counts the events."""
        return tuple(self._steps)

    @property
    def counted(self) -> tuple[tree.Pattern, ...]:
        """The repeated step or group, or the conjunction, that each counter counts."""
        return tuple(self._counted)

    def are_many(self, states: int) -> bool:
        """Whether a repetition or conjunction would need more than so many states without its counter."""
        return self._most > states

    def _add(self, pattern: tree.Pattern) -> None:
        todo = [(pattern, False)]
        while todo:
            node, in_loop = todo.pop()
            match node:
                case tree.Repeat(body=body, low=low, high=high):
                    if low > 1 or high not in (None, 0, 1):
                        self._number(node, body, max(low, high or 0))
                    todo.append((body, in_loop or high != 1))
                case tree.Conjunction(sides=sides):
                    gathered = {i: steps for i, side in enumerate(sides) if (steps := self._steps_of(side))}
                    # In a loop the registers of steps hold the events of earlier rounds too.
                    if len(gathered) > 1 and not in_loop:
                        self._number(node, node, 2 ** len(gathered))
                        self._gathered[id(node)] = tuple(gathered)
                        self._steps += (step for steps in gathered.values() for step in steps)
                    todo += [(side, in_loop) for side in sides]
                case _:
                    todo += [(child, in_loop) for child in _parts(node)]

    def _steps_of(self, side: tree.Pattern) -> tuple[str, ...]:
        """The steps of a side whose events can be counted; none of another side."""
        if isinstance(side, tree.Step):
            return (str(side.name),)
        return tuple(step for step, _ in sequence_steps(side)) if self.sequences else ()

    def _number(self, node: tree.Pattern, counted: tree.Pattern, states: int) -> None:
        self._numbers[id(node)] = len(self._numbers)
        self._counted.append(counted)
        self._most = max(self._most, states)


def sequence_steps(pattern: tree.Pattern) -> tuple[tuple[str, bool], ...]:
    """The steps of a step or of a sequence of steps under `;` and `,` without negations, each with whether it must be
    the very next event after the one before; none of another pattern."""
    if isinstance(pattern, tree.Step):
        return ((str(pattern.name), False),)
    if not isinstance(pattern, tree.Sequence) or pattern.absent:
        return ()
    steps: list[tuple[str, bool]] = []
    for part in pattern.parts:
        if not isinstance(part.pattern, tree.Step) or part.absent or isinstance(part.operator, tree.FirstWhere):
            return ()
        steps.append((str(part.pattern.name), isinstance(part.operator, tree.Next)))
    return tuple(steps)


def _parts(pattern: tree.Pattern) -> Iterator[tree.Pattern]:
    match pattern:
        case tree.Sequence(parts=parts):
            yield from (part.pattern for part in parts)
        case tree.Alternation(branches=branches):
            yield from branches
