"""Values as people see them in a notification."""

from __future__ import annotations

from typing import Any

from foretell.events.types import Scalar, Type, format_timestamp
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary


def shown(value: Any, kind: Type, strings: StringDictionary) -> Scalar:
    """One value; None is NULL. A length of time is in seconds."""
    if value is None:
        return None
    match kind:
        case Type.STRING:
            return strings.text(value)
        case Type.BOOL:
            return bool(value)
        case Type.TIMESTAMP:
            return format_timestamp(value)
        case Type.DURATION:
            return float(value) / 1_000_000
    return value  # type: ignore[no-any-return]


def shown_value(column: Column, at: int, strings: StringDictionary) -> Scalar:
    return None if column.nulls[at] else shown(column.values[at].item(), column.kind, strings)
