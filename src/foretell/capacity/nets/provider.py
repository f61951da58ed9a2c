"""Events occur at the providers (Fig. 7.1, and 7.2(a) for providers that report at fixed intervals)."""

from __future__ import annotations

from foretell.capacity.net.petri_net import NetTransition
from foretell.capacity.nets.part import NetPart, connection, messages, queue, timed
from foretell.capacity.nets.settings import Arrivals, ServiceSettings


def provider(settings: ServiceSettings) -> NetPart:
    given = settings.provider
    create = NetTransition(
        timed(given.rate, fixed=given.arrivals == Arrivals.REGULAR),
        inputs=messages("network0", given.capacity, settings.load),
        outputs={"event_occurred": 1},
    )
    return NetPart({"event_occurred": queue(), **connection("network0", given.capacity)}, {"create_event": create})
