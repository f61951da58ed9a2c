"""The profile tree by value distributions (A-MEDIAS, section 7.2): counted operations and time of each order.

A hundred profiles compare three attributes of a hundred values each for equality; those of the first attribute are of
all values, those of the second of every other, those of the third of every tenth. Then trees by their size, and a peak
of events that moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.bench.result import BenchResult
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.profile_tree.adaptive_tree import AdaptationSettings, AdaptiveProfileTree
from foretell.filter.profile_tree.attribute_order import AttributeOrder, attribute_order, best_tree
from foretell.filter.profile_tree.event_distribution import JointDistribution
from foretell.filter.profile_tree.profiles import AttributeDomain, AttributeRanges, ProfileSet
from foretell.filter.profile_tree.tree import ProfileTree, build_tree
from foretell.filter.profile_tree.tree_size import ProfileTreeTooLargeError
from foretell.filter.profile_tree.value_order import ValueOrder

EVENTS, QUICK_EVENTS = 1_000_000, 50_000
RUNS = 3
VALUES, PROFILES = 100, 100
#: Profiles refer to every n-th value of each attribute.
STEPS = (1, 2, 10)
_HISTORY = 20_000

Values = Callable[[np.random.Generator, int], Ints]


def _uniform(chance: np.random.Generator, count: int) -> Ints:
    return chance.integers(0, VALUES, count)


def _gaussian(chance: np.random.Generator, count: int) -> Ints:
    return np.clip(chance.normal(VALUES / 2, VALUES / 8, count), 0, VALUES - 1).astype(np.int64)


def _peaked(begin: int, chance: np.random.Generator, count: int) -> Ints:
    """95% of the values are in a twentieth of the domain."""
    at_peak = chance.integers(begin, begin + VALUES // 20, count)
    return np.where(chance.random(count) < 0.95, at_peak, _uniform(chance, count))


_LOW_PEAK, _HIGH_PEAK = partial(_peaked, 10), partial(_peaked, 80)


@dataclass(frozen=True)
class ValueWorkload:
    """Distributions of events and profiles, and how many conditions a profile leaves out."""

    name: str
    events: Values
    profiles: Values
    indifference: float = 0.0

    def profile_set(self, count: int = PROFILES) -> ProfileSet:
        chance = np.random.default_rng(1)
        domains = tuple(AttributeDomain(f"a{n}", Type.INT, 0, VALUES - 1) for n in range(len(STEPS)))
        ranges = []
        for step in STEPS:
            values = self.profiles(chance, count) // step * step
            ranges.append(AttributeRanges.of_columns(values, values, chance.random(count) >= self.indifference))
        return ProfileSet(domains, count, tuple(ranges))

    def event_keys(self, count: int, seed: int) -> tuple[Ints, Flags]:
        chance = np.random.default_rng(seed)
        keys = np.stack([self.events(chance, count) for _ in STEPS])
        return keys, np.zeros(keys.shape, np.bool_)


WORKLOADS = (
    ValueWorkload("uniform events and profiles", _uniform, _uniform),
    ValueWorkload("Gaussian events and profiles", _gaussian, _gaussian),
    ValueWorkload("peaked, at the same values", _LOW_PEAK, _LOW_PEAK),
    ValueWorkload("peaked, at other values", _LOW_PEAK, _HIGH_PEAK),
    ValueWorkload("events peaked low, uniform profiles", _LOW_PEAK, _uniform),
    ValueWorkload("events peaked high, uniform profiles", _HIGH_PEAK, _uniform),
    ValueWorkload("the same, 30% don't care", _HIGH_PEAK, _uniform, 0.3),
)


def measure(quick: bool = False) -> Iterator[BenchResult]:
    events = QUICK_EVENTS if quick else EVENTS
    for workload in WORKLOADS:
        yield from _orders(workload, events)
    yield from _sizes(events, quick)
    yield from _moving_peak(events)


# ── orders ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _orders(workload: ValueWorkload, events: int) -> Iterator[BenchResult]:
    """Each order of values in the natural order of attributes, then each order of attributes."""
    profiles = workload.profile_set()
    history = JointDistribution.of(*workload.event_keys(_HISTORY, seed=2))
    keys, nulls = workload.event_keys(events, seed=3)
    base: Floats | None = None
    for name, tree in _trees(profiles, history):
        counts = tree.count_operations(keys, nulls)
        operations = (counts.successes + counts.misses).mean()
        seconds, matches = _matching(tree, keys, nulls)
        figures = np.array([operations, seconds])
        base = figures if base is None else base
        fewer, faster = 1 - figures / base
        note = (
            f"{operations:.2f} operations, expected {tree.expected.total:.2f} ({fewer:.0%} saved); "
            f"{seconds / events * 1e9:.1f} ns ({faster:.0%} saved)"
        )
        case = f"tree, {workload.name}: {name}"
        yield BenchResult("filter", case, events, seconds, events / seconds, matches, note=note)


def _trees(profiles: ProfileSet, history: JointDistribution) -> Iterator[tuple[str, ProfileTree]]:
    for values in ValueOrder:
        yield values.value, build_tree(profiles, history, measure=values)
    for attributes in (AttributeOrder.A1, AttributeOrder.A2):
        order = attribute_order(attributes, profiles, history)
        for values in (ValueOrder.V1, ValueOrder.BINARY, ValueOrder.CHEAPEST):
            yield f"{attributes.value}; {values.value}", build_tree(profiles, history, measure=values, order=order)
    yield f"{AttributeOrder.A3.value}; {ValueOrder.CHEAPEST.value}", best_tree(profiles, history)


def _matching(tree: ProfileTree, keys: Ints, nulls: Flags) -> tuple[float, int]:
    """The least processor time of several runs, and the number of matches."""
    found = tree.match_keys(keys, nulls)
    best = float("inf")
    for _ in range(RUNS):
        started = time.process_time()
        tree.match_keys(keys, nulls)
        best = min(best, time.process_time() - started)
    return best, len(found.profiles)


# ── sizes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sizes(events: int, quick: bool) -> Iterator[BenchResult]:
    """Trees of more profiles over 10,000 values, with and without don't-care edges."""
    counts = (100, 1_000) if quick else (100, 1_000, 10_000, 100_000)
    for indifference, width in ((0.0, 0), (0.0, 100), (0.3, 0)):
        for count in counts:
            case = f"tree, {count:,} profiles, {width / 100:.0f}% wide, {indifference:.0%} don't care"
            yield _sized(case, _wide_profiles(count, width, indifference), events)


