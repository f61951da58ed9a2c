"""The connection from provider to service, where its bandwidth is given (experiment D, Fig. 7.7).

The paper's `n1` says how many messages are on their way at most. Its text adds that delays can be modelled by
transitions with a frequency that depends on the bandwidth: an event is transmitted together with its noise.
"""

from __future__ import annotations

from foretell.capacity.net.petri_net import ExponentialTime, Immediately, NetTransition
from foretell.capacity.nets.part import NetPart, queue
from foretell.capacity.nets.settings import ServiceSettings


def network(settings: ServiceSettings) -> NetPart:
    bandwidth = settings.network.bandwidth
    time = Immediately() if bandwidth is None else ExponentialTime(bandwidth / settings.load)
    transmit = NetTransition(time, inputs={"observed": 1}, outputs={"observed_events": 1})
    return NetPart({"observed_events": queue()}, {"transmit": transmit})
