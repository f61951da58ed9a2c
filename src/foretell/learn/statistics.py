"""What is counted of a trace: how often each chain state was followed by which, and by a match.

A chain state is a configuration together with a context (contexts.py; 0 where there are none). Everything is a sum
over events, so that parts of a history are counted apart and merged. Old events lose weight by forward decay: an event
half a life before the latest counts half.

>>> trace = Trace(process=[0] * 4, ordinal=range(4), time=range(4), state=[1, 0, 1, 0], matched=[0, 1, 0, 0])
>>> found = Statistics.of(trace)
>>> found.states.tolist(), found.counts.tolist(), found.matched.tolist()
([0, 1], [[0.0, 2.0], [1.0, 0.0]], [0.0, 1.0])
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.learn import lane_statistics as by_lane
from foretell.learn import sojourns as lasting
from foretell.learn.lane_statistics import Lanes, busiest, moved, room
from foretell.learn.sojourns import Sojourns
from foretell.learn.trace import Steps, Trace, distinct, furthest, summed

MOST_STATES, MOST_LANES = 2048, 1000


@dataclass(frozen=True)
class Statistics:
    """`states[k]` and `contexts[k]` are chain state k. `counts[i, j]` is the weight of the events that led from i to j
    without a match, `matched[i]` of those that completed one: together, what left i. (What follows a match is not kept:
    a first passage ends there.)

    `half_life` is in events, `until` the number of the event after the latest, whose weight is one. `events`, `matches`
    and the times `since` and `to` are those of all events, never aged.
    """

    states: Words  # [K]
    contexts: Ints  # [K]
    counts: Floats  # [K, K]
    matched: Floats  # [K]
    sojourns: Sojourns
    lanes: Lanes
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
        most_states: int = MOST_STATES,
        most_lanes: int = MOST_LANES,
    ) -> Statistics:
        """`contexts` is the context after each row."""
        if not half_life > 0:
            raise ValueError("a half-life is more than no events")
        steps = Steps.of(trace)
        until = int(trace.number.max()) + 1 if len(trace) else 0
        weight = np.exp2((trace.number + 1 - until) / half_life)
        return _counted(trace, steps, weight, contexts, most_states, most_lanes, half_life, until)

    @property
    def leaving(self) -> Floats:
        """The weight of the events seen in each chain state."""
        return np.asarray(self.counts.sum(axis=1) + self.matched)

    def aged(self, until: int) -> Statistics:
        """The same, seen from a later event."""
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

    def over(self, states: Words, contexts: Ints, number: Ints) -> Statistics:
        """The same over other chain states: number i becomes `number[i]`. The sojourns stay as they are."""
        counts, matched = moved(self.counts, self.matched, len(states), number)
        lanes = self.lanes.over(len(states), number)
        return replace(self, states=states, contexts=contexts, counts=counts, matched=matched, lanes=lanes)

    def without_contexts(self) -> Statistics:
        """By configuration alone."""
        states, number = np.unique(self.states, return_inverse=True)
        return self.over(states, np.zeros(len(states), np.int64), number)

    def limited(self, most_states: int = MOST_STATES, most_lanes: int = MOST_LANES) -> Statistics:
        """At most so many chain states and lanes; what is rare falls back. (The sojourns see to themselves.)"""
        found = self
        if len(self.states) > most_states:
            entered = self.leaving + self.counts.sum(axis=0)
            states, contexts = fallen_back(self.states, self.contexts, entered, most_states)
            found = self.over(*_numbered(states, contexts))
        return replace(found, lanes=found.lanes.limited(most_lanes))


def merge(a: Statistics, b: Statistics) -> Statistics:
    """All that either has seen. Exact, and in any order, when each process was seen whole by one of them."""
    if a.half_life != b.half_life:
        raise ValueError("statistics of different half-lives cannot be merged")
    until = max(a.until, b.until)
    states, contexts, number = _numbered(np.concatenate([a.states, b.states]), np.concatenate([a.contexts, b.contexts]))
    a, b = (
        part.aged(until).over(states, contexts, some)
        for part, some in ((a, number[: len(a.states)]), (b, number[len(a.states) :]))
    )
    return Statistics(
        states,
        contexts,
        a.counts + b.counts,
        a.matched + b.matched,
        lasting.merge(a.sojourns, b.sojourns),
        by_lane.merge(a.lanes, b.lanes),
        a.half_life,
        until,
        a.events + b.events,
        a.matches + b.matches,
        min(a.since, b.since),
        max(a.to, b.to),
    )


def fallen_back(states: Words, contexts: Ints, weight: Floats, most: int) -> tuple[Words, Ints]:
    """What each chain state becomes where there are too many.

    The rarest lose their context; where that is not enough, all but the furthest of their partial matches, which is
    the highest bit: no more than 65 of these can be.
    """
    if contexts.any():
        common = _heaviest(weight, most // 2)
        contexts = np.where(common, contexts, 0)
        kept, _, number = _numbered(states, contexts)
        if len(kept) <= most:
            return states, contexts
        weight = summed(number, weight, len(kept))[number]
    common = _heaviest(weight, max(most - 65, 1))
    return np.where(common, states, furthest(states)), np.where(common, contexts, 0)


def _heaviest(weight: Floats, most: int) -> Flags:
    found = np.zeros(len(weight), np.bool_)
    found[np.argsort(-weight, kind="stable")[:most]] = True
    return found


def _numbered(states: Words, contexts: Ints) -> tuple[Words, Ints, Ints]:
    """The distinct pairs, by configuration and then context, and the number of each pair given among them."""
    masks = np.unique(states)
    width = int(contexts.max(initial=0)) + 1
    codes, number = distinct(np.searchsorted(masks, states) * width + contexts, len(masks) * width)
    return masks[codes // width], codes % width, number


def _counted(
    trace: Trace,
    steps: Steps,
    weight: Floats,
    contexts: Ints | None,
    most_states: int,
    most_lanes: int,
    half_life: float,
    until: int,
) -> Statistics:
    # One more row than there are: the beginning of a process, without partial matches and without a context.
    contexts = np.zeros(len(trace), np.int64) if contexts is None else contexts
    states, kept_contexts, number = _numbered(np.append(trace.state, np.uint64(0)), np.append(contexts, 0))
    if len(states) > most_states:
        seen = np.bincount(number, minlength=len(states)).astype(np.float64)
        states, kept_contexts, again = _numbered(*fallen_back(states, kept_contexts, seen, most_states))
        number = again[number]
    size = len(states)
    process, cell, amount = _cells(trace, steps, number, size, weight)
    table = summed(cell, amount, size * (size + 1)).reshape(size, size + 1)
    return Statistics(
        states,
        kept_contexts,
        np.ascontiguousarray(table[:, :size]),
        table[:, size].copy(),
        Sojourns.of(trace, steps, weight),
        _lanes(trace, process, cell, amount, size, most_lanes),
        half_life,
        until,
        len(trace),
        int(trace.matched.sum()),
        float(trace.time.min(initial=math.inf)),
        float(trace.time.max(initial=-math.inf)),
    )


def _cells(trace: Trace, steps: Steps, number: Ints, size: int, weight: Floats) -> tuple[Ints, Ints, Floats]:
    """What is counted: the process, the cell of a table of `size` by `size` + 1 (the last column for matches), and how
    much. Besides the events themselves these are the events before and after them that changed nothing."""
    process, weights, target = steps.process, weight[steps.row], number[steps.row]
    source = np.empty_like(target)
    source[1:] = target[:-1]
    source[steps.first] = number[-1]
    cell = source * (size + 1) + np.where(trace.matched[steps.row], size, target)
    events = slice(None) if trace.starts else np.flatnonzero(~steps.first)
    idle = np.flatnonzero(steps.idle)
    last = np.flatnonzero(steps.last)
    after = trace.seen_ordinal[process[last]] - trace.ordinal[steps.row[last]]
    if len(idle) == 0 and not after.any():
        return process[events], cell[events], weights[events]
    return (
        np.concatenate([process[events], process[idle], process[last]]),
        np.concatenate([cell[events], source[idle] * (size + 2), target[last] * (size + 2)]),
        np.concatenate([weights[events], weights[idle] * steps.idle[idle], weights[last] * after]),
    )


def _lanes(trace: Trace, process: Ints, cell: Ints, amount: Floats, size: int, most: int) -> Lanes:
    lane_of, keys = trace.lanes, list(dict.fromkeys(trace.keys))
    events = np.bincount(lane_of[trace.process], minlength=len(keys))
    chosen = busiest(keys, events, room(most, size))
    if len(chosen) == 0:
        return Lanes.none(size)
    number = np.full(len(keys), -1)
    number[chosen] = np.arange(len(chosen))
    lane = number[lane_of[process]]
    width = size * (size + 1)
    own = lane >= 0
    table = summed(lane[own] * width + cell[own], amount[own], len(chosen) * width)
    table = table.reshape(len(chosen), size, size + 1)
    return Lanes(
        tuple(keys[i] for i in chosen),
        events[chosen],
        np.ascontiguousarray(table[..., :size]),
        table[..., size].copy(),
    )
