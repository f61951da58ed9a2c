"""The passive observer: a port that takes the messages of active providers (Fig. 7.1)."""

from __future__ import annotations

from dataclasses import replace

from foretell.capacity.net.petri_net import ExponentialTime, Immediately, NetTransition
from foretell.capacity.nets.part import NetPart, connection, messages, queue
from foretell.capacity.nets.settings import ServiceSettings


def passive_observer(settings: ServiceSettings) -> NetPart:
    places = {"observed": queue(), **connection("network1", settings.network.capacity)}
    return NetPart(places, {"observe_event": observation(settings)})


def observation(settings: ServiceSettings, source: str = "event_occurred") -> NetTransition:
    """An event is taken over: it leaves the provider's site and comes into the network."""
    rate, load = settings.observer.rate, settings.load
    return NetTransition(
        Immediately() if rate is None else ExponentialTime(rate),
        inputs={source: 1, **messages("network1", settings.network.capacity, load)},
        outputs={"observed": 1, **messages("network0", settings.provider.capacity, load)},
    )


def with_servers(transition: NetTransition, servers: int) -> NetTransition:
    return replace(transition, servers=servers)
