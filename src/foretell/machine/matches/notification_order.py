"""The order of notifications: by end, subscription, events, steps, id and key (decision 0002, item 23)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints, distinct
from foretell.events.notification import Notification
from foretell.events.types import Scalar
from foretell.machine.matches.bound_events import EventRanges, merge_sort, sort_columns, ties
from foretell.machine.matches.results import ResultBatch
from foretell.records import record


def notifications_of(batches: Sequence[ResultBatch]) -> list[Notification]:
    """All notifications, in order."""
    return notification_order(batches).notifications()


def notification_order(batches: Sequence[ResultBatch]) -> NotificationIndex:
    """The notifications of several result batches, in order."""
    if not any(map(len, batches)):
        nothing = np.zeros(0, np.int64)  # the common case where events come one at a time
        return NotificationIndex(batches, nothing, nothing, nothing)
    every = NotificationIndex.of(batches)
    ends = every.ends()
    if (ends[1:] > ends[:-1]).all():  # no two end at the same time, and they come as they end
        return every
    several = len({batch.schema.name for batch in batches}) > 1
    by = every.order([ends, every.subscription_ranks()] if several else [ends])
    return every if (by[1:] > by[:-1]).all() else every.only(by)


def by_batch(batches: Sequence[ResultBatch]) -> Iterator[tuple[ResultBatch, Ints, Ints, Ints]]:
    """For each batch with notifications: their results, their template rows, and their numbers in the order of all."""
    yield from notification_order(batches).by_batch()


@record
class NotificationIndex:
    """Notifications of several result batches: each one's batch, its result there, and its template row (or -1)."""

    batches: Sequence[ResultBatch]
    batch: Ints
    result: Ints
    row: Ints

    @classmethod
    def of(cls, batches: Sequence[ResultBatch]) -> NotificationIndex:
        rows = [batch.notification_rows for batch in batches]
        batch = np.repeat(np.arange(len(batches)), [len(result) for result, _ in rows])
        return cls(batches, batch, _concatenate([result for result, _ in rows]), _concatenate([row for _, row in rows]))

    def __len__(self) -> int:
        return len(self.batch)

    def only(self, which: Ints | slice) -> NotificationIndex:
        """Some of the notifications."""
        return NotificationIndex(self.batches, self.batch[which], self.result[which], self.row[which])

    def notifications(self) -> list[Notification]:
        return [
            self.batches[batch].notification(result, row)
            for batch, result, row in zip(self.batch.tolist(), self.result.tolist(), self.row.tolist(), strict=True)
        ]

    def by_batch(self) -> Iterator[tuple[ResultBatch, Ints, Ints, Ints]]:
        """For each batch with notifications: their results, their template rows, and their numbers here, in order."""
        if len(self.batches) == 1 and len(self):
            yield self.batches[0], self.result, self.row, np.arange(len(self))
            return
        for number, batch in enumerate(self.batches):
            own = np.flatnonzero(self.batch == number)
            if len(own):
                yield batch, self.result[own], self.row[own], own

    @cached_property
    def at(self) -> Ints:
        """The number of each notification's result among the results of all batches."""
        return np.cumsum([0, *map(len, self.batches)])[self.batch] + self.result

    def order(self, before: Sequence[NDArray[Any]]) -> Ints:
        """By the given columns, then by the positions of events, their steps, ids and keys.

        The first events tell most notifications apart. Then the others are not looked at, and need not be gathered.
        """
        columns = sort_columns([*before, self._first_events()], len(self))
        by = merge_sort(columns, EventRanges.none(len(self)), sort_columns([], len(self)))
        tied = ties(columns, by)
        if not tied.any():
            return by
        # Those that are equal so far lie side by side. The numbers of such groups keep them apart.
        among = np.flatnonzero(tied | np.append(tied[1:], False))
        group, alike = np.cumsum(~tied)[among], self.only(by[among])
        after = sort_columns([alike._id_ranks(), alike._key_ranks()], len(alike))
        by[among] = by[among][merge_sort(sort_columns([group], len(alike)), alike._event_ranges(), after)]
        return by

    def _first_events(self) -> Ints:
        """The position of each match's first event; -1 for results without events."""
        firsts = [np.full(len(b), -1, np.int64) if b.matches is None else b.matches.first for b in self.batches]
        return _concatenate(firsts)[self.at]

    def _event_ranges(self) -> EventRanges:
        bound = [batch.bound_events for batch in self.batches]
        first = np.cumsum([0, *(len(b.position) for b in bound)])
        begin = _concatenate([b.starts[:-1] + f for b, f in zip(bound, first)])[self.at]
        end = _concatenate([b.starts[1:] + f for b, f in zip(bound, first)])[self.at]
        return EventRanges(begin, end, _concatenate([b.position for b in bound]), _concatenate([b.step for b in bound]))

    def ends(self) -> NDArray[Any]:
        return _comparable([batch.end for batch in self.batches])[self.at]

    def subscription_ranks(self) -> Ints:
        return _ranks([batch.schema.name for batch in self.batches])[self.batch]

    def _id_ranks(self) -> Ints:
        """Numbers by size, before texts."""
        if not (self.row >= 0).any() and len({batch.id for batch in self.batches}) == 1:
            return np.zeros(len(self), np.int64)
        rows = max((len(batch.row_ids) for batch in self.batches), default=0) + 1
        used, which = distinct(self.batch * rows + self.row + 1)
        return _ranks([_id_key(self.batches[k // rows].id_of(k % rows - 1)) for k in used.tolist()])[which]

    def _key_ranks(self) -> Ints:
        """Matches with the same events are in one lane, so keys only distinguish results without events."""
        eventless = np.array([batch.matches is None for batch in self.batches], np.bool_)[self.batch]
        if not eventless.any():
            return np.zeros(len(self), np.int64)
        lanes = max((len(batch.keys) for batch in self.batches), default=0)
        lane = np.where(eventless, _concatenate([batch.lane for batch in self.batches])[self.at], 0)
        used, which = distinct(self.batch * lanes + lane)
        keys = [self.batches[k // lanes].keys[k % lanes] for k in used.tolist()]
        return _ranks([json.dumps(key, sort_keys=True, default=str) for key in keys])[which]


def _concatenate(parts: Sequence[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def _id_key(row_id: Scalar) -> tuple[int | float, str]:
    return (row_id, "") if isinstance(row_id, int | float) else (math.inf, str(row_id))


def _ranks(values: Sequence[Any]) -> Ints:
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([rank[value] for value in values], np.int64)


def _comparable(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Times as they are; mixed INT and FLOAT times as ranks, because not every INT is a FLOAT."""
    if len({part.dtype for part in parts}) > 1:
        return _ranks([time for part in parts for time in part.tolist()])
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
