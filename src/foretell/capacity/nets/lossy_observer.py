"""The passive observer with data loss at overload (Fig. 7.2(b)).

The paper's `tim1` and `tim2` control the loss, but the text does not say how. Here an event that is not observed in
time, because the connection is full or the observer slow, is lost: the service does not block, it forgets.
"""

from __future__ import annotations

from foretell.capacity.net.petri_net import INFINITE, Ending, FixedTime, NetTransition
from foretell.capacity.nets.part import NetPart, messages
from foretell.capacity.nets.passive_observer import passive_observer
from foretell.capacity.nets.settings import ServiceSettings

#: The patience of an observer that the settings give none, in seconds.
PATIENCE = 0.001


def lossy_observer(settings: ServiceSettings) -> NetPart:
    passive = passive_observer(settings)
    lose = NetTransition(
        FixedTime(settings.observer.patience or PATIENCE),
        inputs={"event_occurred": 1},
        outputs=messages("network0", settings.provider.capacity, settings.load),
        servers=INFINITE,
        ending=Ending.LOST,
    )
    return NetPart(passive.places, {**passive.transitions, "lose_event": lose})
