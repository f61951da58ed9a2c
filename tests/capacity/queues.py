"""Queues as Petri nets, and their measures in closed form."""

from __future__ import annotations

import math

from foretell.capacity.measures import Measured
from foretell.capacity.net.petri_net import (
    Ending,
    ExponentialTime,
    FiringTime,
    FixedTime,
    Immediately,
    NetPlace,
    NetTransition,
    PetriNet,
)
from foretell.capacity.simulation.steady_state import SimulationSettings

#: Quick enough for a test, and precise enough to tell a wrong net.
QUICK = SimulationSettings(precision=0.02, seconds=20, firings=20_000_000, seed=5)


def close(measured: Measured | None, exact: float, least: float = 0.005) -> bool:
    """Whether an exact value is where the interval has it, with room for those that chance puts beside it."""
    assert measured is not None
    return abs(measured.mean - exact) <= 2.5 * measured.half + least * abs(exact)


def single_queue(
    arrivals: FiringTime, service: FiringTime, servers: int = 1, capacity: int | None = None, batch: int = 1
) -> PetriNet:
    return PetriNet(
        {"queue": NetPlace(capacity=capacity, holds_events=True)},
        {
            "arrive": NetTransition(arrivals, outputs={"queue": batch}),
            "serve": NetTransition(service, inputs={"queue": 1}, servers=servers),
        },
    )


def mm_queue(rate: float, service: float, servers: int = 1) -> PetriNet:
    return single_queue(ExponentialTime(rate), ExponentialTime(service), servers)


def losing_queue(rate: float, service: float, room: int) -> PetriNet:
    """M/M/1/K: who finds no room is lost."""
    return PetriNet(
        {"door": NetPlace(holds_events=True), "queue": NetPlace(capacity=room, holds_events=True)},
        {
            "arrive": NetTransition(ExponentialTime(rate), outputs={"door": 1}),
            "enter": NetTransition(Immediately(priority=2), inputs={"door": 1}, outputs={"queue": 1}),
            "leave": NetTransition(Immediately(), inputs={"door": 1}, ending=Ending.LOST),
            "serve": NetTransition(ExponentialTime(service), inputs={"queue": 1}),
        },
    )


def tandem(rate: float, *services: float) -> PetriNet:
    names = [f"queue_{k}" for k in range(len(services))]
    transitions = {"arrive": NetTransition(ExponentialTime(rate), outputs={names[0]: 1})}
    for k, service in enumerate(services):
        following = {names[k + 1]: 1} if k + 1 < len(names) else {}
        transitions[f"serve_{k}"] = NetTransition(ExponentialTime(service), inputs={names[k]: 1}, outputs=following)
    return PetriNet({name: NetPlace(holds_events=True) for name in names}, transitions)


def erlang_c(rate: float, service: float, servers: int) -> float:
    """The probability that somebody waits in M/M/c."""
    load = rate / service
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(load**k / math.factorial(k) for k in range(servers)) + last)


def regular_arrivals(rate: float) -> FixedTime:
    return FixedTime(1 / rate)
