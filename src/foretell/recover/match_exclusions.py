"""Which matches exclude which under AFTER MATCH, found by events or by starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.machine.input.state_bounds import StateBounds
from foretell.plan.match_selection import AfterMatchRule, Excludes
from foretell.records import record
from foretell.storage.recorded_values import indices, require, times

#: What an entry takes.
_ENTRY_BYTES = 200

#: A match: the number of its variant, and the positions of its events.
Name = tuple[int, bytes]


@record
class MatchEvents:
    """The events of a match. `first` is the rank of the first one, its position or, where ties are simultaneous, its
    time; `to` that before which a match excludes starts, None where it excludes none."""

    positions: tuple[int, ...]
    steps: tuple[int, ...]
    lane: int
    first: int | float
    to: int | float | None


@record
class ExclusionColumns:
    """Matches as columns: `positions` of their events, -1 behind those of a match that has fewer, and the ranks of
    their first events."""

    positions: Ints
    lane: Ints
    first: NDArray[Any]

    def filter(self, rows: Ints | Flags) -> ExclusionColumns:
        return ExclusionColumns(self.positions[rows], self.lane[rows], self.first[rows])


class MatchExclusions(Protocol):
    """Matches that were taken, with the time until when they may exclude others."""

    @property
    def nbytes(self) -> int: ...

    def add(self, name: Name, events: MatchEvents, until: int | float, /) -> None: ...

    def discard(self, name: Name, events: MatchEvents, /) -> None: ...

    def excluding(self, events: MatchEvents, /) -> Iterator[Name]:
        """The matches that exclude one that is taken later."""

    def excluded(self, columns: ExclusionColumns, /) -> Flags:
        """Whether one of these matches excludes each that is taken later."""

    def forget(self, now: int | float, /) -> None: ...

    def state(self) -> Mapping[str, Any]:
        """All but the names: for matches that are certain."""

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, /) -> None: ...


class ExcludedEvents:
    """CONSUME, SKIP TO NEXT: matches exclude those with one of their events, or with their first one."""

    def __init__(self, rule: AfterMatchRule) -> None:
        self._only_first = rule.excludes is Excludes.SAME_START
        self._by_position: dict[int, tuple[Name, int | float]] = {}

    @property
    def nbytes(self) -> int:
        return _ENTRY_BYTES * len(self._by_position)

    def _positions(self, events: MatchEvents) -> tuple[int, ...]:
        return events.positions[:1] if self._only_first else events.positions

    def add(self, name: Name, events: MatchEvents, until: int | float) -> None:
        self._by_position |= dict.fromkeys(self._positions(events), (name, until))

    def discard(self, name: Name, events: MatchEvents) -> None:
        for position in self._positions(events):
            self._by_position.pop(position, None)

    def excluding(self, events: MatchEvents) -> Iterator[Name]:
        found = (self._by_position.get(position) for position in self._positions(events))
        yield from {entry[0]: None for entry in found if entry is not None}

    def excluded(self, columns: ExclusionColumns) -> Flags:
        positions = columns.positions[:, :1] if self._only_first else columns.positions
        taken = np.fromiter(self._by_position, np.int64, len(self._by_position))
        return np.asarray(np.isin(positions, taken).any(axis=1))

    def forget(self, now: int | float) -> None:
        self._by_position = {p: entry for p, entry in self._by_position.items() if entry[1] >= now}

    def state(self) -> Mapping[str, Any]:
        until = [float(until) for _, until in self._by_position.values()]
        return {"positions": np.array(list(self._by_position), np.int64), "until": np.array(until)}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        positions = indices(state["positions"], bounds.positions, "the events that AFTER MATCH excludes")
        until = times(state["until"], np.float64, positions.shape, "the events that AFTER MATCH excludes")
        entries = zip(positions.tolist(), until.tolist(), strict=True)
        self._by_position = {position: ((0, b""), time) for position, time in entries}


class ExcludedStarts:
    """SKIP PAST LAST, SKIP TO a step: matches exclude those of their lane that begin before an event of theirs.

    The matches of a lane come with ascending ends of what they exclude, since none of them excludes another. `latest`
    keeps only the last one.
    """

    def __init__(self, rule: AfterMatchRule, *, latest: bool) -> None:
        self._inclusive, self._latest = rule.skip_to is None, latest
        self._by_lane: dict[int, list[tuple[int | float, Name, int | float]]] = {}

    @property
    def nbytes(self) -> int:
        return _ENTRY_BYTES * sum(map(len, self._by_lane.values()))

    def add(self, name: Name, events: MatchEvents, until: int | float) -> None:
        if events.to is not None:
            taken = [] if self._latest else self._by_lane.get(events.lane, [])
            self._by_lane[events.lane] = [*taken, (events.to, name, until)]

    def discard(self, name: Name, events: MatchEvents) -> None:
        left = [entry for entry in self._by_lane.get(events.lane, ()) if entry[1] != name]
        if left:
            self._by_lane[events.lane] = left
        else:
            self._by_lane.pop(events.lane, None)

    def excluding(self, events: MatchEvents) -> Iterator[Name]:
        for to, name, _ in reversed(self._by_lane.get(events.lane, ())):
            if to < events.first or (to == events.first and not self._inclusive):
                break
            yield name

    def excluded(self, columns: ExclusionColumns) -> Flags:
        found = np.zeros(len(columns.lane), np.bool_)
        for lane in np.unique(columns.lane).tolist():
            if entries := self._by_lane.get(lane):
                to, rows = entries[-1][0], columns.lane == lane
                found[rows] = columns.first[rows] <= to if self._inclusive else columns.first[rows] < to
        return found

    def forget(self, now: int | float) -> None:
        kept = {lane: [e for e in entries if e[2] >= now] for lane, entries in self._by_lane.items()}
        self._by_lane = {lane: entries for lane, entries in kept.items() if entries}

    def state(self) -> Mapping[str, Any]:
        rows = [(lane, to, until) for lane, entries in self._by_lane.items() for to, _, until in entries]
        return {
            "lanes": np.array([lane for lane, _, _ in rows], np.int64),
            "to": np.array([to for _, to, _ in rows]),
            "until": np.array([float(until) for _, _, until in rows]),
        }

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        lanes = indices(state["lanes"], bounds.lanes, "the lanes that AFTER MATCH excludes")
        recorded = state["to"]
        require(isinstance(recorded, np.ndarray), "what AFTER MATCH excludes")
        kind = np.float64 if recorded.dtype.kind == "f" else np.int64
        to = times(recorded, kind, lanes.shape, "what AFTER MATCH excludes").tolist()
        until = times(state["until"], np.float64, lanes.shape, "what AFTER MATCH excludes").tolist()
        for lane, rank, time in zip(lanes.tolist(), to, until, strict=True):
            self._by_lane.setdefault(lane, []).append((rank, (0, b""), time))


def no_exclusions(rule: AfterMatchRule, *, latest: bool) -> MatchExclusions:
    """`latest`: only whether a match is excluded will be asked, not by which."""
    if rule.excludes is Excludes.EARLIER_STARTS:
        return ExcludedStarts(rule, latest=latest)
    return ExcludedEvents(rule)


def excluded_until(end: int | float, within: int | float | None) -> int | float:
    """The time until when a match that ends then may exclude others, which share a window with it."""
    return math.inf if within is None else end + within
