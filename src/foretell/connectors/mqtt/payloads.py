"""Message payloads to rows: a JSON object is a row, an array of objects several, anything else a malformed row.

>>> from foretell.connectors.mqtt.spool import SpooledMessage
>>> payloads = [b'{"value": 1}', b'[{"value": 2}, {"value": "high"}]', b"off"]
>>> numbered = [(number, SpooledMessage("t", payload, 0)) for number, payload in enumerate(payloads)]
>>> message_table(numbered, {"value": Type.FLOAT}).select(["number", "value", "malformed"]).to_pylist()
[{'number': 0, 'value': 1.0, 'malformed': None},
 {'number': 1, 'value': 2.0, 'malformed': None},
 {'number': 1, 'value': None, 'malformed': "value: expected FLOAT, found 'high'"},
 {'number': 2, 'value': None, 'malformed': 'not JSON'}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from foretell.connectors.mqtt.spool import SpooledMessage
from foretell.events.ingest.json_lines import NOT_OBJECT, ParseFailure, parse_lenient_json
from foretell.events.ingest.nested_paths import value_at
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.types import Type

#: The columns of a message besides the fields of its payload. `malformed` has the reason where a payload does not fit.
ENVELOPE: Mapping[str, Any] = {
    "topic": pa.string(),
    "payload": pa.binary(),
    "received": pa.timestamp("us", tz="UTC"),
    "number": pa.int64(),
    "malformed": pa.string(),
}

_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def message_table(messages: Iterable[tuple[int, SpooledMessage]], fields: Mapping[str, Type]) -> pa.Table:
    """A row for each event, in order; without `fields` a row for each message, without parsing its payload."""
    events = [_Event(number, message, *event) for number, message in messages for event in _split(message, fields)]
    decoded = [event.row if isinstance(event.row, dict) else {} for event in events]
    reasons = [event.row.text if isinstance(event.row, ParseFailure) else None for event in events]
    columns = {}
    for name, kind in fields.items():
        column = PythonColumn(name, [value_at(row, name) for row in decoded]).cast(kind)
        columns[name] = column.values
        for position, reason in column.misfits.items():
            reasons[position] = reasons[position] or reason
    envelope: dict[str, list[Any]] = {
        "topic": [event.message.topic for event in events],
        "payload": [event.payload for event in events],
        "received": [event.message.time for event in events],
        "number": [event.number for event in events],
        "malformed": reasons,
    }
    return pa.table({name: pa.array(envelope[name], kind) for name, kind in ENVELOPE.items()} | columns)


@dataclass(frozen=True, slots=True)
class _Event:
    """An event of a message: its part of the payload, and the row or the reason why it is none."""

    number: int
    message: SpooledMessage
    payload: bytes
    row: object


def _split(message: SpooledMessage, fields: Mapping[str, Type]) -> Iterator[tuple[bytes, object]]:
    """The events of a message, each as its part of the payload and the row or a ParseFailure."""
    if not fields:
        yield message.payload, None
        return
    for element in payload_elements(message.payload):
        yield element, payload_row(element)


def payload_elements(payload: bytes) -> list[bytes]:
    """The parts of a payload that are events: those of an array of objects, else the whole."""
    if payload.lstrip()[:1] != b"[":
        return [payload]
    try:
        return [bytes(element) for element in _ELEMENTS.decode(payload)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [payload]


def payload_row(payload: bytes) -> object:
    """The JSON object of a payload, or a ParseFailure."""
    try:
        row = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        row = parse_lenient_json(payload)
    return row if isinstance(row, dict | ParseFailure) else ParseFailure(NOT_OBJECT)
