"""Correlation machines: the meaning of a correlator (ECL sections 3 and 4).

A machine has sets of states active at once. A transition is enabled when each of its enabling sets has an active
state (C0); all enabled transitions that no other enabled one precedes are taken together (C1, C2), those that read
an event on the event (C3), the internal ones until none is left. As the paper's text says and its definition of
"enabled" leaves open, only transitions of the same moment compete: an internal one never waits for one that reads.

| here | in the paper |
| --- | --- |
| Transition.enabling, reads, clears, targets, token | En, a, Clr, Tgt, o |
| Module.initial, success, failure | I, s, f |
| Module.parts, own | ≺ |

The priorities ≺ are never written down pair by pair: that is quadratic in the size of a machine, and `repeat(1000)`
is a machine of thousands of transitions. They follow the nesting of the modules, and so does the search for what is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from foretell.errors import InputError
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator
from foretell.reference.expressions import Frame, holds
from foretell.reference.functions import Value
from foretell.reference.lane import Lane, PlacedEvent

State = int
States = frozenset[State]


#: A machine of the reference evaluator has at most so many parts: it has a copy of a body for each round.
MOST_PARTS = 100_000


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
        return all(states & active for states in self.enabling)


@dataclass(frozen=True)
class Module:
    """A machine, made of the machines of its parts and of transitions of its `own` that join them.

    What is inside a part precedes what is the module's own, and of its own each precedes those after it. Parts stand
    in ranks: those of one rank have nothing to do with each other, all of a rank precede all of the next.
    """

    states: States
    initial: States
    parts: tuple[tuple[Module, ...], ...]
    own: tuple[Transition, ...]
    success: State
    failure: State

    def foremost(self, active: States, reads: Callable[[str | None], bool]) -> list[Transition]:
        """The enabled transitions of this moment that no other of them precedes (C1)."""
        if self.states.isdisjoint(active):  # all that its transitions are enabled by is inside
            return []
        for rank in self.parts:
            found = [t for part in rank for t in part.foremost(active, reads)]
            if found:
                return found
        return next(([t] for t in self.own if t.enabled(active) and reads(t.reads)), [])


class MachineConstruction:
    """The constructions of section 4, one method each; methods say what the paper leaves to the reader."""

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
        return Module(states, frozenset({waiting}), (), (read,), success, failure)

    def _around(
        self,
        parts: list[Module],
        initial: States,
        added: Callable[[States, State, State], list[Transition]],
        first: Iterable[Module] = (),
    ) -> Module:
        """The parts, two new final states, and the transitions added; the parts in `first` precede the others."""
        ranks = tuple(rank for rank in (tuple(first), tuple(parts)) if rank)
        inside = frozenset[State]().union(*(p.states for rank in ranks for p in rank))
        success, failure = self._state(), self._state()
        own = tuple(added(inside, success, failure))
        return Module(inside | {success, failure}, initial, ranks, own, success, failure)

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
        """Fig. 6(b): emits the token on success."""

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
        """The same with a number: a finite machine counts with one copy for each round."""

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
        """Not drawn: runs all parts, never completes."""
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

        _, first_body = modes[0]
        initial = first_body.initial | frozenset[State]().union(*(g.initial for g in guards[1:]))
        return self._around([body for _, body in modes], initial, added, first=guards)


def _initial(parts: list[Module]) -> States:
    return frozenset[State]().union(*(p.initial for p in parts))


@dataclass
class CorrelationRun:
    """A run of a machine: the active states; reading an event returns the tokens it emits."""

    module: Module
    active: States

    @classmethod
    def start(cls, module: Module) -> CorrelationRun:
        return cls(module, module.initial)

    def read(self, satisfies: Callable[[str], bool]) -> list[str]:
        """One event: the transitions that read it together (C3), then the internal ones until none is enabled."""
        found = self._take(lambda step: step is not None and satisfies(step))
        tokens = list(found)
        while found:
            found = self._take(lambda step: step is None)
            tokens += found
        return [t.token for t in tokens if t.token is not None]

    def _take(self, reads: Callable[[str | None], bool]) -> list[Transition]:
        """All that are foremost, together (C2); of the same moment, outputs come in the order of their numbers."""
        taken = self.module.foremost(self.active, reads)
        cleared = frozenset[State]().union(*(t.clears for t in taken))
        targets = frozenset[State]().union(*(t.targets for t in taken))
        self.active = (self.active - cleared) | targets
        return sorted(taken, key=lambda t: t.number)


def _parts(node: tree.Node) -> int:
    """The parts of a machine, with a copy of each body for each round."""
    parts = 1 + sum(map(_parts, node.children()))
    return parts * (node.count or 1) if isinstance(node, tree.Again) else parts


def tokens(
    correlator: CheckedCorrelator, lane: Lane, parameters: Mapping[str, Value]
) -> Iterator[tuple[str, PlacedEvent]]:
    """The tokens of one lane, each with the event that emitted it; `parameters` are a row of the FOR EACH table."""
    if _parts(correlator.tree.expression) > MOST_PARTS:
        raise InputError(
            "too-many-rounds",
            f"'{correlator.name}' has more than {MOST_PARTS:,} parts in the reference evaluator, which has a copy for "
            "each round",
            hint="run it in another engine",
        )
    run = CorrelationRun.start(MachineConstruction().build(correlator.tree.expression))
    for at in lane.events:
        frame = Frame(correlator.attributes, correlator.time, this=at.event, parameters=parameters)

        def satisfies(step: str, frame: Frame = frame) -> bool:
            return all(holds(c, frame) for c in correlator.conditions[step])

        for token in run.read(satisfies):
            yield token, at
