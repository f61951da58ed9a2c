"""The whole service: provider and observer, network, filter or micro-batches, notifier and client (Fig. 7.1)."""

from __future__ import annotations

from foretell.capacity.net.petri_net import PetriNet
from foretell.capacity.nets.filter_part import filter_part
from foretell.capacity.nets.lossy_observer import lossy_observer
from foretell.capacity.nets.micro_batches import micro_batches
from foretell.capacity.nets.network import network
from foretell.capacity.nets.notifier import notifier
from foretell.capacity.nets.part import joined
from foretell.capacity.nets.passive_observer import passive_observer
from foretell.capacity.nets.provider import provider
from foretell.capacity.nets.scheduled_observer import scheduled_observer
from foretell.capacity.nets.settings import ObserverMethod, ServiceSettings
from foretell.capacity.nets.triggered_observer import triggered_observer

_OBSERVERS = {
    ObserverMethod.PASSIVE: passive_observer,
    ObserverMethod.LOSSY: lossy_observer,
    ObserverMethod.TRIGGERED: triggered_observer,
    ObserverMethod.SCHEDULED: scheduled_observer,
}


def notification_service(settings: ServiceSettings) -> PetriNet:
    batches = settings.batches
    return joined(
        [
            provider(settings),
            _OBSERVERS[settings.observer.method](settings),
            network(settings),
            filter_part(settings) if batches is None else micro_batches(settings, batches),
            notifier(settings),
        ]
    )
