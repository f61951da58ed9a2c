"""The simulation against queues whose measures are known in closed form."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from foretell.capacity.net.petri_net import (
    INFINITE,
    ExponentialTime,
    FixedTime,
    Immediately,
    NetPlace,
    NetTransition,
    PetriNet,
)
from foretell.capacity.net.validation import validated
from foretell.capacity.simulation.steady_state import simulated
from tests.capacity.queues import (
    QUICK,
    close,
    erlang_c,
    losing_queue,
    mm_queue,
    regular_arrivals,
    single_queue,
    tandem,
)

LOADS = st.floats(0.1, 0.8)
SCALES = st.sampled_from([1e-3, 1.0, 2_000.0])


@settings(max_examples=8, deadline=None)
@given(LOADS, SCALES)
def test_one_server(load: float, service: float) -> None:
    found = simulated(validated(mm_queue(load * service, service)), QUICK)
    mean = 1 / (service * (1 - load))
    assert found.precise
    assert close(found.latency, mean)
    assert close(found.tokens["queue"], load / (1 - load))
    assert found.quantiles[0.95] == pytest.approx(-math.log(0.05) * mean, rel=0.1)
    assert found.utilisation("serve") == pytest.approx(load, abs=0.03)
    assert found.time_in("queue") == pytest.approx(mean, rel=0.1)


@settings(max_examples=6, deadline=None)
@given(LOADS, st.integers(2, 6))
def test_several_servers(load: float, servers: int) -> None:
    rate = load * servers
    found = simulated(mm_queue(rate, 1.0, servers), QUICK)
    waits = erlang_c(rate, 1.0, servers)
    spare = servers - rate
    assert close(found.latency, 1 + waits / spare)

    def longer(time: float) -> float:
        """The probability of a longer time in the system, which shows the order in which servers end."""
        if abs(spare - 1) < 1e-6:
            return math.exp(-time) * (1 + waits * time)
        return math.exp(-time) + waits / (1 - spare) * (math.exp(-spare * time) - math.exp(-time))

    exact = brentq(lambda time: longer(time) - 0.05, 0, 200)
    assert found.quantiles[0.95] == pytest.approx(exact, rel=0.08)


@settings(max_examples=6, deadline=None)
@given(st.floats(0.3, 3.0), st.integers(1, 12))
def test_loss_at_a_full_queue(load: float, room: int) -> None:
    found = simulated(validated(losing_queue(load, 1.0, room)), QUICK)
    weights = [load**k for k in range(room + 1)]
    lost = weights[-1] / sum(weights)
    mean = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
    assert found.lost == pytest.approx(lost, abs=0.03)
    assert close(found.tokens["queue"], mean)
    assert close(found.latency, mean / (load * (1 - lost)))


@settings(max_examples=6, deadline=None)
@given(LOADS, SCALES)
def test_deterministic_service(load: float, service: float) -> None:
    """M/D/1, by Pollaczek and Khinchine."""
    found = simulated(single_queue(ExponentialTime(load * service), FixedTime(1 / service)), QUICK)
    assert close(found.latency, (1 + load / (2 * (1 - load))) / service)


@settings(max_examples=6, deadline=None)
@given(LOADS)
def test_deterministic_arrivals(load: float) -> None:
    """D/M/1: the root of σ = exp(-(1 - σ) / ρ)."""
    root = brentq(lambda sigma: sigma - math.exp(-(1 - sigma) / load), 0, 1 - 1e-9 if load < 0.01 else 0.999)
    found = simulated(single_queue(regular_arrivals(load), ExponentialTime(1.0)), QUICK)
    assert close(found.latency, 1 / (1 - root))


@pytest.mark.parametrize("delay", [0.5, 40.0])
def test_deterministic_delay_without_waiting(delay: float) -> None:
    """M/D/∞: every token has a timer of its own, also where more run at once than had room at first."""
    found = simulated(single_queue(ExponentialTime(10.0), FixedTime(delay), INFINITE), QUICK)
    assert found.latency is not None
    assert found.latency.mean == pytest.approx(delay, rel=1e-6)
    assert close(found.tokens["queue"], 10 * delay)


@settings(max_examples=6, deadline=None)
@given(LOADS, st.integers(2, 5))
def test_arrivals_in_groups(load: float, group: int) -> None:
    found = simulated(single_queue(ExponentialTime(load / group), ExponentialTime(1.0), batch=group), QUICK)
    assert close(found.tokens["queue"], load * (group + 1) / (2 * (1 - load)))
    assert found.created == pytest.approx(load, rel=0.05)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.floats(1.3, 6.0), min_size=2, max_size=4))
def test_queues_in_a_row(services: list[float]) -> None:
    """Each is as if it were alone (Burke)."""
    found = simulated(validated(tandem(1.0, *services)), QUICK)
    assert close(found.latency, sum(1 / (service - 1) for service in services))


@settings(max_examples=6, deadline=None)
@given(st.lists(st.floats(0.5, 4.0), min_size=2, max_size=4), st.integers(1, 12))
def test_closed_network(services: list[float], customers: int) -> None:
    """A ring of queues, by mean value analysis."""
    names = [f"queue_{k}" for k in range(len(services))]
    net = PetriNet(
        {name: NetPlace(customers if k == 0 else 0) for k, name in enumerate(names)},
        {
            f"serve_{k}": NetTransition(
                ExponentialTime(service), inputs={names[k]: 1}, outputs={names[(k + 1) % len(names)]: 1}
            )
            for k, service in enumerate(services)
        },
    )
    lengths, flow = [0.0] * len(services), 0.0
    for count in range(1, customers + 1):
        times = [(1 + length) / service for length, service in zip(lengths, services, strict=True)]
        flow = count / sum(times)
        lengths = [flow * time for time in times]
    found = simulated(net, QUICK)
    assert close(found.throughput["serve_0"], flow)
    for name, length in zip(names, lengths, strict=True):
        assert abs(found.tokens[name].mean - length) < 2.5 * found.tokens[name].half + 0.02


def test_weights_choose_among_immediate_transitions() -> None:
    net = PetriNet(
        {"choice": NetPlace(holds_events=True)},
        {
            "arrive": NetTransition(ExponentialTime(1.0), outputs={"choice": 1}),
            "often": NetTransition(Immediately(3.0), inputs={"choice": 1}),
            "seldom": NetTransition(Immediately(1.0), inputs={"choice": 1}),
            "never": NetTransition(Immediately(100.0, 0), inputs={"choice": 1}),
        },
    )
    found = simulated(net, QUICK)
    assert found.throughput["often"].mean / found.created == pytest.approx(0.75, abs=0.02)
    assert found.throughput["never"].mean == 0


def test_a_message_has_the_mean_time_of_its_events() -> None:
    """Groups of two: the first event waits for the second."""
    net = PetriNet(
        {"waiting": NetPlace(holds_events=True), "message": NetPlace(holds_events=True)},
        {
            "arrive": NetTransition(ExponentialTime(0.5), outputs={"waiting": 1}),
            "pack": NetTransition(Immediately(), inputs={"waiting": 2}, outputs={"message": 1}),
            "send": NetTransition(FixedTime(0.001), inputs={"message": 1}, servers=INFINITE),
        },
    )
    assert close(simulated(net, QUICK).latency, 1.0 + 0.001)


@pytest.mark.parametrize("load", [0.97, 1.1])
def test_a_queue_that_grows_is_told_from_a_long_one(load: float) -> None:
    found = simulated(mm_queue(load, 1.0), QUICK)
    assert (found.growth is not None) == (load > 1)
    if found.growth:
        assert found.growth.place == "queue"
        assert found.growth.rate == pytest.approx(load - 1, rel=0.2)
        assert found.firings < 1_000_000


def test_intervals_contain_the_mean_as_often_as_they_say() -> None:
    """Of forty intervals at 95% one in twenty may miss; six or more would be a mistake (p below 2%)."""
    run = replace(QUICK, precision=1e-9, firings=300_000)
    found = [simulated(mm_queue(0.5, 1.0), replace(run, seed=seed)).latency for seed in range(40)]
    assert sum(abs(latency.mean - 2.0) > latency.half for latency in found if latency) < 6
