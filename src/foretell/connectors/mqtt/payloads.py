"""The payloads of messages as rows: a JSON object is one, an array of objects several, anything else is set aside.

>>> from foretell.connectors.mqtt.spool import SpooledMessage
>>> said = [b'{"value": 1}', b'[{"value": 2}, {"value": "high"}]', b"off"]
>>> numbered = [(number, SpooledMessage("t", payload, 0)) for number, payload in enumerate(said)]
>>> message_table(numbered, {"value": Type.FLOAT}).select(["number", "value", "malformed"]).to_pylist()
[{'number': 0, 'value': 1.0, 'malformed': None},
 {'number': 1, 'value': 2.0, 'malformed': None},
 {'number': 1, 'value': None, 'malformed': "value: expected FLOAT, found 'high'"},
 {'number': 2, 'value': None, 'malformed': 'not JSON'}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from foretell.connectors.mqtt.spool import SpooledMessage
from foretell.events.ingest.json_lines import NOT_OBJECT, ParseFailure, parse_lenient_json
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.types import Type

#: What a message has besides the fields of its payload. `malformed` says why the fields are NULL where they should not.
ENVELOPE: Mapping[str, Any] = {
    "topic": pa.string(),
    "payload": pa.binary(),
    "received": pa.timestamp("us", tz="UTC"),
    "number": pa.int64(),
    "malformed": pa.string(),
}

_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def message_table(messages: Iterable[tuple[int, SpooledMessage]], fields: Mapping[str, Type]) -> pa.Table:
    """A row for each event, in order; without `fields` a row for each message, whatever is in it."""
    parts = [(number, message, *part) for number, message in messages for part in _parts(message.payload, bool(fields))]
    decoded = [row if isinstance(row, dict) else {} for *_, row in parts]
    reasons = [row.text if isinstance(row, ParseFailure) else None for *_, row in parts]
    columns = {}
    for name, kind in fields.items():
        fitted = PythonColumn(name, [row.get(name) for row in decoded]).cast(kind)
        columns[name] = fitted.values
        for position, reason in fitted.misfits.items():
            reasons[position] = reasons[position] or reason
    envelope: dict[str, list[Any]] = {
        "topic": [message.topic for _, message, *_ in parts],
        "payload": [raw for *_, raw, _ in parts],
        "received": [message.time for _, message, *_ in parts],
        "number": [number for number, *_ in parts],
        "malformed": reasons,
    }
    return pa.table({name: pa.array(envelope[name], kind) for name, kind in ENVELOPE.items()} | columns)


def _parts(payload: bytes, parse: bool) -> Iterator[tuple[bytes, object]]:
    """The pieces of a payload that are events or should be: the bytes, and the row or a reason."""
    if not parse:
        yield payload, None
        return
    for piece in _pieces(payload):
        yield piece, _row(piece)


def _pieces(payload: bytes) -> list[bytes]:
    if payload.lstrip()[:1] != b"[":
        return [payload]
    try:
        return [bytes(element) for element in _ELEMENTS.decode(payload)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [payload]


def _row(piece: bytes) -> object:
    try:
        row = msgspec.json.decode(piece)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        row = parse_lenient_json(piece)
    return row if isinstance(row, dict | ParseFailure) else ParseFailure(NOT_OBJECT)
