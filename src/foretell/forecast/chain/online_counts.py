"""What is counted while events come: transitions, of all lanes and of single ones, and how long they took.

Each event weighs more than the one before by a constant factor (forward decay); `rescale` sees all from now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.chain_states import States
from foretell.learn.histogram import BINS, bin_of
from foretell.learn.lane_statistics import Lanes, moved
from foretell.learn.sojourns import MATCH, STILL, Sojourns
from foretell.learn.statistics import Statistics


class Counted:
    """Over the chain states of `states`. `timed`: whether times are asked for."""

    def __init__(self, states: States, half_life: float, *, timed: bool) -> None:
        self.states, self.timed = states, timed
        self.counts, self.matched = np.zeros((states.size, states.size)), np.zeros(states.size)
        self.lane_counts, self.lane_matched = np.zeros((0, states.size, states.size)), np.zeros((0, states.size))
        self.edges: dict[tuple[int, int], int] = {}
        self.lasting = _new_lasting(16, 64)
        self.weights = np.array([1.0, 2.0 ** (1.0 / half_life)])
        self._half_life = half_life

    def make_room(self, lanes: int) -> None:
        """Room for as many chain states as there are, and for so many lanes."""
        size, old, kept = self.states.size, len(self.matched), min(lanes, len(self.lane_matched))
        self.counts = np.pad(self.counts, (0, size - old))
        self.matched = np.pad(self.matched, (0, size - old))
        counts, matched = self.lane_counts, self.lane_matched
        self.lane_counts, self.lane_matched = np.zeros((lanes, size, size)), np.zeros((lanes, size))
        self.lane_counts[:kept, :old, :old], self.lane_matched[:kept, :old] = counts[:kept], matched[:kept]

    @property
    def lanes(self) -> Lanes:
        """Those that are counted by themselves, by their numbers; all weights as seen from now."""
        size, scale, count = len(self.states), 1.0 / self.weights[0], len(self.lane_matched)
        counts, matched = self.lane_counts[:, :size, :size] * scale, self.lane_matched[:, :size] * scale
        return Lanes(tuple(map(str, range(count))), np.zeros(count, np.int64), counts, matched)

    def rescale(self) -> None:
        scale = 1.0 / self.weights[0]
        if scale != 1.0:
            size, edges = len(self.states), len(self.edges)
            for part in (self.counts, self.matched, self.lane_counts[:, :size, :size], self.lane_matched):
                part *= scale
            for part in self.lasting[1:3]:
                part[:edges] *= scale
            self.weights[0] = 1.0

    # ── times ──

    def edge(self, source: int, target: int) -> int:
        if (source, target) not in self.edges:
            states, edges = len(self.states.masks), len(self.edges) + 1
            if states >= len(self.lasting[0]) or edges > len(self.lasting[1]):
                self.lasting = _grown(self.lasting, max(2 * len(self.lasting[0]), 2 * states), 2 * edges)
            self.edges[source, target] = edges - 1
        number = self.edges[source, target]
        self.lasting[0][source, target if target != MATCH else -1] = number
        return number

    def _sojourns(self, place: Ints, lasted: Floats) -> Sojourns:
        """Those that have ended, and those that still go on: at `place`, and known to have lasted so long."""
        edges, scale = np.array(list(self.edges), np.int64).reshape(-1, 2), 1.0 / self.weights[0]
        bins, total, *ends = (part[: len(edges)] for part in self.lasting[1:])
        ended = bins * scale, total * scale, *ends
        at = self.states.configuration[place]
        states = np.unique(at)
        number = np.searchsorted(states, at)
        still = np.bincount(number * BINS + bin_of(lasted), minlength=len(states) * BINS).reshape(-1, BINS)
        most = np.zeros(len(states))
        np.maximum.at(most, number, lasted)
        so_far = still.astype(np.float64), np.bincount(number, lasted, len(states)), np.zeros(len(states)), most
        parts = zip(ended, so_far, strict=True)
        return Sojourns(
            np.array(self.states.masks, np.uint64),
            np.concatenate([edges[:, 0], states]),
            np.concatenate([edges[:, 1], np.full(len(states), STILL)]),
            *(np.concatenate(both) for both in parts),
        )

    # ── what is known ──

    def begin_with(self, statistics: Statistics, *, contexts: bool, most_lanes: int) -> tuple[str, ...]:
        """Goes on from what was learned before, as if it had been just now; the lanes that are counted, in order."""
        learned = replace(statistics, lanes=statistics.lanes.limited(most_lanes))
        learned = learned if contexts else learned.without_contexts()
        known = zip(learned.states.tolist(), learned.contexts.tolist(), strict=True)
        numbers = np.array([self.states.state(*one) for one in known], np.int64)
        self.make_room(0)
        size, lanes = self.states.size, learned.lanes
        self.counts, self.matched = moved(learned.counts, learned.matched, size, numbers)
        self.lane_counts, self.lane_matched = moved(lanes.counts, lanes.matched, size, numbers)
        if self.timed:
            self._begin_lasting(statistics.sojourns)
        return lanes.keys

    def _begin_lasting(self, lasting: Sojourns) -> None:
        masks = [self.states.number(int(mask)) for mask in lasting.states]
        for e, (source, target) in enumerate(zip(lasting.source.tolist(), lasting.target.tolist(), strict=True)):
            if target >= MATCH:
                edge = self.edge(masks[source], MATCH if target == MATCH else masks[target])
                self.lasting[1][edge] += lasting.bins[e]
                self.lasting[2][edge] += lasting.total[e]
                self.lasting[3][edge] = min(self.lasting[3][edge], lasting.least[e])
                self.lasting[4][edge] = max(self.lasting[4][edge], lasting.most[e])

    def statistics(self, place: Ints, lasted: Floats) -> Statistics:
        """What is known now, all weights as seen from now. Of what goes on, where it is and how long it has lasted."""
        size, scale = len(self.states), 1.0 / self.weights[0]
        return Statistics(
            *self.states.columns,
            self.counts[:size, :size] * scale,
            self.matched[:size] * scale,
            self._sojourns(place, lasted) if self.timed else Sojourns.none(),
            Lanes.none(size),
            self._half_life,
        )

    # ── state ──

    def written(self) -> dict[str, Any]:
        size, edges = len(self.states), len(self.edges)
        return {
            "edges": np.array(list(self.edges), np.int64).reshape(-1, 2),
            "counts": self.counts[:size, :size],
            "matched": self.matched[:size],
            "lane_counts": self.lane_counts[:, :size, :size],
            "lane_matched": self.lane_matched[:, :size],
            "lasting": [part[:edges] for part in self.lasting[1:]],
            "weights": self.weights[:1],
        }

    def read(self, state: Mapping[str, Any]) -> None:
        self.lasting = _new_lasting(max(16, 2 * len(self.states.masks)), max(64, 2 * len(state["edges"])))
        for source, target in state["edges"].tolist():
            self.edge(source, target)
        for part, kept in zip(self.lasting[1:], state["lasting"], strict=True):
            part[: len(kept)] = kept
        known = len(state["matched"])
        self.make_room(len(state["lane_matched"]))
        self.counts[:known, :known], self.matched[:known] = state["counts"], state["matched"]
        self.lane_counts[:, :known, :known] = state["lane_counts"]
        self.lane_matched[:, :known] = state["lane_matched"]
        self.weights[0] = state["weights"][0]


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
