"""The parameters of a notification service: Table 7.2 of A-MEDIAS, and what it does not have.

Rates are per second, times in seconds. Capacities are numbers of messages; None has no bound.
"""

from __future__ import annotations

from enum import StrEnum

from foretell.records import record


class Arrivals(StrEnum):
    """How events occur: independently of one another, or at a fixed interval (Fig. 7.2(a))."""

    RANDOM = "random"
    REGULAR = "regular"


class ObserverMethod(StrEnum):
    """How the service learns of events (Figs. 7.1, 7.2(b), 7.3(a), 7.3(b))."""

    PASSIVE = "passive"
    LOSSY = "lossy"
    TRIGGERED = "triggered"
    SCHEDULED = "scheduled"


@record
class ProviderSettings:
    """`rate` is that of all providers together; `capacity` is n0."""

    rate: float
    arrivals: Arrivals = Arrivals.RANDOM
    capacity: int | None = None


@record
class ObserverSettings:
    """`rate` is that of observing an event. `patience` is how long an event waits before it is lost (lossy), `query`
    the rate of asking the provider (triggered), `interval` the time between two queries (scheduled)."""

    method: ObserverMethod = ObserverMethod.PASSIVE
    rate: float | None = None
    patience: float | None = None
    query: float | None = None
    interval: float | None = None


@record
class NetworkSettings:
    """The connection from provider to service. `noise` is the messages of others for each event, `capacity` is n1, and
    `bandwidth` the messages a second."""

    noise: int = 0
    capacity: int | None = None
    bandwidth: float | None = None


@record
class FilterSettings:
    """`coverage` is the share of events that a profile matches; `process` is the rate of forwarding them. Of `servers`
    each filters at `rate`; with `fixed` every event takes the same time."""

    rate: float
    coverage: float = 1.0
    process: float | None = None
    servers: int = 1
    fixed: bool = False


@record
class MicroBatchSettings:
    """Micro-batches, as those of Spark: one begins every `interval`, or when the last one has ended. It takes
    `overhead` and the time of its events, which go to `shards`; each shard is a task for one of the `cores`."""

    overhead: float
    interval: float | None = None
    shards: int = 1
    cores: int = 1


@record
class NotifierSettings:
    """`create` and `send` are the rates of making and sending messages, each about so many events. `capacity` is n2."""

    create: float | None = None
    send: float | None = None
    events: int = 1
    capacity: int | None = None


@record
class ClientSettings:
    """`rate` is that of receiving messages; `capacity` is n3."""

    rate: float | None = None
    capacity: int | None = None


@record
class ServiceSettings:
    provider: ProviderSettings
    filter: FilterSettings
    observer: ObserverSettings = ObserverSettings()
    network: NetworkSettings = NetworkSettings()
    batches: MicroBatchSettings | None = None
    notifier: NotifierSettings = NotifierSettings()
    client: ClientSettings = ClientSettings()

    @property
    def load(self) -> int:
        """The messages of the network for each event: its own, and the noise."""
        return 1 + self.network.noise
