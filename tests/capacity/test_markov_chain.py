"""The Markov chain against closed forms, and the simulation against the Markov chain on random nets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.capacity.markov_chain import reachability_graph, solved
from foretell.capacity.net.petri_net import (
    INFINITE,
    ExponentialTime,
    FiringTime,
    FixedTime,
    Immediately,
    NetPlace,
    NetTransition,
    PetriNet,
)
from foretell.capacity.net.validation import mistakes
from foretell.capacity.simulation.steady_state import SimulationSettings, simulated
from foretell.errors import InputError
from tests.capacity.queues import close, losing_queue, single_queue


@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 4.0), st.integers(1, 40))
def test_a_full_queue_exactly(load: float, room: int) -> None:
    found = solved(losing_queue(load, 1.0, room))
    weights = [load**k for k in range(room + 1)]
    mean = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
    assert found.lost == pytest.approx(weights[-1] / sum(weights))
    assert found.tokens["queue"].mean == pytest.approx(mean)
    assert found.latency is not None
    assert found.latency.mean == pytest.approx(mean / (load * (1 - weights[-1] / sum(weights))))
    assert found.utilisation("serve") == pytest.approx(1 - weights[0] / sum(weights))


def test_immediate_transitions_that_return_are_eliminated() -> None:
    """A token goes round among immediate transitions, a geometric number of times, and then comes out."""
    net = PetriNet(
        {"rest": NetPlace(1), "hop": NetPlace(), "back": NetPlace()},
        {
            "leave": NetTransition(ExponentialTime(2.0), inputs={"rest": 1}, outputs={"hop": 1}),
            "again": NetTransition(Immediately(3.0), inputs={"hop": 1}, outputs={"back": 1}),
            "return": NetTransition(Immediately(), inputs={"back": 1}, outputs={"hop": 1}),
            "out": NetTransition(Immediately(1.0), inputs={"hop": 1}, outputs={"rest": 1}),
        },
    )
    found = solved(net)
    assert found.throughput["leave"].mean == pytest.approx(2.0)
    assert found.throughput["again"].mean == pytest.approx(6.0)
    assert found.tokens["hop"].mean == 0


PLACES = ("a", "b", "c")
ARCS = st.dictionaries(st.sampled_from(PLACES), st.integers(1, 2), min_size=1, max_size=2)
TIMES: st.SearchStrategy[FiringTime] = st.one_of(
    st.builds(ExponentialTime, st.floats(0.2, 5.0)),
    st.builds(ExponentialTime, st.floats(0.2, 5.0)),
    st.builds(Immediately, st.floats(0.5, 3.0), st.integers(1, 2)),
)


@st.composite
def nets(draw: st.DrawFn) -> PetriNet:
    """Nets of three places with capacities, so that few markings are reached."""
    places = {name: NetPlace(draw(st.integers(0, 2)), draw(st.integers(2, 4))) for name in PLACES}
    transitions = {"enter": NetTransition(ExponentialTime(1.0), outputs={"a": 1})}
    transitions["exit"] = NetTransition(ExponentialTime(1.5), inputs={"c": 1}, servers=draw(st.integers(1, 2)))
    for k in range(draw(st.integers(2, 4))):
        transitions[f"t{k}"] = NetTransition(
            draw(TIMES),
            inputs=draw(ARCS),
            outputs=draw(ARCS),
            inhibitors=draw(st.dictionaries(st.sampled_from(PLACES), st.integers(1, 3), max_size=1)),
            servers=draw(st.sampled_from([1, 1, 2, INFINITE])),
        )
    return PetriNet(places, transitions)


@settings(max_examples=40, deadline=None)
@given(nets())
def test_random_nets(net: PetriNet) -> None:
    """The two ways agree on the tokens of every place, the firings of every transition, and on what is wrong."""
    if next(mistakes(net), None) is not None:
        return
    try:
        exact = solved(net)
    except InputError as error:
        if error.code in ("deadlock", "endless", "no-steady-state"):
            return
        raise
    found = simulated(net, SimulationSettings(precision=0.02, firings=3_000_000, seconds=20, seed=9))
    for name, mean in exact.tokens.items():
        assert abs(found.tokens[name].mean - mean.mean) <= 2.5 * found.tokens[name].half + 0.03
    for name, rate in exact.throughput.items():
        assert abs(found.throughput[name].mean - rate.mean) <= 2.5 * found.throughput[name].half + 0.03 * (
            1 + rate.mean
        )
    for name, busy in exact.busy.items():
        if not net.transitions[name].is_immediate:
            assert abs(found.busy[name].mean - busy.mean) <= 2.5 * found.busy[name].half + 0.03


def test_latency_by_littles_law_on_two_ways() -> None:
    """Some events take a longer way: the mean is that of the notified ones."""
    net = PetriNet(
        {name: NetPlace(capacity=12, holds_events=True) for name in ("first", "split", "long", "end")},
        {
            "arrive": NetTransition(ExponentialTime(0.4), outputs={"first": 1}),
            "look": NetTransition(ExponentialTime(1.0), inputs={"first": 1}, outputs={"split": 1}),
            "straight": NetTransition(Immediately(2.0), inputs={"split": 1}, outputs={"end": 1}),
            "around": NetTransition(Immediately(1.0), inputs={"split": 1}, outputs={"long": 1}),
            "walk": NetTransition(ExponentialTime(0.5), inputs={"long": 1}, outputs={"end": 1}),
            "tell": NetTransition(ExponentialTime(1.0), inputs={"end": 1}),
        },
    )
    exact = solved(net).latency
    assert exact is not None
    assert close(simulated(net, SimulationSettings(seed=3, seconds=20)).latency, exact.mean, 0.01)


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (single_queue(ExponentialTime(1.0), FixedTime(0.5)), "'serve' has a deterministic delay"),
        (single_queue(ExponentialTime(1.0), ExponentialTime(2.0)), "more than 50,000 markings"),
        (
            PetriNet(
                {"a": NetPlace(2), "b": NetPlace()},
                {"move": NetTransition(ExponentialTime(1.0), inputs={"a": 1}, outputs={"b": 1})},
            ),
            "can stand still: no transition can fire (b 2)",
        ),
        (
            PetriNet(
                {"a": NetPlace(), "b": NetPlace()},
                {
                    "begin": NetTransition(ExponentialTime(1.0), outputs={"a": 1}, inhibitors={"a": 1, "b": 1}),
                    "there": NetTransition(Immediately(), inputs={"a": 1}, outputs={"b": 1}),
                    "back": NetTransition(Immediately(), inputs={"b": 1}, outputs={"a": 1}),
                },
            ),
            "immediate transitions fire for ever",
        ),
        (
            PetriNet(
                {"start": NetPlace(1), "left": NetPlace(), "right": NetPlace()},
                {
                    "go_left": NetTransition(ExponentialTime(1.0), inputs={"start": 1}, outputs={"left": 1}),
                    "go_right": NetTransition(ExponentialTime(1.0), inputs={"start": 1}, outputs={"right": 1}),
                    "stay_left": NetTransition(ExponentialTime(1.0), inputs={"left": 1}, outputs={"left": 1}),
                    "stay_right": NetTransition(ExponentialTime(1.0), inputs={"right": 1}, outputs={"right": 1}),
                },
            ),
            "several steady states",
        ),
    ],
)
def test_nets_without_a_chain_are_refused(net: PetriNet, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        solved(net)


def test_the_graph_has_every_marking_once() -> None:
    graph = reachability_graph(losing_queue(1.0, 1.0, 3))
    assert sorted(graph.markings) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
    assert [graph.markings[i][0] for i, gone in enumerate(graph.vanishing) if gone] == [1, 1, 1, 1]
