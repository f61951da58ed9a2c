"""Partial derivatives of a pattern: the terms that are left of it after some of its events are bound.

A term says which steps may come next. Binding an event to one of them gives the terms that may follow, as Antimirov
takes the partial derivatives of a regular expression; the finitely many terms reached from the whole pattern are the
states of its automaton.

* A `Wait` waits, after the event bound last in its thread, for one of several steps under one operator. A pattern that
  can go on under different operators becomes several terms, so that each knows which events it may skip.
* An `Interleaving` runs the sides of `&` as threads. Each side goes on by itself, and the whole when all are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty


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
    """The rest of a sequence: its parts from the next one on, and the negated steps at its end."""

    parts: tuple[tree.SequencePart, ...]
    trailing: tuple[str, ...]


@dataclass(frozen=True)
class RepeatFrame:
    """A repetition that has been through its body `times` times, counted no further than makes a difference."""

    repeat: tree.Repeat
    times: int


Frames = tuple[SequenceFrame | RepeatFrame, ...]


@dataclass(frozen=True)
class ConjunctionEntry:
    """A conjunction that a leaf enters: its sides, the index of the side that begins, and the frames around."""

    sides: tuple[SideTerm, ...]
    index: int
    frames: Frames
    anchored: bool


@dataclass(frozen=True)
class Alternative:
    """A leaf that may come next, the frames left after it, and the conjunctions that it enters, inner ones first."""

    leaf: Leaf
    frames: Frames
    entering: tuple[ConjunctionEntry, ...] = ()


@dataclass(frozen=True)
class Done:
    """The empty term; `trailing` are the negated steps that may not come until the window has passed."""

    trailing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wait:
    """A thread that waits under one connector for one of several leaves."""

    connector: Connector
    alternatives: tuple[Alternative, ...]

    @property
    def name(self) -> str:
        """The first step that it waits for. No other thread waits for it, so it names the thread."""
        return self.alternatives[0].leaf.step


@dataclass(frozen=True)
class UnstartedSide:
    """A side of `&` without an event: it may begin with any event after the one that precedes the conjunction."""

    pattern: tree.Pattern
    anchored: bool


@dataclass(frozen=True)
class Interleaving:
    """The sides of a conjunction, and the frames around it. `anchored`: an event is bound before the conjunction."""

    sides: tuple[SideTerm, ...]
    frames: Frames
    anchored: bool


Term = Wait | Interleaving | Done
SideTerm = Wait | Interleaving | Done | UnstartedSide

START = Connector(None)
_ANY = Connector(tree.Later())


@dataclass(frozen=True)
class Continuation:
    """One way to bind the next event: to `leaf`, under the connector of a thread, while it passes all other threads.

    `thread` is the number of that connector among the term's `threads`. It is -1 where a side of `&` begins, which has
    no connector: then the event must pass all threads. `following` are the terms that may follow.
    """

    leaf: Leaf
    thread: int
    following: tuple[Term, ...]
    leading: tuple[str, ...] = ()


def initial_continuations(pattern: tree.Pattern) -> tuple[Continuation, ...]:
    """The ways to bind a match's first event."""
    return tuple(found for term in _terms(_begin(pattern, START, ())) for found in continuations(term))


def continuations(term: SideTerm) -> Iterator[Continuation]:
    """The ways to bind the next event of a term."""
    match term:
        case Wait(connector=connector, alternatives=alternatives):
            leading = connector.absent if connector.operator is None else ()
            for alternative in alternatives:
                yield Continuation(alternative.leaf, 0, _following(alternative), leading)
        case UnstartedSide(pattern=pattern, anchored=anchored):
            for wait in _terms(_begin(pattern, _ANY if anchored else START, ())):
                for continuation in continuations(wait):
                    yield replace(continuation, thread=-1)
        case Interleaving(sides=sides):
            before = 0
            for i, side in enumerate(sides):
                for continuation in continuations(side):
                    thread = -1 if continuation.thread < 0 else before + continuation.thread
                    yield Continuation(continuation.leaf, thread, _advanced(term, i, continuation.following))
                before += len(threads(side))


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


def conjunction_depth(term: SideTerm, step: str) -> int:
    """The number of conjunctions that a term is in which may bind a step next."""
    if not isinstance(term, Interleaving):
        return 0
    return 1 + max(
        conjunction_depth(side, step) for side in term.sides if any(leaf.step == step for leaf in awaited(side))
    )


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


def awaited(term: SideTerm) -> Iterator[Leaf]:
    """The leaves that a term may bind next."""
    return (continuation.leaf for continuation in continuations(term))


def _following(alternative: Alternative) -> tuple[Term, ...]:
    terms = _after(alternative.frames)
    for entry in alternative.entering:
        terms = _advanced(Interleaving(entry.sides, entry.frames, entry.anchored), entry.index, terms)
    return terms


def _after(frames: Frames) -> tuple[Term, ...]:
    return tuple(_terms(_next(frames, (), ())))


