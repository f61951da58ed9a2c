"""The rate at which a service breaks down: the events a second that it carries when more and more come."""

from __future__ import annotations

from dataclasses import replace

from foretell.capacity.measures import NetMeasures
from foretell.capacity.net.petri_net import Ending, ExponentialTime, FixedTime, NetTransition, PetriNet
from foretell.capacity.simulation.steady_state import longest_delay, short_run
from foretell.records import record

#: The rate of the sources changes by this factor until the net carries less than this share of what comes.
_FACTOR, _CARRIED = 2.0, 0.9
#: The utilisation up to which a rate is surely carried.
_IDLE = 0.8
#: The factors tried in each direction.
_MOST_TRIES = 30
#: The firings of a try, and the least intervals of the slowest clock in it: where micro-batches are larger, a try says
#: nothing, and the asymptotic bound takes its place.
_FIRINGS, _INTERVALS = 1_000_000, 20


@record
class Saturation:
    """The events a second that the net carries at most, and the station that is then busiest."""

    rate: float
    bottleneck: str


def saturation_of(net: PetriNet, seed: int) -> Saturation | None:
    """None where no station has a bound, or where the sources do not make the net grow."""
    if not net.sources or not net.stations:
        return None
    below, factor = _below(net, seed)
    if below is None or not below.created:
        return None
    bound = _bound(below)
    for _ in range(_MOST_TRIES):
        factor *= _FACTOR
        above, _, seconds = short_run(with_sources(net, factor), _FIRINGS, seed)
        station = above.busiest
        if station is None or seconds < _INTERVALS * longest_delay(net):
            return bound
        if not below.flow(station):
            return None
        carried = above.flow(station) / below.flow(station) * below.created
        if carried < _CARRIED * factor * offered(net):
            return Saturation(carried, station)
    return bound


def _bound(below: NetMeasures) -> Saturation | None:
    """The rate at which the first station is busy all the time, if its work grows with the rate (asymptotic bound)."""
    station = below.busiest
    if station is None or not below.utilisation(station):
        return None
    return Saturation(below.created / below.utilisation(station), station)


def _below(net: PetriNet, seed: int) -> tuple[NetMeasures | None, float]:
    """The measures at a rate that the net carries, and the factor of that rate."""
    factor = 1.0
    for _ in range(_MOST_TRIES):
        measures, growth, seconds = short_run(with_sources(net, factor), _FIRINGS, seed)
        missing = factor * offered(net) - measures.created + growth + measures.ended(Ending.LOST)
        is_long = seconds >= _INTERVALS * longest_delay(net)
        idles = measures.busiest is not None and measures.utilisation(measures.busiest) < _IDLE
        if is_long and idles and missing < (1 - _CARRIED) * factor * offered(net):
            return measures, factor
        factor /= _FACTOR
    return None, factor


def offered(net: PetriNet) -> float:
    """The events a second that occur, if nothing holds the sources up."""
    return sum(_rate(net.transitions[name]) * _events(net, name) for name in net.sources)


def with_sources(net: PetriNet, factor: float) -> PetriNet:
    """The net with sources that are faster by a factor."""
    faster = {name: _scaled(net.transitions[name], factor) for name in net.sources}
    return replace(net, transitions={**net.transitions, **faster})


def _events(net: PetriNet, name: str) -> int:
    return sum(net.transitions[name].outputs.get(place, 0) for place in net.events)


def _rate(each: NetTransition) -> float:
    match each.time:
        case ExponentialTime(rate):
            return rate
        case FixedTime(delay):
            return 1 / delay
    return 0.0


def _scaled(each: NetTransition, factor: float) -> NetTransition:
    match each.time:
        case ExponentialTime(rate):
            return replace(each, time=ExponentialTime(rate * factor))
        case FixedTime(delay):
            return replace(each, time=FixedTime(delay / factor))
    return each
