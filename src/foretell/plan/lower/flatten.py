"""Flattening: the states and edges of an NFA as tables, which kernels read. A row is a state, an edge and so on.

| table | its columns |
| --- | --- |
| states | threads from, to; edges from, to; the predicate without which an event does not touch it; the column and the slot by which an event finds its runs; whether it waits for its window to pass; ticks from, to |
| threads | kind, predicate, code from, to, site; negations from, to; the slot of its mark |
| negations | predicate, code from, to, site |
| ticks | slot, predicate, code from, to, site; the slot of its mark |
| edges | predicate, code from, to, site; updates from, to; target; whether that is a match; one more than its thread |
| updates | kind, slot, argument, end of code, whether its result is a float |
| state_within, edge_within | the window of each state, and of the target of each edge; -1 for none |
| starts | the edges that a run begins with |
| finals | the slots that a finished match carries |

All but the windows are unsigned (see `foretell.machine.kernels.layout`, which numbers the columns). NONE stands for none.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints, Words
from foretell.events.types import Type
from foretell.language import tree
from foretell.machine.kernels.layout import COMPUTE, GAP, NEXT, NONE, SET, UPDATE_KIND, WHERE
from foretell.machine.kernels.structs import Fan, NfaTables
from foretell.plan.expressions import Disjunction
from foretell.plan.lower.bytecode import Code, LinkedCode, link
from foretell.plan.lower.ir import CHAINED, NO_CODE, NO_MARK, Guard, RegisterUpdate
from foretell.plan.lower.late_guards import LateGuardCompiler, compilable, late_edges
from foretell.plan.lower.program import CompiledNfa
from foretell.plan.lower.row_levels import row_levels
from foretell.plan.lower.start_profiles import StartProfiles, start_profiles
from foretell.plan.shapes import NfaShape
from foretell.plan.strategy import Kernel, KernelDecision, choose_kernel, choose_late_guards

if TYPE_CHECKING:
    from foretell.plan.prefix_sharing import SharedEdge, SharedNfa, SharedState


def flatten(shared: SharedNfa) -> CompiledNfa:
    return _Flattening(shared).compiled()


class _Flattening:
    def __init__(self, shared: SharedNfa) -> None:
        self.shared = shared
        self.states = shared.states
        self.edges = sorted(shared.edges, key=lambda e: -1 if e.source is None else e.source)
        self.leaving: defaultdict[int | None, list[SharedEdge]] = defaultdict(list)
        for edge in self.edges:
            self.leaving[edge.source].append(edge)
        self.predicates: dict[tuple[tree.Expression, ...], int] = {}
        self._all_predicates = list(shared.symbols.predicates)

    def compiled(self) -> CompiledNfa:
        shared, states, edges = self.shared, self.states, self.edges
        rows = row_levels(shared, edges)
        late_codes, late = ([], {}) if rows is not None else self._late_codes()
        linked = link([*shared.symbols.codes, *late_codes])
        starting = [i for i, e in enumerate(edges) if e.source is None]
        leaving = np.bincount(
            np.array([e.source for e in edges if e.source is not None], np.int64), minlength=len(states)
        )
        kept = self._live_updates()
        deferred = max((len(p.deferred) for p in shared.members.values()), default=0)
        first_edge = len(starting) + np.concatenate([np.zeros(1, np.int64), np.cumsum(leaving)])
        chain_nodes = 1 + 2 * deferred if shared.chains else 0
        state_within, edge_within = self._windows()
        # Predicates get their numbers in this order. Snapshots number the counters of an a[i] by it, so it must stay.
        tables = NfaTables(
            states=self._states(first_edge),
            threads=self._threads(linked),
            negations=self._negations(linked),
            ticks=self._ticks(linked),
            edges=self._edges(linked, kept),
            updates=self._updates(linked, kept),
            state_within=state_within,
            edge_within=edge_within,
            starts=np.array(starting, np.uint64),
            finals=np.array(list(shared.finals), np.uint64),
            begins=np.uint64(self._any_of(edges[i].guard for i in starting)),
            fan=Fan(runs=max([1, *leaving.tolist()]), starts=len(starting), nodes=chain_nodes),
            simultaneous=shared.simultaneous,
        )
        slot_table = shared.symbols.slot_table
        kernel = choose_kernel(self._shape(tables, int(tables.begins), chain_nodes))
        predicates = tuple(self.predicates)
        return CompiledNfa(
            tables=tables,
            code=linked,
            columns=tuple(slot_table.columns),
            predicates=predicates,
            slots=max(1, len(slot_table.slots)),
            positions=slot_table.position_slots,
            texts=slot_table.text_slots,
            lists=slot_table.list_slots,
            owners=np.array([s.owner for s in states], np.int64),
            members=tuple(frozenset(s.members) for s in states),
            kernel=kernel,
            waits=any(s.waiting.waits and s.members for s in states),
            chains=shared.chains,
            time=shared.time,
            process_key=self._process_key(kept),
            late=late_edges(tables.edges, linked, late, predicates, tables.fan.runs) if late else None,
            starts=() if rows is not None else self._start_profiles(starting, kernel),
            rows=rows,
        )

    def _start_profiles(self, starting: list[int], kernel: KernelDecision) -> tuple[StartProfiles, ...]:
        """The conditions of events that begin runs, where the kernel takes its starts from an index."""
        if kernel.kernel.value is not Kernel.STRICT or not self.shared.members:
            return ()
        conditions = {i: self._all_predicates[p] for i in starting if (p := self.edges[i].guard.predicate) >= 0}
        return start_profiles(conditions, next(iter(self.shared.members.values())).subscription)

    def _late_codes(self) -> tuple[list[Code], dict[int, int]]:
        """The codes of late guards, and of each edge that has one the number among all codes. Their columns become
        columns of the NFA."""
        symbols, members = self.shared.symbols, list(self.shared.members.values())
        later = {e.guard.predicate for e in self.edges if e.source is not None and e.guard.predicate >= 0}
        next_only = self.shared.strict and not self.shared.simultaneous
        if not members or not choose_late_guards(len(later), next_only=next_only).value:
            return [], {}
        compiler = LateGuardCompiler(members[0].subscription, symbols)
        used: dict[tuple[int, int], int] = {}
        numbers: dict[int, int] = {}
        for i, edge in enumerate(self.edges):
            predicate, code = edge.guard.predicate, edge.guard.code
            if edge.source is not None and predicate >= 0 and compilable(self._all_predicates[predicate]):
                if (predicate, code) not in symbols.late:
                    rest = None if code == NO_CODE else symbols.codes[code]
                    symbols.late[predicate, code] = compiler.code(self._all_predicates[predicate], rest)
                numbers[i] = len(symbols.codes) + used.setdefault((predicate, code), len(used))
        return [symbols.late[guard] for guard in used], numbers

    def _shape(self, tables: NfaTables, begins: int, chain_nodes: int) -> NfaShape:
        return NfaShape(
            states=len(self.states),
            next_only=self.shared.strict and not self.shared.simultaneous,
            runs_code=any(e.guard.code != NO_CODE for e in self.edges),
            has_window=any(self.states[e.target].within >= 0 for e in self.edges),
            goes_back=any(e.source is not None and e.target < e.source for e in self.edges),
            computes=bool(np.isin(tables.updates[:, UPDATE_KIND], (COMPUTE, GAP)).any()),
            begins_on_every_event=begins == int(NONE),
            chain_nodes=chain_nodes,
            keyed=any(state.waiting.key is not None for state in self.states),
            longest=self._wants_longest(),
            rows=self.shared.parameters is not None,
        )

    def _wants_longest(self) -> bool:
        """Whether a match of the first of a lane's runs ends those that began since: each match with its first event is
        longer than those before it, so the longest ends here or later. Under `,` its events are all those in between.
        """
        plans = self.shared.members.values()
        grows = self.shared.strict or self._has_one_way()
        return bool(plans) and grows and not self.shared.simultaneous and all(p.wants_longest for p in plans)

    def _has_one_way(self) -> bool:
        """Whether at most one run has a given first event, and each event that it may bind makes it longer."""
        waiting = [state.waiting for state in self.states if not state.waiting.final]
        decided = all([t.kind for t in w.threads] in ([NEXT], [WHERE]) and not w.waits for w in waiting)
        ways = Counter(e.source for e in self.edges if not self.states[e.target].waiting.final)
        return decided and all(count == 1 for count in ways.values())

    def _process_key(self, kept: list[list[RegisterUpdate]]) -> int:
        """The column that tells processes of a lane apart for observers: all states are indexed by it, and every run
        keeps its value from its first event. NONE where there is no such column: then processes are lanes."""
        keys = {state.waiting.key for state in self.states if state.owner < 0}
        key = keys.pop() if len(keys) == 1 else None
        if key is None:
            return int(NONE)
        starts = (updates for edge, updates in zip(self.edges, kept, strict=True) if edge.source is None)
        written = all(any((u.kind, u.slot, u.argument) == (SET, key.slot, key.column) for u in us) for us in starts)
        return key.column if written else int(NONE)

    # ── predicates ──

    def _predicate(self, number: int) -> int:
        """A predicate's number among those in use."""
        if number < 0:
            return int(NONE)
        return self.predicates.setdefault(self._all_predicates[number], len(self.predicates))

    def _any_of(self, guards: Iterable[Guard]) -> int:
        """The predicate that one of several guards may hold; NONE where one of them has no predicate."""
        numbers = sorted({guard.predicate for guard in guards})
        if not numbers or numbers[0] < 0:
            return int(NONE)
        if len(numbers) == 1:
            return self._predicate(numbers[0])
        options = (Disjunction(tuple(self._all_predicates[n] for n in numbers)),)
        return self.predicates.setdefault(options, len(self.predicates))

    def _touching(self, number: int) -> int:
        """The predicate without which an event does not touch the runs of a state; NONE where there is none.

        It is that of the operator where the state waits under one `;{θ}`; elsewhere any of those of its edges,
        negations and counters. An event always touches runs that wait for the very next one.
        """
        waiting = self.states[number].waiting
        if any(t.kind == NEXT for t in waiting.threads) or waiting.final:
            return int(NONE)
        touching = [t.where for t in waiting.threads if t.kind == WHERE]
        touching += [absent for t in waiting.threads for absent in t.absent]
        touching += [tick.counted for tick in waiting.counters]
        only = len(waiting.threads) == 1 and waiting.threads[0].kind == WHERE
        # A side of `&` that has not begun waits under no operator.
        touching += [e.guard for e in self.leaving[number] if e.thread < 0 or not only]
        return self._any_of(touching)

    # ── tables ──

    def _states(self, first_edge: Ints) -> Words:
        rows, thread, tick = [], 0, 0
        for i, state in enumerate(self.states):
            waiting, key = state.waiting, state.waiting.key
            threads, ticks = thread + len(waiting.threads), tick + len(waiting.counters)
            keys = (NONE, NONE) if key is None else (key.column, key.slot)
            edges = int(first_edge[i]), int(first_edge[i + 1])
            rows.append([thread, threads, *edges, self._touching(i), *keys, waiting.waits, tick, ticks])
            thread, tick = threads, ticks
        return _table(rows, 10)

    def _threads(self, linked: LinkedCode) -> Words:
        rows, negation = [], 0
        for thread in (t for s in self.states for t in s.waiting.threads):
            stop = negation + len(thread.absent)
            mark = NONE if thread.mark == NO_MARK else thread.mark
            rows.append([thread.kind, *self._guard_cells(thread.where, linked), negation, stop, mark])
            negation = stop
        return _table(rows, 8)

    def _negations(self, linked: LinkedCode) -> Words:
        absent = (n for s in self.states for t in s.waiting.threads for n in t.absent)
        return _table([self._guard_cells(n, linked) for n in absent], 4)

    def _ticks(self, linked: LinkedCode) -> Words:
        ticks = (t for s in self.states for t in s.waiting.counters)
        marked = ((t, NONE if t.mark == NO_MARK else t.mark) for t in ticks)
        return _table([[t.slot, *self._guard_cells(t.counted, linked), mark] for t, mark in marked], 6)

    def _edges(self, linked: LinkedCode, kept: list[list[RegisterUpdate]]) -> Words:
        rows, update = [], 0
        for edge, updates in zip(self.edges, kept, strict=True):
            stop = update + len(updates)
            final = self.states[edge.target].waiting.final
            rows.append([*self._guard_cells(edge.guard, linked), update, stop, edge.target, final, edge.thread + 1])
            update = stop
        return _table(rows, 9)

    def _updates(self, linked: LinkedCode, kept: list[list[RegisterUpdate]]) -> Words:
        rows = []
        for update in (u for updates in kept for u in updates):
            first, stop = _span(linked, update.code)
            argument = first if update.kind == COMPUTE else update.argument
            rows.append([update.kind, max(update.slot, 0), argument, stop, update.is_float])
        return _table(rows, 5)

    def _windows(self) -> tuple[NDArray[Any], NDArray[Any]]:
        dtype = np.float64 if self.shared.time is Type.FLOAT else np.int64
        of_edges = [self.states[e.target].within for e in self.edges]
        return np.array([s.within for s in self.states], dtype), np.array(of_edges, dtype)

    def _guard_cells(self, guard: Guard, linked: LinkedCode) -> list[int]:
        profile = NONE if guard.profile < 0 else guard.profile
        return [self._predicate(guard.predicate), *_span(linked, guard.code), profile]

    # ── register updates that are read later ──

    def _live_updates(self) -> list[list[RegisterUpdate]]:
        """The updates of each edge whose slots are read from its target on."""
        live = self._live()
        return [
            sorted(
                (u for u in e.updates if u.slot == CHAINED or u.kind == GAP or live[e.target] >> u.slot & 1), key=_turn
            )
            for e in self.edges
        ]

    def _live(self) -> list[int]:
        """The slots that are read from each state on, as bits, from the ends backwards until nothing is added."""
        finals = _bits(self.shared.finals)  # many, where a pattern has many steps, and many states are final
        live = [
            _bits(self._read_at(state)) | (finals if state.waiting.final or state.waiting.waits else 0)
            for state in self.states
        ]
        read = {number: self._read_by_edges(number) for number in range(len(self.states))}
        sources: defaultdict[int, set[int]] = defaultdict(set)
        for edge in self.edges:
            if edge.source is not None:
                sources[edge.target].add(edge.source)
        todo = dict.fromkeys(range(len(self.states)))
        while todo:
            number, _ = todo.popitem()
            more = live[number] | read[number]
            for edge in self.leaving[number]:
                more |= live[edge.target]
            if more != live[number]:
                live[number] = more
                todo.update(dict.fromkeys(sources[number]))
        return live

    def _read_by_edges(self, number: int) -> int:
        """The slots that the edges from a state read."""
        reads, bits = self.shared.symbols.reads, 0
        for edge in self.leaving[number]:
            bits |= _bits(reads[edge.guard.code])
            for update in edge.updates:
                bits |= _bits(reads[update.code])
                if update.kind == GAP:
                    bits |= 1 << update.slot
        return bits

    def _read_at(self, state: SharedState) -> set[int]:
        """The slots that are read while a run is in a state, but for those that a match carries."""
        reads, waiting = self.shared.symbols.reads, state.waiting
        guards = [t.where for t in waiting.threads] + [n for t in waiting.threads for n in t.absent]
        guards += [t.counted for t in waiting.counters]
        slots = {slot for guard in guards for slot in reads[guard.code]} | {t.slot for t in waiting.counters}
        slots |= {t.mark for t in waiting.threads if t.mark != NO_MARK}
        if waiting.key is not None:
            slots.add(waiting.key.slot)
        return slots


def _turn(update: RegisterUpdate) -> int:
    """Updates that read other slots come before those that write them."""
    return {COMPUTE: 0, GAP: 1}.get(update.kind, 2)


def _bits(slots: Iterable[int]) -> int:
    bits = 0
    for slot in slots:
        bits |= 1 << slot
    return bits


def _table(rows: Sequence[Sequence[int]], width: int) -> Words:
    return np.array(rows, np.uint64).reshape(-1, width)


def _span(linked: LinkedCode, code: int) -> tuple[int, int]:
    """From where to where a code goes; no code is nothing."""
    return (0, 0) if code == NO_CODE else (int(linked.starts[code]), int(linked.stops[code]))
