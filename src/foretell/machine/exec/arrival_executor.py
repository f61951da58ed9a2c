"""The executor of a sequence by arrival lists: it owns the arrivals and has the kernel walk through them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.active_set import OpenArrivals
from foretell.machine.exec.arrival_batch import ArrivalBatch, ArrivalColumns
from foretell.machine.exec.arrival_lists import ListHeads
from foretell.machine.exec.arrival_ring import ArrivalRing, RecordedArrivals
from foretell.machine.exec.batch_columns import bytecode, new_stack
from foretell.machine.exec.kernel_variants import extent_of_arrivals, kernel_for
from foretell.machine.exec.limits import Limit, RunLedger
from foretell.machine.exec.raw_matches import NO_NODES, WORK_ON_MATCHES, RawMatches
from foretell.machine.exec.row_selection import MOST_ROWS, RowSelection
from foretell.machine.exec.stopped_lanes import StoppedLanes
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels import arrival_walk
from foretell.machine.kernels.arrival_walk import (
    CROWDED,
    FRONT,
    FULL_LANE,
    FULL_RING,
    IDLE,
    LACKING,
    LEVEL,
    MATCHES,
    ArrivalLists,
    ArrivalOutput,
    Matcher,
    Search,
)
from foretell.machine.kernels.structs import Values
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.registers import Register, RegisterKind
from foretell.storage.recorded_values import FAR, indices, require_range


@dataclass
class ArrivalExecutor:
    """The arrivals of one subscription, used as an NfaExecutor is.

    `most` is how many matches the kernel hands over at once: one event may complete very many.
    """

    plan: ArrivalPlan
    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: RowSelection | None = None
    capacity: int = 1024
    most: int = 65_536
    ledger: RunLedger = field(default_factory=RunLedger)
    ring: ArrivalRing = field(init=False)
    lists: ListHeads = field(init=False)

    def __post_init__(self) -> None:
        subscription, finals = self.plan.program.subscription, self.plan.program.finals
        self._time = np.float64 if subscription.time is Type.FLOAT else np.int64
        self._windowed = subscription.within is not None
        self._within = self._time(subscription.within or 0)
        self._last = len(self.plan.steps) - 1
        self.stopped = StoppedLanes()  # these four as in NfaExecutor
        self.refusals: list[tuple[int, Ints, Limit]] = []
        self.dropped: dict[int, int] = {}
        self.dropped_by: Limit = "lane"
        size = 1 << max(self.capacity, self._last + 1).bit_length()
        self.ring = ArrivalRing(size, self.plan.width, self._time, self._last)
        self.columns = ArrivalColumns(self.plan, self.strings, self.parameters, self.selection)
        gaps = len(self.plan.predicates) - self._last - 1
        self.lists = ListHeads(self._last, gaps, keyed=self.columns.keyed)
        at, floors = np.zeros(self._last, np.int64), np.zeros(self._last, np.int64)
        self._search = Search(at, floors, np.zeros(len(finals), np.int64))
        self._kernel = kernel_for(arrival_walk.run_arrivals, extent_of_arrivals(self.plan))
        slots = np.zeros((1, self.plan.slots), np.int64)
        self._slots = Values(slots.view(np.float64), slots, np.ones((1, self.plan.slots), np.uint8))

    def __len__(self) -> int:
        """How many arrivals are held."""
        return len(self.ring)

    @property
    def alive(self) -> int:
        return len(self)

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event that is kept; None where there is none."""
        return self.ring.oldest

    def referenced(self) -> Ints:
        """The positions of all arrivals."""
        return self.ring.positions

    # ── a batch ──

    def process(self, segment: EventSegment, lane_count: int, now: int | float) -> RawMatches:
        """The matches that the events of a batch complete, in the order of their last events."""
        arrivals = OpenArrivals(self.ring.held)
        batch = self.columns.batch(segment, self.lists, int(self.ring.counters[FRONT]), arrivals, lane_count)
        self.ring.grow_lanes(lane_count)
        self.lists.grow(lane_count)
        parts = list(self._outputs(batch, now))
        self.account()
        output = parts[0]
        if len(parts) > 1:
            output = ArrivalOutput(*map(np.concatenate, zip(*parts, strict=True)))
        return self._raw_matches(output, batch)

    def _outputs(self, batch: ArrivalBatch, now: int | float) -> Iterator[ArrivalOutput]:
        """The matches in parts: each fills the kernel's output."""
        done, count, written = 0, len(batch.rows), 0
        size = max(1024, count)
        while True:
            output = self._new_output(min(self.most, size))
            done = self._run(batch, done, output)
            yield ArrivalOutput(*(column[: self.ring.counters[MATCHES]] for column in output))
            if done == count:
                break
            size *= 4
            written += sum(column.nbytes for column in output)
            self.account()
            if WORK_ON_MATCHES * written > self.ledger.remaining_bytes:
                self._refuse(batch.events.lane[done : done + 1], int(batch.events.position[done]), "memory")
                self.ring.counters[LEVEL] = IDLE  # the walk amid which the kernel stopped is over
        if self._windowed:
            lists = self._list_arrays()
            arrival_walk.expire(self._time(now), self._within, self.ring.arrays, lists, self.ring.counters)

    def _run(self, batch: ArrivalBatch, done: int, output: ArrivalOutput) -> int:
        """Have the kernel go on until all events are done or the output is full; return where."""
        count, code, counters = len(batch.rows), self.plan.code.code, self.ring.counters
        matcher = Matcher(
            tables=self.plan.tables,
            windowed=self._windowed,
            within=self._within,
            code=bytecode(code, self.strings),
            parameters=self.columns.parameter_values(),
            slots=self._slots,
            stack=new_stack(code),
        )
        counters[MATCHES] = 0
        while done < count:
            done = self._kernel(
                done,
                count,
                self.ledger.limits.lane,
                matcher,
                batch.events,
                batch.columns,
                self.ring.arrays,
                self._list_arrays(),
                self._search,
                output,
                counters,
            )
            if counters[LACKING] == FULL_LANE:
                self._relieve_lane(int(counters[CROWDED]), int(batch.events.position[done - 1]))
            elif counters[LACKING] == FULL_RING:
                self._make_room(int(batch.events.position[done]))
            else:
                break
        return done

    def _list_arrays(self) -> ArrivalLists:
        lists, ring = self.lists, self.ring
        return ArrivalLists(lists.heads, lists.latest, lists.lane_latest, ring.held, ring.fronts)

    def _new_output(self, size: int) -> ArrivalOutput:
        width = len(self.plan.program.finals)
        return ArrivalOutput(np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, width), np.int64))

    def _raw_matches(self, output: ArrivalOutput, batch: ArrivalBatch) -> RawMatches:
        count, first_step = len(output.row), Register(RegisterKind.POSITION, self.plan.steps[0])
        return RawMatches(
            state=np.zeros(count, np.int64),
            lane=batch.events.lane[output.row],
            position=batch.events.position[output.row],
            first=output.slots[:, self.plan.program.finals[first_step]],
            chain=np.full(count, -1, np.int64),
            rows=output.rows,
            slots=output.slots,
            nulls=np.zeros(output.slots.shape, np.uint8),
            nodes=NO_NODES,
        )

    # ── lanes that can be freed ──

    @property
    def counts_in_lanes(self) -> bool:
        return False

    def needed_lanes(self) -> Ints:
        """The lanes that cannot be freed."""
        return self.ring.needed_lanes

    def free_lanes(self, freed: Ints) -> None:
        """Go on without lanes that nothing needs."""
        self.ring.free_lanes(freed)
        self.lists.free_lanes(freed)
        self.account()

    has_many_lists = False

    def free_lists(self) -> None:
        """Lists of keys go when room for more is needed."""

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts that arrivals have, or that find them."""
        yield from self.ring.values({place for texts in self.plan.stored_texts for place in texts})
        yield from self.lists.texts(self.plan.key_types)

    def sweep(self) -> int:
        """Nothing is left to do: arrivals whose windows have passed go with each batch."""
        return 0

    # ── limits ──

    def account(self) -> None:
        """Tell the ledger how many arrivals there are, and how much memory they take."""
        self.ledger.held[id(self)] = len(self)
        self.ledger.bytes[id(self)] = self.ring.nbytes + self.lists.nbytes + self.stopped.nbytes

    def relieve(self, position: int) -> None:
        """Stop or drop arrivals because the engine takes too much memory; the next event is the one at a position."""
        self._relieve(position, "memory")

    def compact(self) -> None:
        """Give back the memory that no arrival needs."""
        self.ring.shrink(self.lists.heads)
        self.account()

    def _make_room(self, position: int) -> None:
        """The ring is full. Where the engine may have no more, drop the oldest, or refuse the fullest lanes."""
        self.account()
        if self.ring.make_room(self.lists.heads):
            return
        if self.ledger.remaining <= 0:
            self._relieve(position, "engine")
        elif len(self) and 3 * self.ring.nbytes > self.ledger.remaining_bytes:
            self._relieve(position, "memory")
        else:
            self.ring.grow()

    def _relieve(self, position: int, limit: Limit) -> None:
        if self.ledger.limits.then == "drop":
            self._count_dropped(self.ring.drop(max(self._last + 1, len(self) // 4)), limit)
            return
        self._refuse(self.ring.crowded_lanes(len(self) // 4), position, limit)

    def _relieve_lane(self, lane: int, position: int) -> None:
        """With the event at a position a lane has more arrivals than its limit."""
        limits, held = self.ledger.limits, int(self.ring.held[lane])
        if limits.then == "drop":
            self._count_dropped(self.ring.drop_of(lane, max(held // 4, held - limits.lane)), "lane")
        else:
            self._refuse(np.array([lane]), position, "lane")

    def _refuse(self, lanes: Ints, position: int, limit: Limit) -> None:
        self.refusals.append((0, self.stopped.stop(0, lanes, position), limit))
        self.ring.refuse(lanes)

    def _count_dropped(self, count: int, limit: Limit) -> None:
        self.dropped[0] = self.dropped.get(0, 0) + count
        self.dropped_by = limit

    # ── state ──

    def state(self) -> dict[str, NDArray[Any]]:
        """All that a later batch needs, as arrays. Between batches no walk is under way."""
        return {**self.lists.state(), "refused": self.stopped.rows()[:, 1:], **self.ring.state()}

    def restore(self, state: Mapping[str, NDArray[Any]], bounds: StateBounds) -> None:
        self.lists.restore(state, bounds)
        refused = indices(state.get("refused", np.zeros((0, 2), np.int64)), FAR, "the stopped lanes", (None, 2))
        require_range(refused[:, 0], bounds.lanes, "the stopped lanes")
        self.stopped = StoppedLanes.of(np.pad(refused, ((0, 0), (1, 0))))
        rows = 0 if self.columns.selection is None else MOST_ROWS
        self.ring.restore(state, self.lists, RecordedArrivals(bounds, rows, self.plan.stored_texts))
