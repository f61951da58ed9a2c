"""Forecasts while events come: the watcher of one subscription, who learns from what is seen.

The tables that the look-ups need are made anew as learning goes on, at fixed numbers of events: so the same events give
the same forecasts in whatever batches they come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.forecast import following
from foretell.forecast.expectation import Asked, Expectation
from foretell.forecast.following import COUNTERS, EVENTS, FOUND, NEXT, WHY, follow, place_of
from foretell.forecast.outcomes import Horizon
from foretell.forecast.symbols import Symbols
from foretell.forecast.tables import tables
from foretell.learn.calibration import AS_IT_IS
from foretell.learn.histogram import BINS, bin_of
from foretell.learn.lanes import Lanes, room
from foretell.learn.model import Learned
from foretell.learn.settings import Learning
from foretell.learn.sojourns import MATCH, STILL, Sojourns
from foretell.learn.statistics import MOST_STATES, Statistics
from foretell.learn.trace import furthest
from foretell.machine.watching import Seen

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The tables are made anew after so many events, and then each time as many more have been seen.
FIRST_TABLES = 64


@dataclass(frozen=True)
class Watch:
    """What a forecaster is told: until when to look, from which probability on to speak, and how to learn.

    `every` keeps what is forecast after each event, for those who judge forecasts: the probability, and the interval
    that is asked for. `anew`: no state of before is gone on from.
    """

    horizon: Horizon
    above: float
    settings: Learning
    every: Asked | None = None
    anew: bool = False


@dataclass(frozen=True)
class Prospects:
    """What processes may expect; NaN where too little has been seen or, of an interval, where there is none."""

    process: Ints
    probability: Floats
    start: Floats
    end: Floats


class Forecaster:
    """`learned` is what to begin with; without it, it begins knowing nothing and is silent until it has seen enough."""

    def __init__(
        self, watch: Watch, time: Type, learned: Learned | None = None, symbols: Symbols | None = None
    ) -> None:
        self.watch = watch
        self._unit = 1e-6 if time is Type.TIMESTAMP else 1.0
        self._contexts = (learned.contexts if learned is not None else None) if symbols is not None else None
        self._symbols = symbols if self._contexts is not None else None
        self._calibration = AS_IT_IS if learned is None else learned.calibration
        self.chances: list[Floats] = []
        self.intervals: list[tuple[Floats, Floats]] = []
        self._processes = _new_processes(0)
        self._keyed = False
        self._masks: list[int]
        self._pairs: dict[tuple[int, int], int]
        self._edges: dict[tuple[int, int], int]
        self._following, self._context = _automaton(self._contexts)
        self._forget()
        self._lasting = _new_lasting(16, 64)
        self._weights = np.array([1.0, 2.0 ** (1.0 / watch.settings.half_life)])
        self._counters = np.zeros(COUNTERS, np.int64)
        self._counters[NEXT] = FIRST_TABLES
        self._now = -math.inf
        self._state(0, 0)
        if learned is not None:
            self._begin_with(learned.statistics)
        self._make_tables()

    def _forget(self) -> None:
        """Knows no chain states, and has room for some."""
        self._masks, self._pairs, self._edges, self._size = [], {}, {}, 0
        self._known = _new_known(64)
        self._state_of, self._configuration = (
            np.zeros((0, int(self._context.max()) + 1), np.int64),
            np.zeros(0, np.int64),
        )
        self._counts, self._matched = np.zeros((0, 0)), np.zeros(0)
        self._lane_counts, self._lane_matched, self._chance = np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros((1, 0, 1))
        self._make_room(4)

    # ── what is seen ──

    def see(self, seen: Seen) -> tuple[Ints, Floats]:
        """At which events a match has become likely, and how likely."""
        self._keyed = seen.by_value
        self._room_for_processes(int(seen.process.max(initial=-1)) + 1)
        rows = (
            seen.process,
            seen.ordinal,
            seen.time * self._unit if self.watch.horizon.events is None else np.zeros(0),
            seen.configuration,
            np.zeros(0, np.int64) if self._symbols is None else self._symbols.of(seen.events, seen.strings),
            seen.matched,
        )
        found = np.empty(len(seen.process), np.int64), np.empty(len(seen.process))
        every = self._every(len(seen.process))
        self._counters[FOUND] = 0
        done = 0
        while True:
            done = self._follow(done, rows, (*found, *every))
            match self._counters[WHY]:
                case following.DONE:
                    break
                case following.DUE:
                    self._keep(every, done)
                    self._now = float(rows[2][done]) if len(rows[2]) else self._now
                    self._make_tables()
                case following.NEW_EDGE:
                    self._add_edge(rows, done)
                case _:
                    self._add_state(rows, done)
        if len(seen.completed):
            self._processes[7][seen.completed] = 1
        self._keep(every, done)
        count = int(self._counters[FOUND])
        return found[0][:count].copy(), found[1][:count].copy()

    def _follow(self, first: int, rows: tuple[Any, ...], found: tuple[Any, ...]) -> int:
        chain = self._state_of, self._following, self._context, self._configuration
        counts = self._counts, self._matched, self._lane_counts, self._lane_matched
        chances = self._chance, self._ages
        settings, timed = self.watch.settings, self.watch.horizon.events is None
        return int(
            follow(
                first,
                len(rows[0]),
                rows,
                self._processes,
                self._known,
                chain,
                counts,
                self._lasting,
                chances,
                self._weights,
                self._counters,
                self.watch.above,
                settings.online,
                timed,
                found,
            )
        )

    # ── what is kept for judges ──

    def _every(self, count: int) -> tuple[Floats, Ints]:
        """Where the kernel puts down what it says after each event: how likely, and by which table, state and age."""
        if self.watch.every is None:
            return np.zeros(0), np.zeros((0, 3), np.int64)
        self.chances.append(np.full(count, np.nan))
        self.intervals.append((np.full(count, np.nan), np.full(count, np.nan)))
        self._kept = 0
        return self.chances[-1], np.zeros((count, 3), np.int64)

    def _keep(self, every: tuple[Floats, Ints], until: int) -> None:
        """The intervals of the events since the tables were made, by what was known then."""
        if self.watch.every is None:
            return
        assert self._then is not None
        rows = np.arange(self._kept, until)
        rows = rows[~np.isnan(every[0][rows])]
        table, state, age = every[1][rows].T
        start, end = self.intervals[-1]
        start[rows], end[rows] = self._then.intervals(table - 1, state, self._ages[age], self.watch.every)
        self._kept = until

    # ── what is to be expected ──

    def prospects(self, now: int | float, asked: Asked) -> Prospects:
        """Of all lanes that have been seen; of those told apart by a value, the ones that have partial matches."""
        place, last, entered, table = (self._processes[part] for part in (0, 1, 2, 6))
        process = np.flatnonzero(last >= 0)
        if self._keyed:
            process = process[self._configuration[place[process]] != 0]
        age = np.zeros(len(process))
        if self.watch.horizon.events is None:
            self._now = max(self._now, now * self._unit)
            age = np.maximum(self._now - entered[process], 0.0)
        at = np.searchsorted(self._ages, age, side="right") - 1
        state = place[process]
        start, end = self._expectation().intervals(table[process] - 1, state, self._ages[at], asked)
        return Prospects(process, self._chance[table[process], state, at], start, end)

    def _expectation(self) -> Expectation:
        size = len(self._pairs)
        scale, lanes = 1.0 / self._weights[0], len(self._lane_matched)
        counts, matched = self._lane_counts[:, :size, :size] * scale, self._lane_matched[:, :size] * scale
        mine = Lanes(tuple(map(str, range(lanes))), np.zeros(lanes, np.int64), counts, matched)
        return Expectation(self.watch.horizon, replace(self.statistics, lanes=mine), self.watch.settings)

    # ── chain states ──

    def _add_state(self, rows: tuple[Any, ...], row: int) -> None:
        """What the kernel met for the first time gets a number."""
        mask, process, symbol = int(rows[3][row]), int(rows[0][row]), int(rows[4][row]) if len(rows[4]) else 0
        context = int(self._context[self._following[self._processes[4][process], symbol]])
        self._state(mask, context)

    def _state(self, mask: int, context: int) -> int:
        number = self._number(mask)
        if (number, context) not in self._pairs:
            if context and len(self._pairs) >= MOST_STATES:
                self._state_of[number, context] = self._state(mask, 0)  # what is rare goes without its context
                return int(self._state_of[number, context])
            if len(self._pairs) == self._size:
                self._make_room(2 * self._size)
            self._configuration[len(self._pairs)] = number
            self._pairs[number, context] = len(self._pairs)
        self._state_of[number, context] = self._pairs[number, context]
        return self._pairs[number, context]

    def _number(self, mask: int) -> int:
        """The number of a configuration. Too many, and a new one counts as its furthest partial match alone."""
        at = int(place_of(np.uint64(mask), *self._known))
        if self._known[1][at] >= 0:
            return int(self._known[1][at])
        if len(self._masks) >= MOST_STATES - 65 and mask != (alone := int(furthest(np.array([mask], np.uint64))[0])):
            number = self._number(alone)
        else:
            number = len(self._masks)
            self._masks.append(mask)
        self._enter(mask, number)
        return number

    def _enter(self, mask: int, number: int) -> None:
        masks, numbers = self._known
        if 2 * (np.count_nonzero(numbers >= 0) + 1) > len(masks):
            self._known = _new_known(2 * len(masks))
            for old, its in zip(masks[numbers >= 0], numbers[numbers >= 0]):
                at = int(place_of(old, *self._known))
                self._known[0][at], self._known[1][at] = old, its
            masks, numbers = self._known
        at = int(place_of(np.uint64(mask), masks, numbers))
        masks[at], numbers[at] = mask, number

    def _make_room(self, size: int) -> None:
        """Room for so many chain states."""
        old, self._size = self._size, size
        state_of, configuration = self._state_of, self._configuration
        self._state_of = np.full((size, int(self._context.max()) + 1), -1, np.int64)
        self._configuration = np.zeros(size, np.int64)
        self._state_of[:old], self._configuration[:old] = state_of, configuration
        self._counts = np.pad(self._counts, (0, size - old))
        self._matched = np.pad(self._matched, (0, size - old))
        self._room_for_lanes(min(len(self._lane_matched), self._most_lanes))

    @property
    def _most_lanes(self) -> int:
        """How many lanes are counted by themselves."""
        return 0 if self._keyed else room(self.watch.settings.lanes, self._size)

    def _room_for_lanes(self, lanes: int) -> None:
        size, kept = self._size, min(lanes, len(self._lane_matched))
        old = self._lane_matched.shape[1]
        counts, matched, chance = self._lane_counts, self._lane_matched, self._chance
        self._lane_counts, self._lane_matched = np.zeros((lanes, size, size)), np.zeros((lanes, size))
        self._lane_counts[:kept, :old, :old], self._lane_matched[:kept, :old] = counts[:kept], matched[:kept]
        self._chance = np.full((1 + lanes, size, chance.shape[2]), np.nan)
        self._chance[: 1 + kept, :old] = chance[: 1 + kept]
        self._processes[5][self._processes[5] >= lanes] = -1
        self._processes[6][self._processes[5] < 0] = 0

    def _room_for_processes(self, count: int) -> None:
        known = len(self._processes[0])
        if count <= known:
            return
        more = _new_processes(max(count, 2 * known, 16) - known)
        if not self._keyed:
            more[0][:] = self._pairs[0, 0]  # a lane begins with no partial match
            self._room_for_lanes(min(known + len(more[0]), self._most_lanes))
            lane = np.arange(known, known + len(more[0]))
            more[5][:] = np.where(lane < len(self._lane_matched), lane, -1)
        self._processes = tuple(np.concatenate(both) for both in zip(self._processes, more))

    def _add_edge(self, rows: tuple[Any, ...], row: int) -> None:
        process, mask = int(rows[0][row]), int(rows[3][row])
        before = int(self._configuration[self._processes[0][process]])
        matched = bool(rows[5][row]) or bool(self._processes[7][process])
        self._edge(before, MATCH if matched else self._number(mask))

    def _edge(self, source: int, target: int) -> int:
        if (source, target) not in self._edges:
            states, edges = len(self._masks), len(self._edges) + 1
            if states >= len(self._lasting[0]) or edges > len(self._lasting[1]):
                self._lasting = _grown(self._lasting, max(2 * len(self._lasting[0]), 2 * states), 2 * edges)
            self._edges[source, target] = edges - 1
        number = self._edges[source, target]
        self._lasting[0][source, target if target != MATCH else -1] = number
        return number

    # ── what is known ──

    def _begin_with(self, statistics: Statistics) -> None:
        """Goes on from what was learned before, as if it had been just now."""
        contexts = np.zeros_like(statistics.contexts) if self._contexts is None else statistics.contexts
        numbers = np.array(
            [self._state(int(m), int(c)) for m, c in zip(statistics.states, contexts, strict=True)], np.int64
        )
        np.add.at(self._counts, (numbers[:, None], numbers[None, :]), statistics.counts)
        np.add.at(self._matched, numbers, statistics.matched)
        if self.watch.horizon.events is not None:
            return  # it asks for no times
        lasting = statistics.sojourns
        masks = [self._number(int(mask)) for mask in lasting.states]
        for e, (source, target) in enumerate(zip(lasting.source.tolist(), lasting.target.tolist(), strict=True)):
            if target >= MATCH:
                edge = self._edge(masks[source], MATCH if target == MATCH else masks[target])
                self._lasting[1][edge] += lasting.bins[e]
                self._lasting[2][edge] += lasting.total[e]
                self._lasting[3][edge] = min(self._lasting[3][edge], lasting.least[e])
                self._lasting[4][edge] = max(self._lasting[4][edge], lasting.most[e])

    @property
    def statistics(self) -> Statistics:
        """What it knows now, all weights as seen from now. Times only where the horizon is one."""
        size, scale = len(self._pairs), 1.0 / self._weights[0]
        states, contexts = np.zeros(size, np.uint64), np.zeros(size, np.int64)
        for (number, context), at in self._pairs.items():
            states[at], contexts[at] = self._masks[number], context
        return Statistics(
            states,
            contexts,
            self._counts[:size, :size] * scale,
            self._matched[:size] * scale,
            Sojourns.none() if self.watch.horizon.events is not None else self._sojourns(scale),
            Lanes.none(size),
            self.watch.settings.half_life,
        )

    def _sojourns(self, scale: float) -> Sojourns:
        """Those that have ended, and those that still go on, which are known to have lasted so long."""
        edges = np.array(list(self._edges), np.int64).reshape(-1, 2)
        bins, total, *ends = (part[: len(edges)] for part in self._lasting[1:])
        ended = bins * scale, total * scale, *ends
        place, entered = self._processes[0], self._processes[2]
        going_on = np.flatnonzero(place >= 0)
        lasted = np.maximum(self._now - entered[going_on], 0.0)
        at = self._configuration[place[going_on]]
        states = np.unique(at)
        number = np.searchsorted(states, at)
        still = np.bincount(number * BINS + bin_of(lasted), minlength=len(states) * BINS).reshape(-1, BINS)
        most = np.zeros(len(states))
        np.maximum.at(most, number, lasted)
        so_far = still.astype(np.float64), np.bincount(number, lasted, len(states)), np.zeros(len(states)), most
        parts = zip(ended, so_far, strict=True)
        return Sojourns(
            np.array(self._masks, np.uint64),
            np.concatenate([edges[:, 0], states]),
            np.concatenate([edges[:, 1], np.full(len(states), STILL)]),
            *(np.concatenate(both) for both in parts),
        )

    def _make_tables(self) -> None:
        """All weights as seen from now, and how likely a match is from each state."""
        self._rescale()
        events = int(self._counters[EVENTS])
        if self.watch.settings.online:
            half = self.watch.settings.half_life
            step = max(FIRST_TABLES, events)
            self._counters[NEXT] = events + (step if math.isinf(half) else max(1, min(step, int(half))))
        else:
            self._counters[NEXT] = -1
        size, settings, horizon = len(self._pairs), self.watch.settings, self.watch.horizon
        own = self._own_lanes()
        counts, matched = self._lane_counts[own, :size, :size], self._lane_matched[own, :size]
        lanes = Lanes(tuple(map(str, own)), np.zeros(len(own), np.int64), counts, matched)
        found, self._ages = tables(horizon, self.statistics, lanes, settings)
        found = self._calibration(found)
        if self._keyed:
            found[:, self._configuration[:size] == 0] = np.nan  # of a binding without partial matches nobody speaks
        self._chance = np.full((1 + len(self._lane_matched), self._size, found.shape[2]), np.nan)
        self._chance[0, :size] = found[0]
        self._chance[1 + own, :size] = found[1:]
        table = np.zeros(1 + len(self._lane_matched), np.int64)
        table[1 + own] = 1 + own
        self._processes[6][:] = table[1 + self._processes[5]]
        self._then = None if self.watch.every is None else self._expectation()

    def _own_lanes(self) -> Ints:
        """The lanes that have seen enough to have tables of their own. One alone is what all have seen."""
        if self.watch.horizon.events is None or len(self._processes[0]) < 2:
            return np.zeros(0, np.int64)
        size = len(self._pairs)
        seen = self._lane_counts[:, :size, :size].sum(axis=(1, 2)) + self._lane_matched[:, :size].sum(axis=1)
        return np.flatnonzero(seen >= self.watch.settings.enough)

    def _rescale(self) -> None:
        scale = 1.0 / self._weights[0]
        if scale != 1.0:
            size, edges = len(self._pairs), len(self._edges)
            for part in (self._counts, self._matched, self._lane_counts[:, :size, :size], self._lane_matched):
                part *= scale
            for part in self._lasting[1:3]:
                part[:edges] *= scale
            self._weights[0] = 1.0

    # ── state ──

    def state(self) -> Mapping[str, Any]:
        size, edges = len(self._pairs), len(self._edges)
        return {
            "keyed": self._keyed,
            "processes": list(self._processes),
            "masks": np.array(self._masks, np.uint64),
            "pairs": np.array(list(self._pairs), np.int64).reshape(-1, 2),
            "edges": np.array(list(self._edges), np.int64).reshape(-1, 2),
            "counts": self._counts[:size, :size],
            "matched": self._matched[:size],
            "lane_counts": self._lane_counts[:, :size, :size],
            "lane_matched": self._lane_matched[:, :size],
            "lasting": [part[:edges] for part in self._lasting[1:]],
            "chance": self._chance[:, :size],
            "ages": self._ages,
            "weights": self._weights[:1],
            "counters": self._counters,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        if self.watch.anew:
            return
        self._keyed = state["keyed"]
        self._forget()
        self._lasting = _new_lasting(max(16, 2 * len(state["masks"])), max(64, 2 * len(state["edges"])))
        for mask in state["masks"].tolist():
            self._enter(mask, len(self._masks))
            self._masks.append(mask)
        for number, context in state["pairs"].tolist():
            self._state(self._masks[number], context)
        for source, target in state["edges"].tolist():
            self._edge(source, target)
        known, lanes = len(state["pairs"]), len(state["lane_matched"])
        self._chance = np.full((1, self._size, state["chance"].shape[2]), np.nan)
        self._room_for_lanes(lanes)
        self._counts[:known, :known], self._matched[:known] = state["counts"], state["matched"]
        self._lane_counts[:, :known, :known], self._lane_matched[:, :known] = (
            state["lane_counts"],
            state["lane_matched"],
        )
        self._chance[:, :known] = state["chance"]
        for part, kept in zip(self._lasting[1:], state["lasting"], strict=True):
            part[: len(kept)] = kept
        self._ages = state["ages"]
        self._processes = tuple(
            np.asarray(part, like.dtype) for part, like in zip(state["processes"], _new_processes(0), strict=True)
        )
        self._weights[0] = state["weights"][0]
        self._counters[:] = state["counters"]


def _new_processes(count: int) -> tuple[NDArray[Any], ...]:
    """See foretell.forecast.following."""
    return (
        np.full(count, -1, np.int64),
        np.full(count, -1, np.int64),
        np.zeros(count),
        np.zeros(count, np.uint8),
        np.zeros(count, np.int64),
        np.full(count, -1, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.uint8),
    )


def _new_known(size: int) -> tuple[NDArray[np.uint64], Ints]:
    return np.zeros(size, np.uint64), np.full(size, -1, np.int64)


def _new_lasting(states: int, edges: int) -> tuple[NDArray[Any], ...]:
    return (
        np.full((states, states + 1), -1, np.int64),
        np.zeros((edges, BINS)),
        np.zeros(edges),
        np.full(edges, np.inf),
        np.zeros(edges),
    )


def _grown(lasting: tuple[NDArray[Any], ...], states: int, edges: int) -> tuple[NDArray[Any], ...]:
    new = _new_lasting(max(states, len(lasting[0])), max(edges, len(lasting[1])))
    old = len(lasting[0])
    new[0][:old, :old], new[0][:old, -1] = lasting[0][:, :old], lasting[0][:, -1]
    for part, before in zip(new[1:], lasting[1:], strict=True):
        part[: len(before)] = before
    return new


def _automaton(contexts: Any) -> tuple[Ints, Ints]:
    """The node after a node and a symbol, the last of which stands for all unknown ones; and the context of a node."""
    if contexts is None or len(contexts) == 1:
        return np.zeros((1, 1), np.int64), np.zeros(1, np.int64)
    unknown = np.zeros((len(contexts.following), 1), np.int64)
    return np.hstack([contexts.following.astype(np.int64), unknown]), contexts.context.astype(np.int64)
