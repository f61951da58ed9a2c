"""Online counts: transitions of all lanes and of single ones, and sojourn times, counted while events come.

Each event weighs more than the one before by a constant factor (forward decay); `rescale` sets the next weight to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.chain_states import ChainStates
from foretell.forecast.chain.kernel import SojournCounts, TransitionCounts
from foretell.learn.histogram import BINS, bin_of
from foretell.learn.lane_statistics import LaneCounts, renumbered
from foretell.learn.sojourns import CENSORED, MATCH, Sojourns
from foretell.learn.statistics import Statistics
from foretell.storage.recorded_values import array, require, require_range


class OnlineCounts:
    """Over the chain states of `states`. `timed`: whether sojourn times are counted."""

    def __init__(self, states: ChainStates, half_life: float, *, timed: bool) -> None:
        self.states, self.timed = states, timed
        self.transitions = _new_transitions(0, states.capacity)
        self.edges: dict[tuple[int, int], int] = {}
        self.sojourns = _new_sojourns(16, 64)
        self.weights = np.array([1.0, 2.0 ** (1.0 / half_life)])
        self._half_life = half_life

    def reserve(self, lanes: int) -> None:
        """Makes room for as many chain states as `states` has room for, and for so many lanes."""
        old, new = self.transitions, _new_transitions(lanes, self.states.capacity)
        known, kept = len(old.matched), min(lanes, len(old.lane_matched))
        new.counts[:known, :known], new.matched[:known] = old.counts, old.matched
        new.lane_counts[:kept, :known, :known] = old.lane_counts[:kept]
        new.lane_matched[:kept, :known] = old.lane_matched[:kept]
        self.transitions = new

    @property
    def lane_count(self) -> int:
        """The number of lanes that have counts of their own."""
        return len(self.transitions.lane_matched)

    def lanes(self, which: Ints | slice = slice(None)) -> LaneCounts:
        """The counts of some lanes, known by their numbers, scaled to now."""
        size, scale, counts = len(self.states), 1.0 / self.weights[0], self.transitions
        return LaneCounts.unnamed(
            counts.lane_counts[which, :size, :size] * scale, counts.lane_matched[which, :size] * scale
        )

    def rescale(self) -> None:
        scale = 1.0 / self.weights[0]
        if scale != 1.0:
            size, edges, counts = len(self.states), len(self.edges), self.transitions
            for part in (counts.counts, counts.matched, counts.lane_counts[:, :size, :size], counts.lane_matched):
                part *= scale
            for part in (self.sojourns.bins, self.sojourns.total):
                part[:edges] *= scale
            self.weights[0] = 1.0

    # ── sojourn times ──

    def edge_number(self, source: int, target: int) -> int:
        """The number of an edge between configurations, which is added if it is new."""
        if (source, target) not in self.edges:
            states, edges = len(self.states.masks), len(self.edges) + 1
            if states >= len(self.sojourns.edge_of) or edges > len(self.sojourns.bins):
                self.sojourns = _grown(self.sojourns, max(2 * len(self.sojourns.edge_of), 2 * states), 2 * edges)
            self.edges[source, target] = edges - 1
        number = self.edges[source, target]
        self.sojourns.edge_of[source, target if target != MATCH else -1] = number
        return number

    def _sojourn_statistics(self, state: Ints, lasted: Floats) -> Sojourns:
        """Ended sojourns, and the present ones, which are censored: their chain states and how long they lasted."""
        edges, scale = np.array(list(self.edges), np.int64).reshape(-1, 2), 1.0 / self.weights[0]
        _, bins, total, least, most = (part[: len(edges)] for part in self.sojourns)
        ended = bins * scale, total * scale, least, most
        configuration = self.states.index.configuration[state]
        present = np.unique(configuration)
        number = np.searchsorted(present, configuration)
        counts = np.bincount(number * BINS + bin_of(lasted), minlength=len(present) * BINS).reshape(-1, BINS)
        longest = np.zeros(len(present))
        np.maximum.at(longest, number, lasted)
        totals = np.bincount(number, lasted, len(present))
        censored = counts.astype(np.float64), totals, np.zeros(len(present)), longest
        return Sojourns(
            np.array(self.states.masks, np.uint64),
            np.concatenate([edges[:, 0], present]),
            np.concatenate([edges[:, 1], np.full(len(present), CENSORED)]),
            *(np.concatenate(both) for both in zip(ended, censored, strict=True)),
        )

    # ── statistics ──

    def load(self, trained: Statistics, *, contexts: bool, max_lanes: int) -> tuple[str, ...]:
        """Starts from trained statistics, as if counted just now. Returns the keys of the lanes in their order."""
        statistics = replace(trained, lanes=trained.lanes.limited(max_lanes))
        statistics = statistics if contexts else statistics.without_contexts()
        pairs = zip(statistics.states.tolist(), statistics.contexts.tolist(), strict=True)
        numbers = np.array([self.states.state_number(mask, context) for mask, context in pairs], np.int64)
        size, lanes = self.states.capacity, statistics.lanes
        self.transitions = TransitionCounts(
            *renumbered(statistics.counts, statistics.matched, size, numbers),
            *renumbered(lanes.counts, lanes.matched, size, numbers),
        )
        if self.timed:
            self._load_sojourns(trained.sojourns)
        return lanes.keys

    def _load_sojourns(self, trained: Sojourns) -> None:
        numbers = [self.states.configuration_number(int(mask)) for mask in trained.states]
        for e, (source, target) in enumerate(zip(trained.source.tolist(), trained.target.tolist(), strict=True)):
            if target != CENSORED:
                edge = self.edge_number(numbers[source], MATCH if target == MATCH else numbers[target])
                self.sojourns.bins[edge] += trained.bins[e]
                self.sojourns.total[edge] += trained.total[e]
                self.sojourns.least[edge] = min(self.sojourns.least[edge], trained.least[e])
                self.sojourns.most[edge] = max(self.sojourns.most[edge], trained.most[e])

    def statistics(self, state: Ints, lasted: Floats) -> Statistics:
        """The statistics so far, scaled to now. `state` and `lasted` describe the present sojourns."""
        size, scale = len(self.states), 1.0 / self.weights[0]
        return Statistics(
            *self.states.columns,
            self.transitions.counts[:size, :size] * scale,
            self.transitions.matched[:size] * scale,
            self._sojourn_statistics(state, lasted) if self.timed else Sojourns.none(),
            LaneCounts.none(size),
            self._half_life,
        )

    # ── snapshots ──

    def snapshot(self) -> dict[str, Any]:
        size, edges, counts = len(self.states), len(self.edges), self.transitions
        return {
            "edges": np.array(list(self.edges), np.int64).reshape(-1, 2),
            "counts": counts.counts[:size, :size],
            "matched": counts.matched[:size],
            "lane_counts": counts.lane_counts[:, :size, :size],
            "lane_matched": counts.lane_matched[:, :size],
            "lasting": [part[:edges] for part in self.sojourns[1:]],
            "weights": self.weights[:1],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        edges, known = self._recorded_edges(snapshot["edges"]), len(self.states)
        self.sojourns = _new_sojourns(max(16, 2 * len(self.states.masks)), max(64, 2 * len(edges)))
        for source, target in edges.tolist():
            self.edge_number(source, target)
        require(len(self.edges) == len(edges), "the edges of the chain")
        for part, saved in zip(self.sojourns[1:], snapshot["lasting"], strict=True):
            part[: len(edges)] = weights(saved, (len(edges), *part.shape[1:]))
        lane_matched = weights(snapshot["lane_matched"], (None, known))
        lane_counts = weights(snapshot["lane_counts"], (len(lane_matched), known, known))
        recorded = weights(snapshot["counts"], (known, known)), weights(snapshot["matched"], (known,))
        self.reserve(len(lane_matched))
        counts = self.transitions
        counts.counts[:known, :known], counts.matched[:known] = recorded
        counts.lane_counts[:, :known, :known] = lane_counts
        counts.lane_matched[:, :known] = lane_matched
        self.weights[0] = weights(snapshot["weights"], (1,))[0]
        require(0 < self.weights[0] < np.inf, "the weights of events")

    def _recorded_edges(self, edges: object) -> Ints:
        read = array(edges, np.int64, (None, 2), "the edges of the chain")
        require_range(read[:, 0], len(self.states.masks), "the edges of the chain")
        require_range(read[:, 1], len(self.states.masks), "the edges of the chain", low=MATCH)
        return read


def weights(value: object, shape: tuple[int | None, ...]) -> Floats:
    """Recorded weights: none is negative."""
    read = array(value, np.float64, shape, "the weights")
    require((read >= 0).all(), "the weights")
    return read


def _new_transitions(lanes: int, states: int) -> TransitionCounts:
    return TransitionCounts(
        np.zeros((states, states)), np.zeros(states), np.zeros((lanes, states, states)), np.zeros((lanes, states))
    )


def _new_sojourns(states: int, edges: int) -> SojournCounts:
    return SojournCounts(
        np.full((states, states + 1), -1, np.int64),
        np.zeros((edges, BINS)),
        np.zeros(edges),
        np.full(edges, np.inf),
        np.zeros(edges),
    )


def _grown(old: SojournCounts, states: int, edges: int) -> SojournCounts:
    new = _new_sojourns(max(states, len(old.edge_of)), max(edges, len(old.bins)))
    known = len(old.edge_of)
    new.edge_of[:known, :known], new.edge_of[:known, -1] = old.edge_of[:, :known], old.edge_of[:, -1]
    for part, before in zip(new[1:], old[1:], strict=True):
        part[: len(before)] = before
    return new
