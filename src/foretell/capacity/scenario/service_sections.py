"""The sections of a scenario that describe a notification service by its parameters."""

from __future__ import annotations

from foretell.capacity.nets.settings import (
    Arrivals,
    ClientSettings,
    FilterSettings,
    MicroBatchSettings,
    NetworkSettings,
    NotifierSettings,
    ObserverMethod,
    ObserverSettings,
    ProviderSettings,
    ServiceSettings,
)
from foretell.capacity.scenario.rates import MeasuredRate, RateReader
from foretell.capacity.scenario.section import ScenarioSection

SECTIONS = ("provider", "observer", "network", "filter", "batches", "notifier", "client")

#: Shards of micro-batches: each is a queue of the net.
_MOST_SHARDS = 256

#: Which observers a key is for.
_OBSERVER_KEYS = {
    "patience": ObserverMethod.LOSSY,
    "query": ObserverMethod.TRIGGERED,
    "interval": ObserverMethod.SCHEDULED,
}


def service_settings(top: ScenarioSection, rates: RateReader) -> ServiceSettings:
    """The settings of a whole service; the provider and the filter are needed, the rest may be left out."""
    for needed in ("provider", "filter"):
        if needed not in top:
            hint = f"add a section [{needed}] with its rate, or describe a net with [places] and [transitions]"
            top.refuse(needed, f"there is no section [{needed}]", hint, code="missing-key")
    filtering, measured = _filter(top.section("filter"), rates, in_batches="batches" in top)
    return ServiceSettings(
        provider=_provider(top.section("provider"), rates),
        filter=filtering,
        observer=_observer(top.section("observer"), rates),
        network=_network(top.section("network")),
        batches=_batches(top.section("batches"), measured) if "batches" in top else None,
        notifier=_notifier(top.section("notifier"), rates),
        client=_client(top.section("client"), rates),
    )


def _provider(given: ScenarioSection, rates: RateReader) -> ProviderSettings:
    given.known("rate", "arrivals", "capacity")
    arrivals = Arrivals(given.choice("arrivals", [*Arrivals], Arrivals.RANDOM))
    return ProviderSettings(rates.needed(given).rate, arrivals, given.count("capacity"))


def _observer(given: ScenarioSection, rates: RateReader) -> ObserverSettings:
    given.known("method", "rate", *_OBSERVER_KEYS)
    method = ObserverMethod(given.choice("method", [*ObserverMethod], ObserverMethod.PASSIVE))
    return ObserverSettings(
        method=method,
        rate=_optional(rates.rate(given)),
        patience=given.number("patience"),
        query=given.number("query"),
        interval=given.number("interval"),
    )


def _network(given: ScenarioSection) -> NetworkSettings:
    given.known("noise", "capacity", "bandwidth")
    noise = given.count("noise", 0, least=0) or 0
    capacity = given.count("capacity")
    if capacity is not None and capacity <= noise:
        message = f"an event takes {noise + 1:,} messages with its noise: {capacity:,} are too few"
        given.refuse("capacity", message, f"write {noise + 1:,} or more")
    return NetworkSettings(noise, capacity, given.number("bandwidth"))


def _filter(given: ScenarioSection, rates: RateReader, *, in_batches: bool) -> tuple[FilterSettings, MeasuredRate]:
    given.known("rate", "coverage", "accepted", "rejected", "process", "servers", "fixed")
    measured = rates.needed(given)
    coverage = 1.0 if measured.coverage is None else measured.coverage
    if "coverage" in given and ("accepted" in given or "rejected" in given):
        given.refuse("coverage", "the coverage follows from 'accepted' and 'rejected'", "leave out one of the two")
    if "accepted" in given or "rejected" in given:
        accepted, rejected = given.needed("accepted"), given.needed("rejected")
        coverage = accepted / (accepted + rejected)
    settings = FilterSettings(
        rate=measured.rate if measured.batch_rate is None or not in_batches else measured.batch_rate,
        coverage=given.share("coverage", coverage),
        process=_optional(rates.rate(given, "process")),
        servers=given.count("servers", 1) or 1,
        fixed=given.flag("fixed", False),
    )
    return settings, measured


def _batches(given: ScenarioSection, measured: MeasuredRate) -> MicroBatchSettings:
    given.known("overhead", "interval", "shards", "cores")
    overhead = given.number("overhead")
    if overhead is None and measured.overhead is None:
        hint = "add the seconds that a micro-batch takes however few its events are"
        given.refuse("overhead", "'overhead' is missing", hint)
    shards = given.count("shards", 1) or 1
    if shards > _MOST_SHARDS:
        given.refuse("shards", f"{shards:,} shards are more than {_MOST_SHARDS}", "write fewer, each with more keys")
    return MicroBatchSettings(
        overhead=(measured.overhead or 0.0) if overhead is None else overhead,
        interval=given.number("interval"),
        shards=shards,
        cores=given.count("cores", 1) or 1,
    )


def _notifier(given: ScenarioSection, rates: RateReader) -> NotifierSettings:
    given.known("create", "send", "events", "capacity")
    return NotifierSettings(
        create=_optional(rates.rate(given, "create")),
        send=_optional(rates.rate(given, "send")),
        events=given.count("events", 1) or 1,
        capacity=given.count("capacity"),
    )


def _client(given: ScenarioSection, rates: RateReader) -> ClientSettings:
    given.known("rate", "capacity")
    return ClientSettings(_optional(rates.rate(given)), given.count("capacity"))


def _optional(measured: MeasuredRate | None) -> float | None:
    return None if measured is None else measured.rate


def check_capacities(top: ScenarioSection, settings: ServiceSettings) -> None:
    """Refuses connections that cannot carry the messages of one event."""
    load = settings.load
    needed = {
        "provider": (settings.provider.capacity, load),
        "notifier": (settings.notifier.capacity, load * settings.notifier.events),
        "client": (settings.client.capacity, load),
    }
    for name, (capacity, least) in needed.items():
        if capacity is not None and capacity < least:
            message = f"an event takes {least:,} messages with the noise of the network: {capacity:,} are too few"
            top.section(name).refuse("capacity", message, f"write {least:,} or more")
