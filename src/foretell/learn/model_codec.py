"""The codec between statistics and JSON documents, exact to the last digit.

A configuration is written as the list of its states, transitions as [from, to, weight], a histogram as [bin, weight].
`decode` raises ValueError for unknown or inconsistent contents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.learn.calibration import Calibration
from foretell.learn.contexts import Contexts
from foretell.learn.histogram import BINS
from foretell.learn.lane_statistics import LaneCounts
from foretell.learn.sojourns import CENSORED, MATCH, Sojourns
from foretell.learn.statistics import MAX_STATES, Statistics

_MAX_WEIGHT = 1e18  # sums of it do not overflow
_MAX_TABLE = 1 << 24  # numbers in the table of contexts
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_ENDS = {MATCH: "match", CENSORED: "still"}


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Edge(_Strict):
    """A sojourn's histogram; `target` is the number of a configuration, "match", or "still" if it is censored."""

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
    events: _Count
    transitions: list[tuple[int, int, float]]
    matched: list[tuple[int, float]]


class _Trained(_Strict):
    events: _Count
    matches: _Count
    since: float | None
    to: float | None
    until: _Count
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


def encode(statistics: Statistics, contexts: Contexts, calibration: Calibration) -> dict[str, Any]:
    sojourns, lanes = statistics.sojourns, statistics.lanes
    edges = [
        _Edge(
            int(sojourns.source[e]),
            _ENDS.get(int(sojourns.target[e]), int(sojourns.target[e])),
            float(sojourns.total[e]),
            float(sojourns.least[e]),
            float(sojourns.most[e]),
            _vector(sojourns.bins[e]),
        )
        for e in range(len(sojourns.source))
    ]
    document = _Document(
        trained=_Trained(
            statistics.events,
            statistics.matches,
            statistics.since if statistics.events else None,
            statistics.to if statistics.events else None,
            statistics.until,
            None if math.isinf(statistics.half_life) else statistics.half_life,
        ),
        configurations=_bits(statistics.states),
        in_context=statistics.contexts.tolist(),
        transitions=_matrix(statistics.counts),
        matched=_vector(statistics.matched),
        sojourns=_Sojourns(_bits(sojourns.states), edges),
        lanes=[
            _Lane(key, int(lanes.events[i]), _matrix(lanes.counts[i]), _vector(lanes.matched[i]))
            for i, key in enumerate(lanes.keys)
        ],
        contexts=_Contexts(contexts.symbols, [list(suffix) for suffix in contexts.suffixes]),
        calibration=list(calibration.points),
    )
    plain: dict[str, Any] = msgspec.to_builtins(document)
    return plain


def decode(document: Mapping[str, Any]) -> tuple[Statistics, Contexts, Calibration]:
    try:
        parsed = msgspec.convert(dict(document), _Document)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    size, suffixes = len(parsed.configurations), parsed.contexts.suffixes
    if size > 2 * MAX_STATES:
        raise ValueError(f"more than {2 * MAX_STATES:,} configurations")
    if not 0 <= parsed.contexts.symbols * (1 + sum(map(len, suffixes))) <= _MAX_TABLE:
        raise ValueError("too many contexts and symbols")
    contexts = Contexts(parsed.contexts.symbols, tuple(tuple(suffix) for suffix in parsed.contexts.suffixes))
    in_context = np.array(parsed.in_context, np.int64)
    if len(in_context) != size or np.any((in_context < 0) | (in_context >= len(contexts))):
        raise ValueError("'in_context' does not fit 'configurations' and 'contexts'")
    if len(set(zip(map(tuple, parsed.configurations), parsed.in_context))) < size:
        raise ValueError("a configuration is listed twice in the same context")
    trained = parsed.trained
    half_life = math.inf if trained.half_life is None else trained.half_life
    if not half_life > 0:
        raise ValueError("a half-life must be more than 0 events")
    counts, matched = _filled(parsed.transitions, parsed.matched, size)
    statistics = Statistics(
        states=_words(parsed.configurations),
        contexts=in_context,
        counts=counts,
        matched=matched,
        sojourns=_sojourns(parsed.sojourns),
        lanes=_lanes(parsed.lanes, size),
        half_life=half_life,
        until=trained.until,
        events=trained.events,
        matches=trained.matches,
        since=math.inf if trained.since is None else trained.since,
        to=-math.inf if trained.to is None else trained.to,
    )
    return statistics, contexts, Calibration(tuple(parsed.calibration))


def _sojourns(document: _Sojourns) -> Sojourns:
    ends = {name: number for number, name in _ENDS.items()}
    size = len(document.configurations)
    if len(set(map(tuple, document.configurations))) < size:
        raise ValueError("a configuration of the sojourns is listed twice")
    target = np.array(
        [ends.get(e.target, size) if isinstance(e.target, str) else e.target for e in document.edges], int
    )
    source = np.array([e.source for e in document.edges], int)
    if np.any((source < 0) | (source >= size) | (target >= size) | (target < CENSORED)):
        raise ValueError("a sojourn has an unknown source or target")
    bins = np.zeros((len(document.edges), BINS))
    for number, edge in enumerate(document.edges):
        bins[number] = _from_pairs(edge.bins, BINS, "bin")
        if not (0 <= edge.least <= edge.most <= _MAX_WEIGHT and 0 <= edge.total <= _MAX_WEIGHT**2):
            raise ValueError(f"impossible sojourn: least {edge.least}, most {edge.most}, total {edge.total}")
    total, least, most = (np.array([getattr(e, name) for e in document.edges]) for name in ("total", "least", "most"))
    return Sojourns(_words(document.configurations), source, target, bins, total, least, most)


def _lanes(documents: Sequence[_Lane], size: int) -> LaneCounts:
    counts, matched = np.zeros((len(documents), size, size)), np.zeros((len(documents), size))
    for number, lane in enumerate(documents):
        counts[number], matched[number] = _filled(lane.transitions, lane.matched, size)
    return LaneCounts(
        tuple(lane.key for lane in documents), np.array([lane.events for lane in documents], int), counts, matched
    )


def _filled(transitions: Sequence[tuple[int, int, float]], matched: Sequence[tuple[int, float]], size: int) -> Any:
    counts = np.zeros((size, size))
    for source, target, weight in transitions:
        if not (0 <= source < size and 0 <= target < size and 0 <= weight <= _MAX_WEIGHT):
            raise ValueError(f"impossible transition [{source}, {target}, {weight}]")
        counts[source, target] = weight
    return counts, _from_pairs(matched, size, "match")


def _from_pairs(pairs: Sequence[tuple[int, float]], size: int, kind: str) -> Floats:
    vector = np.zeros(size)
    for place, weight in pairs:
        if not (0 <= place < size and 0 <= weight <= _MAX_WEIGHT):
            raise ValueError(f"impossible {kind} [{place}, {weight}]")
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
            raise ValueError("a configuration lists states from 0 to 63 in order")
    return np.array([sum(1 << bit for bit in configuration) for configuration in configurations], np.uint64)
