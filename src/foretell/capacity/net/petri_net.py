"""Generalised stochastic Petri nets as data (A-MEDIAS, section 7.1; GSPN, and DSPN with deterministic transitions).

Tokens of places that hold events carry the time at which their event occurred. A transition that takes such tokens and
puts tokens into such places passes these times on; one that only puts some creates events; one that only takes some
ends their way: it notifies, or the events are lost or rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from functools import cached_property

from foretell.records import record

#: The number of servers of a transition that serves all tokens at once.
INFINITE = 1 << 40


class Ending(IntEnum):
    """The end of an event's way."""

    NOTIFIED = 0
    REJECTED = 1
    LOST = 2


@record
class NetPlace:
    """A place with its first tokens; with a capacity, no transition may put more tokens into it."""

    tokens: int = 0
    capacity: int | None = None
    holds_events: bool = False


@record
class ExponentialTime:
    """A firing time with an exponential distribution; `rate` is that of each server."""

    rate: float


@record
class FixedTime:
    """A deterministic firing time. It starts when the transition is enabled, and anew when it is enabled again."""

    delay: float


@record
class Immediately:
    """No firing time: of the enabled immediate transitions one of the highest priority fires, chosen by weight."""

    weight: float = 1.0
    priority: int = 1


FiringTime = ExponentialTime | FixedTime | Immediately


@record
class NetTransition:
    """A transition with its arcs: the multiplicity of each, by place.

    `inhibitors` disable it while their place has at least so many tokens. `servers` is how many of its inputs are
    served at the same time.
    """

    time: FiringTime
    inputs: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[str, int] = field(default_factory=dict)
    inhibitors: Mapping[str, int] = field(default_factory=dict)
    servers: int = 1
    ending: Ending = Ending.NOTIFIED

    @property
    def is_immediate(self) -> bool:
        return isinstance(self.time, Immediately)


@record
class Station:
    """Transitions that share servers, such as the cores of a machine."""

    transitions: tuple[str, ...]
    servers: int


@record
class PetriNet:
    """Places and transitions by name. Markings are tuples in the order of the places.

    `shared` are the stations of several transitions; every other timed transition is a station of its own.
    """

    places: Mapping[str, NetPlace]
    transitions: Mapping[str, NetTransition]
    shared: Mapping[str, Station] = field(default_factory=dict)

    @cached_property
    def stations(self) -> dict[str, Station]:
        """The stations that serve events with a number of servers."""
        grouped = {name for station in self.shared.values() for name in station.transitions}
        single = {
            name: Station((name,), each.servers)
            for name, each in self.transitions.items()
            if name not in grouped
            and not each.is_immediate
            and each.servers < INFINITE
            and self.events & {*each.inputs}
        }
        return {**single, **self.shared}

    @cached_property
    def events(self) -> frozenset[str]:
        """The places that hold events."""
        return frozenset(name for name, place in self.places.items() if place.holds_events)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The timed transitions that create events."""
        return tuple(
            name
            for name, each in self.transitions.items()
            if not each.is_immediate and self.events & {*each.outputs} and not self.events & {*each.inputs}
        )

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The transitions at which the way of events ends."""
        return tuple(
            name
            for name, each in self.transitions.items()
            if self.events & {*each.inputs} and not self.events & {*each.outputs}
        )

    def endings(self, ending: Ending) -> tuple[str, ...]:
        return tuple(name for name in self.ends if self.transitions[name].ending == ending)

    def first_marking(self) -> tuple[int, ...]:
        return tuple(place.tokens for place in self.places.values())

    def marking_text(self, marking: tuple[int, ...]) -> str:
        """The places that have tokens.

        >>> net = PetriNet({"queue": NetPlace(), "free": NetPlace(1)}, {})
        >>> net.marking_text((0, 1)), net.marking_text((0, 0))
        ('free 1', 'no tokens')
        """
        return ", ".join(f"{name} {count:,}" for name, count in zip(self.places, marking) if count) or "no tokens"
