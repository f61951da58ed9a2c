"""The active observer that events trigger: for each it queries the provider over the network (Fig. 7.3(a)).

Queries follow one another: the observer waits for the answer to one before it sends the next.
"""

from __future__ import annotations

from foretell.capacity.net.petri_net import ExponentialTime, NetTransition
from foretell.capacity.nets.part import NetPart, queue
from foretell.capacity.nets.passive_observer import observation, passive_observer
from foretell.capacity.nets.settings import ServiceSettings

#: The rate of queries where the settings give none.
QUERY = 4_000.0


def triggered_observer(settings: ServiceSettings) -> NetPart:
    passive = passive_observer(settings)
    query = NetTransition(
        ExponentialTime(settings.observer.query or QUERY), inputs={"event_occurred": 1}, outputs={"answered": 1}
    )
    transitions = {"query": query, "observe_event": observation(settings, "answered")}
    return NetPart({"answered": queue(), **passive.places}, transitions)
