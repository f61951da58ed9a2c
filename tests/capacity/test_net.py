"""Mistakes in nets: found before anything runs, or said when the net stands still or never ends."""

from __future__ import annotations

import re
from time import monotonic

import pytest

from foretell.capacity.findings import findings
from foretell.capacity.net.petri_net import (
    INFINITE,
    Ending,
    ExponentialTime,
    FixedTime,
    Immediately,
    NetPlace,
    NetTransition,
    PetriNet,
)
from foretell.capacity.net.validation import mistakes, validated
from foretell.capacity.simulation.steady_state import SimulationSettings, simulated
from foretell.errors import InputError
from tests.capacity.queues import QUICK, mm_queue


def _net(transition: NetTransition, **places: NetPlace) -> PetriNet:
    given = {"queue": NetPlace(), **places}
    return PetriNet(given, {"arrive": NetTransition(ExponentialTime(1.0), outputs={"queue": 1}), "serve": transition})


def _serving(time: ExponentialTime | FixedTime | Immediately) -> NetTransition:
    return NetTransition(time, inputs={"queue": 1})


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (PetriNet({}, {}), "places: a net needs a place"),
        (PetriNet({"queue": NetPlace()}, {}), "transitions: a net needs a transition"),
        (_net(_serving(ExponentialTime(0.0))), "transitions.serve.rate: a rate of 0 is none"),
        (_net(_serving(ExponentialTime(-2.0))), "transitions.serve.rate: a rate of -2 is none"),
        (_net(_serving(ExponentialTime(float("inf")))), "transitions.serve.rate: a rate of inf is none"),
        (_net(_serving(FixedTime(0.0))), "transitions.serve.delay: a delay of 0 s is none"),
        (_net(_serving(Immediately(-1.0))), "transitions.serve.weight: a weight of -1 is none"),
        (
            _net(NetTransition(ExponentialTime(1.0), inputs={"qeue": 1})),
            "transitions.serve.from.qeue: there is no place 'qeue'\n  hint: did you mean 'queue'?",
        ),
        (
            _net(NetTransition(ExponentialTime(1.0), inputs={"queue": 0})),
            "transitions.serve.from.queue: a multiplicity of 0 is none",
        ),
        (_net(NetTransition(ExponentialTime(1.0))), "transitions.serve: the transition moves no tokens"),
        (_net(NetTransition(ExponentialTime(1.0), {"queue": 1}, servers=0)), "transitions.serve.servers: 0 servers"),
        (_net(_serving(FixedTime(1.0)), other=NetPlace(-1)), "places.other.tokens: -1 is negative"),
        (_net(_serving(FixedTime(1.0)), other=NetPlace(3, 2)), "places.other.capacity: 2 is less than 3"),
        (_net(NetTransition(Immediately(), outputs={"queue": 1})), "it would fire for ever at once"),
        (_net(NetTransition(Immediately(), {"queue": 1}, {"queue": 1})), "gives back all it takes"),
        (
            _net(NetTransition(ExponentialTime(1.0), {"queue": 1}, {"small": 2}), small=NetPlace(0, 1)),
            "transitions.serve.to: 'small' has a capacity of 1: the transition can never put 2 tokens there",
        ),
    ],
)
def test_mistakes(net: PetriNet, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        validated(net)


def test_a_net_without_mistakes() -> None:
    assert [*mistakes(mm_queue(1.0, 2.0))] == []


def test_a_deadlock_is_said_with_its_marking() -> None:
    net = PetriNet(
        {"left": NetPlace(3), "right": NetPlace()},
        {"move": NetTransition(ExponentialTime(1.0), inputs={"left": 1}, outputs={"right": 1})},
    )
    with pytest.raises(InputError, match=r"stands still after 'move' at .* s: no transition can fire \(right 3\)"):
        simulated(net, QUICK)
    blocked = PetriNet({"a": NetPlace()}, {"never": NetTransition(ExponentialTime(1.0), inputs={"a": 1})})
    with pytest.raises(InputError, match=r"stands still from the start: no transition can fire \(no tokens\)"):
        simulated(blocked, QUICK)


def test_a_loop_of_immediate_transitions_ends() -> None:
    net = PetriNet(
        {"a": NetPlace(), "b": NetPlace()},
        {
            "begin": NetTransition(ExponentialTime(1.0), outputs={"a": 1}),
            "there": NetTransition(Immediately(), inputs={"a": 1}, outputs={"b": 1}),
            "back": NetTransition(Immediately(), inputs={"b": 1}, outputs={"a": 1}),
        },
    )
    with pytest.raises(InputError, match=r"(?s)immediate transitions fire for ever at .* s, '(there|back)' among them"):
        simulated(net, QUICK)


def test_firings_and_seconds_are_bounds() -> None:
    long = mm_queue(0.999, 1.0)
    found = simulated(long, SimulationSettings(precision=1e-6, firings=200_000))
    assert found.firings <= 200_000
    assert not found.precise
    quick = simulated(long, SimulationSettings(precision=1e-9, firings=10**12, seconds=0.2))
    assert not quick.precise
    assert quick.latency is not None


def test_a_run_is_repeatable() -> None:
    first, second = (simulated(mm_queue(0.5, 1.0), QUICK) for _ in range(2))
    assert first.latency == second.latency
    assert first.quantiles == second.quantiles


def test_an_event_that_is_taken_by_another_takes_its_timer_along() -> None:
    """Patience is that of each event: who is served does not shorten the patience of those who stay."""
    net = PetriNet(
        {"queue": NetPlace(holds_events=True)},
        {
            "arrive": NetTransition(FixedTime(1.0), outputs={"queue": 1}),
            "serve": NetTransition(FixedTime(1.5), inputs={"queue": 1}),
            "leave": NetTransition(FixedTime(4.25), inputs={"queue": 1}, servers=1_000, ending=Ending.LOST),
        },
    )
    found = simulated(net, QUICK)
    # A third of the events find no server in time; the others are notified after less than their patience.
    assert found.lost == pytest.approx(1 / 3, abs=0.02)
    assert found.quantiles[0.99] <= 4.25 * 1.02


def test_long_lists_and_large_groups_end_with_the_allowance() -> None:
    """A million tokens for each firing, and servers without number whose tokens are taken from the middle."""
    group = PetriNet(
        {"queue": NetPlace(holds_events=True)},
        {
            "arrive": NetTransition(ExponentialTime(1.0), outputs={"queue": 400_000}),
            "leave": NetTransition(ExponentialTime(1.0), inputs={"queue": 1}, servers=INFINITE),
        },
    )
    began = monotonic()
    with pytest.raises(InputError, match=r"more than 10,000,000 events are in the net at once|ended before"):
        simulated(group, SimulationSettings(seconds=1))
    assert monotonic() - began < 20


def test_a_clock_that_hardly_ticks_leaves_no_interval() -> None:
    net = PetriNet(
        {"queue": NetPlace(holds_events=True), "clock": NetPlace(1), "ticks": NetPlace()},
        {
            "arrive": NetTransition(ExponentialTime(1.0), outputs={"queue": 1}),
            "serve": NetTransition(ExponentialTime(2.0), inputs={"queue": 1}),
            "tick": NetTransition(FixedTime(1e12), inputs={"clock": 1}, outputs={"clock": 1}),
        },
    )
    found = simulated(net, SimulationSettings(seconds=0.3))
    assert not found.precise
    assert found.latency is not None
    assert found.latency.half == float("inf")
    (finding,) = findings(found, None, SimulationSettings())
    assert "from a single batch" in finding.message