def _advanced(interleaving: Interleaving, index: int, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """An interleaving with one side advanced to each of `terms`. A side that can be empty may also be left out."""
    sides = interleaving.sides
    advanced: dict[Term, None] = {}
    for term in terms:
        now = (*sides[:index], term, *sides[index + 1 :])
        optional = [i for i, s in enumerate(now) if isinstance(s, UnstartedSide) and can_be_empty(s.pattern)]
        for left_out in chain.from_iterable(combinations(optional, n) for n in range(len(optional) + 1)):
            settled = tuple(Done() if i in left_out else side for i, side in enumerate(now))
            if all(isinstance(s, Done) for s in settled):
                advanced.update(dict.fromkeys(_after(interleaving.frames)))
            else:
                advanced[replace(interleaving, sides=settled)] = None
    return tuple(advanced)


#: A way to go on: an alternative under a connector, or the end of the pattern.
Way = tuple[Connector, Alternative] | Done


def _begin(pattern: tree.Pattern, connector: Connector, frames: Frames) -> Iterator[tuple[Connector, Alternative]]:
    """The ways in which a pattern can begin under a connector, with the frames left after its first event."""
    match pattern:
        case tree.Step(name=name) | tree.Chosen(step=tree.Step(name=name)):
            yield connector, Alternative(Leaf(str(name)), frames)
        case tree.Numbered(step=tree.Step(name=name), index=index):
            yield connector, Alternative(Leaf(str(name), index, connector.operator is not None), frames)
        case tree.Alternation(branches=branches):
            for branch in branches:
                yield from _begin(branch, connector, frames)
        case tree.Repeat(body=body):
            yield from _begin(body, connector, (RepeatFrame(pattern, 1), *frames))
        case tree.Sequence(parts=parts, absent=absent):
            # A part before the first that binds an event is empty, and so is the connector after it.
            if connector.operator is None:
                connector = Connector(None, (*connector.absent, *_names(parts[0].absent)))
            yield from _parts(parts, absent, frames, lead=connector)
        case tree.Conjunction(sides=sides):
            # It begins with its earliest event: one side begins under the connector, the others some time later.
            anchored = connector.operator is not None
            unstarted = tuple(UnstartedSide(s, anchored) for s in sides)
            for i, side in enumerate(sides):
                for lead, alternative in _begin(side, connector, ()):
                    entry = ConjunctionEntry(unstarted, i, frames, anchored)
                    yield lead, replace(alternative, entering=(*alternative.entering, entry))


def _parts(
    parts: tuple[tree.SequencePart, ...], absent: tuple[tree.Negation, ...], frames: Frames, *, lead: Connector
) -> Iterator[tuple[Connector, Alternative]]:
    trailing = _names(absent)
    for i, part in enumerate(parts):
        yield from _begin(part.pattern, lead, (SequenceFrame(parts[i + 1 :], trailing), *frames))
        if not can_be_empty(part.pattern):
            return


def _next(frames: Frames, trailing: tuple[str, ...], pending: tuple[str, ...]) -> Iterator[Way]:
    """The ways to go on after an event, with the frames around it.

    `pending` are the negations before the parts left out since that event: they hold up to the event that follows.
    """
    if not frames:
        yield Done((*pending, *trailing) if trailing else ())
        return
    frame, *rest = frames
    outside = tuple(rest)
    match frame:
        case SequenceFrame(parts=parts, trailing=more):
            for i, part in enumerate(parts):
                pending += _names(part.absent)
                yield from _begin(
                    part.pattern, _connector(part.operator, pending), (SequenceFrame(parts[i + 1 :], more), *outside)
                )
                if not can_be_empty(part.pattern):
                    return
            yield from _next(outside, (*more, *trailing), pending)
        case RepeatFrame(repeat=repeat, times=times):
            if repeat.high is None or times < repeat.high:
                enough = max(repeat.low, 1) if repeat.high is None else repeat.high
                again = RepeatFrame(repeat, min(times + 1, enough))
                yield from _begin(repeat.body, _connector(repeat.under, pending), (again, *outside))
            if times >= repeat.low or can_be_empty(repeat.body):
                yield from _next(outside, trailing, pending)


def _connector(operator: tree.Operator | None, absent: tuple[str, ...]) -> Connector:
    """Under `,` nothing lies between two events, so nothing has to be absent there."""
    return Connector(operator, () if isinstance(operator, tree.Next) else absent)


def _names(negations: tuple[tree.Negation, ...]) -> tuple[str, ...]:
    return tuple(str(negation.step.name) for negation in negations)


def _terms(ways: Iterable[Way]) -> Iterator[Term]:
    """One term for each connector under which a leaf may come next, and one for each way to be done."""
    alternatives: dict[Connector, dict[Alternative, None]] = {}
    done: dict[Done, None] = {}
    for way in ways:
        if isinstance(way, Done):
            done[way] = None
        else:
            connector, alternative = way
            alternatives.setdefault(connector, {})[alternative] = None
    for connector, of_connector in alternatives.items():
        yield Wait(connector, tuple(of_connector))
    yield from done
