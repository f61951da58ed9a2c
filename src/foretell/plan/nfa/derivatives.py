"""What is left of a pattern after some of its events are bound: the states of the machine that finds it.

A term says what may come next. Binding an event at one of its leaves gives the terms that may follow (the partial
derivatives of the pattern, as Antimirov takes them of a regular expression); the finitely many terms reached from
the whole pattern are the machine's states.

* A `Wait` waits, after the event bound last in its thread, for one of its leaves under one operator. What can go on
  under different operators becomes several terms, so that each knows what it may pass over.
* A `Interleaving` runs the sides of `&` as threads; each side goes on by itself, and the whole when all are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations

from foretell.language import tree
from foretell.language.pattern_shape import can_be_empty


@dataclass(frozen=True)
class Connector:
    """What leads to the next event: an operator and the steps that may not come before it.

    Without an operator nothing precedes: it is the match's first event, and `absent` may not come in the window before.
    """

    operator: tree.Operator | None
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leaf:
    """A step at its place. `index` is that of `a[i]`, counted in the whole lane unless `counted_here`."""

    step: str
    index: int = 0
    counted_here: bool = False


@dataclass(frozen=True)
class SequenceFrame:
    """What is left of a sequence: the parts from the next one on, and what may not come after it."""

    parts: tuple[tree.SequencePart, ...]
    trailing: tuple[str, ...]


@dataclass(frozen=True)
class RepeatFrame:
    """A repetition that has gone round `times` times, counted no further than matters."""

    repeat: tree.Repeat
    times: int


Frames = tuple[SequenceFrame | RepeatFrame, ...]


@dataclass(frozen=True)
class Entry:
    """The conjunction that a leaf enters: its sides, which of them the leaf begins, and what is left after it."""

    sides: tuple[Side, ...]
    index: int
    frames: Frames
    anchored: bool


@dataclass(frozen=True)
class Option:
    """A leaf that may come next, what is left after it, and the conjunctions it enters, the inner ones first."""

    leaf: Leaf
    frames: Frames
    entering: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Done:
    """Nothing is left; `trailing` are the steps that may not come until the window has passed."""

    trailing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wait:
    link: Connector
    options: tuple[Option, ...]

    @property
    def name(self) -> str:
        """A step that it waits for: no other thread does."""
        return self.options[0].leaf.step


@dataclass(frozen=True)
class Unbegun:
    """A side of `&` that has not begun: it may begin with any event after what precedes the conjunction."""

    pattern: tree.Pattern
    anchored: bool


@dataclass(frozen=True)
class Interleaving:
    """`anchored` tells that something is bound before the conjunction."""

    sides: tuple[Side, ...]
    frames: Frames
    anchored: bool


Term = Wait | Interleaving | Done
Side = Wait | Interleaving | Done | Unbegun

BEGINNING = Connector(None)
_ANY = Connector(tree.Later())


@dataclass(frozen=True)
class Move:
    """One way to bind the next event: at `leaf`, under the link of a thread, while all other threads let it pass.

    `thread` is the number of that link among the term's `threads`; -1 where a side of `&` begins, which waits for no
    event in particular: then all threads must let the event pass.
    """

    leaf: Leaf
    thread: int
    following: tuple[Term, ...]
    leading: tuple[str, ...] = ()


def beginnings(pattern: tree.Pattern) -> tuple[Move, ...]:
    """The ways to bind a match's first event."""
    return tuple(move for term in _waits(_begin(pattern, BEGINNING, ())) for move in moves(term))


def moves(term: Side) -> Iterator[Move]:
    """The ways in which a term goes on with an event."""
    match term:
        case Wait(link=link, options=options):
            leading = link.absent if link.operator is None else ()
            for option in options:
                yield Move(option.leaf, 0, _following(option), leading)
        case Unbegun(pattern=pattern, anchored=anchored):
            for one in _waits(_begin(pattern, _ANY if anchored else BEGINNING, ())):
                for move in moves(one):
                    yield replace(move, thread=-1)
        case Interleaving(sides=sides):
            before = 0
            for i, side in enumerate(sides):
                for move in moves(side):
                    thread = -1 if move.thread < 0 else before + move.thread
                    yield Move(move.leaf, thread, _joined(term, i, move.following))
                before += len(threads(side))


def threads(term: Side) -> tuple[Connector, ...]:
    """The links under which a term waits: each must let an event pass that is not bound under it."""
    return tuple(wait.link for wait, _ in waits(term))


def waits(term: Side) -> Iterator[tuple[Wait, tuple[Interleaving, ...]]]:
    """The waits of a term's threads, each with the conjunctions around it, the outer ones first."""
    match term:
        case Wait():
            yield term, ()
        case Interleaving(sides=sides):
            for side in sides:
                yield from ((wait, (term, *around)) for wait, around in waits(side))


def depth(term: Side, step: str) -> int:
    """In how many conjunctions a term is that may bind a step next."""
    if not isinstance(term, Interleaving):
        return 0
    return 1 + max(depth(side, step) for side in term.sides if any(leaf.step == step for leaf in awaited(side)))


