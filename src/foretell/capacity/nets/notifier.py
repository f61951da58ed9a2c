"""The notifier and the client (Fig. 7.1): messages are made, sent, and received."""

from __future__ import annotations

from foretell.capacity.net.petri_net import ExponentialTime, FiringTime, Immediately, NetTransition
from foretell.capacity.nets.part import NetPart, connection, messages, queue
from foretell.capacity.nets.settings import ServiceSettings


def notifier(settings: ServiceSettings) -> NetPart:
    given, client, load = settings.notifier, settings.client, settings.load
    taken = messages("network3", client.capacity, load)
    transitions = {
        "create_message": NetTransition(
            _time(given.create),
            inputs={"matched_events": given.events},
            outputs={"messages": 1, **messages("network2", given.capacity, load * given.events)},
        ),
        "send": NetTransition(_time(given.send), inputs={"messages": 1, **taken}, outputs={"sent_messages": 1}),
        "receive_notification": NetTransition(_time(client.rate), inputs={"sent_messages": 1}, outputs=taken),
    }
    return NetPart(
        {"messages": queue(), "sent_messages": queue(), **connection("network3", client.capacity)}, transitions
    )


def _time(rate: float | None) -> FiringTime:
    """A stage without a rate takes no time."""
    return Immediately(priority=4) if rate is None else ExponentialTime(rate)
