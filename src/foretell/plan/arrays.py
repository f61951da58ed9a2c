"""A machine's states and edges as flat arrays, in the order in which the kernels take them apart.

| array | of | holds |
| --- | --- | --- |
| 0 | state | where its threads begin |
| 1 to 4 | thread | kind, predicate, code, its negations |
| 5, 6 | negation | predicate, code |
| 7 | state | where its edges begin |
| 8 to 12 | edge | thread, predicate, code, its updates, target |
| 13 to 15 | state | its window, is it a match, does it wait for its window to pass |
| 16 | | the edges that a match begins with |
| 17 | state | where its ticks begin |
| 18 to 20 | tick | slot, predicate, code |
| 21 | state | the predicate without which an event leaves it alone |
| 22, 23 | state | the column and the slot by which its instances are found |
| 24 | | the slots that finished matches are asked for |
| 25 | | the predicate without which no match begins |
| 26, 27 | thread, tick | the slot of its mark |

-1 stands for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.language import tree
from foretell.plan.bytecode import Linked, link
from foretell.plan.lowering import CHAINED, GAP, NEXT, NO_CODE, NO_MARK, RUN, WHERE, Judged, Update, Waiting
from foretell.plan.program import Machine
from foretell.plan.registers import AnyOf

if TYPE_CHECKING:
    from foretell.plan.sharing import Shared

Ints = NDArray[np.int64]


@dataclass
class SharedState:
    """A state with the subscriptions that go through it; `owner` is the one that it is a match of."""

    waiting: Waiting
    owner: int
    members: set[int] = field(default_factory=set)
    within: int | float = 0

    def reach(self, within: int | float | None) -> None:
        """An instance is kept as long as the longest window of those that wait here."""
        self.within = -1 if within is None or self.within < 0 else max(self.within, within)


@dataclass
class SharedEdge:
    source: int | None
    target: int
    thread: int
    judged: Judged
    updates: dict[Update, None] = field(default_factory=dict)
    members: set[int] = field(default_factory=set)


def machine_of(shared: Shared) -> Machine:
    return _Flat(shared).machine()


class _Flat:
    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.states = shared.states
        self.edges = sorted(shared.edges, key=lambda e: -1 if e.source is None else e.source)
        self.predicates: dict[tuple[tree.Expression, ...], int] = {}
        self._asked = list(shared.numbers.predicates)

    def machine(self) -> Machine:
        shared, states, edges = self.shared, self.states, self.edges
        linked = link(shared.numbers.codes)
        starting = [i for i, e in enumerate(edges) if e.source is None]
        counts = np.bincount(
            np.array([e.source for e in edges if e.source is not None], np.int64), minlength=len(states)
        )
        kept = self._kept()
        deferred = max((len(p.deferred) for p in shared.members.values()), default=0)
        first = (*self._waiting(linked), *self._edges(linked, counts, kept, len(starting)))
        arrays = self._arranged(first, starting, linked)
        return Machine(
            arrays,
            self._updates(kept, linked),
            linked,
            tuple(shared.numbers.store.columns),
            tuple(self.predicates),
            max(1, len(shared.numbers.store.slots)),
            len(shared.finals),
            (max([1, *counts.tolist()]), len(starting), 1 + 2 * deferred if shared.chains else 0),
            np.array([s.owner for s in states], np.int64),
            np.array([bool(s.members) for s in states], np.bool_),
            shared.strict and not shared.simultaneous,
            shared.simultaneous,
            any(s.waiting.waits and s.members for s in states),
            shared.chains,
            shared.time,
        )

    # ── predicates ──

    def _predicate(self, number: int) -> int:
        """A predicate's number among those in use."""
        if number < 0:
            return -1
        return self.predicates.setdefault(self._asked[number], len(self.predicates))

    def _any_of(self, judged: Iterable[Judged]) -> int:
        """The predicate that one of several holds; -1 where one of them is always tried."""
        numbers = sorted({j.predicate for j in judged})
        if not numbers or numbers[0] < 0:
            return -1
        if len(numbers) == 1:
            return self._predicate(numbers[0])
        options = (AnyOf(tuple(self._asked[n] for n in numbers)),)
        return self.predicates.setdefault(options, len(self.predicates))

    def _touching(self, number: int) -> int:
        """The predicate without which an event leaves a state's instances alone; -1 where there is none.

        It is that of the operator where the state waits under one `;{θ}`; elsewhere any of those of its edges,
        negations and counters. An event always touches what waits for the very next one.
        """
        waiting = self.states[number].waiting
        if any(t.kind == NEXT for t in waiting.threads) or waiting.final:
            return -1
        touching = [t.where for t in waiting.threads if t.kind == WHERE]
        touching += [absent for t in waiting.threads for absent in t.absent]
        touching += [tick.counted for tick in waiting.ticks]
        only = len(waiting.threads) == 1 and waiting.threads[0].kind == WHERE
        # A side of `&` that has not begun waits under no operator.
        touching += [e.judged for e in self.edges if e.source == number and (e.thread < 0 or not only)]
        return self._any_of(touching)

    # ── arrays ──

    def _waiting(self, linked: Linked) -> tuple[Ints, ...]:
        threads = [t for s in self.states for t in s.waiting.threads]
        absent = [n for t in threads for n in t.absent]
        negation = _starts(len(t.absent) for t in threads)
        return (
            _starts(len(s.waiting.threads) for s in self.states),
            _ints(t.kind for t in threads),
            _ints(self._predicate(t.where.predicate) for t in threads),
            _spans(linked, [t.where.code for t in threads]),
            np.stack([negation[:-1], negation[1:]], axis=1),
            _ints(self._predicate(n.predicate) for n in absent),
            _spans(linked, [n.code for n in absent]),
        )

    def _edges(self, linked: Linked, counts: Ints, kept: list[list[Update]], first: int) -> tuple[Ints, ...]:
        edges = self.edges
        updates = _starts(map(len, kept))
        return (
            first + np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            _ints(e.thread for e in edges),
            _ints(self._predicate(e.judged.predicate) for e in edges),
            _spans(linked, [e.judged.code for e in edges]),
            np.stack([updates[:-1], updates[1:]], axis=1),
            _ints(e.target for e in edges),
        )

    def _arranged(
        self, first: tuple[Ints, ...], starting: list[int], linked: Linked
    ) -> tuple[NDArray[np.generic] | int, ...]:
        states = self.states
        ticks = [t for s in states for t in s.waiting.ticks]
        keys = [s.waiting.key for s in states]
        return (
            *first,
            np.array([s.within for s in states], np.float64 if self.shared.time is Type.FLOAT else np.int64),
            _ints(0 if s.waiting.final else -1 for s in states),
            _ints(s.waiting.waits for s in states),
            _ints(starting),
            _starts(len(s.waiting.ticks) for s in states),
            _ints(t.slot for t in ticks),
            _ints(self._predicate(t.counted.predicate) for t in ticks),
            _spans(linked, [t.counted.code for t in ticks]),
            _ints(self._touching(i) for i in range(len(states))),
            _ints(-1 if k is None else k.column for k in keys),
            _ints(-1 if k is None else k.slot for k in keys),
            _ints(self.shared.finals),
            self._any_of(self.edges[i].judged for i in starting),
            _ints(t.mark for s in states for t in s.waiting.threads),
            _ints(t.mark for t in ticks),
        )

    def _updates(self, kept: list[list[Update]], linked: Linked) -> tuple[Ints, ...]:
        flat = [u for some in kept for u in some]
        spans = _spans(linked, [u.code for u in flat])
        return (
            _ints(u.kind for u in flat),
            _ints(u.slot for u in flat),
            _ints(int(c[0]) if u.kind == RUN else u.argument for u, c in zip(flat, spans, strict=True)),
            spans[:, 1].copy(),
            _ints(u.is_float for u in flat),
        )

    # ── what is worth keeping ──

    def _kept(self) -> list[list[Update]]:
        """Of what each edge could keep, what is still read where it leads."""
        live = self._live()
        return [
            sorted((u for u in e.updates if u.slot == CHAINED or u.kind == GAP or u.slot in live[e.target]), key=_turn)
            for e in self.edges
        ]

    def _live(self) -> list[set[int]]:
        """The slots that are read from each state on."""
        numbers, live = self.shared.numbers, [self._read_at(s) for s in self.states]
        changed = True
        while changed:
            changed = False
            for edge in self.edges:
                if edge.source is None:
                    continue
                read = set(numbers.reads[edge.judged.code]) | live[edge.target]
                for update in edge.updates:
                    read |= numbers.reads[update.code]
                    if update.kind == GAP:
                        read.add(update.slot)
                if not read <= live[edge.source]:
                    live[edge.source] |= read
                    changed = True
        return live

    def _read_at(self, state: SharedState) -> set[int]:
        reads, waiting = self.shared.numbers.reads, state.waiting
        judged = [t.where for t in waiting.threads] + [n for t in waiting.threads for n in t.absent]
        judged += [t.counted for t in waiting.ticks]
        found = {slot for j in judged for slot in reads[j.code]} | {t.slot for t in waiting.ticks}
        found |= {t.mark for t in waiting.threads if t.mark != NO_MARK}
        if waiting.key is not None:
            found.add(waiting.key.slot)
        if waiting.final or waiting.waits:
            found |= set(self.shared.finals)
        return found


def _turn(update: Update) -> int:
    """What reads other slots comes before what writes them."""
    return {RUN: 0, GAP: 1}.get(update.kind, 2)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


def _starts(lengths: Iterable[int]) -> Ints:
    """Where each of several begins that stand in a row, and one more at the end."""
    return np.cumsum([0, *lengths]).astype(np.int64)


def _spans(linked: Linked, codes: Sequence[int]) -> Ints:
    """From where to where each code goes; no code is nothing."""
    numbers = np.array(codes, np.int64)
    found = np.stack([linked.starts[numbers], linked.stops[numbers]], axis=1)
    found[numbers == NO_CODE] = 0
    return found
