"""Equation 7.1 of A-MEDIAS: the mean event processing time from the parameters alone, beside the simulation.

As printed it is E[T] = E[T_obs] + E[T_network1] + C (E[T_filter] + E[T_notif] + E[T_network2]) with
E[T_obs] = 1 / (λ_prov − λ_obs) and E[T_network1] = L₁ / ((1 − π_n1) λ_obs). We read it with these repairs:

- the time in a queue is 1 / (λ_obs − λ_prov), which is positive where the queue has a steady state;
- π_n1 is the probability that nothing is lost, so that the divisor is π_n1 λ_obs, and 1 without loss;
- every event is filtered, not only the share C, so the equation weighs the filter too little. For the event that is
  notified, no term has the factor C.

`printed` keeps the factor C, `notified` leaves it out and counts the filter's queue as Pollaczek and Khinchine do, with
the service of matched events (`filtering` and `process`), and the network by its bandwidth.
"""

from __future__ import annotations

import math

from foretell.capacity.nets.settings import Arrivals, ObserverMethod, ServiceSettings
from foretell.records import record


@record
class ProcessingTime:
    """Equation 7.1 by its terms, in seconds; infinite where a queue has no steady state."""

    observer: float
    network: float
    filter: float
    notifier: float
    printed: float

    @property
    def notified(self) -> float:
        """The mean time from an event to its notification."""
        return self.observer + self.network + self.filter + self.notifier


def equation_7_1(settings: ServiceSettings) -> ProcessingTime | None:
    """None where the equation does not apply: other observers, regular providers, micro-batches, several servers."""
    given, rate = settings.filter, settings.provider.rate
    if (
        settings.observer.method != ObserverMethod.PASSIVE
        or settings.provider.arrivals != Arrivals.RANDOM
        or settings.batches is not None
        or given.servers > 1
    ):
        return None
    observer = _queue(settings.observer.rate, rate)
    bandwidth = settings.network.bandwidth
    network = _queue(None if bandwidth is None else bandwidth / settings.load, rate)
    filtering = _wait(settings) + 1 / given.rate + (1 / given.process if given.process else 0.0)
    messages = given.coverage * rate / settings.notifier.events
    stages = (settings.notifier.create, settings.notifier.send, settings.client.rate)
    assembly = (settings.notifier.events - 1) / (2 * messages * settings.notifier.events) if messages else 0.0
    notifier = assembly + sum(_queue(stage, messages) for stage in stages)
    access = settings.network.noise / settings.observer.rate if settings.observer.rate else 0.0
    printed = observer + access + given.coverage * (_queue(given.rate, rate) + notifier)
    return ProcessingTime(observer, network, filtering, notifier, printed)


def _queue(service: float | None, rate: float) -> float:
    """The mean time in a queue with exponential service; a stage without a rate takes no time."""
    if service is None:
        return 0.0
    return 1 / (service - rate) if service > rate else math.inf


def _wait(settings: ServiceSettings) -> float:
    """The mean time that an event waits for the filter (Pollaczek-Khinchine)."""
    given, rate = settings.filter, settings.provider.rate
    mean, square = 1 / given.rate, (1 if given.fixed else 2) / given.rate**2
    if given.process:
        more = 1 / given.process
        square += given.coverage * (2 * mean * more + 2 * more**2)
        mean += given.coverage * more
    load = rate * mean
    return rate * square / (2 * (1 - load)) if load < 1 else math.inf
