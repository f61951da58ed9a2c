"""Transition statistics of a trace: how often each chain state was followed by each other, and by a match.

A chain state is a configuration together with a context (contexts.py; 0 where there are none). All counts are sums
over events, so that parts of a history can be counted apart and merged. Old events lose weight by forward decay: an
event one half-life before the latest counts half.

>>> trace = Trace(process=[0] * 4, ordinal=range(4), time=range(4), state=[1, 0, 1, 0], matched=[0, 1, 0, 0])
>>> statistics = Statistics.of(trace)
>>> statistics.states.tolist(), statistics.counts.tolist(), statistics.matched.tolist()
([0, 1], [[0.0, 2.0], [1.0, 0.0]], [0.0, 1.0])
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.learn.lane_statistics import LaneCounts, busiest, lane_capacity, merge_lanes, renumbered
from foretell.learn.sojourns import Sojourns, merge_sojourns
from foretell.learn.trace import Trace, TraceTransitions, furthest, unique_codes, weighted_bincount
from foretell.records import record

MAX_STATES, MAX_LANES = 2048, 1000


@record
class Statistics:
    """`states[k]` and `contexts[k]` are chain state k. `counts[i, j]` is the weight of the events that led from i to j
    without a match, `matched[i]` of those that completed one; together they are all events that left i. (Transitions
    after a match are not kept: a first passage ends there.)

    `half_life` is in events; `until` is the number of the event after the latest, whose weight is one. `events`,
    `matches` and the times `since` and `to` count all events without decay.
    """

    states: Words  # [K]
    contexts: Ints  # [K]
    counts: Floats  # [K, K]
    matched: Floats  # [K]
    sojourns: Sojourns
    lanes: LaneCounts
    half_life: float = math.inf
    until: int = 0
    events: int = 0
    matches: int = 0
    since: float = math.inf
    to: float = -math.inf

    @classmethod
    def of(
        cls,
        trace: Trace,
        contexts: Ints | None = None,
        *,
        half_life: float = math.inf,
        max_states: int = MAX_STATES,
        max_lanes: int = MAX_LANES,
    ) -> Statistics:
        """`contexts` is the context after each row."""
        if not half_life > 0:
            raise ValueError("a half-life must be more than 0 events")
        transitions = TraceTransitions.of(trace)
        until = int(trace.number.max()) + 1 if len(trace) else 0
        weight = np.exp2((trace.number + 1 - until) / half_life)
        states, state_contexts, number = _number_states(trace, contexts, max_states)
        size = len(states)
        process, cell, amount = _cells(trace, transitions, number, size, weight)
        table = weighted_bincount(cell, amount, size * (size + 1)).reshape(size, size + 1)
        return Statistics(
            states=states,
            contexts=state_contexts,
            counts=np.ascontiguousarray(table[:, :size]),
            matched=table[:, size].copy(),
            sojourns=Sojourns.of(trace, transitions, weight),
            lanes=_lane_counts(trace, process, cell, amount, size, max_lanes),
            half_life=half_life,
            until=until,
            events=len(trace),
            matches=int(trace.matched.sum()),
            since=float(trace.time.min(initial=math.inf)),
            to=float(trace.time.max(initial=-math.inf)),
        )

    @property
    def leaving(self) -> Floats:
        """The weight of the events that left each chain state."""
        return np.asarray(self.counts.sum(axis=1) + self.matched)

    def aged(self, until: int) -> Statistics:
        """The same with weights decayed to a later event."""
        factor = 2.0 ** ((self.until - until) / self.half_life)
        if factor == 1.0:
            return replace(self, until=until)
        return replace(
            self,
            counts=self.counts * factor,
            matched=self.matched * factor,
            sojourns=self.sojourns.scaled(factor),
            lanes=self.lanes.scaled(factor),
            until=until,
        )

    def renumbered(self, states: Words, contexts: Ints, number: Ints) -> Statistics:
        """The same over other chain states: state i becomes `number[i]`. The sojourns stay as they are."""
        counts, matched = renumbered(self.counts, self.matched, len(states), number)
        lanes = self.lanes.renumbered(len(states), number)
        return replace(self, states=states, contexts=contexts, counts=counts, matched=matched, lanes=lanes)

    def without_contexts(self) -> Statistics:
        """The same by configuration alone."""
        states, number = np.unique(self.states, return_inverse=True)
        return self.renumbered(states, np.zeros(len(states), np.int64), number)

    def limited(self, max_states: int = MAX_STATES, max_lanes: int = MAX_LANES) -> Statistics:
        """At most so many chain states and lanes; rare states back off. (The sojourns limit themselves.)"""
        limited = self
        if len(self.states) > max_states:
            entered = self.leaving + self.counts.sum(axis=0)
            states, contexts = back_off(self.states, self.contexts, entered, max_states)
            limited = self.renumbered(*_distinct_pairs(states, contexts))
        return replace(limited, lanes=limited.lanes.limited(max_lanes))


def merge_statistics(a: Statistics, b: Statistics) -> Statistics:
    """The statistics of both traces. Exact, and in any order, if no process is in both."""
    if a.half_life != b.half_life:
        raise ValueError("statistics of different half-lives cannot be merged")
    until, first = max(a.until, b.until), len(a.states)
    states, contexts, number = _distinct_pairs(
        np.concatenate([a.states, b.states]), np.concatenate([a.contexts, b.contexts])
    )
    a = a.aged(until).renumbered(states, contexts, number[:first])
    b = b.aged(until).renumbered(states, contexts, number[first:])
    return Statistics(
        states=states,
        contexts=contexts,
        counts=a.counts + b.counts,
        matched=a.matched + b.matched,
        sojourns=merge_sojourns(a.sojourns, b.sojourns),
        lanes=merge_lanes(a.lanes, b.lanes),
        half_life=a.half_life,
        until=until,
        events=a.events + b.events,
        matches=a.matches + b.matches,
        since=min(a.since, b.since),
        to=max(a.to, b.to),
    )


def back_off(states: Words, contexts: Ints, weight: Floats, most: int) -> tuple[Words, Ints]:
    """Replaces rare chain states by coarser ones, where there are too many.

    The rarest lose their context. Where that is not enough, they keep only the highest bit of their configuration, the
    most advanced partial match: there are at most 65 of these.
    """
    if contexts.any():
        common = _heaviest(weight, most // 2)
        contexts = np.where(common, contexts, 0)
        distinct, _, number = _distinct_pairs(states, contexts)
        if len(distinct) <= most:
            return states, contexts
        weight = weighted_bincount(number, weight, len(distinct))[number]
    common = _heaviest(weight, max(most - 65, 1))
    return np.where(common, states, furthest(states)), np.where(common, contexts, 0)


def _heaviest(weight: Floats, most: int) -> Flags:
    chosen = np.zeros(len(weight), np.bool_)
    chosen[np.argsort(-weight, kind="stable")[:most]] = True
    return chosen


def _distinct_pairs(states: Words, contexts: Ints) -> tuple[Words, Ints, Ints]:
    """The distinct pairs, sorted by configuration and context, and the number of each given pair among them."""
    masks = np.unique(states)
    width = int(contexts.max(initial=0)) + 1
    codes, number = unique_codes(np.searchsorted(masks, states) * width + contexts, len(masks) * width)
    return masks[codes // width], codes % width, number


def _number_states(trace: Trace, contexts: Ints | None, max_states: int) -> tuple[Words, Ints, Ints]:
    """The chain states of a trace, and the number of that after each row. The last number is that of the beginning of a
    process: without partial matches and without a context."""
    contexts = np.zeros(len(trace), np.int64) if contexts is None else contexts
    states, state_contexts, number = _distinct_pairs(np.append(trace.state, np.uint64(0)), np.append(contexts, 0))
    if len(states) > max_states:
        rows = np.bincount(number, minlength=len(states)).astype(np.float64)
        states, state_contexts, coarser = _distinct_pairs(*back_off(states, state_contexts, rows, max_states))
        number = coarser[number]
    return states, state_contexts, number


def _cells(
    trace: Trace, transitions: TraceTransitions, number: Ints, size: int, weight: Floats
) -> tuple[Ints, Ints, Floats]:
    """The transitions to count: process, cell in a table of `size` × (`size` + 1), whose last column is a match, and
    weight. Besides the events of a process these are the events between and after them, which changed nothing."""
    process, weights, target = transitions.process, weight[transitions.row], number[transitions.row]
    source = np.empty_like(target)
    source[1:] = target[:-1]
    source[transitions.first] = number[-1]
    cell = source * (size + 1) + np.where(trace.matched[transitions.row], size, target)
    events = slice(None) if trace.starts else np.flatnonzero(~transitions.first)
    idle = np.flatnonzero(transitions.idle)
    last = np.flatnonzero(transitions.last)
    after = trace.last_ordinal[process[last]] - trace.ordinal[transitions.row[last]]
    if len(idle) == 0 and not after.any():
        return process[events], cell[events], weights[events]
    return (
        np.concatenate([process[events], process[idle], process[last]]),
        np.concatenate([cell[events], source[idle] * (size + 2), target[last] * (size + 2)]),
        np.concatenate([weights[events], weights[idle] * transitions.idle[idle], weights[last] * after]),
    )


def _lane_counts(trace: Trace, process: Ints, cell: Ints, amount: Floats, size: int, most: int) -> LaneCounts:
    lane_of, keys = trace.lanes, list(dict.fromkeys(trace.keys))
    events = np.bincount(lane_of[trace.process], minlength=len(keys))
    chosen = busiest(keys, events, lane_capacity(most, size))
    if len(chosen) == 0:
        return LaneCounts.none(size)
    number = np.full(len(keys), -1)
    number[chosen] = np.arange(len(chosen))
    lane = number[lane_of[process]]
    width = size * (size + 1)
    counted = lane >= 0
    table = weighted_bincount(lane[counted] * width + cell[counted], amount[counted], len(chosen) * width)
    table = table.reshape(len(chosen), size, size + 1)
    return LaneCounts(
        tuple(keys[i] for i in chosen),
        events[chosen],
        np.ascontiguousarray(table[..., :size]),
        table[..., size].copy(),
    )
