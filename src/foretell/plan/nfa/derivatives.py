"""Partial derivatives of a pattern: the terms that are left of it after some of its events are bound.

A term says which steps may come next. Binding an event to one of them gives the terms that may follow, as Antimirov
takes the partial derivatives of a regular expression; the finitely many terms reached from the whole pattern are the
states of its automaton.

* A `Wait` waits, after the event bound last in its thread, for one of several steps under one operator. A pattern that
  can go on under different operators becomes several terms, so that each knows which events it may skip.
* An `Interleaving` runs the sides of `&` as threads. Each side goes on by itself, and the whole when all are done. Its
  sides that are single steps may be one `Gathering`, of which a counter of the run knows how many are there.

Nodes of the pattern are compared by identity (`id`): by value it would take the length of the pattern each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty
from foretell.plan.nfa.counters import CounterTest, CounterUpdate, PatternCounters, StepUnbound, Test


class TooLargeError(Exception):
    """A pattern has more terms, or ways to go on, than asked for."""


@dataclass(frozen=True)
class Connector:
    """The operator that leads to the next event, and the negated steps that may not come before that event.

    Without an operator the next event is the first of the match: `absent` may not come in the window before it.
    """

    operator: tree.Operator | None
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leaf:
    """A step of the pattern. `index` is the i of `a[i]`, which counts since the event before it (`after_previous`), or
    in the whole lane."""

    step: str
    index: int = 0
    after_previous: bool = False


@dataclass(frozen=True)
class SequenceFrame:
    """The rest of a sequence: its parts from the number `first` on, and the negated steps at its end."""

    identity: int
    first: int
    sequence: tree.Sequence = field(compare=False, repr=False)


@dataclass(frozen=True)
class RepeatFrame:
    """A repetition that has been through its body `times` times, counted no further than makes a difference."""

    identity: int
    times: int
    repeat: tree.Repeat = field(compare=False, repr=False)


@dataclass(frozen=True)
class CountedFrame:
    """A repetition of which a counter of the run has the number of rounds."""

    counter: int
    repeat: tree.Repeat = field(compare=False, repr=False)


@dataclass(frozen=True)
class GatheringFrame:
    """The rest of a gathering: it goes on until all its steps are there."""

    gathering: Gathering


Frames = tuple[SequenceFrame | RepeatFrame | CountedFrame | GatheringFrame, ...]


@dataclass(frozen=True)
class ConjunctionEntry:
    """A conjunction that a leaf enters: its sides, the index of the side that begins, and the frames around."""

    sides: tuple[SideTerm, ...]
    index: int
    frames: Frames
    anchored: bool


@dataclass(frozen=True)
class Alternative:
    """A leaf that may come next, the frames left after it, and the conjunctions that it enters, inner ones first.

    It may come where the `tests` of the run's counters hold, and then changes them by `updates`.
    """

    leaf: Leaf
    frames: Frames
    entering: tuple[ConjunctionEntry, ...] = ()
    tests: tuple[Test, ...] = ()
    updates: tuple[CounterUpdate, ...] = ()


@dataclass(frozen=True)
class Done:
    """The empty term; `trailing` are the negated steps that may not come until the window has passed."""

    trailing: tuple[str, ...] = ()


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class UnstartedSide:
    """A side of `&` without an event: it may begin with any event after the one that precedes the conjunction."""

    identity: int
    anchored: bool
    pattern: tree.Pattern = field(compare=False, repr=False)


@dataclass(frozen=True)
class Gathering:
    """The sides of `&` that are single steps, of which some are missing. A counter knows how many are there."""

    counter: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Interleaving:
    """The sides of a conjunction, and the frames around it. `anchored`: an event is bound before the conjunction."""

    sides: tuple[SideTerm, ...]
    frames: Frames
    anchored: bool


Term = Wait | Interleaving | Done | Gathering
SideTerm = Term | UnstartedSide

START = Connector(None)
_ANY = Connector(tree.Later())


@dataclass(frozen=True)
class Following:
    """A term that may follow an event, where tests of the run's counters hold after the event's updates."""

    term: Term
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True)
class Continuation:
    """One way to bind the next event: to `leaf`, under the connector of a thread, while it passes all other threads.

    `thread` is the number of that connector among the term's `threads`. It is -1 where a side of `&` begins, which has
    no connector: then the event must pass all threads. `following` are the terms that may follow.
    """

    leaf: Leaf
    thread: int
    following: tuple[Following, ...]
    leading: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()
    updates: tuple[CounterUpdate, ...] = ()


#: A way to go on: an alternative under a connector, or the end of the pattern, with the tests of the run's counters.
Way = tuple[Connector, Alternative] | tuple[None, Following]


class Derivatives:
    """The derivatives of one pattern. Where `counters` has some, they stand in for states.

    More ways to go on than `most` are refused, by TooLargeError: there is an edge for each.
    """

    def __init__(self, pattern: tree.Pattern, counters: PatternCounters | None = None, *, most: int) -> None:
        self._pattern, self._counters, self._left = pattern, counters or PatternCounters(), most
        self._after_known: dict[Frames, tuple[Following, ...]] = {}

    def initial_continuations(self) -> tuple[Continuation, ...]:
        """The ways to bind a match's first event."""
        return tuple(
            continuation
            for following in self._terms(self._begin(self._pattern, START, ()))
            for continuation in self.continuations(following.term)
        )

    def continuations(self, term: SideTerm) -> Iterator[Continuation]:
        """The ways to bind the next event of a term."""
        match term:
            case Wait(connector=connector, alternatives=alternatives):
                leading = connector.absent if connector.operator is None else ()
                for alternative in alternatives:
                    yield self._continuation(alternative, 0, leading)
            case UnstartedSide(pattern=pattern, anchored=anchored):
                for following in self._terms(self._begin(pattern, _ANY if anchored else START, ())):
                    for continuation in self.continuations(following.term):
                        yield replace(continuation, thread=-1)
            case Gathering(steps=steps):
                for step in steps:
                    yield self._continuation(self._gathered(term, step), -1)
            case Interleaving(sides=sides):
                before = 0
                for i, side in enumerate(sides):
                    for continuation in self.continuations(side):
                        thread = -1 if continuation.thread < 0 else before + continuation.thread
                        advanced = self._advanced(term, i, continuation.following)
                        yield replace(continuation, thread=thread, following=advanced, leading=())
                    before += len(threads(side))

    def _continuation(self, alternative: Alternative, thread: int, leading: tuple[str, ...] = ()) -> Continuation:
        following = self._after(alternative.frames)
        for entry in alternative.entering:
            interleaving = Interleaving(entry.sides, entry.frames, entry.anchored)
            following = self._advanced(interleaving, entry.index, following)
        return Continuation(
            alternative.leaf, thread, following, leading, tests=alternative.tests, updates=alternative.updates
        )

    def _gathered(self, gathering: Gathering, step: str) -> Alternative:
        """One more step of a gathering."""
        count = CounterUpdate(gathering.counter, None)
        return Alternative(Leaf(step), (GatheringFrame(gathering),), (), (StepUnbound(step),), (count,))

    def _after(self, frames: Frames) -> tuple[Following, ...]:
        known = self._after_known.get(frames)
        if known is None:
            if frames and isinstance(frames[0], GatheringFrame):
                known = _rest_of(frames[0].gathering)
            else:
                known = tuple(self._terms(self._next(frames, (), (), ())))
            self._after_known[frames] = known
        return known

    def _advanced(
        self, interleaving: Interleaving, index: int, following: tuple[Following, ...]
    ) -> tuple[Following, ...]:
        """An interleaving with one side advanced to each of several terms. A side that can be empty may be left out."""
        sides = interleaving.sides
        advanced: dict[Following, None] = {}
        for side in following:
            now = (*sides[:index], side.term, *sides[index + 1 :])
            optional = [i for i, s in enumerate(now) if isinstance(s, UnstartedSide) and can_be_empty(s.pattern)]
            self._spend(2 ** len(optional) - 1)
            for left_out in chain.from_iterable(combinations(optional, n) for n in range(len(optional) + 1)):
                settled = tuple(Done() if i in left_out else s for i, s in enumerate(now))
                if all(isinstance(s, Done) for s in settled):
                    for after in self._after(interleaving.frames):
                        advanced[Following(after.term, (*side.tests, *after.tests))] = None
                else:
                    advanced[Following(replace(interleaving, sides=settled), side.tests)] = None
        return tuple(advanced)

    def _spend(self, ways: int) -> None:
        self._left -= ways
        if self._left < 0:
            raise TooLargeError

    def _begin(
        self, pattern: tree.Pattern, connector: Connector, frames: Frames
    ) -> Iterator[tuple[Connector, Alternative]]:
        """The ways in which a pattern can begin under a connector, with the frames left after its first event."""
        match pattern:
            case tree.Step(name=name) | tree.Chosen(step=tree.Step(name=name)):
                self._spend(1)
                yield connector, Alternative(Leaf(str(name)), frames)
            case tree.Numbered(step=tree.Step(name=name), index=index):
                self._spend(1)
                yield connector, Alternative(Leaf(str(name), index, connector.operator is not None), frames)
            case tree.Alternation(branches=branches):
                for branch in branches:
                    yield from self._begin(branch, connector, frames)
            case tree.Repeat(body=body):
                counter = self._counters.of_repeat(pattern)
                if counter is None:
                    yield from self._begin(body, connector, (RepeatFrame(id(pattern), 1, pattern), *frames))
                else:
                    inside = self._begin(body, connector, (CountedFrame(counter, pattern), *frames))
                    yield from _updated(inside, CounterUpdate(counter, 0))
            case tree.Sequence(parts=parts):
                # A part before the first that binds an event is empty, and so is the connector after it.
                if connector.operator is None:
                    connector = Connector(None, (*connector.absent, *_names(parts[0].absent)))
                for i, part in enumerate(parts):
                    yield from self._begin(part.pattern, connector, _inside(pattern, i + 1, frames))
                    if not can_be_empty(part.pattern):
                        return
            case tree.Conjunction():
                yield from self._begin_conjunction(pattern, connector, frames)

    def _begin_conjunction(
        self, conjunction: tree.Conjunction, connector: Connector, frames: Frames
    ) -> Iterator[tuple[Connector, Alternative]]:
        """A conjunction begins with its earliest event: one side begins under the connector, the others some time
        later."""
        anchored = connector.operator is not None
        gathered = self._counters.gathered(conjunction)
        others = [side for i, side in enumerate(conjunction.sides) if i not in gathered]
        unstarted: tuple[SideTerm, ...] = tuple(UnstartedSide(id(side), anchored, side) for side in others)
        ways: list[tuple[int, Iterable[tuple[Connector, Alternative]]]] = []
        if gathered:
            counter = self._counters.of_conjunction(conjunction)
            sides = (conjunction.sides[i] for i in gathered)
            steps = tuple(str(side.name) for side in sides if isinstance(side, tree.Step))
            gathering = Gathering(counter, steps)
            self._spend(len(steps))
            first = [
                (connector, replace(self._gathered(gathering, step), tests=(), updates=(CounterUpdate(counter, 0),)))
                for step in steps
            ]
            ways.append((len(unstarted), first))
            unstarted = (*unstarted, gathering)
            ways += [
                (i, _updated(self._begin(side, connector, ()), CounterUpdate(counter, -1)))
                for i, side in enumerate(others)
            ]
        else:
            ways = [(i, self._begin(side, connector, ())) for i, side in enumerate(others)]
        for index, way in ways:
            entry = ConjunctionEntry(unstarted, index, frames, anchored)
            for lead, alternative in way:
                yield lead, replace(alternative, entering=(*alternative.entering, entry))

    def _next(
        self, frames: Frames, trailing: tuple[str, ...], pending: tuple[str, ...], tests: tuple[Test, ...]
    ) -> Iterator[Way]:
        """The ways to go on after an event, with the frames around it.

        `pending` are the negations before the parts left out since that event: they hold up to the event that follows.
        `tests` are those of the counted repetitions that are left.
        """
        if not frames:
            yield None, Following(Done((*pending, *trailing) if trailing else ()), tests)
            return
        frame, outside = frames[0], frames[1:]
        match frame:
            case SequenceFrame(first=first, sequence=sequence):
                for i in range(first, len(sequence.parts)):
                    part = sequence.parts[i]
                    pending += _names(part.absent)
                    connector = _connector(part.operator, pending)
                    yield from _tested(self._begin(part.pattern, connector, _inside(sequence, i + 1, outside)), tests)
                    if not can_be_empty(part.pattern):
                        return
                yield from self._next(outside, (*_names(sequence.absent), *trailing), pending, tests)
            case RepeatFrame(repeat=repeat, times=times):
                if repeat.high is None or times < repeat.high:
                    enough = max(repeat.low, 1) if repeat.high is None else repeat.high
                    again = RepeatFrame(id(repeat), min(times + 1, enough), repeat)
                    connector = _connector(repeat.under, pending)
                    yield from _tested(self._begin(repeat.body, connector, (again, *outside)), tests)
                if times >= repeat.low or can_be_empty(repeat.body):
                    yield from self._next(outside, trailing, pending, tests)
            case CountedFrame(counter=counter, repeat=repeat):
                # The counter is one less than the number of rounds.
                more = () if repeat.high is None else (CounterTest(counter, False, repeat.high - 1),)
                rounds = self._begin(repeat.body, _connector(repeat.under, pending), frames)
                yield from _tested(_updated(rounds, CounterUpdate(counter, None)), (*tests, *more))
                enough_rounds = () if can_be_empty(repeat.body) else (CounterTest(counter, True, repeat.low - 1),)
                yield from self._next(outside, trailing, pending, (*tests, *enough_rounds))

    def _terms(self, ways: Iterable[Way]) -> Iterator[Following]:
        """One term for each connector under which a leaf may come next, and one for each way to be done.

        The tests that all alternatives of a term have in common are those of the term: it is not reached without.
        """
        alternatives: dict[Connector, dict[Alternative, None]] = {}
        done: dict[Following, None] = {}
        for connector, way in ways:
            if connector is None:
                assert isinstance(way, Following)
                done[way] = None
            else:
                assert isinstance(way, Alternative)
                alternatives.setdefault(connector, {})[way] = None
        for connector, of_connector in alternatives.items():
            tests = next(iter(of_connector)).tests
            if tests and all(alternative.tests == tests for alternative in of_connector):
                free = tuple(replace(alternative, tests=()) for alternative in of_connector)
                yield Following(Wait(connector, free), tests)
            else:
                yield Following(Wait(connector, tuple(of_connector)))
        yield from done


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
    """The gatherings of a term."""
    match term:
        case Gathering():
            yield term
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