def _wide_profiles(count: int, width: int, indifference: float) -> ProfileSet:
    chance = np.random.default_rng(1)
    domains = tuple(AttributeDomain(f"a{n}", Type.INT, 0, 9_999) for n in range(3))
    lows = [chance.integers(0, 10_000, count) for _ in domains]
    cares = [chance.random(count) >= indifference for _ in domains]
    ranges = tuple(AttributeRanges.of_columns(low, low + width, care) for low, care in zip(lows, cares))
    return ProfileSet(domains, count, ranges)


def _sized(case: str, profiles: ProfileSet, events: int) -> BenchResult:
    keys = np.random.default_rng(2).integers(0, 10_000, (3, events))
    nulls = np.zeros(keys.shape, np.bool_)
    history = JointDistribution.of(keys[:, :_HISTORY].copy(), nulls[:, :_HISTORY].copy())
    started = time.process_time()
    try:
        tree = build_tree(profiles, history)
    except ProfileTreeTooLargeError as refusal:
        seconds = time.process_time() - started
        note = f"refused after {seconds:.2f} s: about {refusal.needed:.1e} profiles in all branches"
        return BenchResult("filter", case, 0, seconds, 0.0, note=note)
    built = time.process_time() - started
    seconds, matches = _matching(tree, keys, nulls)
    note = (
        f"{len(tree.structure.low):,} branches, {tree.nbytes / 1e6:.1f} MB, built in {built:.2f} s; "
        f"{seconds / events * 1e9:.0f} ns an event, expected {tree.nanoseconds:.0f}"
    )
    return BenchResult("filter", case, events, seconds, events / seconds, matches, note=note)


# ── a moving peak ──────────────────────────────────────────────────────────────────────────────────────────────────


def _moving_peak(events: int) -> Iterator[BenchResult]:
    """The peak moves three times. One tree stays as it was built for the first quarter, the other follows."""
    profiles = ValueWorkload("", _uniform, _uniform).profile_set()
    peaks = [ValueWorkload("", partial(_peaked, begin), _uniform) for begin in (10, 80, 40, 60)]
    parts = [peak.event_keys(events // len(peaks), seed) for seed, peak in enumerate(peaks)]
    first = JointDistribution.of(*peaks[0].event_keys(_HISTORY, seed=9))
    static = best_tree(profiles, first, measure=ValueOrder.V1)
    builds = _TimedBuilds()
    settings = AdaptationSettings(half_life=events / 40, check_events=events // 20)
    adaptive = AdaptiveProfileTree(profiles, first, settings=settings, executor=builds)
    for name, seconds, operations, matches in (_static(static, parts), _following(adaptive, parts, builds)):
        note = f"{operations / events:.2f} operations, {seconds / events * 1e9:.1f} ns"
        if name == "follows":
            note += f" with sampling, {adaptive.checks} checks; {adaptive.swaps} swaps, builds {builds.seconds:.2f} s"
        yield BenchResult("filter", f"tree, moving peak: {name}", events, seconds, events / seconds, matches, note=note)


class _TimedBuilds(Executor):
    """Runs each build at once and adds up the processor time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        started = time.process_time()
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        self.seconds += time.process_time() - started
        return future


_BATCH = 10_000
Measured = tuple[str, float, int, int]


def _batches(parts: list[tuple[Ints, Flags]]) -> Iterator[tuple[Ints, Flags]]:
    for keys, nulls in parts:
        for begin in range(0, keys.shape[1], _BATCH):
            yield keys[:, begin : begin + _BATCH].copy(), nulls[:, begin : begin + _BATCH].copy()


def _static(tree: ProfileTree, parts: list[tuple[Ints, Flags]]) -> Measured:
    seconds, operations, matches = 0.0, 0, 0
    for keys, nulls in _batches(parts):
        started = time.process_time()
        matches += len(tree.match(_columns(keys), keys.shape[1]).profiles)
        seconds += time.process_time() - started
        operations += _operations(tree, keys, nulls)
    return "stays", seconds, operations, matches


def _following(adaptive: AdaptiveProfileTree, parts: list[tuple[Ints, Flags]], builds: _TimedBuilds) -> Measured:
    seconds, operations, matches = 0.0, 0, 0
    for keys, nulls in _batches(parts):
        operations += _operations(adaptive.tree, keys, nulls)
        started = time.process_time()
        matches += len(adaptive.match(_columns(keys), keys.shape[1]).profiles)
        seconds += time.process_time() - started
    return "follows", seconds - builds.seconds, operations, matches


def _columns(keys: Ints) -> list[Column]:
    return [Column(Type.INT, values, no_nulls(len(values))) for values in keys]


def _operations(tree: ProfileTree, keys: Ints, nulls: Flags) -> int:
    counts = tree.count_operations(keys, nulls)
    return int((counts.successes + counts.misses).sum())
