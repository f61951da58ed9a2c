"""The executor of a compiled NFA: it owns the runs and has a kernel process each batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.active_set import OpenRuns
from foretell.machine.exec.batch_columns import BatchColumns, KernelBatch
from foretell.machine.exec.kernel_variants import Extent, extent_of, kernel_for
from foretell.machine.exec.limits import Limit, RunLedger, enforce_engine_limit, enforce_lane_limit
from foretell.machine.exec.match_output import MatchOutput, new_output
from foretell.machine.exec.observation import LazyFurthestRuns, Observation
from foretell.machine.exec.raw_matches import NO_NODES, WORK_ON_MATCHES, RawMatches
from foretell.machine.exec.reverse_scan import ReverseScan
from foretell.machine.exec.row_selection import MOST_ROWS, RowSelection
from foretell.machine.exec.run_pool import RecordedRuns, RunPool
from foretell.machine.exec.stopped_lanes import StoppedLanes
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels import general, layout, lockstep, longest, strict
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.probe import NOTHING
from foretell.machine.kernels.structs import Nodes, Output, ProbeArrays, ProbedLanes
from foretell.machine.matches.exclusions import NO_EXCLUSION
from foretell.machine.matches.longest import LiveStarts
from foretell.machine.observe.observer import Probe
from foretell.machine.trie_rows import TrieRows
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.strategy import Kernel
from foretell.storage.recorded_values import FAR, indices, instant, require_range, whole

_KERNELS: Mapping[Kernel, Callable[..., Any]] = {
    Kernel.GENERAL: general.run_events,
    Kernel.STRICT: strict.run_strict,
    Kernel.LOCKSTEP: lockstep.run_lockstep,
    Kernel.LONGEST: longest.run_longest,
    Kernel.LONGEST_GENERAL: longest.run_longest_events,
}

#: Runs that carry rows may part into many with each event: with so much room they are seldom counted beforehand.
ROOM_FOR_ROWS = 8192

#: The kernel may ask for room for so many times as many runs as there are, before it has to count.
MOST_UNCOUNTED = 4


@dataclass
class NfaExecutor:
    """The runs of one compiled NFA, from batch to batch.

    `stopped` tells from which event on a limit stopped a subscription in a lane; `refusals`, `dropped` and `dropped_by`
    are news that the caller has not taken yet. `observation` is what the probe, if there is one, saw of the latest
    batch; `exclusion` is what AFTER MATCH hides from it in the next.
    """

    nfa: CompiledNfa
    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: RowSelection | None = None
    rows: TrieRows | None = None
    ledger: RunLedger = field(default_factory=RunLedger)
    probe: Probe | None = None

    def __post_init__(self) -> None:
        self.stopped = StoppedLanes()
        self.refusals: list[tuple[int, Ints, Limit]] = []
        self.dropped: dict[int, int] = {}
        self.dropped_by: Limit = "lane"
        self.pool = RunPool(self.nfa, self.ledger.limits.lane, rows=self.rows is not None)
        self._open_runs = OpenRuns(self.pool)
        if self.rows is not None:
            self.pool.grow(ROOM_FOR_ROWS)
        self.columns = BatchColumns(self.strings, self.parameters, self.selection, self.rows)
        self.now: int | float | None = None
        self.observation: Observation | None = None
        self.exclusion = NO_EXCLUSION
        self.undecided = np.zeros(0, np.uint8)  # with LONGEST: the lanes in which it is not known what is taken
        self.output = MatchOutput(self.nfa.finals)
        self._prepare()

    def _prepare(self) -> None:
        """Makes what depends on the NFA alone."""
        self._furthest = new_output(0, self.nfa.finals)  # what a batch shows to the observer, until the next
        self._probed = _new_probed_lanes(0, self.nfa.time)
        self._reverse_scan = ReverseScan(self.nfa)
        late = self.nfa.late
        self._tables = Held(self.nfa.tables)
        self._late_tables = (
            self._tables if late is None else Held(self.nfa.tables._replace(edges=late.edges), self._tables)
        )
        chosen, extent = self.nfa.kernel.kernel.value, extent_of(self.nfa)
        parts = {"rows": self.rows is not None, "many_states": self.pool.has_many_states}
        self._kernel = kernel_for(_KERNELS[chosen], extent, **parts)
        self._is_longest = chosen in (Kernel.LONGEST, Kernel.LONGEST_GENERAL)
        self._is_lockstep = chosen.lockstep
        self.columns.prepare(self.nfa, interprets=extent is not Extent.PREDICATES and not chosen.lockstep)
        self._no_matches = _raw_matches(new_output(0, self.nfa.finals), 0, self.nfa, NO_NODES)

    @property
    def alive(self) -> int:
        """How many partial matches there are."""
        return self.pool.alive

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event that a run has bound; None where there is no run."""
        return self.pool.oldest

    @property
    def timed(self) -> Ints:
        """The subscription of each partial match that only time completes, by its number."""
        return np.asarray(self.nfa.owners[self.pool.cells[self.pool.timed, layout.RUN_STATE]])

    def live_starts(self, now: int | float) -> LiveStarts:
        """The lanes and first events of the runs that may still become a match at `now` or later."""
        cells, tables = self.pool.cells, self.nfa.tables
        runs = self.pool.in_use
        runs = runs[cells[runs, layout.RUN_OVER] != layout.DEAD]
        within = tables.state_within[cells[runs, layout.RUN_STATE]]
        began = self.pool.arrays.times[runs, layout.RUN_BEGAN]
        runs = runs[(within < 0) | (began + within >= now)]
        return LiveStarts(cells[runs, layout.RUN_LANE], cells[runs, layout.RUN_FIRST])

    def referenced(self) -> Ints:
        """The positions of all events that runs have bound."""
        return self.pool.referenced()

    def adopt(self, nfa: CompiledNfa) -> None:
        """Go on with an NFA that has states, slots and finals more, and perhaps some that are dead."""
        self.nfa = nfa
        self.pool.adopt(nfa)
        self.output.carry(nfa.finals)
        self._prepare()
        if not nfa.alive.all():
            self.sweep()

    def move_rows(self, move: Callable[[Ints], Ints]) -> None:
        """Go on with other rows of the template: `move` says where those of an interval are now."""
        used, cells = self.pool.in_use, self.pool.cells
        cells[used, layout.RUN_ROWS] = move(cells[used, layout.RUN_ROWS])
        if self.rows is not None and len(without := used[cells[used, layout.RUN_ROWS] == 0]):
            self.pool.remove(without, -math.inf if self.now is None else self.now)

    # ── a batch ──

    def process(self, segment: EventSegment, lane_count: int, now: int | float) -> RawMatches:
        """The matches that the events of a batch complete, and those that time completes by `now`."""
        self.output.prepare()
        batch = self.columns.batch(segment, self._open_runs, lane_count, self.alive)
        self.pool.grow_lanes(max(lane_count, self.columns.lists, 1))
        probe = None if self.probe is None else self._probe_arrays(len(segment), self.probe)
        self.pool.forget_nodes()
        done = self._run(segment, batch, probe)
        self.now = now
        while self.nfa.waits and not self.pool.pass_time(now, self.output.arrays):
            self.make_room(segment.base + done)
        found = self.output.take(self.pool.counters)
        matches = _raw_matches(found, segment.base, self.nfa, self.pool.nodes) if len(found.first) else self._no_matches
        self.account()
        if self.probe is not None and probe is not None:
            self.observation = self._observed(segment, batch.evaluated.value.columns.integers, probe, self.probe)
        return matches

    def _run(self, segment: EventSegment, batch: KernelBatch, probe: ProbeArrays | None) -> int:
        """Have the kernel process all events, and make room where it stops for it; return how many events."""
        count, times = len(segment), segment.events.time.values
        ways = self._ways(batch, count) if self._is_lockstep else None
        if ways is not None and self._reverse_scan.applies(self, ways):
            self._reverse_scan.run(self, batch.whole, ways)
            return count
        done = 0
        while done < count:
            if done == self.columns.stop:
                batch = self.columns.further(segment, batch, self._open_runs, self.alive)
            done = self._call_kernel(done, self.columns.stop, batch, probe, ways)
            if self.pool.counters[layout.LACKING]:
                self.now = times[min(done, count - 1)].item()
                self.make_room(segment.base + done)
        return done

    def _call_kernel(
        self, first: int, stop: int, batch: KernelBatch, probe: ProbeArrays | None, ways: NDArray[np.uint8] | None
    ) -> int:
        pool = self.pool
        more: tuple[Any, ...] = (self.undecided,) if self._is_longest else (probe,)
        if ways is not None:
            more = probe, pool.steps, ways
        tables = self._late_tables if self.columns.is_late else self._tables
        return int(self._kernel(first, stop, tables, *batch, pool.held, self.output.held, *more))

    def _ways(self, batch: KernelBatch, count: int) -> NDArray[np.uint8]:
        """Of each waiting state and event the edge that its runs take."""
        predicates, tables = batch.evaluated.value.predicates, self.nfa.tables
        ways = np.empty((len(self.nfa.waiting), count), np.uint8)
        lockstep.find_ways(self.nfa.waiting, tables.states, tables.edges, predicates, ways)
        return ways

    # ── the probe ──

    def _probe_arrays(self, rows: int, probe: Probe) -> ProbeArrays:
        """Where the kernel writes what it sees after each event."""
        if rows > len(self._furthest.first):
            self._furthest = new_output(rows, self.nfa.finals)
        if len(self._probed.position) < len(self.pool.lanes.lengths):
            self._probed = _new_probed_lanes(len(self.pool.lanes.lengths), self.nfa.time)
        parts = probe.part_bits.shape[1]
        return ProbeArrays(
            configurations=np.empty(rows, np.uint64),
            furthest_of=np.empty(rows, np.int32),
            bits=probe.bits,
            key=np.uint64(probe.key),
            limits=probe.limits,
            amounts=probe.amounts,
            furthest=self._furthest,
            counters=np.zeros(layout.COUNTERS, np.int64),
            part_words=np.zeros((rows, parts), np.uint64),
            part_bits=probe.part_bits,
            exclusion=self.exclusion,
            position_slots=np.array(self.nfa.positions, np.uint64),
            # Elsewhere more than the events that touch its runs changes what a lane shows.
            remembers=probe.key == layout.NONE
            and not parts
            and self.exclusion.by == NOTHING
            and not self.nfa.tables.simultaneous,
            lanes=self._probed,
            forever=_forever(self.nfa.time),
        )

    def _observed(self, segment: EventSegment, columns: Ints, seen: ProbeArrays, probe: Probe) -> Observation:
        count = seen.counters[layout.MATCHES]
        furthest = Output(*(column[..., :count] for column in seen.furthest))
        by_value = probe.key != layout.NONE
        return Observation(
            process=columns[probe.key, : len(segment)].copy() if by_value else segment.lane,
            by_value=by_value,
            configuration=seen.configurations,
            furthest=LazyFurthestRuns(
                partial(_raw_matches, furthest, segment.base, self.nfa, self.pool.nodes),
                seen.furthest_of,
                segment.base,
            ),
            parts=probe.parts,
            words=seen.part_words,
        )

    # ── room ──

    def make_room(self, position: int) -> None:
        """Make room for the event at a position; where it made a lane too long, it is the one before."""
        counters = self.pool.counters
        if counters[layout.LACKING] != layout.FULL_LANE and self._is_wide():
            # From now on the kernel counts what an event brings, where the most that it might bring has no room.
            counters[layout.COUNTED], counters[layout.LACKING] = 1, 0
            return
        match counters[layout.LACKING]:
            case layout.FULL_POOL:
                # Lanes that have gone quiet may hold runs whose windows have passed.
                if self.sweep() < len(self.pool.cells) // 4:
                    self._grow_or_relieve(position)
            case layout.FULL_NODES:
                if self._fits(2 * sum(column.nbytes for column in self.pool.nodes), position):
                    self.pool.grow_nodes()
            case layout.FULL_OUTPUT:
                if self._fits(WORK_ON_MATCHES * self.output.written(counters), position):
                    self.output.put_aside(counters)
            case layout.FULL_TIMERS:
                if self._fits(2 * sum(column.nbytes for column in self.pool.timers), position):
                    self.pool.grow_timers()
            case layout.FULL_LANE:
                enforce_lane_limit(self, int(counters[layout.CROWDED]), position - 1)
        counters[layout.LACKING] = 0

    def _is_wide(self) -> bool:
        """Whether the kernel asks for room for many times as many runs as there are, and has not counted them."""
        counters = self.pool.counters
        return not counters[layout.COUNTED] and bool(counters[layout.WANTED] > MOST_UNCOUNTED * max(self.alive, 1024))

    def _grow_or_relieve(self, position: int) -> None:
        self.account()
        if self.ledger.remaining <= 0 and self.alive:
            enforce_engine_limit(self, position)
            return  # the kernel asks again
        pool = self.pool
        wanted = int(pool.counters[layout.WANTED])
        if pool.counters[layout.FREE] >= wanted:
            return
        fitting = pool.rows_within(self.ledger.remaining_bytes)
        if wanted <= fitting or self._cannot_relieve(position):
            pool.grow(max(wanted, min(len(pool.cells), self.ledger.remaining, fitting)))

    def _fits(self, more: int, position: int) -> bool:
        """Whether the budget has so many bytes more; where not, runs are stopped or dropped and the kernel asks
        again."""
        self.account()
        return more <= self.ledger.remaining_bytes or self._cannot_relieve(position)

    def _cannot_relieve(self, position: int) -> bool:
        """Stop or drop runs to free memory. True where there are none: what one event needs is little."""
        if not self.alive:
            return True
        enforce_engine_limit(self, position, "memory")
        self.pool.trim()
        self.account()
        return False

    def relieve(self, position: int) -> None:
        """Stop or drop runs because the engine takes too much memory; the next event is the one at a position."""
        enforce_engine_limit(self, position, "memory")

    def compact(self) -> None:
        """Give back the memory that no run needs."""
        self.sweep()
        self.pool.forget_nodes(always=True)
        self.pool.trim()
        self.account()

    def account(self) -> None:
        """Tell the ledger how many runs there are, and how much memory they take."""
        self.ledger.held[id(self)] = self.alive
        self.ledger.bytes[id(self)] = self.pool.nbytes + self.output.nbytes + self.stopped.nbytes

    def sweep(self) -> int:
        """Free the runs that can come to nothing; return how many."""
        return self.pool.sweep(0 if self.now is None else self.now)

    # ── lanes that can be freed ──

    @property
    def counts_in_lanes(self) -> bool:
        """Whether an `a[i]` counts from the first event of its lane on."""
        return len(self.columns.occurrences.kinds) > 0

    def needed_lanes(self) -> Ints:
        """The lanes that cannot be freed."""
        now = -math.inf if self.now is None else self.now
        return np.concatenate([self.pool.lanes_of_runs(now), self.stopped.lanes])

    def free_lanes(self, freed: Ints) -> None:
        """Go on without lanes that nothing needs, and without the lists of values in which there are no runs."""
        self.pool.free_lanes(freed)
        self.free_lists()

    @property
    def has_many_lists(self) -> bool:
        """Whether it is worth looking for lists of values in which there are no runs."""
        return any(lists.crowded for lists in self.columns.value_lists.values())

    def free_lists(self) -> None:
        """Go on without the lists of values in which there are no runs."""
        needed = self.pool.lists_of_runs()
        for lists in self.columns.value_lists.values():
            marked = np.zeros(len(lists), np.bool_)
            marked[needed[needed < len(lists)]] = True
            lists.free(marked)
        self.account()

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts that runs have bound, or that find them."""
        cells, used = self.pool.cells, self.pool.in_use
        for slot in self.nfa.texts:
            yield cells[used, slot]
        for lists in self.columns.value_lists.values():
            yield from lists.texts()

    # ── state ──

    def state(self) -> dict[str, Any]:
        """All that a later batch needs, as arrays."""
        return {
            **self.pool.state(),
            **self.columns.state(),
            "now": self.now,
            "refused": self.stopped.rows(),
        }

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, plans: Mapping[int, SubscriptionPlan]) -> None:
        """Go on from a state of the same NFA, which runs these subscriptions."""
        self.columns.restore(state, bounds)
        self.pool.restore(state, self._recorded_runs(bounds, plans))
        if self.rows is not None:
            self.pool.index_rows(self.rows.batch([], 0, 0))
        is_float = self.nfa.time is Type.FLOAT
        self.now = None if state["now"] is None else instant(state["now"], "the time of runs", is_float=is_float)
        self.stopped = _recorded_stops(state["refused"], bounds, plans)

    def _recorded_runs(self, bounds: StateBounds, plans: Mapping[int, SubscriptionPlan]) -> RecordedRuns:
        most = np.full((2, self.nfa.states), np.iinfo(np.int64).max)
        for state, members in enumerate(self.nfa.members):
            own = [plans[member] for member in members if member in plans]
            if own:
                most[:, state] = min(len(plan.steps) for plan in own), min(len(plan.deferred) for plan in own)
        rows = 0 if self.columns.selection is None else MOST_ROWS
        rows = rows if self.rows is None else len(self.rows.sorted_rows)
        return RecordedRuns(bounds, self.columns.lists, rows, most[0], most[1])


def _raw_matches(output: Output, base: int, nfa: CompiledNfa, nodes: Nodes) -> RawMatches:
    """The matches in an output of a kernel. (Not a method: an observation that holds its executor would be a cycle.)"""
    position = output.row + np.int64(base)
    if nfa.waits:
        position[output.row < 0] = -1
    return RawMatches(
        state=output.state,
        lane=output.lane.astype(np.int64),
        position=position,
        first=output.first,
        chain=output.chain,
        rows=output.rows,
        slots=output.slots.T,
        nulls=output.nulls.T,
        nodes=nodes,
    )


def _new_probed_lanes(count: int, time: Type) -> ProbedLanes:
    return ProbedLanes(
        position=np.full(count, -1, np.int64),
        configuration=np.zeros(count, np.uint64),
        furthest=np.zeros(count, np.int32),
        until=np.full(count, _forever(time)),
    )


def _forever(time: Type) -> Any:
    return np.float64(np.inf) if time is Type.FLOAT else np.iinfo(np.int64).max


def _recorded_stops(rows: object, bounds: StateBounds, members: Container[int]) -> StoppedLanes:
    """The stopped lanes of a snapshot. Early ones are lists; the first version wrote no event from which on."""
    if isinstance(rows, list):
        numbers = [[whole(number, "the lanes that are stopped") for number in [*row, 0][:3]] for row in rows]
        rows = np.array(numbers, np.int64).reshape(-1, 3)
    stops = indices(rows, FAR, "the lanes that are stopped", (None, 3))
    require_range(stops[:, 1], bounds.lanes, "the lanes that are stopped")
    return StoppedLanes.of(stops[[member in members for member in stops[:, 0].tolist()]])
