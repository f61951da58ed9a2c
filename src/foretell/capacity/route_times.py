"""The time from event to notification by Little's law: the mean times in the places on the ways of events.

The mean time in a place is its tokens by their flow. Along the ways that end in a notification these add up, if the
time in a place does not depend on where the event goes from there. That holds for queues whose branches are drawn;
it does not where a way is chosen by how full places are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretell.capacity.measures import Measured, NetMeasures
from foretell.capacity.net.petri_net import Ending


def notified_latency(measures: NetMeasures) -> NetMeasures:
    """The measures with the mean time of notified events."""
    net = measures.net
    places = sorted(net.events)
    number = {place: i for i, place in enumerate(places)}
    flow = np.zeros(len(places))
    onward = np.zeros((len(places), len(places)))
    notified, entries = np.zeros(len(places)), np.zeros(len(places))
    for name, each in net.transitions.items():
        rate = measures.throughput[name].mean
        sources = [(p, n) for p, n in each.inputs.items() if p in number]
        targets = [(p, n) for p, n in each.outputs.items() if p in number]
        taken, put = sum(n for _, n in sources), sum(n for _, n in targets)
        for place, count in sources:
            flow[number[place]] += rate * count
            if not targets and each.ending == Ending.NOTIFIED:
                notified[number[place]] += rate * count
            for target, others in targets:  # messages that go on stand for all events in them
                onward[number[place], number[target]] += rate * count * others / put
        if not taken:
            for place, count in targets:
                entries[number[place]] += rate * count
    if not entries.sum() or not (flow > 0).any():
        return measures
    known = np.maximum(flow, 1e-300)
    onward, notified = onward / known[:, None], notified / known
    times = np.array([measures.tokens[place].mean for place in places]) / known
    system = np.eye(len(places)) - onward
    arrives = np.linalg.solve(system, notified)
    weighted = np.linalg.solve(system, arrives * times)
    if not entries @ arrives:
        return measures
    return replace(measures, latency=Measured(float(entries @ weighted / (entries @ arrives))))
