"""Bounds on tokens by the state equation, and what they are for: a place that fills up is no sign of overload."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given, settings

from foretell.capacity.markov_chain import reachability_graph
from foretell.capacity.net.petri_net import ExponentialTime, PetriNet
from foretell.capacity.net.token_limit import token_limit
from foretell.capacity.nets.notification_service import notification_service
from foretell.capacity.nets.settings import NetworkSettings, ObserverMethod, ObserverSettings, ProviderSettings
from foretell.capacity.simulation.steady_state import SimulationSettings, simulated
from foretell.errors import InputError
from tests.capacity.queues import mm_queue, single_queue
from tests.capacity.test_markov_chain import nets
from tests.capacity.test_service import PLAIN, with_rates


def test_bounds() -> None:
    assert token_limit(mm_queue(1.0, 2.0), "queue") == math.inf
    assert token_limit(single_queue(ExponentialTime(1.0), ExponentialTime(2.0), capacity=7), "queue") == 7
    bounded = replace(PLAIN, provider=ProviderSettings(2_000, capacity=100), network=NetworkSettings(0, 30))
    net = notification_service(bounded)
    assert token_limit(net, "observed_events") == 30
    assert token_limit(net, "event_occurred") == 100


@settings(max_examples=40, deadline=None)
@given(nets())
def test_no_marking_is_beyond_the_bound(net: PetriNet) -> None:
    try:
        graph = reachability_graph(net)
    except InputError:
        return
    for i, place in enumerate(net.places):
        assert max(marking[i] for marking in graph.markings) <= token_limit(net, place) + 1e-6


def test_a_place_that_fills_up_is_no_overload() -> None:
    """The network's 8,000 messages are in use after a while; from then on events are lost, and the times are stable."""
    lossy = replace(
        with_rates(PLAIN, 8_000, 4_000),
        network=NetworkSettings(0, 8_000),
        observer=ObserverSettings(ObserverMethod.LOSSY, 20_000, patience=0.001),
    )
    found = simulated(notification_service(lossy), SimulationSettings(precision=0.05, seconds=20))
    assert found.growth is None
    assert found.tokens["observed_events"].mean > 7_500
    assert found.lost > 0.5
