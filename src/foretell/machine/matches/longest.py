"""AFTER MATCH LONGEST: the longest match of each first event, held until nothing can change the choice any more.

Matches are taken by their first events, so a match waits for the partial matches (runs) of its lane that began with the
same event or earlier. Of the matches that begin with one event only the best so far is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.jit import compiled
from foretell.machine.input.key_index import with_room
from foretell.machine.kernels.structs import Nodes
from foretell.machine.matches.after_match import AfterMatchPolicy, Rank
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.results import ResultBatch
from foretell.storage.recorded_values import array

#: What becomes of a match: another one excludes it or is longer, it is taken, it waits.
DROPPED, TAKEN, HELD = 0, 1, 2


class LiveStarts(NamedTuple):
    """The lanes and the positions of the first events of partial matches that may still complete."""

    lane: Ints
    first: Ints

    def with_results(self, results: list[ResultBatch]) -> LiveStarts:
        """The same and those of matches that wait for a later choice."""
        pending = [(result.lane, result.bound_events.first) for result in results if len(result)]
        return LiveStarts(*(np.concatenate(columns) for columns in zip(self, *pending, strict=True)))


NOTHING_LIVES = LiveStarts(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass
class LongestSelection:
    """The matches of a subscription that wait to be taken (`held`), all of them in one result batch.

    `most_events` is the most that a match can bind. `in_order` tells that a match found later ends later: not so where
    time completes matches. `undecided` marks the lanes with a match that an earlier first event may still exclude.
    """

    policy: AfterMatchPolicy
    most_events: int | None
    in_order: bool
    held: ResultBatch | None = None
    undecided: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    def undecided_lanes(self, lanes: int) -> NDArray[np.uint8]:
        """Flags of at least so many lanes, which the kernel sets."""
        self.undecided = with_room(self.undecided, max(lanes, 1), 0)
        return self.undecided

    def free_lanes(self, freed: Ints) -> None:
        """Nothing is undecided in lanes that begin anew."""
        self.undecided[freed[freed < len(self.undecided)]] = 0

    def take(self, results: ResultBatch, live: LiveStarts, now: int | float, rank: Rank) -> ResultBatch:
        """The matches that are taken by now, of those held (which `results` includes) and new ones."""
        bound = results.bound_events
        lengths = np.diff(bound.starts)
        by = bound.order([results.lane, bound.first, -lengths, results.end])
        candidates = _Candidates(
            results.lane[by],
            bound.first[by],
            rank(bound.first)[by],
            rank(bound.last)[by],
            # One as long and found later ends at `now` at the earliest.
            (lengths[by] == self.most_events) & (results.end[by] < now),
        )
        lanes = int(max(results.lane.max(initial=-1), live.lane.max(initial=-1))) + 1
        past = self.policy.excluded_past(lanes, candidates.first_rank.dtype)
        undecided = self.undecided_lanes(lanes)
        earliest = np.lexsort((live.first, live.lane))
        runs = _LiveRuns(live.lane[earliest], live.first[earliest], rank(live.first[earliest]))
        becomes = np.empty(len(results), np.uint8)
        becomes[by] = _settle(candidates, runs, past, undecided, self.in_order)
        held = becomes == HELD
        self.held = results.filter(held) if held.any() else None
        return results.filter(becomes == TAKEN)

    def state(self, results_state: Any) -> dict[str, Any]:
        return {"held": None if self.held is None else results_state(self.held), "undecided": self.undecided.copy()}

    def restore(self, state: Mapping[str, Any], held: ResultBatch | None) -> None:
        self.held = held
        self.undecided = array(state["undecided"], np.uint8, (None,), "the undecided lanes").copy()


class _Candidates(NamedTuple):
    """Matches by lane and first event, the best of each first: ranks of first and last events, and whether no other
    match with the same first event can be better."""

    lane: Ints
    first: Ints
    first_rank: NDArray[Any]
    last_rank: NDArray[Any]
    is_best: Flags


class _LiveRuns(NamedTuple):
    """Partial matches by lane and first event."""

    lane: Ints
    first: Ints
    rank: NDArray[Any]


@compiled
def _settle(
    found: _Candidates, runs: _LiveRuns, past: NDArray[Any], undecided: Any, in_order: bool
) -> NDArray[np.uint8]:
    """The fate of each match. `past` is the rank up to which taken matches exclude first events in each lane."""
    (lane, first, first_rank, last_rank, is_best) = found
    (run_lane, run_first, run_rank) = runs
    becomes = np.zeros(lane.size, np.uint8)
    run, at, stop = 0, 0, 0
    while at < lane.size:
        this_lane, waits, certain = lane[at], False, past[lane[at]]
        undecided[this_lane] = 0
        while run < run_lane.size and run_lane[run] < this_lane:
            run += 1
        while stop < lane.size and lane[stop] == this_lane:
            stop += 1
        before = np.int64(-1)
        for i in range(at, stop):
            if first[i] == before or first_rank[i] <= past[this_lane] or (waits and first_rank[i] <= certain):
                continue
            before = first[i]
            if not waits:
                while run < run_lane.size and run_lane[run] == this_lane and run_rank[run] <= past[this_lane]:
                    run += 1
                lives = run < run_lane.size and run_lane[run] == this_lane and run_first[run] <= first[i]
                if not lives or (run_first[run] == first[i] and is_best[i]):
                    becomes[i] = TAKEN
                    past[this_lane] = max(past[this_lane], last_rank[i])
                    continue
                waits = True
                if in_order and run_first[run] == first[i]:
                    # A match with this first event will be taken, and it ends with this one or later.
                    becomes[i], certain = HELD, last_rank[i]
                    continue
            becomes[i], undecided[this_lane] = HELD, 1
        at = stop
    return becomes


# ── before events are gathered ──


def longest_by_start(matches: MatchBatch) -> Flags:
    """Marks the matches of which no other with the same first event binds more events."""
    count, chain = len(matches), matches.raw.chain.astype(np.int64)
    lengths = matches.known_events + _chain_lengths(chain, matches.raw.nodes, int(chain.max(initial=-1)) + 1)
    by = np.argsort(matches.first, kind="stable")
    first = matches.first[by]
    begins = np.flatnonzero(np.diff(first, prepend=-1))
    most = np.maximum.reduceat(lengths[by], begins)
    keep = np.empty(count, np.bool_)
    keep[by] = lengths[by] == np.repeat(most, np.diff(begins, append=count))
    return keep


@compiled
def _chain_lengths(chain: Ints, nodes: Nodes, count: int) -> Ints:
    """The number of events in each chain, of which the first `count` nodes are part."""
    (parent, _, step) = nodes
    events = np.zeros(count, np.int64)
    for node in range(events.size):  # a node comes after its parent
        events[node] = (events[parent[node]] if parent[node] >= 0 else 0) + (1 if step[node] >= 0 else 0)
    lengths = np.zeros(chain.size, np.int64)
    for i in range(chain.size):
        if chain[i] >= 0:
            lengths[i] = events[chain[i]]
    return lengths
