"""The order of notifications: by end, subscription, events, steps, id and key (decision 0002, item 23)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.notification import Notification
from foretell.events.types import Scalar
from foretell.machine.matches.bound_events import EventRanges, merge_sort, sort_columns
from foretell.machine.matches.results import ResultBatch


def notifications_of(batches: Sequence[ResultBatch]) -> list[Notification]:
    """All notifications, in order."""
    return notification_order(batches).notifications()


def notification_order(batches: Sequence[ResultBatch]) -> NotificationIndex:
    """The notifications of several result batches, in order."""
    if not any(map(len, batches)):
        nothing = np.zeros(0, np.int64)  # the common case where events come one at a time
        return NotificationIndex(batches, nothing, nothing, nothing)
    every = NotificationIndex.of(batches)
    by = every.order([every.ends(), every.subscription_ranks()])
    return NotificationIndex(batches, every.batch[by], every.result[by], every.row[by])


def by_batch(batches: Sequence[ResultBatch]) -> Iterator[tuple[ResultBatch, Ints, Ints, Ints]]:
    """For each batch with notifications: their results, their template rows, and their numbers in the order of all.

    They come in the order of the batch, so that its columns can be used as they are.
    """
    yield from notification_order(batches).by_batch()


@dataclass(frozen=True)
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
        """For each batch with notifications: their results, their template rows, and their numbers here."""
        numbers = np.lexsort((self.row, self.result, self.batch))
        ends = np.cumsum(np.bincount(self.batch, minlength=len(self.batches))).tolist()
        for batch, begin, end in zip(self.batches, [0, *ends], ends):
            if begin < end:
                number = numbers[begin:end]
                yield batch, self.result[number], self.row[number], number

    def by_statement(self) -> Iterator[tuple[ResultBatch, Ints, Ints]]:
        """For each batch with notifications: their results and their template rows, in the order here."""
        for number, batch in enumerate(self.batches):
            own = self.batch == number
            if own.any():
                yield batch, self.result[own], self.row[own]

    @cached_property
    def at(self) -> Ints:
        """The number of each notification's result among the results of all batches."""
        return np.cumsum([0, *map(len, self.batches)])[self.batch] + self.result

    def order(self, before: Sequence[NDArray[Any]]) -> Ints:
        """By the given columns, then by the positions of events, their steps, ids and keys."""
        bound = [batch.bound_events for batch in self.batches]
        first = np.cumsum([0, *(len(b.position) for b in bound)])
        begin = _concatenate([b.starts[:-1] + f for b, f in zip(bound, first)])[self.at]
        end = _concatenate([b.starts[1:] + f for b, f in zip(bound, first)])[self.at]
        events = _concatenate([b.position for b in bound]), _concatenate([b.step for b in bound])
        after = sort_columns([self._id_ranks(), self._key_ranks()], len(self.at))
        return merge_sort(sort_columns(before, len(self.at)), EventRanges(begin, end, *events), after)

    def ends(self) -> NDArray[Any]:
        return _comparable([batch.end for batch in self.batches])[self.at]

    def subscription_ranks(self) -> Ints:
        return _ranks([batch.schema.name for batch in self.batches])[self.batch]

    def _id_ranks(self) -> Ints:
        """Numbers by size, before texts."""
        rows = max((len(batch.row_ids) for batch in self.batches), default=0) + 1
        distinct, which = np.unique(self.batch * rows + self.row + 1, return_inverse=True)
        return _ranks([_id_key(self.batches[k // rows].id_of(k % rows - 1)) for k in distinct.tolist()])[which]

    def _key_ranks(self) -> Ints:
        """Matches with the same events are in one lane, so keys only distinguish results without events."""
        eventless = np.array([batch.matches is None for batch in self.batches], np.bool_)[self.batch]
        lanes = max((len(batch.keys) for batch in self.batches), default=0)
        lane = np.where(eventless, _concatenate([batch.lane for batch in self.batches])[self.at], 0)
        distinct, which = np.unique(self.batch * lanes + lane, return_inverse=True)
        keys = [self.batches[k // lanes].keys[k % lanes] for k in distinct.tolist()] if eventless.any() else []
        texts = [json.dumps(key, sort_keys=True, default=str) for key in keys]
        return _ranks(texts)[which] if texts else np.zeros(len(which), np.int64)


def _concatenate(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


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
