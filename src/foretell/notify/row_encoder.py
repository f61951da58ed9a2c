"""The row encoder: notification objects to lines of JSON and Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import msgspec
import pyarrow as pa

from foretell.errors import InputError
from foretell.events.estimate_detail import EstimateDetail
from foretell.events.notification import COLUMNS, ESTIMATE, Notification
from foretell.events.types import Type, format_timestamp

_ENCODER = msgspec.json.Encoder()
_TIMES = ("start", "end")
TIME_TYPES: Mapping[Type, Any] = {
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Type.INT: pa.int64(),
    Type.FLOAT: pa.float64(),
}


def to_json(notification: Notification) -> bytes:
    """One line of JSON; key, bindings and events are nested objects."""
    return encode_json(to_row(notification)).encode() + b"\n"


def to_row(notification: Notification) -> dict[str, object]:
    """The columns in order as JSON has them, timestamps as text; those of estimates with what they rest on."""
    row = {name: getattr(notification, name) for name in COLUMNS}
    for name in _TIMES:
        row[name] = _json_time(row[name], notification.time_type)
    if notification.estimate is not None:
        row[ESTIMATE] = _estimate(notification.estimate, notification.time_type)
    return row


def _estimate(detail: EstimateDetail, time: Type) -> dict[str, object]:
    lost = {s.step: {"low": _json_time(s.low, time), "high": _json_time(s.high, time)} for s in detail.lost}
    return {"score": detail.score, "lost": lost, "gaps": [asdict(gap) for gap in detail.gaps]}


def to_table(notifications: Iterable[Notification], *, estimates: bool = False) -> pa.Table:
    """Notifications as a table.

    The types do not depend on the rows, so that files of different runs fit together: key, bindings and events are JSON
    text, and so are horizon and id unless they are text. Only start and end have the type of the streams' time. The
    column `estimate`, which is JSON text too, is there where there may be `estimates`.
    """
    rows = list(notifications)
    time = common_time_type({row.time_type for row in rows})
    kinds = {**dict.fromkeys(_TIMES, TIME_TYPES[time]), "probability": pa.float64()}
    columns = {name: _column(rows, name, kinds.get(name)) for name in COLUMNS}
    if estimates:
        columns[ESTIMATE] = pa.array([_text(to_row(row).get(ESTIMATE)) for row in rows], pa.string())
    return pa.table(columns)


def _column(rows: Sequence[Notification], name: str, kind: Any) -> Any:
    """A column of an Arrow type, or of text where `kind` is None."""
    values = [getattr(row, name) for row in rows]
    if kind is None:
        return pa.array(map(_text, values), pa.string())
    return pa.array(map(float, values) if kind == pa.float64() else values, kind)  # a long INT is rounded


def _json_time(time: int | float, time_type: Type) -> int | float | str:
    return format_timestamp(cast(int, time)) if time_type is Type.TIMESTAMP else time


def encode_json(value: object) -> str:
    """A value as JSON."""
    try:
        return _ENCODER.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate, which a text in a statement may have
        return json.dumps(value, separators=(",", ":"))


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else encode_json(value)


def common_time_type(time_types: set[Type]) -> Type:
    """The type of a column that holds times of these types."""
    if time_types == {Type.INT, Type.FLOAT}:
        return Type.FLOAT
    if len(time_types) > 1:
        raise InputError(
            "mixed-times",
            "some subscriptions have timestamps and others plain numbers as time: one table cannot hold both",
            hint="write JSON lines, or run them separately",
        )
    return next(iter(time_types), Type.TIMESTAMP)
