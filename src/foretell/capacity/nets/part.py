"""Parts of a net: places and transitions that other parts continue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from foretell.capacity.net.petri_net import ExponentialTime, FixedTime, NetPlace, NetTransition, PetriNet, Station
from foretell.records import record


@record
class NetPart:
    """Places and transitions. A place that several parts name is one place; the first part says what it is."""

    places: Mapping[str, NetPlace]
    transitions: Mapping[str, NetTransition]
    shared: Mapping[str, Station] = field(default_factory=dict)


def joined(parts: Iterable[NetPart]) -> PetriNet:
    places: dict[str, NetPlace] = {}
    transitions: dict[str, NetTransition] = {}
    shared: dict[str, Station] = {}
    for part in parts:
        places = {**part.places, **places}
        transitions |= part.transitions
        shared |= part.shared
    return PetriNet(places, transitions, shared)


def timed(rate: float, *, fixed: bool) -> ExponentialTime | FixedTime:
    """The time of a service of this rate: always the same, or exponential."""
    return FixedTime(1 / rate) if fixed else ExponentialTime(rate)


def queue() -> NetPlace:
    """A place in which events wait."""
    return NetPlace(holds_events=True)


def connection(name: str, capacity: int | None) -> dict[str, NetPlace]:
    """The place of the free messages of a connection; none, if its capacity has no bound."""
    return {} if capacity is None else {name: NetPlace(capacity)}


def messages(name: str, capacity: int | None, count: int) -> dict[str, int]:
    """The arc to or from the free messages of a connection."""
    return {} if capacity is None else {name: count}
