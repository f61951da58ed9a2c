"""The nets of A-MEDIAS, section 7.1: against equation 7.1, and the statements of experiments A to D."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.capacity.equation import equation_7_1
from foretell.capacity.markov_chain import solved
from foretell.capacity.measures import NetMeasures
from foretell.capacity.net.petri_net import Ending
from foretell.capacity.net.validation import validated
from foretell.capacity.nets.notification_service import notification_service
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
from foretell.capacity.saturation import saturation_of
from foretell.capacity.simulation.steady_state import SimulationSettings, simulated
from tests.capacity.queues import close

#: Table 7.2, with today's rates.
TABLE = ServiceSettings(
    provider=ProviderSettings(40, capacity=130_000_000),
    observer=ObserverSettings(rate=20_000),
    network=NetworkSettings(10, 130_000),
    filter=FilterSettings(50, 1 / 101, 1_000),
    notifier=NotifierSettings(1_000, 1_000, capacity=650_000),
    client=ClientSettings(1_000, 1_000_000_000),
)
#: The same without bounds, for chains and short runs, with more notifications.
PLAIN = ServiceSettings(
    provider=ProviderSettings(2_000),
    observer=ObserverSettings(rate=20_000),
    filter=FilterSettings(4_000, 0.5, 10_000),
    notifier=NotifierSettings(10_000, 10_000),
    client=ClientSettings(10_000),
)
QUICK = SimulationSettings(precision=0.04, seconds=20, firings=6_000_000, seed=2)


def measured(given: ServiceSettings, run: SimulationSettings = QUICK) -> NetMeasures:
    return simulated(validated(notification_service(given)), run)


def with_rates(given: ServiceSettings, provider: float, filtering: float) -> ServiceSettings:
    return replace(given, provider=replace(given.provider, rate=provider), filter=replace(given.filter, rate=filtering))


def latency(found: NetMeasures) -> float:
    assert found.latency is not None
    return found.latency.mean


@settings(max_examples=10, deadline=None)
@given(st.floats(0.1, 0.75), st.floats(0.1, 1.0), st.booleans())
def test_the_simulation_and_equation_7_1(load: float, coverage: float, fixed: bool) -> None:
    """The equation as repaired is exact up to the notifier, whose arrivals are only nearly random."""
    given = replace(with_rates(PLAIN, load * 4_000, 4_000), filter=FilterSettings(4_000, coverage, 20_000, fixed=fixed))
    equation, found = equation_7_1(given), measured(given)
    assert equation is not None
    if found.utilisation("filter") < 0.9:
        assert close(found.latency, equation.notified, 0.03)


def test_the_equation_as_printed_weighs_the_filter_by_the_coverage() -> None:
    equation = equation_7_1(TABLE)
    assert equation is not None
    assert equation.notified == pytest.approx(0.10425, rel=1e-3)
    assert equation.printed == pytest.approx(0.00157, rel=1e-2)
    assert close(measured(TABLE).latency, equation.notified, 0.02)


def test_the_chain_of_a_small_service() -> None:
    small = replace(
        PLAIN, provider=ProviderSettings(2_000, capacity=6), network=NetworkSettings(1, 4), notifier=NotifierSettings()
    )
    exact = solved(validated(notification_service(replace(small, client=ClientSettings()))))
    found = measured(replace(small, client=ClientSettings()))
    assert exact.latency is not None
    assert close(found.latency, exact.latency.mean, 0.01)
    assert found.created == pytest.approx(exact.created, rel=0.02)


def test_experiment_a_the_filter_bounds_the_providers() -> None:
    times = [latency(measured(with_rates(TABLE, rate, 50))) for rate in (10, 30, 45)]
    assert times == pytest.approx([0.029, 0.054, 0.205], rel=0.08)
    overloaded = measured(with_rates(TABLE, 55, 50))
    assert overloaded.growth is not None
    assert overloaded.growth.place in ("observed_events", "event_occurred")  # the latter when the network is full
    saturation = saturation_of(notification_service(TABLE), 1)
    assert saturation is not None
    assert saturation.bottleneck == "filter"
    assert saturation.rate == pytest.approx(50, rel=0.03)


def test_experiment_b_a_filter_of_4000_is_sufficient() -> None:
    """At 4,000 a second the time is within 10% of what any filter can reach; at 1,800 there is no steady state."""
    times = {rate: latency(measured(with_rates(TABLE, 2_000, rate))) for rate in (2_100, 4_000, 10_000)}
    assert times[2_100] > 4 * times[4_000]
    assert times[4_000] == pytest.approx(1.1 * times[10_000], rel=0.05)
    assert measured(with_rates(TABLE, 2_000, 1_800)).growth is not None


def test_experiment_c_regular_providers_are_quicker_and_losses_keep_the_service_going() -> None:
    busy = with_rates(PLAIN, 2_700, 4_000)
    regular = replace(busy, provider=ProviderSettings(2_700, Arrivals.REGULAR))
    assert latency(measured(regular)) < 0.97 * latency(measured(busy))
    overload = replace(with_rates(PLAIN, 8_000, 4_000), network=NetworkSettings(10, 1_100))
    lossy = measured(replace(overload, observer=ObserverSettings(ObserverMethod.LOSSY, 20_000, patience=0.001)))
    assert measured(replace(overload, network=NetworkSettings())).growth is not None
    assert lossy.growth is None
    assert lossy.lost == pytest.approx(1 - 3_333 / 8_000, abs=0.03)


def test_experiment_c_active_observers_are_slower_and_cross() -> None:
    """Triggered by events is quicker than a schedule at low rates, and slower near the rate of its queries."""
    passive = with_rates(PLAIN, 1_000, 10_000)
    triggered = replace(passive, observer=ObserverSettings(ObserverMethod.TRIGGERED, 20_000, query=2_640))
    scheduled = replace(passive, observer=ObserverSettings(ObserverMethod.SCHEDULED, 20_000, interval=0.01))
    low = [latency(measured(each)) for each in (passive, triggered, scheduled)]
    assert low == sorted(low)
    high = [latency(measured(with_rates(each, 2_580, 10_000))) for each in (passive, scheduled, triggered)]
    assert high == sorted(high)


def test_experiment_d_bandwidths() -> None:
    """An EIB bus of 30 messages a second is not enough today; 30,000 are tomorrow, 20,000 are not."""

    def of(provider: float, filtering: float, bandwidth: float) -> NetMeasures:
        given = with_rates(TABLE, provider, filtering)
        return measured(replace(given, network=replace(given.network, bandwidth=bandwidth)))

    assert of(10, 50, 30).growth is not None
    assert latency(of(40, 50, 5_000)) == pytest.approx(0.1067, rel=0.1)
    assert of(2_000, 4_000, 20_000).growth is not None
    assert of(2_000, 4_000, 30_000).growth is None


@pytest.mark.parametrize(("shards", "cores"), [(1, 1), (4, 2), (3, 8)])
def test_micro_batches_on_a_schedule(shards: int, cores: int) -> None:
    """Few events for each interval: half an interval, the overhead, and the work of a batch as an event sees it."""
    rate, work, interval, overhead = 200.0, 1_000.0, 1.0, 0.2
    given = ServiceSettings(
        ProviderSettings(rate),
        FilterSettings(work, fixed=True),
        batches=MicroBatchSettings(overhead, interval, shards, cores),
    )
    found = latency(measured(given))
    batch = (rate * interval + 1) / work
    least, most = batch / min(shards, cores), batch
    assert interval / 2 + overhead + 0.98 * least < found < interval / 2 + overhead + 1.02 * most
    if shards == 1:
        assert found == pytest.approx(interval / 2 + overhead + batch, rel=0.03)


def test_micro_batches_saturate_at_the_work_of_the_cores() -> None:
    given = ServiceSettings(
        ProviderSettings(1_000), FilterSettings(2_000, fixed=True), batches=MicroBatchSettings(0.2, 1.0, 4, 2)
    )
    saturation = saturation_of(validated(notification_service(given)), 1)
    assert saturation is not None
    assert saturation.bottleneck == "cores"
    assert saturation.rate == pytest.approx(4_000, rel=0.08)


def test_every_event_ends_somewhere() -> None:
    for method in ObserverMethod:
        given = replace(PLAIN, observer=ObserverSettings(method, 20_000), notifier=NotifierSettings(events=1))
        found = measured(given)
        assert found.ended() == pytest.approx(found.created, rel=0.01)
        assert found.ended(Ending.REJECTED) == pytest.approx(found.created / 2, rel=0.05)
