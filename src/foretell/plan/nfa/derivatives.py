"""Partial derivatives of a pattern: the terms that may follow when an event is bound.

A term (`terms.py`) says which steps may come next. Binding an event to one of them gives the terms that may follow, as
Antimirov takes the partial derivatives of a regular expression; the finitely many terms reached from the whole pattern
are the states of its automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, combinations

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty
from foretell.plan.nfa.counters import (
    CounterTest,
    CounterUpdate,
    PatternCounters,
    StepBound,
    StepUnbound,
    Test,
    sequence_steps,
)
from foretell.plan.nfa.terms import (
    Alternative,
    ConjunctionEntry,
    Connector,
    CountedFrame,
    Done,
    Frames,
    Gathering,
    GatheringFrame,
    Interleaving,
    Leaf,
    RepeatFrame,
    SequenceFrame,
    SideTerm,
    Term,
    UnstartedSide,
    Wait,
    threads,
)
from foretell.records import record


class TooLargeError(Exception):
    """A pattern has more terms, or ways to go on, than asked for."""


START = Connector(None)
_ANY = Connector(tree.Later())


@record
class Following:
    """A term that may follow an event, where tests of the run's counters hold after the event's updates."""

    term: Term
    tests: tuple[Test, ...] = ()


@record
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
            case Gathering():
                for step, earlier in term.free:
                    yield self._continuation(self._gathered(term, step, earlier), -1)
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

    def _gathered(self, gathering: Gathering, step: str, before: str | None) -> Alternative:
        """One more step of a gathering, after the one before it in its side."""
        tests: tuple[Test, ...] = (StepUnbound(step),) if before is None else (StepUnbound(step), StepBound(before))
        return _counted(gathering, step, tests)

    def _after(self, frames: Frames) -> tuple[Following, ...]:
        known = self._after_known.get(frames)
        if known is None:
            if frames and isinstance(frames[0], GatheringFrame):
                known = _rest_of(frames[0].gathering, frames[0].step)
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
            sides = [sequence_steps(conjunction.sides[i]) for i in gathered]
            strict = frozenset(step for side in sides for step, is_next in side if is_next)
            gathering = Gathering(counter, tuple(tuple(step for step, _ in side) for side in sides), strict)
            self._spend(len(gathering.steps))
            first = [
                (connector, replace(_counted(gathering, side[0], ()), updates=(CounterUpdate(counter, 0),)))
                for side in gathering.sides
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


def _counted(gathering: Gathering, step: str, tests: tuple[Test, ...]) -> Alternative:
    """A step of a gathering, which counts its event."""
    count = CounterUpdate(gathering.counter, None)
    return Alternative(Leaf(step), (GatheringFrame(gathering, step),), (), tests, (count,))


def _rest_of(gathering: Gathering, step: str) -> tuple[Following, ...]:
    """A gathering after one of its steps. With the last step of a side it may be complete; where the next one must come
    at once, it waits for that alone."""
    following = gathering.following.get(step)
    if following in gathering.strict:
        return (Following(Wait(Connector(tree.Next(), ()), (_counted(gathering, str(following), ()),))),)
    if following is not None:
        return (Following(gathering),)
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
