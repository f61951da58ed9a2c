"""Flat rows: notifications with the values of key, bindings and events in columns of their own.

The attributes of the key and the bindings keep their names, the steps become `events.STEP`, the lost ones of estimates
`estimate.lost.STEP.low` and `.high`, beside `estimate.score` and `estimate.gaps`. A name that two of them
have, or that a notification's own columns have, is written with the name of its group: `key.user`, `bindings.user`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.notification import ESTIMATE, Notification
from foretell.events.types import Type
from foretell.notify.row_encoder import TIME_TYPES, common_time_type, encode_json, to_row

#: The columns that every row has, before those of its key, bindings and events.
BASE = ("subscription", "kind", "start", "end", "probability", "horizon", "id")
_GROUPS = ("key", "bindings", "events")


def flat_row(notification: Notification) -> dict[str, object]:
    """The columns of a notification in order, as JSON has them."""
    row = to_row(notification)
    groups: dict[str, Mapping[str, object]] = {name: row[name] or {} for name in _GROUPS}  # type: ignore[misc]
    taken = [*BASE, *groups["key"], *groups["bindings"]]
    flat = {name: row[name] for name in BASE}
    for group in ("key", "bindings"):
        flat |= {name if taken.count(name) == 1 else f"{group}.{name}": v for name, v in groups[group].items()}
    flat |= {f"events.{step}": events for step, events in groups["events"].items()}
    return flat | dict(_estimate(row[ESTIMATE])) if ESTIMATE in row else flat


def _estimate(detail: Any) -> Iterator[tuple[str, object]]:
    yield f"{ESTIMATE}.score", detail["score"]
    for step, interval in detail["lost"].items():
        yield from ((f"{ESTIMATE}.lost.{step}.{end}", time) for end, time in interval.items())
    yield f"{ESTIMATE}.gaps", detail["gaps"]


def flat_json(notification: Notification) -> bytes:
    return encode_json(flat_row(notification)).encode() + b"\n"


def flat_columns(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The columns of all rows: keys before bindings before events before estimates, as the rows of each statement have
    them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return sorted(names, key=lambda name: [name.startswith(f"{group}.") for group in (ESTIMATE, "events")])


def flat_table(notifications: Iterable[Notification]) -> pa.Table:
    """Flat rows as a table. A column whose values have several types is text."""
    items = list(notifications)
    rows = [flat_row(item) for item in items]
    time = common_time_type({item.time_type for item in items})
    columns = {name: _column([row.get(name) for row in rows]) for name in flat_columns(rows) or BASE}
    for name in ("start", "end"):
        values = [getattr(item, name) for item in items]
        columns[name] = pa.array(map(float, values) if time is Type.FLOAT else values, TIME_TYPES[time])
    return pa.table(columns)


def _column(values: list[object]) -> ArrowArray:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array(json_texts(values))


def json_texts(values: Iterable[object]) -> list[str | None]:
    """Values as texts: those that are no text as JSON."""
    return [value if value is None or isinstance(value, str) else encode_json(value) for value in values]


def csv_lines(rows: Iterable[Iterable[object]]) -> Iterator[bytes]:
    """Rows of CSV; NULL is an empty field, a list is JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(map(_field, row))
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def _field(value: object) -> object:
    return encode_json(value) if isinstance(value, list | tuple | dict | bool) else value
