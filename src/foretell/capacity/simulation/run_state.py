"""The state of one simulation: its arrays, which grow where the kernel needs room."""

from __future__ import annotations

from time import monotonic

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.capacity.net.flat_net import DETERMINISTIC, flat_net
from foretell.capacity.net.petri_net import PetriNet
from foretell.capacity.simulation import kernel
from foretell.capacity.simulation.kernel import SimulationState
from foretell.errors import InputError
from foretell.records import record

#: Events in the net beyond which it is not simulated any longer: their times take 16 bytes each.
MOST_EVENTS = 10_000_000
#: Timers of one transition, likewise.
_MOST_TIMERS = 10_000_000

_DRAWS = 1 << 16
#: Firings between two looks at the clock.
_AT_A_TIME = 1 << 20


@record
class BatchSums:
    """The sums of one batch: its seconds, tokens times seconds, servers times seconds, firings, and latencies."""

    seconds: float
    area: Floats
    busy: Floats
    fired: Ints
    notified: int
    latency: float
    histogram: Ints
    marking: Ints

    def plus(self, later: BatchSums) -> BatchSums:
        """Two batches as one."""
        return BatchSums(
            seconds=self.seconds + later.seconds,
            area=self.area + later.area,
            busy=self.busy + later.busy,
            fired=self.fired + later.fired,
            notified=self.notified + later.notified,
            latency=self.latency + later.latency,
            histogram=self.histogram + later.histogram,
            marking=later.marking,
        )


class Allowance:
    """The firings and the seconds that a simulation may still use."""

    def __init__(self, firings: int, seconds: float) -> None:
        self.firings = firings
        self._deadline = monotonic() + seconds

    def part(self, firings: int) -> Allowance:
        """So many of the firings, until the same moment; they are no longer in this allowance."""
        part = Allowance(min(firings, self.firings), 0.0)
        part._deadline = self._deadline
        self.firings -= part.firings
        return part

    def is_used(self) -> bool:
        return self.firings <= 0 or monotonic() > self._deadline


