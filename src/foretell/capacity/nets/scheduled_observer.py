"""The active observer that queries the provider on a schedule (Fig. 7.3(b)).

An inhibitor arc prevents the observation until `schedule` fires. Then all events at the provider's site are observed at
the same time, by infinitely many servers, until none is left.
"""

from __future__ import annotations

from dataclasses import replace

from foretell.capacity.net.petri_net import INFINITE, FixedTime, Immediately, NetPlace, NetTransition
from foretell.capacity.nets.part import NetPart
from foretell.capacity.nets.passive_observer import observation, passive_observer, with_servers
from foretell.capacity.nets.settings import ServiceSettings

#: The interval where the settings give none, in seconds.
INTERVAL = 0.001


def scheduled_observer(settings: ServiceSettings) -> NetPart:
    passive = passive_observer(settings)
    observe = replace(with_servers(observation(settings), INFINITE), inhibitors={"waiting": 1})
    places = {"clock": NetPlace(1), "due": NetPlace(), "waiting": NetPlace(1), "observing": NetPlace()}
    transitions = {
        "schedule": NetTransition(
            FixedTime(settings.observer.interval or INTERVAL), inputs={"clock": 1}, outputs={"clock": 1, "due": 1}
        ),
        "begin": NetTransition(Immediately(priority=2), inputs={"due": 1, "waiting": 1}, outputs={"observing": 1}),
        "skip": NetTransition(Immediately(), inputs={"due": 1, "observing": 1}, outputs={"observing": 1}),
        "observe_event": observe,
        "end": NetTransition(
            Immediately(), inputs={"observing": 1}, outputs={"waiting": 1}, inhibitors={"event_occurred": 1}
        ),
    }
    return NetPart({**places, **passive.places}, transitions)
