"""Notifications as rows: lines of JSON, and an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
import pyarrow as pa

from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.events.types import Type, format_timestamp

_ENCODER = msgspec.json.Encoder()
_TIME_TYPES: Mapping[Type, Any] = {
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Type.INT: pa.int64(),
    Type.FLOAT: pa.float64(),
}


def to_json(notification: Notification) -> bytes:
    """One line, with its end; key, bindings and events are nested objects."""
    row = {
        "subscription": notification.subscription,
        "kind": notification.kind,
        "key": notification.key,
        "start": _printed(notification.start, notification.time_type),
        "end": _printed(notification.end, notification.time_type),
        "probability": notification.probability,
        "horizon": notification.horizon,
        "id": notification.id,
        "bindings": notification.bindings,
        "events": notification.events,
    }
    return _ENCODER.encode(row) + b"\n"


def to_table(notifications: Iterable[Notification], time_type: Type | None = None) -> pa.Table:
    """The rows as a table; `time_type` matters only where there are none to tell it.

    The types do not depend on the rows, so that files of different runs fit together: key, bindings and events
    are JSON text, and so are horizon and id unless they are text anyway.
    """
    rows = list(notifications)
    kind = _TIME_TYPES[_common_time_type(rows, time_type)]
    return pa.table(
        {
            "subscription": pa.array([row.subscription for row in rows], pa.string()),
            "kind": pa.array([row.kind for row in rows], pa.string()),
            "key": pa.array([_text(row.key) for row in rows], pa.string()),
            "start": pa.array([row.start for row in rows], kind),
            "end": pa.array([row.end for row in rows], kind),
            "probability": pa.array([row.probability for row in rows], pa.float64()),
            "horizon": pa.array([_text(row.horizon) for row in rows], pa.string()),
            "id": pa.array([_text(row.id) for row in rows], pa.string()),
            "bindings": pa.array([_text(row.bindings) for row in rows], pa.string()),
            "events": pa.array([_text(row.events) for row in rows], pa.string()),
        }
    )


def _printed(moment: int | float, time_type: Type) -> int | float | str:
    return format_timestamp(cast(int, moment)) if time_type is Type.TIMESTAMP else moment


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else _ENCODER.encode(value).decode()


def _common_time_type(rows: Sequence[Notification], otherwise: Type | None) -> Type:
    found = {row.time_type for row in rows}
    if found == {Type.INT, Type.FLOAT}:
        return Type.FLOAT
    if len(found) > 1:
        raise InputError(
            "mixed-times",
            "some subscriptions have timestamps and others plain numbers as time: one table cannot hold both",
            hint="write JSON lines, or run them apart",
        )
    return found.pop() if found else otherwise or Type.TIMESTAMP
