"""Findings about a point of a scenario, in words: where it breaks down, what is nearly busy, what is lost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from foretell.capacity.measures import NetMeasures
from foretell.capacity.saturation import Saturation, offered
from foretell.capacity.simulation.steady_state import SimulationSettings
from foretell.display import duration_text
from foretell.records import record

#: From this utilisation on a station is called nearly saturated.
_NEARLY = 0.9

#: The least share of lost events, and of events that providers cannot deliver, that is worth a word.
_WORTH = 0.0005
_HELD_UP = 0.002

UNSTABLE, BLOCKED, LOST, NEARLY_SATURATED, SILENT, IMPRECISE = (
    "unstable", "blocked", "lost", "nearly-saturated", "silent", "imprecise",
)  # fmt: skip


#: The same about several points, in short.
SHORT = {
    UNSTABLE: "no steady state",
    BLOCKED: "providers are held up",
    LOST: "events are lost",
    NEARLY_SATURATED: f"a station is busy more than {_NEARLY:.0%} of the time",
    SILENT: "no event leads to a notification",
    IMPRECISE: "less precise than wished",
}


@record
class CapacityFinding:
    """A finding with a code that programs can ask for."""

    code: str
    message: str


def findings(
    measures: NetMeasures, saturation: Saturation | None, settings: SimulationSettings
) -> Iterator[CapacityFinding]:
    coming = offered(measures.net)
    if measures.growth:
        yield CapacityFinding(UNSTABLE, _unstable(measures, saturation))
    elif _are_held_up(measures, coming):
        message = f"providers are held up: of {coming:,.4g} events/s {measures.created:,.4g} enter; a place is full"
        yield CapacityFinding(BLOCKED, message)
    if measures.lost > _WORTH:
        yield CapacityFinding(LOST, f"{measures.lost:.2%} of the events are lost")
    busiest = measures.busiest
    if not measures.growth and busiest and measures.utilisation(busiest) > _NEARLY:
        message = f"'{busiest}' is busy {measures.utilisation(busiest):.1%} of the time: small peaks make long queues"
        yield CapacityFinding(NEARLY_SATURATED, message)
    if measures.net.events and measures.latency is None and not measures.growth:
        yield CapacityFinding(SILENT, "no event leads to a notification")
    if not measures.precise and not measures.growth and measures.latency is not None:
        reached = f"to ±{measures.latency.relative:.1%} instead of ±{settings.precision:.1%}"
        if not math.isfinite(measures.latency.half):
            reached = "from a single batch, without an interval"
        message = f"the time is known {reached}: more 'seconds' or 'firings' in [run] make it more precise"
        yield CapacityFinding(IMPRECISE, message)


def _are_held_up(measures: NetMeasures, coming: float) -> bool:
    """Whether providers wait, beyond what chance explains: those that need something, or whose places have a bound."""
    net = measures.net
    held = [
        name
        for name in net.sources
        if (each := net.transitions[name]).inputs
        or each.inhibitors
        or any(net.places[place].capacity is not None for place in each.outputs)
    ]
    uncertain = sum(2 * measures.throughput[name].half for name in held)
    return bool(held) and measures.created + uncertain < (1 - _HELD_UP) * coming


def _unstable(measures: NetMeasures, saturation: Saturation | None) -> str:
    growth, coming = measures.growth, offered(measures.net)
    assert growth is not None
    message = f"no steady state: '{growth.place}' grows by {rate_text(growth.rate)} tokens/s"
    if saturation is None:
        return message
    return f"{message}; {coming:,.4g} events/s come, and '{saturation.bottleneck}' carries {rate_text(saturation.rate)}"


def rate_text(rate: float) -> str:
    """A rate with three digits, as precise as the simulation of saturation.

    >>> rate_text(3845.57), rate_text(0.04567), rate_text(1234567)
    ('3,850', '0.0457', '1,230,000')
    """
    rounded = float(f"{rate:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def time_text(seconds: float) -> str:
    """A time with its unit, down to microseconds.

    >>> time_text(0.0000123), time_text(0.25), time_text(12)
    ('12.3 µs', '250 ms', '12 s')
    """
    return f"{seconds * 1e6:.3g} µs" if 0 < seconds < 0.0009995 else duration_text(seconds)
