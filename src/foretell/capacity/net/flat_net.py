"""A net as flat arrays, for the kernel of the simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.capacity.net.petri_net import INFINITE, ExponentialTime, FixedTime, Immediately, PetriNet

#: The kinds of transitions in `FlatNet.kind`.
EXPONENTIAL, DETERMINISTIC, IMMEDIATE = 0, 1, 2

#: The capacity of places without one.
UNBOUNDED = 1 << 60


class FlatNet(NamedTuple):
    """The arcs of transition t are those from `input_start[t]` to `input_start[t + 1]`, likewise for the others.

    `gain_…` are the outputs into places with a capacity by which their tokens grow. `affected` are the transitions to
    look at again when t has fired. `value` is a rate, a delay or a weight. `ends` says how events end at a transition,
    -1 where they don't.
    """

    input_start: Ints
    input_place: Ints
    input_count: Ints
    output_start: Ints
    output_place: Ints
    output_count: Ints
    inhibitor_start: Ints
    inhibitor_place: Ints
    inhibitor_count: Ints
    gain_start: Ints
    gain_place: Ints
    gain_count: Ints
    affected_start: Ints
    affected: Ints
    kind: Ints
    value: Floats
    priority: Ints
    servers: Ints
    ends: Ints
    capacity: Ints
    holds_events: Ints


def flat_net(net: PetriNet) -> FlatNet:
    number = {name: i for i, name in enumerate(net.places)}
    each = [*net.transitions.values()]
    inputs, outputs, inhibitors = (
        [_numbered(getattr(t, arcs), number) for t in each] for arcs in ("inputs", "outputs", "inhibitors")
    )
    places = [*net.places.values()]
    gains = [
        [
            (place, count - dict(inputs[t]).get(place, 0))
            for place, count in outputs[t]
            if places[place].capacity is not None and count > dict(inputs[t]).get(place, 0)
        ]
        for t in range(len(each))
    ]
    changed = [{p for p, _ in inputs[t]} | {p for p, _ in outputs[t]} for t in range(len(each))]
    watched = [{p for p, _ in (*inputs[t], *inhibitors[t], *gains[t])} for t in range(len(each))]
    # A transition that has fired is looked at again whatever it changed: its timer is used up.
    affected = [[o for o in range(len(each)) if o == t or changed[t] & watched[o]] for t in range(len(each))]
    ends = {name: int(net.transitions[name].ending) for name in net.ends}
    return FlatNet(
        *_arcs(inputs),
        *_arcs(outputs),
        *_arcs(inhibitors),
        *_arcs(gains),
        affected_start=_starts(affected),
        affected=np.array([o for group in affected for o in group], np.int64),
        kind=np.array([_kind(t.time) for t in each], np.int64),
        value=np.array([_value(t.time) for t in each], np.float64),
        priority=np.array([t.time.priority if isinstance(t.time, Immediately) else 0 for t in each], np.int64),
        servers=np.array([min(t.servers, INFINITE) for t in each], np.int64),
        ends=np.array([ends.get(name, -1) for name in net.transitions], np.int64),
        capacity=np.array([UNBOUNDED if p.capacity is None else p.capacity for p in places], np.int64),
        holds_events=np.array([p.holds_events for p in places], np.int64),
    )


def _numbered(arcs: Mapping[str, int], number: Mapping[str, int]) -> list[tuple[int, int]]:
    return [(number[place], count) for place, count in arcs.items()]


def _starts(groups: Sequence[Sequence[object]]) -> Ints:
    return np.cumsum([0, *(len(group) for group in groups)]).astype(np.int64)


def _arcs(groups: Sequence[Sequence[tuple[int, int]]]) -> tuple[Ints, Ints, Ints]:
    places = np.array([place for group in groups for place, _ in group], np.int64)
    counts = np.array([count for group in groups for _, count in group], np.int64)
    return _starts(groups), places, counts


def _kind(time: ExponentialTime | FixedTime | Immediately) -> int:
    match time:
        case ExponentialTime():
            return EXPONENTIAL
        case FixedTime():
            return DETERMINISTIC
    return IMMEDIATE


def _value(time: ExponentialTime | FixedTime | Immediately) -> float:
    match time:
        case ExponentialTime(rate):
            return rate
        case FixedTime(delay):
            return delay
    return time.weight
