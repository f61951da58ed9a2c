"""Finished matches of one subscription as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.event_chains import Gaps, chained_events, gather_events
from foretell.plan.lower.post_match import PositionSource, PostMatchPlan, StepPosition
from foretell.records import record


@record
class MatchBatch:
    """Raw matches with the plan, the events and the parameters that give them a meaning.

    Their events are gathered on first use, or come as `gathered`. `since` is the position of the first event that the
    subscription may refer to. The `parameters` are those of one row or, with `by_row`, of the row of each match.
    """

    plan: PostMatchPlan
    buffer: EventBuffer
    strings: StringDictionary
    raw: RawMatches
    parameters: Mapping[str, Column]
    gathered: tuple[BoundEvents, Gaps] | None = None
    since: int = 0
    by_row: bool = False

    @classmethod
    def concatenate(cls, parts: list[MatchBatch], buffer: EventBuffer) -> MatchBatch:
        """The matches of several batches, whose events are all in `buffer`."""
        starts = np.cumsum([0, *(len(p.bound.position) for p in parts)])
        bound = BoundEvents(
            np.concatenate([p.lane for p in parts]),
            np.concatenate([*(p.bound.starts[:-1] + first for p, first in zip(parts, starts)), starts[-1:]]),
            np.concatenate([p.position for p in parts]),
            np.concatenate([p.step for p in parts]),
        )
        raw = RawMatches.joined(_equally_wide(parts))
        return replace(parts[-1], buffer=buffer, raw=raw, gathered=(bound, Gaps.none()))

    def __len__(self) -> int:
        return len(self.raw)

    def filter(self, keep: Flags) -> MatchBatch:
        if keep.all():
            return self
        gathered = None
        if self.gathered is not None or "_events" in self.__dict__:
            numbers = np.cumsum(keep) - 1
            gathered = self.bound.filter(keep), self.gaps.filter(keep, numbers)
        parameters = self.parameters
        if self.by_row:
            parameters = {name: column.take(keep) for name, column in parameters.items()}
        return replace(self, raw=self.raw.only(keep), gathered=gathered, parameters=parameters)

    # ── columns ──

    @property
    def lane(self) -> Ints:
        return self.raw.lane

    @cached_property
    def completed_by_time(self) -> Flags:
        """The matches that the end of their window completed, not an event."""
        return self.raw.position < 0

    @property
    def first(self) -> Ints:
        return self.raw.first

    @cached_property
    def last(self) -> Ints:
        by_time = self.completed_by_time
        return np.where(by_time, self.bound.last, self.raw.position) if by_time.any() else self.raw.position

    @cached_property
    def start(self) -> NDArray[Any]:
        return self.buffer.starts(self.first)

    @cached_property
    def end(self) -> NDArray[Any]:
        ended, by_time, within = self.buffer.times(self.last), self.completed_by_time, self.plan.within
        return np.where(by_time, self.start + within, ended) if within is not None and by_time.any() else ended

    def register(self, output: int) -> tuple[Ints, NDArray[np.uint8]]:
        """A register at the end of each match, as 64-bit words, and where it is NULL."""
        return self.raw.slots[:, output], self.raw.nulls[:, output]

    # ── events ──

    @cached_property
    def _events(self) -> tuple[BoundEvents, Gaps]:
        return self.gathered or gather_events(self.raw, self._known_positions)

    @property
    def bound(self) -> BoundEvents:
        return self._events[0]

    @property
    def gaps(self) -> Gaps:
        return self._events[1]

    @property
    def starts(self) -> Ints:
        return self.bound.starts

    @property
    def match(self) -> Ints:
        return self.bound.match

    @property
    def step(self) -> Ints:
        return self.bound.step

    @property
    def position(self) -> Ints:
        return self.bound.position

    @property
    def known_events(self) -> Ints:
        """The number of each match's events that are not in a chain."""
        counts = np.zeros(len(self), np.int64)
        for position in self._known_positions:
            if position is not None:
                counts += position >= 0
        return counts

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event; None without matches."""
        return int(self.first.min()) if len(self) else None

    def of_step(self, step: int, *, latest: bool) -> Ints:
        """The position of each match's first or latest event of a step; -1 without one."""
        known = self._known_positions[step]
        return self.bound.of_step(step, latest=latest) if known is None else known

    def events_of_step(self, step: int, match: Ints) -> tuple[Ints, Ints]:
        """The events of a repeated step in these matches: where those of each end, from 0 on, and the positions."""
        if self.gathered is None and "_events" not in self.__dict__:
            return chained_events(self.raw, step, match)
        return self.bound.events_of_step(step, match)

    def sequence(self) -> list[Ints] | None:
        """The position of each step's event, where every match has exactly one of each, in the order of the steps; else
        None."""
        columns: list[Ints] = []
        for column in self._known_positions:
            if column is None or (column <= (columns[-1] if columns else -1)).any():
                return None
            columns.append(column)
        return columns

    @cached_property
    def _known_positions(self) -> list[Ints | None]:
        """The position of each step's event, -1 without one; None if the step may have several."""
        return list(map(self._known_position, self.plan.positions))

    def _known_position(self, position: StepPosition) -> Ints | None:
        match position.source:
            case PositionSource.REGISTER:
                words, nulls = self.register(position.output)
                return np.where(nulls != 0, -1, words) if nulls.any() else words
            case PositionSource.FIRST_EVENT:
                return self.first
            case PositionSource.LAST_EVENT:
                return self.raw.position
        return None


def _equally_wide(parts: list[MatchBatch]) -> list[RawMatches]:
    """Raw matches with equally many registers: subscriptions that have joined the NFA since may have added some."""
    width = max(p.raw.slots.shape[1] for p in parts)
    more = [((0, 0), (0, width - p.raw.slots.shape[1])) for p in parts]
    return [
        replace(p.raw, slots=np.pad(p.raw.slots, by), nulls=np.pad(p.raw.nulls, by, constant_values=1))
        for p, by in zip(parts, more, strict=True)
    ]
