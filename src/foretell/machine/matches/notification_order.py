"""The order of notifications: by end, subscription, events, steps, id and key (decision 0002, item 23)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints, distinct
from foretell.events.notification import Notification
from foretell.machine.matches.bound_events import EventRanges, column_order, merge_sort, sort_columns
from foretell.machine.matches.indexed_rows import id_key
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
    if not any(batch.rows_part and not batch.ascends for batch in batches):
        return result_order(batches).with_rows()
    every = NotificationIndex.of(batches)  # rows of several matches with the same events go by their ids
    return every.only(every.order([every.ends(), every.subscription_ranks()]))


def result_order(batches: Sequence[ResultBatch]) -> NotificationIndex:
    """The results of several batches, in order: each with the rows of a template that it belongs to, if it has any."""
    every = NotificationIndex.of_results(batches)
    ends = every.ends()
    if (ends[1:] > ends[:-1]).all():  # no two end at the same time, and they come as they end
        return every
    several = len({batch.schema.name for batch in batches}) > 1
    by = every.order([ends, every.subscription_ranks()] if several else [ends])
    return every if (by[1:] > by[:-1]).all() else every.only(by)


def follow_one_another(batches: Sequence[ResultBatch]) -> bool:
    """Whether each batch ends before the next one: then each can be put in order by itself."""
    return all(before.end.max().item() < after.end.min().item() for before, after in pairwise(batches))


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
    every: bool = False  # whether they are all results, one batch after the other

    @classmethod
    def of_results(cls, batches: Sequence[ResultBatch]) -> NotificationIndex:
        """Of results that belong to several rows of a template only one each, without a row."""
        batch = np.repeat(np.arange(len(batches)), list(map(len, batches)))
        result = _concatenate([np.arange(len(results)) for results in batches])
        return cls(batches, batch, result, np.full(len(batch), -1, np.int64), every=True)

    def with_rows(self) -> NotificationIndex:
        """A notification for each row of a template that a result belongs to, in the order of the rows' ids."""
        if all(batch.intervals is None for batch in self.batches):
            return self
        counts = np.ones(len(self), np.int64)
        own = {
            n: np.flatnonzero(self.batch == n) for n, batch in enumerate(self.batches) if batch.intervals is not None
        }
        for number, which in own.items():
            counts[which] = self.batches[number].row_counts[self.result[which]]
        repeated = self.only(np.repeat(np.arange(len(self)), counts))
        for number in own:
            repeated.row[repeated.batch == number] = self.batches[number].rows_of(self.result[own[number]])
        return repeated

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

    def _of_each(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The value of each notification's result; the parts are those of batches."""
        values = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return values if self.every else values[self.at]

    def order(self, before: Sequence[NDArray[Any]]) -> Ints:
        """By the given columns, then by the positions of events, their steps, ids and keys.

        The events that are known without gathering them tell most notifications apart.
        """
        by, tied = column_order([*before, *(self._sequences() or [self._first_events()])])
        if not tied.any():
            return by
        # Those that are equal so far lie side by side. The numbers of such groups keep them apart.
        among = np.flatnonzero(tied | np.append(tied[1:], False))
        group, alike = np.cumsum(~tied)[among], self.only(by[among])
        after = sort_columns([alike._id_ranks(), alike._key_ranks()], len(alike))
        by[among] = by[among][merge_sort(sort_columns([group], len(alike)), alike._event_ranges(), after)]
        return by

    def _sequences(self) -> list[Ints] | None:
        """The positions of the events of each match, where all matches are sequences of equally many; else None."""
        sequences = [None if batch.matches is None else batch.matches.sequence() for batch in self.batches]
        known = [sequence for sequence in sequences if sequence is not None]
        if len(known) < len(sequences) or len(set(map(len, known))) != 1:
            return None
        return [self._of_each(columns) for columns in zip(*known, strict=True)]

    def _first_events(self) -> Ints:
        """The position of each match's first event; -1 for results without events."""
        firsts = [np.full(len(b), -1, np.int64) if b.matches is None else b.matches.first for b in self.batches]
        return self._of_each(firsts)

    def _event_ranges(self) -> EventRanges:
        """The events of these notifications' matches, which are gathered of no others."""
        needed = np.zeros(sum(map(len, self.batches)), np.bool_)
        needed[self.at] = True
        first = np.cumsum([0, *map(len, self.batches)])
        bound = [b.events_of(needed[f : f + len(b)]) for b, f in zip(self.batches, first.tolist())]
        number = (np.cumsum(needed) - 1)[self.at]
        first_event = np.cumsum([0, *(len(b.position) for b in bound)])
        begin = _concatenate([b.starts[:-1] + f for b, f in zip(bound, first_event)])[number]
        end = _concatenate([b.starts[1:] + f for b, f in zip(bound, first_event)])[number]
        return EventRanges(begin, end, _concatenate([b.position for b in bound]), _concatenate([b.step for b in bound]))

    def ends(self) -> NDArray[Any]:
        return self._of_each(_comparable([batch.end for batch in self.batches]))

    def subscription_ranks(self) -> Ints:
        return _ranks([batch.schema.name for batch in self.batches])[self.batch]

    def _id_ranks(self) -> Ints:
        """Numbers by size, before texts."""
        if not (self.row >= 0).any() and len({batch.id for batch in self.batches}) == 1:
            return np.zeros(len(self), np.int64)
        rows = max((0 if batch.rows is None else len(batch.rows) for batch in self.batches), default=0) + 1
        used, which = distinct(self.batch * rows + self.row + 1)
        return _ranks([id_key(self.batches[k // rows].id_of(k % rows - 1)) for k in used.tolist()])[which]

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


def _ranks(values: Sequence[Any]) -> Ints:
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([rank[value] for value in values], np.int64)


def _comparable(parts: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Times as they are; mixed INT and FLOAT times as ranks, because not every INT is a FLOAT."""
    if len({part.dtype for part in parts}) > 1:
        return [_ranks([time for part in parts for time in part.tolist()])]
    return parts
