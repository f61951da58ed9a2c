"""Terms: what is left of a pattern after some of its events are bound. They are the states of its automaton.

* A `Wait` waits, after the event bound last in its thread, for one of several steps under one operator. A pattern that
  can go on under different operators becomes several terms, so that each knows which events it may skip.
* An `Interleaving` runs the sides of `&` as threads. Each side goes on by itself, and the whole when all are done. Its
  sides that are single steps, or sequences of them, may be one `Gathering`: a counter of the run knows how many of
  their events are there.

Nodes of the pattern are compared by identity (`id`): by value it would take the length of the pattern each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from itertools import pairwise

from foretell.language import tree
from foretell.plan.nfa.counters import CounterUpdate, Test
from foretell.records import record


@record
class Connector:
    """The operator that leads to the next event, and the negated steps that may not come before that event.

    Without an operator the next event is the first of the match: `absent` may not come in the window before it.
    """

    operator: tree.Operator | None
    absent: tuple[str, ...] = ()


@record
class Leaf:
    """A step of the pattern. `index` is the i of `a[i]`, which counts since the event before it (`after_previous`), or
    in the whole lane."""

    step: str
    index: int = 0
    after_previous: bool = False


@record
class SequenceFrame:
    """The rest of a sequence: its parts from the number `first` on, and the negated steps at its end."""

    identity: int
    first: int
    sequence: tree.Sequence = field(compare=False, repr=False)


@record
class RepeatFrame:
    """A repetition that has been through its body `times` times, counted no further than makes a difference."""

    identity: int
    times: int
    repeat: tree.Repeat = field(compare=False, repr=False)


@record
class CountedFrame:
    """A repetition of which a counter of the run has the number of rounds."""

    counter: int
    repeat: tree.Repeat = field(compare=False, repr=False)


@record
class GatheringFrame:
    """The rest of a gathering after one of its steps: it goes on until all of them are there."""

    gathering: Gathering
    step: str


Frames = tuple[SequenceFrame | RepeatFrame | CountedFrame | GatheringFrame, ...]


@record
class ConjunctionEntry:
    """A conjunction that a leaf enters: its sides, the index of the side that begins, and the frames around."""

    sides: tuple[SideTerm, ...]
    index: int
    frames: Frames
    anchored: bool


@record
class Alternative:
    """A leaf that may come next, the frames left after it, and the conjunctions that it enters, inner ones first.

    It may come where the `tests` of the run's counters hold, and then changes them by `updates`.
    """

    leaf: Leaf
    frames: Frames
    entering: tuple[ConjunctionEntry, ...] = ()
    tests: tuple[Test, ...] = ()
    updates: tuple[CounterUpdate, ...] = ()


@record
class Done:
    """The empty term; `trailing` are the negated steps that may not come until the window has passed."""

    trailing: tuple[str, ...] = ()


@record
class Wait:
    """A thread that waits under one connector for one of several leaves."""

    connector: Connector
    alternatives: tuple[Alternative, ...]
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.connector, self.alternatives)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def name(self) -> str:
        """The first step that it waits for. No other thread waits for it, so it names the thread."""
        return self.alternatives[0].leaf.step


@record
class UnstartedSide:
    """A side of `&` without an event: it may begin with any event after the one that precedes the conjunction."""

    identity: int
    anchored: bool
    pattern: tree.Pattern = field(compare=False, repr=False)


@record
class Gathering:
    """The sides of `&` that are single steps or sequences of them, of which some are missing. A counter knows how many
    events are there. `strict` are the steps that must be the very next event after the one before in their side."""

    counter: int
    sides: tuple[tuple[str, ...], ...]
    strict: frozenset[str] = frozenset()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.counter, self.sides)))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def steps(self) -> tuple[str, ...]:
        return tuple(step for side in self.sides for step in side)

    @property
    def free(self) -> Iterator[tuple[str, str | None]]:
        """The steps that may come after any event, each with the one before it in its side."""
        for side in self.sides:
            for before, step in zip((None, *side), side, strict=False):
                if step not in self.strict:
                    yield step, before

    @cached_property
    def following(self) -> Mapping[str, str]:
        """The step after each one in its side."""
        return {before: after for side in self.sides for before, after in pairwise(side)}


@record
class Interleaving:
    """The sides of a conjunction, and the frames around it. `anchored`: an event is bound before the conjunction."""

    sides: tuple[SideTerm, ...]
    frames: Frames
    anchored: bool


Term = Wait | Interleaving | Done | Gathering
SideTerm = Term | UnstartedSide


def threads(term: SideTerm) -> tuple[Connector, ...]:
    """The connectors under which a term waits: an event must pass each of them that it is not bound under."""
    return tuple(wait.connector for wait, _ in waits(term))


def waits(term: SideTerm) -> Iterator[tuple[Wait, tuple[Interleaving, ...]]]:
    """The waits of a term's threads, each with the conjunctions around it, the outer ones first."""
    match term:
        case Wait():
            yield term, ()
        case Interleaving(sides=sides):
            for side in sides:
                yield from ((wait, (term, *around)) for wait, around in waits(side))


def gatherings(term: SideTerm) -> Iterator[Gathering]:
    """The gatherings of a term that have begun and go on."""
    match term:
        case Gathering():
            yield term
        case Wait(alternatives=(Alternative(frames=(GatheringFrame(gathering=gathering), *_), entering=()), *_)):
            yield gathering
        case Interleaving(sides=sides):
            for side in sides:
                yield from gatherings(side)


def conjunction_depth(term: SideTerm, step: str) -> int:
    """The number of conjunctions that a term is in which may bind a step next."""
    if not isinstance(term, Interleaving):
        return 0
    return 1 + max(conjunction_depth(side, step) for side in term.sides if _may_bind(side, step))


def started_waits(before: SideTerm | None, thread: int, after: SideTerm) -> tuple[Wait, ...]:
    """The waits of the term `after` that begin with an event bound in a thread of the term `before`.

    A side of `&` without an event, and one that the event did not advance, wait on as they did.
    """
    match after:
        case Wait():
            return (after,)
        case Interleaving(sides=sides):
            started: tuple[Wait, ...] = ()
            first = 0
            for i, side in enumerate(sides):
                old = before.sides[i] if isinstance(before, Interleaving) else None
                count = 0 if old is None else len(threads(old))
                if old is None or (first <= thread < first + count if thread >= 0 else old != side):
                    started += started_waits(old, thread - first if thread >= 0 else -1, side)
                first += count
            return started
    return ()


def _may_bind(side: SideTerm, step: str) -> bool:
    """Whether a side may bind a step next; of one that has not begun, whether it has that step."""
    match side:
        case Wait(alternatives=alternatives):
            return any(alternative.leaf.step == step for alternative in alternatives)
        case Interleaving(sides=sides):
            return any(_may_bind(inner, step) for inner in sides)
        case UnstartedSide(pattern=pattern):
            return any(isinstance(node, tree.Step) and node.name == step for node in pattern.walk())
        case Gathering(steps=steps):
            return step in steps
    return False
