"""The sections [places] and [transitions] of a scenario: a net of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.capacity.net.petri_net import (
    INFINITE,
    Ending,
    ExponentialTime,
    FiringTime,
    FixedTime,
    Immediately,
    NetPlace,
    NetTransition,
    PetriNet,
)
from foretell.capacity.net.validation import mistakes
from foretell.capacity.scenario.rates import RateReader
from foretell.capacity.scenario.section import ScenarioSection

SECTIONS = ("places", "transitions")

_TIMES = ("rate", "delay", "weight", "priority")
_ARCS = ("from", "to", "unless")


def petri_net(top: ScenarioSection, rates: RateReader) -> PetriNet:
    """The net; an error at its place for the first mistake in it."""
    net = PetriNet(
        {name: _place(given) for name, given in top.section("places").sections()},
        {name: _transition(given, rates) for name, given in top.section("transitions").sections()},
    )
    for mistake in mistakes(net):
        raise top.error(mistake.keys, mistake.message, mistake.hint, "wrong-net")
    return net


def _place(given: ScenarioSection) -> NetPlace:
    given.known("tokens", "capacity", "events")
    tokens = given.count("tokens", 0, least=0) or 0
    return NetPlace(tokens, given.count("capacity"), given.flag("events", False))


def _transition(given: ScenarioSection, rates: RateReader) -> NetTransition:
    given.known(*_TIMES, *_ARCS, "servers", "ends")
    inputs, outputs, inhibitors = (_arcs(given, key) for key in _ARCS)
    return NetTransition(
        time=_time(given, rates),
        inputs=inputs,
        outputs=outputs,
        inhibitors=inhibitors,
        servers=_servers(given),
        ending=Ending[given.choice("ends", [e.name.lower() for e in Ending], "notified").upper()],
    )


def _time(given: ScenarioSection, rates: RateReader) -> FiringTime:
    if "rate" in given and "delay" in given:
        given.refuse("delay", "a transition has a rate or a delay, not both", "leave out one of them")
    for key in ("weight", "priority"):
        if key in given and ("rate" in given or "delay" in given):
            given.refuse(key, f"only an immediate transition has a {key}", "leave it out, or the rate and the delay")
    measured = rates.rate(given)
    if measured is not None:
        return ExponentialTime(measured.rate)
    delay = given.number("delay")
    if delay is not None:
        return FixedTime(delay)
    weight, priority = given.number("weight"), given.count("priority", 1, least=0)
    return Immediately(1.0 if weight is None else weight, priority or 0)


def _servers(given: ScenarioSection) -> int:
    value = given.value("servers")
    return INFINITE if value == "infinite" else given.count("servers", 1) or 1


def _arcs(given: ScenarioSection, key: str) -> dict[str, int]:
    """A place, a list of places, or a table of multiplicities."""
    value = given.value(key)
    match value:
        case None:
            return {}
        case str():
            return {value: 1}
        case list() if all(isinstance(place, str) for place in value):
            return {place: value.count(place) for place in value}
        case Mapping():
            table = given.section(key)
            return {place: table.count(place) or 1 for place in table.names()}
    given.refuse(key, f"expected places, found {value!r}", f'write {key} = ["a"], or {key} = {{ a = 2 }}')