def begun(before: Side | None, thread: int, after: Side) -> tuple[Wait, ...]:
    """The waits that begin with an event bound in a thread: it is what precedes them.

    A side of `&` that has not begun, and one that the event has not moved, wait on as they did.
    """
    match after:
        case Wait():
            return (after,)
        case Interleaving(sides=sides):
            found: tuple[Wait, ...] = ()
            first = 0
            for i, side in enumerate(sides):
                old = before.sides[i] if isinstance(before, Interleaving) else None
                count = 0 if old is None else len(threads(old))
                if old is None or (first <= thread < first + count if thread >= 0 else old != side):
                    found += begun(old, thread - first if thread >= 0 else -1, side)
                first += count
            return found
    return ()


def awaited(term: Side) -> Iterator[Leaf]:
    """The leaves a term may bind next: what it has to count, where it counts."""
    return (move.leaf for move in moves(term))


def _following(option: Option) -> tuple[Term, ...]:
    terms = _after(option.frames)
    for entry in option.entering:
        terms = _joined(Interleaving(entry.sides, entry.frames, entry.anchored), entry.index, terms)
    return terms


def _after(frames: Frames) -> tuple[Term, ...]:
    return tuple(_waits(_next(frames, (), ())))


def _joined(both: Interleaving, index: int, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """A conjunction with one side further on. A side that can be empty may also be left out, for good."""
    sides = both.sides
    found: dict[Term, None] = {}
    for term in terms:
        now = (*sides[:index], term, *sides[index + 1 :])
        optional = [i for i, s in enumerate(now) if isinstance(s, Unbegun) and can_be_empty(s.pattern)]
        for left_out in chain.from_iterable(combinations(optional, n) for n in range(len(optional) + 1)):
            settled = tuple(Done() if i in left_out else side for i, side in enumerate(now))
            if all(isinstance(s, Done) for s in settled):
                found.update(dict.fromkeys(_after(both.frames)))
            else:
                found[replace(both, sides=settled)] = None
    return tuple(found)


Begun = tuple[Connector, Option] | Done


def _begin(pattern: tree.Pattern, link: Connector, frames: Frames) -> Iterator[tuple[Connector, Option]]:
    """The ways a pattern can begin under a link, with what is left after its first event."""
    match pattern:
        case tree.Step(name=name) | tree.Chosen(step=tree.Step(name=name)):
            yield link, Option(Leaf(str(name)), frames)
        case tree.Numbered(step=tree.Step(name=name), index=index):
            yield link, Option(Leaf(str(name), index, link.operator is not None), frames)
        case tree.Alternation(branches=branches):
            for branch in branches:
                yield from _begin(branch, link, frames)
        case tree.Repeat(body=body):
            yield from _begin(body, link, (RepeatFrame(pattern, 1), *frames))
        case tree.Sequence(parts=parts, absent=absent):
            # A part before the first that binds an event is empty, and what leads from it goes with it.
            if link.operator is None:
                link = Connector(None, (*link.absent, *_names(parts[0].absent)))
            yield from _parts(parts, absent, frames, lead=link)
        case tree.Conjunction(sides=sides):
            # It begins with its earliest event: one side begins under the link, the others some time later.
            anchored = link.operator is not None
            unbegun = tuple(Unbegun(s, anchored) for s in sides)
            for i, side in enumerate(sides):
                for lead, option in _begin(side, link, ()):
                    yield lead, replace(option, entering=(*option.entering, Entry(unbegun, i, frames, anchored)))


def _parts(
    parts: tuple[tree.SequencePart, ...], absent: tuple[tree.Negation, ...], frames: Frames, *, lead: Connector
) -> Iterator[tuple[Connector, Option]]:
    trailing = _names(absent)
    for i, part in enumerate(parts):
        yield from _begin(part.pattern, lead, (SequenceFrame(parts[i + 1 :], trailing), *frames))
        if not can_be_empty(part.pattern):
            return


def _next(frames: Frames, trailing: tuple[str, ...], pending: tuple[str, ...]) -> Iterator[Begun]:
    """The continuations after an event, with the frames around it.

    `pending` are the negations before the parts left out since that event: they stay, on the way to what follows.
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
                matters = max(repeat.low, 1) if repeat.high is None else repeat.high
                again = RepeatFrame(repeat, min(times + 1, matters))
                yield from _begin(repeat.body, _connector(repeat.under, pending), (again, *outside))
            if times >= repeat.low or can_be_empty(repeat.body):
                yield from _next(outside, trailing, pending)


def _connector(operator: tree.Operator | None, absent: tuple[str, ...]) -> Connector:
    """Under `,` nothing lies between two events, so nothing has to be absent there."""
    return Connector(operator, () if isinstance(operator, tree.Next) else absent)


def _names(negations: tuple[tree.Negation, ...]) -> tuple[str, ...]:
    return tuple(str(negation.step.name) for negation in negations)


def _waits(begun: Iterable[Begun]) -> Iterator[Term]:
    """One term for each operator under which something may come next, and one for being done."""
    options: dict[Connector, dict[Option, None]] = {}
    done: dict[Done, None] = {}
    for one in begun:
        if isinstance(one, Done):
            done[one] = None
        else:
            options.setdefault(one[0], {})[one[1]] = None
    for link, some in options.items():
        yield Wait(link, tuple(some))
    yield from done
