"""The notifications of result batches, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from foretell.events.notification import Notification
from foretell.machine.matches.notification_order import (
    NotificationIndex,
    follow_one_another,
    notification_order,
    result_order,
)
from foretell.machine.matches.results import ResultBatch
from foretell.notify.arrow_encoder import encode_results
from foretell.notify.lazy_notifications import BatchPlaces, LazyNotifications, NotificationChunk

#: The least notifications of a result batch, on average, for which columns are quicker than objects.
MIN_COLUMNAR_ROWS = 32

#: The most notifications that an output gets at once.
MAX_ENCODED_ROWS = 2**19

#: Texts that no column holds.
_NO_COLUMNS = pa.ArrowCapacityError, pa.ArrowInvalid, UnicodeEncodeError


def to_notifications(batches: Sequence[ResultBatch]) -> Sequence[Notification]:
    """The notifications of result batches, in their order: as objects where they are few, else as columns."""
    results = [batch for batch in batches if len(batch)]
    many = sum([batch.notification_count for batch in results]) >= MIN_COLUMNAR_ROWS * len(results)
    if results and many and follow_one_another(results) and not any(r.rows_part and not r.ascends for r in results):
        with suppress(*_NO_COLUMNS):
            return LazyNotifications([chunk for batch in results if len(chunk := _chunk(batch))])
    return _encoded(notification_order(results))


def _chunk(batch: ResultBatch) -> NotificationChunk:
    """The notifications of one batch; its rows of a FOR EACH table are not looked at yet."""
    return NotificationChunk([encode_results(batch, None if batch.ascends else result_order([batch]).result)])


def notification_parts(batches: Sequence[ResultBatch]) -> Iterator[Sequence[Notification]]:
    """The same, a limited number at once, of which only these are encoded."""
    results = [batch for batch in batches if len(batch)]
    order = notification_order(results)
    for first in range(0, len(order), MAX_ENCODED_ROWS):
        yield _encoded(order.only(slice(first, first + MAX_ENCODED_ROWS)))


def _encoded(order: NotificationIndex) -> Sequence[Notification]:
    if not len(order) or len(order) < MIN_COLUMNAR_ROWS * len(order.batches):
        return tuple(order.notifications())
    try:
        return LazyNotifications(list(_chunks(order)))
    except _NO_COLUMNS:
        return tuple(order.notifications())


def _chunks(order: NotificationIndex) -> Iterator[NotificationChunk]:
    """Batches that follow one another are chunks of their own; others are interleaved."""
    batches = [encode_results(results, match, row) for results, match, row, _ in order.by_batch()]
    if len(batches) == 1 or (order.batch[1:] >= order.batch[:-1]).all():
        yield from (NotificationChunk([batch]) for batch in batches)
        return
    present = np.bincount(order.batch, minlength=len(order.batches)) > 0
    number = (np.cumsum(present) - 1).astype(np.int32)[order.batch]
    row = np.empty(len(order), np.int64)
    for place, batch in enumerate(batches):
        row[number == place] = np.arange(len(batch))
    yield NotificationChunk(batches, BatchPlaces(number, row))
