"""The identity of a notification: a hash that is the same in every run, engine and sink, to recognise repeats.

It covers the subscription, the FOR EACH row, the lane, the kind, the times and the events; of a token also its name, of
a forecast its horizon. Numbers that engines may compute differently in the last bit (probability, aggregates in the
bindings) are not part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")
_LENGTH = 24  # hexadecimal digits, 96 bits: a clash among 10⁹ has a probability of 10⁻¹¹


def identity(row: Mapping[str, object]) -> str:
    """The identity of a notification in the form of `to_row`.

    >>> row = dict(subscription="s", kind="match", key={"ip": "x"}, start=1, end=2, id=7, events={"a": 0, "b": [1, 2]})
    >>> identity(row)
    '56532dcd693c48ca575b10fa'
    >>> identity(row) == identity({**row, "start": 1.0, "id": "7", "probability": 0.5})
    True
    """
    parts = [
        row["subscription"],
        row["kind"],
        row["key"],
        _number(row["start"]),
        _number(row["end"]),
        _text(row["id"]),
        row["events"],
        row["bindings"] if row["kind"] == "token" else None,
        _text(row["horizon"]) if row["kind"] == "forecast" else None,
    ]
    return hashlib.sha256(_ENCODER.encode(parts)).hexdigest()[:_LENGTH]


def _number(time: object) -> object:
    # In a table with INT and FLOAT times all are floats.
    return int(time) if isinstance(time, float) and time.is_integer() else time


def _text(value: object) -> str | None:
    # Tables have all ids and horizons as text.
    return value if value is None or isinstance(value, str) else _ENCODER.encode(value).decode()