def _rest_of(gathering: Gathering) -> tuple[Following, ...]:
    last = len(gathering.steps) - 1
    missing, complete = (CounterTest(gathering.counter, at_least, last) for at_least in (False, True))
    return Following(gathering, (missing,)), Following(Done(), (complete,))


def _updated(
    ways: Iterable[tuple[Connector, Alternative]], update: CounterUpdate
) -> Iterator[tuple[Connector, Alternative]]:
    for connector, alternative in ways:
        yield connector, replace(alternative, updates=(*alternative.updates, update))


def _tested(
    ways: Iterable[tuple[Connector, Alternative]], tests: tuple[Test, ...]
) -> Iterable[tuple[Connector, Alternative]]:
    if not tests:
        return ways
    return ((connector, replace(alternative, tests=(*alternative.tests, *tests))) for connector, alternative in ways)


def _inside(sequence: tree.Sequence, first: int, frames: Frames) -> Frames:
    """The frames inside a sequence, before its part `first`. Nothing is left of one at its end."""
    if first == len(sequence.parts) and not sequence.absent:
        return frames
    return (SequenceFrame(id(sequence), first, sequence), *frames)


def _connector(operator: tree.Operator | None, absent: tuple[str, ...]) -> Connector:
    """Under `,` nothing lies between two events, so nothing has to be absent there."""
    return Connector(operator, () if isinstance(operator, tree.Next) else absent)


def _names(negations: tuple[tree.Negation, ...]) -> tuple[str, ...]:
    return tuple(str(negation.step.name) for negation in negations)
