"""The simulation of a net until its measures are as precise as wished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foretell.capacity.measures import Measured, NetMeasures, TokenGrowth
from foretell.capacity.net.petri_net import Ending, FixedTime, PetriNet
from foretell.capacity.net.token_limit import token_limit
from foretell.capacity.simulation import kernel
from foretell.capacity.simulation.batch_means import BATCHES, WARM_UP, correlated, growth_of, paired, ratio
from foretell.capacity.simulation.run_state import MOST_EVENTS, Allowance, BatchSums, SimulationRun
from foretell.errors import InputError
from foretell.records import record

#: The firings from which the first length of a batch follows, and those of a batch.
_PILOT, _FIRST_BATCH = 20_000, 2_000

#: The most seconds of each half of a short run.
_SHORT = 5.0

#: Ticks of the slowest deterministic transition in the first batch.
_INTERVALS = 5

#: A place that grows may yet fill up, and others then lose events or wait: up to so many tokens it is waited for.
_FILLED = 1_000_000

#: The quantiles of latency that are reported.
QUANTILES = (0.5, 0.95, 0.99)


@record
class SimulationSettings:
    """`precision` is half the width of the confidence interval as a share of the mean: of the time from event to
    notification, or in a net without events of the mean tokens of every place."""

    precision: float = 0.02
    confidence: float = 0.95
    firings: int = 300_000_000
    seconds: float = 60.0
    seed: int = 1


def simulated(net: PetriNet, settings: SimulationSettings) -> NetMeasures:
    """The measures of a net in its steady state, or the place that grows where it has none."""
    allowance = Allowance(settings.firings, settings.seconds)
    run = SimulationRun(net, settings.seed)
    batches: list[BatchSums] = []
    length = _first_length(run, allowance)
    while not (run.is_full or allowance.is_used()):
        batches.append(run.advance(run.now + length, allowance))
        if len(batches) == BATCHES:
            found = _measures(net, batches, settings)
            if found.precise or (found.growth and token_limit(net, found.growth.place) > _FILLED):
                break
            batches, length = paired(batches), 2 * length
    counted = [batch for batch in batches if batch.seconds > 0]
    if not counted:
        hint = "allow more with 'firings' or 'seconds' in [run], or check the rates"
        raise InputError("too-short", "the simulation ended before it had measured anything", hint=hint)
    found = _measures(net, counted, settings)
    growth = _fullest(net, run) if run.is_full and not found.growth else found.growth
    return replace(found, growth=growth, firings=settings.firings - allowance.firings)


def _fullest(net: PetriNet, run: SimulationRun) -> TokenGrowth:
    """The place with most events, of a net with more than are simulated."""
    marking = dict(zip(net.places, run.marking()))
    place = max(net.events or net.places, key=lambda name: marking[name])
    return TokenGrowth(place, marking[place] / run.now)


def _first_length(run: SimulationRun, allowance: Allowance) -> float:
    """A time in which as many transitions fire as a first batch should have, and any clock ticks several times."""
    pilot = allowance.part(_PILOT)
    begun = pilot.firings
    run.advance(math.inf, pilot)
    allowance.firings += pilot.firings
    if run.is_full:
        message = f"more than {MOST_EVENTS:,} events are in the net at once"
        raise InputError("too-large", message, hint="check the rates and the multiplicities")
    if not run.now:
        raise InputError("endless", "no time passes in the net: only immediate transitions fire", hint="add a rate")
    return max(run.now / (begun - pilot.firings) * _FIRST_BATCH, _INTERVALS * longest_delay(run.net))


def longest_delay(net: PetriNet) -> float:
    """The delay of the slowest deterministic transition."""
    return max((t.time.delay for t in net.transitions.values() if isinstance(t.time, FixedTime)), default=0.0)


def _measures(net: PetriNet, batches: Sequence[BatchSums], settings: SimulationSettings) -> NetMeasures:
    counted = batches[WARM_UP:] or batches[-1:]
    confidence = settings.confidence
    tokens = [_by_time(counted, "area", i, confidence) for i in range(len(net.places))]
    latency = ratio(counted, lambda b: b.latency, lambda b: b.notified, confidence)
    growth = growth_of(net, batches)
    return NetMeasures(
        net=net,
        method="simulation",
        tokens=dict(zip(net.places, tokens)),
        throughput={t: _by_time(counted, "fired", i, confidence) for i, t in enumerate(net.transitions)},
        busy={t: _by_time(counted, "busy", i, confidence) for i, t in enumerate(net.transitions)},
        latency=latency,
        quantiles=_quantiles(counted),
        growth=growth,
        precise=not growth and _is_precise(net, counted, tokens, latency, settings.precision),
    )


def _by_time(batches: Sequence[BatchSums], sums: str, index: int, confidence: float) -> Measured:
    measured = ratio(batches, lambda b: float(getattr(b, sums)[index]), lambda b: b.seconds, confidence)
    return measured or Measured(0.0)


def _is_precise(
    net: PetriNet, batches: Sequence[BatchSums], tokens: Sequence[Measured], latency: Measured | None, precision: float
) -> bool:
    if net.endings(Ending.NOTIFIED):
        if latency is None or latency.relative > precision:
            return False
        return not correlated(batches, lambda b: b.latency, lambda b: b.notified)
    return all(
        each.half <= precision * max(each.mean, precision) and not (each.half and _tokens_correlated(batches, i))
        for i, each in enumerate(tokens)
    )


def _tokens_correlated(batches: Sequence[BatchSums], place: int) -> bool:
    return correlated(batches, lambda b: float(b.area[place]), lambda b: b.seconds)


def _quantiles(batches: Sequence[BatchSums]) -> dict[float, float]:
    """Quantiles of latency, each to about 1%: the middle of its bin."""
    counts = np.sum([batch.histogram for batch in batches], axis=0)
    if not counts.sum():
        return {}
    shares = np.cumsum(counts) / counts.sum()
    bins = {q: int(np.searchsorted(shares, q)) for q in QUANTILES}
    return {q: kernel.SHORTEST * 10 ** ((b + 0.5) / kernel.BINS_PER_DECADE) for q, b in bins.items()}


def short_run(net: PetriNet, firings: int, seed: int) -> tuple[NetMeasures, float, float]:
    """The measures of the second half of so many firings, the events a second by which the net then grows, and the
    seconds of that half."""
    run = SimulationRun(net, seed)
    run.advance(math.inf, Allowance(firings // 2, _SHORT))
    before = run.marking()
    sums = run.advance(math.inf, Allowance(firings // 2, _SHORT))
    held = [place.holds_events for place in net.places.values()]
    more = sum(after - first for after, first, event in zip(run.marking(), before, held) if event)
    if not sums.seconds:
        raise InputError("endless", "no time passes in the net: only immediate transitions fire", hint="add a rate")
    return _measures(net, [sums], SimulationSettings()), more / sums.seconds, sums.seconds