class SimulationRun:
    """A net that is simulated, batch after batch. `is_full` says that more events are in it than are simulated."""

    def __init__(self, net: PetriNet, seed: int) -> None:
        self.net = net
        self.is_full = False
        self._flat = flat_net(net)
        self._random = np.random.default_rng(seed)
        self._state = self._first_state()

    def _first_state(self) -> SimulationState:
        flat, places, transitions = self._flat, len(self.net.places), len(self.net.transitions)
        marking = np.array(self.net.first_marking(), np.int64)
        rooms = [int(min(s, 64)) if k == DETERMINISTIC else 0 for s, k in zip(flat.servers, flat.kind)]
        most_moved = max(
            sum(arcs.get(place, 0) for place in self.net.events)
            for each in self.net.transitions.values()
            for arcs in (each.inputs, each.outputs)
        )
        held = int(marking[flat.holds_events.astype(bool)].sum())
        size = 1024 + held + most_moved
        state = SimulationState(
            marking=marking,
            area=np.zeros(places),
            since=np.zeros(places),
            degree=np.zeros(transitions, np.int64),
            busy=np.zeros(transitions),
            busy_since=np.zeros(transitions),
            fired=np.zeros(transitions, np.int64),
            timer_start=np.cumsum([0, *rooms]).astype(np.int64),
            timer_head=np.zeros(transitions, np.int64),
            timer_count=np.zeros(transitions, np.int64),
            timers=np.zeros(sum(rooms)),
            stamp=np.zeros(size),
            following=np.concatenate([np.arange(1, size), [-1]]).astype(np.int64),
            first=np.full(places, -1, np.int64),
            last=np.full(places, -1, np.int64),
            moved=np.zeros(most_moved + 1),
            counters=np.zeros(kernel.COUNTERS, np.int64),
            clock=np.zeros(2),
            histogram=np.zeros(kernel.BINS, np.int64),
            draws=self._random.random(_DRAWS),
        )
        state.counters[kernel.FREE_COUNT] = size
        for place in np.flatnonzero(flat.holds_events):
            for _ in range(int(marking[place])):
                kernel.put_event(state, int(place), 0.0)
        return state

    @property
    def now(self) -> float:
        return float(self._state.clock[kernel.NOW])

    def marking(self) -> tuple[int, ...]:
        return tuple(self._state.marking.tolist())

    def advance(self, until: float, allowance: Allowance) -> BatchSums:
        """Simulates up to a point in time, or until the allowance is used up; the sums of this batch."""
        since = self._begin_batch()
        while True:
            before = int(self._state.fired.sum())
            status = kernel.simulate(self._flat, self._state, until, min(allowance.firings, _AT_A_TIME))
            allowance.firings -= int(self._state.fired.sum()) - before
            match status:
                case kernel.TIME_UP:
                    return self._sums(since)
                case kernel.NO_DRAWS:
                    self._draw()
                case kernel.NO_TOKENS:
                    self._grow_tokens()
                case kernel.NO_TIMERS:
                    self._grow_timers()
                case kernel.DEADLOCK:
                    raise self._deadlock()
                case kernel.LOOP:
                    raise self._loop()
            if self.is_full or allowance.is_used():
                kernel.settle(self._flat, self._state)
                return self._sums(since)

    def _begin_batch(self) -> float:
        state = self._state
        for sums in (state.area, state.busy, state.fired, state.histogram):
            sums[:] = 0
        state.clock[kernel.LATENCY] = state.counters[kernel.NOTIFIED] = 0
        return self.now

    def _sums(self, since: float) -> BatchSums:
        state = self._state
        return BatchSums(
            seconds=self.now - since,
            area=state.area.copy(),
            busy=state.busy.copy(),
            fired=state.fired.copy(),
            notified=int(state.counters[kernel.NOTIFIED]),
            latency=float(state.clock[kernel.LATENCY]),
            histogram=state.histogram.copy(),
            marking=state.marking.copy(),
        )

    def _draw(self) -> None:
        self._random.random(out=self._state.draws)
        self._state.counters[kernel.DRAWN] = 0

    def _grow_tokens(self) -> None:
        state, size = self._state, len(self._state.stamp)
        if size >= MOST_EVENTS:
            self.is_full = True
            return
        # The list of free tokens ends where it is empty, so the new ones come before it.
        more = np.arange(size + 1, 2 * size + 1)
        more[-1] = state.counters[kernel.FREE]
        self._state = state._replace(
            stamp=np.concatenate([state.stamp, np.zeros(size)]), following=np.concatenate([state.following, more])
        )
        state.counters[kernel.FREE] = size
        state.counters[kernel.FREE_COUNT] += size

    def _grow_timers(self) -> None:
        """Twice the room for the timers of the transitions that have none left."""
        state = self._state
        rooms = np.diff(state.timer_start)
        full = (state.timer_count == rooms) & (self._flat.servers > rooms)
        if rooms[full].max(initial=0) >= _MOST_TIMERS:
            self.is_full = True
            return
        starts = np.cumsum([0, *np.where(full, 2 * rooms, rooms)]).astype(np.int64)
        timers = np.zeros(int(starts[-1]))
        for t in np.flatnonzero(rooms):
            count, room = int(state.timer_count[t]), int(rooms[t])
            places = state.timer_start[t] + (state.timer_head[t] + np.arange(count)) % room
            timers[starts[t] : starts[t] + count] = state.timers[places]
            state.timer_head[t] = 0
        self._state = state._replace(timer_start=starts, timers=timers)

    def _deadlock(self) -> InputError:
        marking = self.net.marking_text(self.marking())
        last = [*self.net.transitions][int(self._state.counters[kernel.LAST])]
        after = f"after '{last}' at {self.now:.3g} s" if self.now else "from the start"
        hint = "check which transition should give back tokens, and which arc takes too many"
        return InputError("deadlock", f"the net stands still {after}: no transition can fire ({marking})", hint=hint)

    def _loop(self) -> InputError:
        last = [*self.net.transitions][int(self._state.counters[kernel.LAST])]
        message = f"immediate transitions fire for ever at {self.now:.3g} s, '{last}' among them"
        return InputError("endless", message, hint="give one of them a rate, or let it take more than it gives")
