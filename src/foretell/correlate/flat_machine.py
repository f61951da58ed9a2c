"""A correlation machine as flat arrays, for the kernel that runs it concurrently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.correlate.correlation_machine import CorrelationMachine, MachineModule, MachineTransition
from foretell.machine.kernels.correlation import ConcurrentTables
from foretell.records import record


@record
class FlatMachine:
    """`tokens` are those that a machine emits, by their numbers in the tables."""

    machine: CorrelationMachine
    tables: ConcurrentTables
    tokens: tuple[str, ...]

    @property
    def most_readers(self) -> int:
        """No event is read by more."""
        return len(self.tables.waiting)

    @property
    def most_tokens(self) -> int:
        """No event emits more: each module takes one transition at the most."""
        return max(1, int(np.count_nonzero(np.asarray(self.tables.token) >= 0)))

    @property
    def modules(self) -> int:
        return len(self.tables.parent)

    def initial(self) -> tuple[NDArray[np.uint8], Ints]:
        """The active states and the counters of a lane that has seen nothing."""
        active = np.zeros(self.machine.states, np.uint8)
        active[list(self.machine.module.initial)] = 1
        return active, np.zeros(self.machine.counters, np.int64)


def flat_machine(machine: CorrelationMachine) -> FlatMachine:
    return _Layout(machine).flat()


class _Layout:
    def __init__(self, machine: CorrelationMachine) -> None:
        self._machine = machine
        modules = [*machine.module.in_postorder()]
        self._readers = [module for module in modules if not module.ranks]
        self._inner = [module for module in modules if module.ranks]
        number = {module.span.states: place for place, module in enumerate(self._inner)}
        self._parents = {
            part.span.states: number[module.span.states] for module in self._inner for part in module.parts
        }
        self._transitions = [t for module in self._inner for t in module.own]
        self._tokens = tuple(dict.fromkeys(t.token for t in self._transitions if t.token is not None))

    def flat(self) -> FlatMachine:
        steps = self._machine.steps
        by_step = [[n for n, reader in enumerate(self._readers) if reader.own[0].reads == step] for step in steps]
        sets = [states for t in self._transitions for states in t.enabling]
        readers_of, reader = joined_lists(by_step)
        enabled_by, enabling_state = joined_lists(sets)
        target, target_state = joined_lists(t.targets for t in self._transitions)
        tables = ConcurrentTables(
            readers_of=readers_of,
            reader=reader,
            waiting=_ints(module.initial[0] for module in self._readers),
            reader_parent=_ints(self._parent(module) for module in self._readers),
            suppressed=_rows(self._suppressed(), 4),
            parent=_ints(self._parent(module) for module in self._inner),
            own=_starts(len(module.own) for module in self._inner),
            enabling=_starts(len(t.enabling) for t in self._transitions),
            enabled_by=enabled_by,
            enabling_state=enabling_state,
            clears=_rows(((*t.clears.states, *t.clears.counters) for t in self._transitions), 4),
            target=target,
            target_state=target_state,
            token=_ints(-1 if t.token is None else self._tokens.index(t.token) for t in self._transitions),
            round=_rows(map(_round, self._transitions), 3),
        )
        return FlatMachine(self._machine, tables, self._tokens)

    def _parent(self, module: MachineModule) -> int:
        return self._parents.get(module.span.states, -1)

    def _suppressed(self) -> Iterator[tuple[int, ...]]:
        """Where all that is in an earlier rank precedes a later one: only the guards of modes and their bodies."""
        place = {module.span.states: number for number, module in enumerate(self._readers)}
        for module in reversed(self._inner):  # outer modules come first
            if len(module.ranks) > 1:
                guards, bodies = module.ranks
                first, last = place[guards[0].span.states], place[guards[-1].span.states]
                yield first, last + 1, bodies[0].span.states[0], bodies[-1].span.states[1]


def _round(transition: MachineTransition) -> tuple[int, int, int]:
    bounds = transition.round
    return (-1, 0, 0) if bounds is None else (bounds.counter, bounds.rounds, int(bounds.is_last))


def _ints(values: Iterable[int]) -> Ints:
    return np.array([*values], np.int64)


def _rows(rows: Iterable[Sequence[int]], width: int) -> Ints:
    return np.array([*rows], np.int64).reshape(-1, width)


def _starts(counts: Iterable[int]) -> Ints:
    return np.cumsum([0, *counts], dtype=np.int64)


def joined_lists(lists: Iterable[Sequence[int]]) -> tuple[Ints, Ints]:
    """Where each list begins, and all of them one behind the other."""
    whole = [*lists]
    return _starts(map(len, whole)), _ints(value for values in whole for value in values)
