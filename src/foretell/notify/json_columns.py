"""JSON of typed notifications: lines of JSON, and tables in which key, bindings and events are JSON text.

Both are those of `row_encoder`, character by character.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from foretell.events.arrow_interop import arrow_of, repeated_text
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.notification import COLUMNS, ESTIMATE
from foretell.events.types import Type
from foretell.notify.json_texts import json_objects, json_texts
from foretell.notify.notification_batch import NotificationBatch
from foretell.notify.row_encoder import TIME_TYPES, encode_json

#: The JSON of columns that notifications of a shape do not have.
_ABSENT = {"key": "null", "probability": "1.0", "id": "null", "bindings": "{}", "events": "{}"}


def line_texts(batch: NotificationBatch) -> ArrowArray:
    """A JSON object for each notification."""
    constants = {
        "subscription": encode_json(batch.shape.name),
        "kind": encode_json(batch.kind),
        "horizon": encode_json(batch.horizon),
    }
    columns: dict[str, ArrowArray | str] = {}
    for name in COLUMNS:
        column = batch.column(name)
        columns[name] = constants.get(name, _ABSENT.get(name, "")) if column is None else column
    if (details := batch.column(ESTIMATE)) is not None:
        columns[ESTIMATE] = details
    return json_objects(columns, len(batch))


def text_table(batch: NotificationBatch, time: Type, *, estimates: bool = False) -> pa.Table:
    """The columns of `row_encoder.to_table`; `time` is the common type of all times."""
    columns = {
        "subscription": constant_texts(batch.shape.name, len(batch)),
        "kind": constant_texts(batch.kind, len(batch)),
        "horizon": constant_texts(batch.horizon, len(batch)),
        "id": _id_texts(batch),
        "probability": probabilities(batch),
    }
    columns |= {name: times(batch, name, time) for name in ("start", "end")}
    for name in ("key", "bindings", "events"):
        column = batch.column(name)
        if column is not None:
            columns[name] = json_texts(column)
        else:
            columns[name] = constant_texts(None if name == "key" else _ABSENT[name], len(batch))
    names = [*COLUMNS, *([ESTIMATE] if estimates else [])]
    if estimates:
        details = batch.column(ESTIMATE)
        columns[ESTIMATE] = constant_texts(None, len(batch)) if details is None else json_texts(details)
    return pa.table([columns[name] for name in names], names)


def _id_texts(batch: NotificationBatch) -> ArrowArray:
    """Ids as text: JSON, unless they are texts."""
    ids = batch.column("id")
    if ids is None:
        return constant_texts(None, len(batch))
    if ids.type == pa.string():
        return ids
    texts = json_texts(ids)
    return pa.array([None if text == "null" else text.strip('"') for text in texts.to_pylist()], pa.string())


# ── columns that every notification has ──


def constant_texts(text: str | None, count: int) -> ArrowArray:
    """The same text for each notification."""
    return pa.nulls(count, pa.string()) if text is None else repeated_text(text, count)


def probabilities(batch: NotificationBatch) -> ArrowArray:
    known = batch.column("probability")
    return arrow_of(np.ones(len(batch))) if known is None else known


def times(batch: NotificationBatch, name: str, kind: Type) -> ArrowArray:
    """The starts or ends of a type; a long INT is rounded where it becomes a FLOAT."""
    column = batch.column(name)
    assert column is not None
    return column if column.type == TIME_TYPES[kind] else column.cast(TIME_TYPES[kind], safe=False)
