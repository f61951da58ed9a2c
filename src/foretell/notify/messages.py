"""Notifications as messages to a receiver: JSON that carries the notification's identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from foretell.events.notification import COLUMNS, ESTIMATE, Notification
from foretell.events.types import format_timestamp
from foretell.notify.identity import identity
from foretell.notify.row_encoder import to_row

#: The field of a message that holds the notification's identity; the others are the columns.
IDENTITY_FIELD = "notification"

_NESTED = ("key", "bindings", "events", ESTIMATE)
_ENCODER = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Message:
    """A notification to send: its identity, its subscription, and the JSON."""

    id: str
    subscription: str
    body: bytes


def messages_of(notifications: Iterable[Notification]) -> Iterator[Message]:
    return (_message(to_row(notification)) for notification in notifications)


def messages_of_batch(batch: pa.RecordBatch) -> Iterator[Message]:
    """The messages of rows in the form of `to_table`, also after Spark has processed them."""
    return map(_message, rows_of_batch(batch))


def rows_of_batch(batch: pa.RecordBatch) -> Iterator[dict[str, object]]:
    """Rows in the form of `to_table` as JSON has them: nested objects, and timestamps as text."""
    names = [*COLUMNS, *([ESTIMATE] if ESTIMATE in batch.schema.names else [])]
    columns = [_values(name, batch.column(batch.schema.get_field_index(name))) for name in names]
    for row in zip(*columns, strict=True):
        yield {name: value for name, value in zip(names, row, strict=True) if name != ESTIMATE or value is not None}


def _message(row: Mapping[str, object]) -> Message:
    message_id = identity(row)
    body = _ENCODER.encode({IDENTITY_FIELD: message_id, **row})
    return Message(message_id, str(row["subscription"]), body)


def _values(name: str, column: Any) -> list[object]:
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).to_pylist()
        return [None if time is None else format_timestamp(time) for time in micros]
    values: list[object] = column.to_pylist()
    return [_decoded(value) for value in values] if name in _NESTED else values


def _decoded(value: object) -> object:
    return msgspec.json.decode(value) if isinstance(value, str) else value
