"""How far partial matches of a `;` sequence have come, where arrival lists never make them.

Of all partial matches at one state only the one that began last matters for what may still come: it has most time left.
So each process keeps one for each state. What is asked between events is judged with the last step there, and not at
all here: whoever learns from this learns how often it holds.

What matches exclude (AFTER MATCH) is known here, as they are found before this looks. Of the partial matches at a state
that began earlier than the one kept nothing is known, also where that one is excluded and they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.predicates import evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import kernel, read_only
from foretell.machine.exec.observation import Observation
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.kernels.layout import S, U
from foretell.machine.kernels.probe import BEGINNING, EVENTS, FIRSTS, is_spent
from foretell.machine.kernels.structs import Exclusion
from foretell.plan.lower.arrival_tracking import tracking_plan
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.registers import Register, RegisterKind

# fmt: off


@kernel
def stand(process_of: Any, lane_of: Any, time_of: Any, start_of: Any, base: int, flags: Any, gaps: Any, windowed: bool,
          within: Any, limits: Any, amounts: Any, excluding: Any, began: Any, bound: Any, ended: Any, trace: Any,
          furthest: Any) -> None:
    """Feeds the events of a batch: `began` has when the partial match of each process and state began, `bound` and
    `ended` the positions of its events (-1: there is none) and their ends. `gaps` says which state a negated step ends,
    `limits` for a state and a step how long after it the next ones may come, `excluding` what taken matches exclude."""
    (by, past_of, past, _, _, _) = excluding
    waiting = U(began.shape[1])
    for row in range(U(process_of.size)):
        process, time = U(process_of[row]), time_of[row]
        for state in range(waiting):
            if windowed and bound[process, state, 0] >= 0 and time > began[process, state] + within:
                bound[process, state, 0] = -1
        for limit in range(U(amounts.size)):
            state, step = U(limits[limit, 0]), U(limits[limit, 1])
            if bound[process, state, 0] >= 0 and time > ended[process, state, step] + amounts[limit]:
                bound[process, state, 0] = -1
        for gap in range(U(gaps.size)):
            if flags[waiting + U(1) + gap, row]:
                bound[process, U(gaps[gap]), 0] = -1
        # From the last state to the first, so that no event is bound twice.
        for back in range(waiting):
            state = waiting - U(1) - back
            if not flags[state, row]:
                continue
            if state == U(0):
                began[process, 0] = start_of[row]
                bound[process, 0, 0] = base + S(row)
                ended[process, 0, 0] = time
                continue
            before = state - U(1)
            there = bound[process, state, 0] >= 0
            if bound[process, before, 0] < 0 or (there and began[process, state] > began[process, before]):
                continue
            began[process, state] = began[process, before]
            for step in range(state):
                bound[process, state, step] = bound[process, before, step]
                ended[process, state, step] = ended[process, before, step]
            bound[process, state, state] = base + S(row)
            ended[process, state, state] = time
        lane = U(lane_of[row])
        if by == BEGINNING:
            past[lane] = max(past[lane], past_of[row])
        occupied = U(0)
        for state in range(waiting):
            if by == BEGINNING and bound[process, state, 0] <= past[lane]:
                bound[process, state, 0] = -1
            if by in (FIRSTS, EVENTS) and bound[process, state, 0] >= 0:
                for step in range(state + U(1) if by == EVENTS else U(1)):
                    if is_spent(bound[process, state, step], row, excluding):
                        bound[process, state, 0] = -1
                        break
            if bound[process, state, 0] >= 0:
                occupied |= U(1) << state
                for step in range(state + U(1)):
                    furthest[row, step] = bound[process, state, step]
                for step in range(state + U(1), waiting):
                    furthest[row, step] = -1
        trace[row] = occupied


# fmt: on


@dataclass(frozen=True)
class _Furthest:
    """The furthest partial match after some events, to be made into what a kernel would have found."""

    plan: ArrivalPlan
    position: Ints
    lane: Ints
    bound: Ints

    def __len__(self) -> int:
        return len(self.position)

    def only(self, at: Ints) -> RawMatches:
        finals, bound, count = self.plan.program.finals, self.bound[at], len(at)
        slots, nulls = np.zeros((count, len(finals)), np.int64), np.ones((count, len(finals)), np.uint8)
        for step, name in enumerate(self.plan.steps[: bound.shape[1]]):
            slot = finals[Register(RegisterKind.POSITION, name)]
            slots[:, slot], nulls[:, slot] = bound[:, step], bound[:, step] < 0
        nothing = np.zeros(count, np.int64)
        none = np.full(count, -1, np.int64)
        return RawMatches(nothing, self.lane[at], self.position[at], bound[:, 0], none, nothing, slots, nulls, NO_NODES)


@dataclass
class ArrivalTracker:
    """The partial matches of one subscription. A process is a lane, or a lane and the values that all steps share."""

    plan: ArrivalPlan
    strings: StringDictionary
    by_value: LaneIndex | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.tracking = tracking_plan(self.plan)
        self._time = np.float64 if self.tracking.time is Type.FLOAT else np.int64
        steps = len(self.plan.steps)
        if self.tracking.key:
            self.by_value = LaneIndex([Type.INT, *self.plan.key_types])
        self._began = np.zeros((0, steps - 1), self._time)
        self._bound = np.zeros((0, steps - 1, steps - 1), np.int64)
        self._ended = np.zeros((0, steps - 1, steps - 1), self._time)
        limits = self.tracking.limits
        self._limits = np.array([(limit.state, limit.step) for limit in limits], np.int64).reshape(-1, 2)
        self._amounts = np.array([limit.amount for limit in limits]).astype(self._time)

    def observe(self, piece: EventSegment, excluding: Exclusion) -> Observation:
        """The partial matches after each event of a batch, given the exclusions by its matches."""
        events, count, within, gaps = piece.events, len(piece), self.tracking.within, self.tracking.gaps
        flags = evaluate_predicates(self.plan.predicates, events, self.strings)
        kept = [number for number, after in enumerate(gaps) if after >= 0]
        steps = len(self.plan.steps)
        flags = np.ascontiguousarray(flags[[*range(steps), *(steps + number for number in kept)]])
        process = piece.lane
        if self.by_value is not None:
            values = [events.evaluate(expression, self.strings) for expression in self.tracking.key]
            lane = Column(Type.INT, piece.lane, no_nulls(count))
            process = self.by_value.of([lane, *values], count)
        self._room_for(int(process.max(initial=-1)) + 1)
        trace, furthest = np.zeros(count, np.uint64), np.full((count, steps - 1), -1, np.int64)
        stand(
            process,
            piece.lane,
            read_only(events.time.values),
            read_only(events.start.values),
            piece.base,
            flags,
            np.array([gaps[number] for number in kept], np.int64),
            within is not None,
            self._time(within or 0),
            self._limits,
            self._amounts,
            excluding,
            self._began,
            self._bound,
            self._ended,
            trace,
            furthest,
        )
        rows = np.flatnonzero(trace)
        found = _Furthest(self.plan, rows + piece.base, piece.lane[rows], furthest[rows])
        return Observation(process, self.by_value is not None, trace, found)

    def _room_for(self, processes: int) -> None:
        known = len(self._began)
        if processes > known:
            more = max(processes, 2 * known, 16) - known
            self._began = np.pad(self._began, ((0, more), (0, 0)))
            self._bound = np.pad(self._bound, ((0, more), (0, 0), (0, 0)), constant_values=-1)
            self._ended = np.pad(self._ended, ((0, more), (0, 0), (0, 0)))

    def referenced(self) -> Ints:
        """The positions of the events that it speaks of."""
        there = self._bound[:, :, :1] >= 0
        return self._bound[there & (self._bound >= 0)]

    @property
    def oldest(self) -> int | None:
        positions = self.referenced()
        return int(positions.min()) if len(positions) else None

    def state(self) -> dict[str, Any]:
        by_value = None if self.by_value is None else self.by_value.state()
        kept = {"began": self._began, "bound": self._bound, "ended": self._ended}
        return {"by_value": by_value, **kept}

    def restore(self, state: Mapping[str, Any]) -> None:
        if self.by_value is not None:
            self.by_value.restore(state["by_value"])
        self._began, self._ended = (np.asarray(state[name], self._time) for name in ("began", "ended"))
        self._bound = state["bound"]
