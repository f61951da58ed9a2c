"""Correlation machines: the meaning of a correlator (ECL sections 3 and 4; LANGUAGE section 6).

A machine has sets of states active at once. A transition is enabled when each of its enabling sets has an active
state (C0); all enabled transitions that no other enabled one precedes are taken together (C1, C2), those that read
an event on the event (C3), the internal ones until none is left. As the paper's text says and its definition of
"enabled" leaves open, only transitions of the same moment compete: an internal one never waits for one that reads.

| here | in the paper |
| --- | --- |
| Transition.enabling, reads, clears, targets, token | En, a, Clr, Tgt, o |
| Module.initial, success, failure | I, s, f |
| Module.before | ≺ |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from foretell.language import tree
from foretell.language.checked import CheckedCorrelator
from foretell.reference.expressions import Frame, holds
from foretell.reference.lane import Lane, Placed

State = int
States = frozenset[State]


@dataclass(frozen=True)
class Transition:
    """`number` gives transitions an identity and, among outputs of the same moment, their order."""

    number: int
    enabling: tuple[States, ...]
    reads: str | None
    clears: States
    targets: States
    token: str | None = None

    def enabled(self, active: States) -> bool:
        return all(some & active for some in self.enabling)


@dataclass(frozen=True)
class Module:
    states: States
    initial: States
    transitions: tuple[Transition, ...]
    before: frozenset[tuple[Transition, Transition]]
    success: State
    failure: State


class Builder:
    """One method for each construction of section 4; what the paper leaves to the reader is said at its method."""

    def __init__(self) -> None:
        self._numbers = count()

    def _state(self) -> State:
        return next(self._numbers)

    def _internal(
        self, enabling: tuple[States, ...], clears: States, targets: States, token: str | None = None
    ) -> Transition:
        return Transition(next(self._numbers), enabling, None, clears, targets, token)

    def build(self, expression: tree.Correlation) -> Module:
        match expression:
            case tree.On(step=step):
                return self.on(step)
            case tree.Accumulate(parts=parts):
                return self.accumulate([self.build(p) for p in parts])
            case tree.Select(parts=parts, strict=strict):
                return self.select([self.build(p) for p in parts], strict)
            case tree.Sequential(parts=parts):
                return self.sequential([self.build(p) for p in parts])
            case tree.Unless(body=body, stopper=stopper):
                return self.unless(self.build(body), self.build(stopper))
            case tree.Fail(body=body):
                return self.fail(self.build(body))
            case tree.Push(token=token, body=body):
                return self.push(token, self.build(body))
            case tree.Again(kind=kind, body=body, count=None):
                return self.again(kind, self.build(body))
            case tree.Again(kind=kind, body=body, count=int(times)):
                return self.counted(kind, [self.build(body) for _ in range(times)])
            case tree.Parallel(parts=parts):
                return self.parallel([self.build(p) for p in parts])
            case tree.Modes(modes=modes):
                return self.modes([(self.on(m.guard), self.build(m.body)) for m in modes])
        raise AssertionError(expression)

    def on(self, step: str) -> Module:
        """Fig. 3: waits for an event that satisfies the step; cannot fail."""
        waiting, success, failure = self._state(), self._state(), self._state()
        read = Transition(
            next(self._numbers), (frozenset({waiting}),), step, frozenset({waiting}), frozenset({success})
        )
        states = frozenset({waiting, success, failure})
        return Module(states, frozenset({waiting}), (read,), frozenset(), success, failure)

    def _around(
        self,
        parts: list[Module],
        initial: States,
        added: Callable[[States, State, State], list[Transition]],
    ) -> Module:
        """The parts, two new final states, and transitions that come after everything inside and in their order."""
        inside = frozenset[State]().union(*(p.states for p in parts))
        success, failure = self._state(), self._state()
        new = added(inside, success, failure)
        inner = tuple(t for p in parts for t in p.transitions)
        before = frozenset[tuple[Transition, Transition]]().union(*(p.before for p in parts))
        before |= {(old, one) for old in inner for one in new}
        before |= {(one, other) for i, one in enumerate(new) for other in new[i + 1 :]}
        return Module(inside | {success, failure}, initial, (*inner, *new), before, success, failure)

    def accumulate(self, parts: list[Module]) -> Module:
        """Fig. 4(a): success when all have succeeded, failure when one fails (the printed τ₂ is a slip)."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            return [
                self._internal(tuple(frozenset({p.success}) for p in parts), inside, frozenset({success})),
                self._internal((frozenset(p.failure for p in parts),), inside, frozenset({failure})),
            ]

        return self._around(parts, _initial(parts), added)

    def select(self, parts: list[Module], strict: bool) -> Module:
        """Fig. 4(b): success when one succeeds, failure when all have failed; strict: when one fails."""
        failed = [frozenset(p.failure for p in parts)] if strict else [frozenset({p.failure}) for p in parts]

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            return [
                self._internal((frozenset(p.success for p in parts),), inside, frozenset({success})),
                self._internal(tuple(failed), inside, frozenset({failure})),
            ]

        return self._around(parts, _initial(parts), added)

    def sequential(self, parts: list[Module]) -> Module:
        """Fig. 5: each part starts when the one before succeeds; a failure of any is the failure of all."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            follow = [*(p.initial for p in parts[1:]), frozenset({success})]
            forward = [
                self._internal((frozenset({p.success}),), p.states, target)
                for p, target in zip(parts, follow, strict=True)
            ]
            failing = [self._internal((frozenset({p.failure}),), p.states, frozenset({failure})) for p in parts]
            return forward + failing

        return self._around(parts, parts[0].initial, added)

    def unless(self, body: Module, stopper: Module) -> Module:
        """Fig. 6(a): as the body, but failure as soon as the stopper succeeds; the stopper's failure is ignored."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            return [
                self._internal((frozenset({body.success}),), inside, frozenset({success})),
                self._internal((frozenset({body.failure, stopper.success}),), inside, frozenset({failure})),
            ]

        return self._around([body, stopper], body.initial | stopper.initial, added)

    def fail(self, body: Module) -> Module:
        """Not drawn in the paper: success and failure change places."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            return [
                self._internal((frozenset({body.failure}),), inside, frozenset({success})),
                self._internal((frozenset({body.success}),), inside, frozenset({failure})),
            ]

        return self._around([body], body.initial, added)

    def push(self, token: str, body: Module) -> Module:
        """Fig. 6(b): on success the token comes out."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            return [
                self._internal((frozenset({body.success}),), inside, frozenset({success}), token),
                self._internal((frozenset({body.failure}),), inside, frozenset({failure})),
            ]

        return self._around([body], body.initial, added)

    def again(self, kind: str, body: Module) -> Module:
        """Not drawn: repeat starts again whatever the outcome, persist after failure, loop after success."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            on_success = frozenset({success}) if kind == "persist" else body.initial
            on_failure = frozenset({failure}) if kind == "loop" else body.initial
            return [
                self._internal((frozenset({body.success}),), inside, on_success),
                self._internal((frozenset({body.failure}),), inside, on_failure),
            ]

        return self._around([body], body.initial, added)

    def counted(self, kind: str, copies: list[Module]) -> Module:
        """The same with a number: a copy for each round, which is what counting is to a finite machine."""

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            made = []
            for i, copy in enumerate(copies):
                following = copies[i + 1].initial if i + 1 < len(copies) else None
                done, failed = frozenset({success}), frozenset({failure})
                on_success = done if kind == "persist" else following or done
                on_failure = failed if kind == "loop" else following or (done if kind == "repeat" else failed)
                made.append(self._internal((frozenset({copy.success}),), copy.states, on_success))
                made.append(self._internal((frozenset({copy.failure}),), copy.states, on_failure))
            return made

        return self._around(copies, copies[0].initial, added)

    def parallel(self, parts: list[Module]) -> Module:
        """Runs all, never completes."""
        return self._around(parts, _initial(parts), lambda *_: [])

    def modes(self, modes: list[tuple[Module, Module]]) -> Module:
        """Fig. 7: a guard's success clears everything and starts its mode and the guards of the others.

        Guards precede what runs in a mode, so that a mode is left before it sees the event. Guards are meant to
        exclude each other; where two hold, the mode written first is entered.
        """
        guards = [guard for guard, _ in modes]

        def added(inside: States, success: State, failure: State) -> list[Transition]:
            return [
                self._internal(
                    (frozenset({guard.success}),),
                    inside,
                    body.initial | frozenset[State]().union(*(g.initial for g in guards if g is not guard)),
                )
                for guard, body in modes
            ]

        initial = modes[0][1].initial | frozenset[State]().union(*(g.initial for g in guards[1:]))
        module = self._around([m for pair in modes for m in pair], initial, added)
        first = {(g, t) for guard in guards for g in guard.transitions for _, body in modes for t in body.transitions}
        return Module(module.states, initial, module.transitions, module.before | first, module.success, module.failure)


def _initial(parts: list[Module]) -> States:
    return frozenset[State]().union(*(p.initial for p in parts))


@dataclass
class Run:
    """A machine at work: the active states, and the tokens that each event brings out."""

    module: Module
    active: States

    @classmethod
    def start(cls, module: Module) -> Run:
        return cls(module, module.initial)

    def read(self, satisfies: Callable[[str], bool]) -> list[str]:
        """One event: the transitions that read it together, then the internal ones until none is enabled."""
        reading = [t for t in self.module.transitions if t.reads is not None and satisfies(t.reads)]
        tokens = self._take(reading)
        internal = [t for t in self.module.transitions if t.reads is None]
        while any(t.enabled(self.active) for t in internal):
            tokens += self._take(internal)
        return tokens

    def _take(self, candidates: list[Transition]) -> list[str]:
        enabled = [t for t in candidates if t.enabled(self.active)]
        taken = [t for t in enabled if not any((other, t) in self.module.before for other in enabled)]
        cleared = frozenset[State]().union(*(t.clears for t in taken))
        targets = frozenset[State]().union(*(t.targets for t in taken))
        self.active = (self.active - cleared) | targets
        return [t.token for t in sorted(taken, key=lambda t: t.number) if t.token is not None]


def tokens(correlator: CheckedCorrelator, lane: Lane) -> Iterator[tuple[str, Placed]]:
    """The tokens of one lane, each with the event that brought it out."""
    run = Run.start(Builder().build(correlator.tree.expression))
    for at in lane.events:
        frame = Frame(correlator.attributes, correlator.time, this=at.event)

        def satisfies(step: str, frame: Frame = frame) -> bool:
            return all(holds(c, frame) for c in correlator.conditions[step])

        for token in run.read(satisfies):
            yield token, at
