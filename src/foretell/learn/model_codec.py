"""Statistics as a JSON document and back, to the last digit.

A configuration is written as the list of its states, transitions as [from, to, weight], a histogram by the numbers of
its bins. What should not be there, or does not fit together, is a ValueError that says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.learn.calibration import Calibration
from foretell.learn.contexts import Contexts
from foretell.learn.histogram import BINS
from foretell.learn.lane_statistics import Lanes
from foretell.learn.sojourns import MATCH, STILL, Sojourns
from foretell.learn.statistics import Statistics

_HEAVIEST = 1e18  # more than anybody counts, and sums of it do not overflow
_ENDS = {MATCH: "match", STILL: "still"}


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Edge(_Strict):
    """A sojourn's histogram; what it leads to is a configuration's number, "match" or "still"."""

    source: int
    target: int | str
    total: float
    least: float
    most: float
    bins: list[tuple[int, float]]


class _Sojourns(_Strict):
    configurations: list[list[int]]
    edges: list[_Edge]


class _Lane(_Strict):
    key: str
    events: int
    transitions: list[tuple[int, int, float]]
    matched: list[tuple[int, float]]


class _Trained(_Strict):
    events: int
    matches: int
    since: float | None
    to: float | None
    until: int
    half_life: float | None


class _Contexts(_Strict):
    symbols: int
    suffixes: list[list[int]]


class _Document(_Strict):
    trained: _Trained
    configurations: list[list[int]]
    in_context: list[int]
    transitions: list[tuple[int, int, float]]
    matched: list[tuple[int, float]]
    sojourns: _Sojourns
    lanes: list[_Lane]
    contexts: _Contexts
    calibration: list[tuple[float, float]]


def document_of(statistics: Statistics, contexts: Contexts, calibration: Calibration) -> dict[str, Any]:
    some, lasting, lanes = statistics, statistics.sojourns, statistics.lanes
    edges = [
        _Edge(
            int(lasting.source[e]),
            _ENDS.get(int(lasting.target[e]), int(lasting.target[e])),
            float(lasting.total[e]),
            float(lasting.least[e]),
            float(lasting.most[e]),
            _vector(lasting.bins[e]),
        )
        for e in range(len(lasting.source))
    ]
    document = _Document(
        _Trained(
            some.events,
            some.matches,
            some.since if some.events else None,
            some.to if some.events else None,
            some.until,
            None if math.isinf(some.half_life) else some.half_life,
        ),
        _bits(some.states),
        some.contexts.tolist(),
        _matrix(some.counts),
        _vector(some.matched),
        _Sojourns(_bits(lasting.states), edges),
        [
            _Lane(key, int(lanes.events[i]), _matrix(lanes.counts[i]), _vector(lanes.matched[i]))
            for i, key in enumerate(lanes.keys)
        ],
        _Contexts(contexts.symbols, [list(suffix) for suffix in contexts.suffixes]),
        list(calibration.points),
    )
    plain: dict[str, Any] = msgspec.to_builtins(document)
    return plain


def learned_of(document: Mapping[str, Any]) -> tuple[Statistics, Contexts, Calibration]:
    try:
        found = msgspec.convert(dict(document), _Document)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    size = len(found.configurations)
    contexts = Contexts(found.contexts.symbols, tuple(tuple(suffix) for suffix in found.contexts.suffixes))
    in_context = np.array(found.in_context, np.int64)
    if len(in_context) != size or np.any((in_context < 0) | (in_context >= len(contexts))):
        raise ValueError("'in_context' does not fit 'configurations' and 'contexts'")
    if len(set(zip(map(tuple, found.configurations), found.in_context))) < size:
        raise ValueError("a configuration stands twice in the same context")
    trained = found.trained
    half_life = math.inf if trained.half_life is None else trained.half_life
    if not half_life > 0:
        raise ValueError("a half-life is more than no events")
    counts, matched = _filled(found.transitions, found.matched, size)
    statistics = Statistics(
        _words(found.configurations),
        in_context,
        counts,
        matched,
        _sojourns(found.sojourns),
        _lanes(found.lanes, size),
        half_life,
        trained.until,
        trained.events,
        trained.matches,
        math.inf if trained.since is None else trained.since,
        -math.inf if trained.to is None else trained.to,
    )
    return statistics, contexts, Calibration(tuple(found.calibration))


def _sojourns(found: _Sojourns) -> Sojourns:
    ends = {name: number for number, name in _ENDS.items()}
    size = len(found.configurations)
    if len(set(map(tuple, found.configurations))) < size:
        raise ValueError("a configuration of the sojourns stands twice")
    target = np.array([ends.get(e.target, size) if isinstance(e.target, str) else e.target for e in found.edges], int)
    source = np.array([e.source for e in found.edges], int)
    if np.any((source < 0) | (source >= size) | (target >= size) | (target < STILL)):
        raise ValueError("a sojourn leads from or to an unknown configuration")
    bins = np.zeros((len(found.edges), BINS))
    for number, edge in enumerate(found.edges):
        bins[number] = _from_pairs(edge.bins, BINS, "bin")
        if not (0 <= edge.least <= edge.most <= _HEAVIEST and 0 <= edge.total <= _HEAVIEST**2):
            raise ValueError(f"a sojourn that takes from {edge.least} to {edge.most}, in all {edge.total}, cannot be")
    total, least, most = (np.array([getattr(e, name) for e in found.edges]) for name in ("total", "least", "most"))
    return Sojourns(_words(found.configurations), source, target, bins, total, least, most)


def _lanes(found: Sequence[_Lane], size: int) -> Lanes:
    counts, matched = np.zeros((len(found), size, size)), np.zeros((len(found), size))
    for number, lane in enumerate(found):
        counts[number], matched[number] = _filled(lane.transitions, lane.matched, size)
    return Lanes(tuple(lane.key for lane in found), np.array([lane.events for lane in found], int), counts, matched)


def _filled(transitions: Sequence[tuple[int, int, float]], matched: Sequence[tuple[int, float]], size: int) -> Any:
    counts = np.zeros((size, size))
    for source, target, weight in transitions:
        if not (0 <= source < size and 0 <= target < size and 0 <= weight <= _HEAVIEST):
            raise ValueError(f"the transition [{source}, {target}, {weight}] cannot be")
        counts[source, target] = weight
    return counts, _from_pairs(matched, size, "match")


def _from_pairs(pairs: Sequence[tuple[int, float]], size: int, what: str) -> Floats:
    vector = np.zeros(size)
    for place, weight in pairs:
        if not (0 <= place < size and 0 <= weight <= _HEAVIEST):
            raise ValueError(f"the {what} [{place}, {weight}] cannot be")
        vector[place] = weight
    return vector


def _matrix(counts: Floats) -> list[tuple[int, int, float]]:
    source, target = np.nonzero(counts)
    return list(zip(source.tolist(), target.tolist(), counts[source, target].tolist()))


def _vector(weights: Floats) -> list[tuple[int, float]]:
    place: Ints = np.flatnonzero(weights)
    return list(zip(place.tolist(), weights[place].tolist()))


def _bits(states: Words) -> list[list[int]]:
    return [[bit for bit in range(64) if state >> bit & 1] for state in states.tolist()]


def _words(configurations: Sequence[Sequence[int]]) -> Words:
    for configuration in configurations:
        if not all(0 <= bit < 64 for bit in configuration) or configuration != sorted(set(configuration)):
            raise ValueError("a configuration has states from 0 to 63, in order")
    return np.array([sum(1 << bit for bit in configuration) for configuration in configurations], np.uint64)
