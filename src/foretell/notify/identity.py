"""A name for each notification, the same in every run, engine and sink, by which a receiver knows a repeat.

It is a hash over what a notification *is*: who is told (subscription, FOR EACH row, lane), of what kind, when, and of
which events. Numbers that engines may compute differently in the last bit (probability, aggregates in the bindings) are
no part of it. A token is told apart by its name, a forecast by its horizon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")
_LENGTH = 24  # hexadecimal digits, 96 bits: a clash among a thousand million has a chance of 10⁻¹¹


def identity(row: Mapping[str, object]) -> str:
    """The name of a notification that is given as `to_row` gives it.

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
    # A table that holds INT and FLOAT times has made floats of all of them.
    return int(time) if isinstance(time, float) and time.is_integer() else time


def _text(value: object) -> str | None:
    # Tables have ids and horizons as text, whatever they were.
    return value if value is None or isinstance(value, str) else _ENCODER.encode(value).decode()
