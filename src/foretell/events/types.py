"""Attribute types, stream schemas and timestamps.

A TIMESTAMP is held as microseconds since 1970-01-01 UTC, a duration as microseconds; where a stream's
time is a plain number, times and durations are that number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import Enum

from foretell.records import record

Scalar = bool | int | float | str | None

#: The last whole time, and the first with a minus: sums of a time and a duration fit 64 bits.
LAST_TIME = 2**62

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Type(Enum):
    """Attribute types, and three that only expressions have."""

    BOOL = "BOOL"
    INT = "INT"
    FLOAT = "FLOAT"
    STRING = "STRING"
    TIMESTAMP = "TIMESTAMP"
    DURATION = "DURATION"
    NULL = "NULL"
    UNKNOWN = "UNKNOWN"  # of a stream whose schema is inferred from its data

    __hash__ = object.__hash__  # Enum's own is a Python function, and types are keys everywhere

    @property
    def numeric(self) -> bool:
        return self in (Type.INT, Type.FLOAT)


ATTRIBUTE_TYPES = (Type.BOOL, Type.INT, Type.FLOAT, Type.STRING, Type.TIMESTAMP)


@record
class Schema:
    """The schema of a stream: its attributes in order, and which of them are its time, id and order columns.

    An `open` schema is completed by the data: until then names that it does not list are allowed. A derived stream has
    a time but no column that holds it: `time` is None and `timing` is the type of its time. `remarks` say of attributes
    why the data have made them STRING, for errors.
    """

    attributes: Mapping[str, Type]
    time: str | None
    id: str | None = None
    order: str | None = None
    simultaneous: bool = False
    lateness: int | float = 0
    open: bool = False
    timing: Type = Type.UNKNOWN
    remarks: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def content(self) -> tuple[object, ...]:
        """All that two equal schemas have in common, as a value that has a hash."""
        columns = (self.time, self.id, self.order)
        return *columns, *self.attributes.items(), self.simultaneous, self.lateness, self.open, self.timing

    @property
    def time_type(self) -> Type:
        return self.timing if self.time is None else self.attributes.get(self.time, Type.UNKNOWN)


def parse_timestamp(text: str) -> int:
    """The microseconds since the epoch of an ISO 8601 text (ValueError for another); without an offset it is UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def format_timestamp(micros: int) -> str:
    """The ISO 8601 text of a timestamp, with a fraction only where there is one."""
    return (EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat() + "Z"


def format_time(time: int | float, kind: Type) -> str:
    """The text of a time of this type."""
    return format_timestamp(int(time)) if kind is Type.TIMESTAMP else str(time)
