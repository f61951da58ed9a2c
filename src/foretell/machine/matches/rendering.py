"""Values as notifications show them."""

from __future__ import annotations

from typing import Any

from foretell.events.types import Scalar, Type, format_timestamp
from foretell.filter.column import Column
from foretell.filter.string_dictionary import Texts


def scalar_of(value: Any, kind: Type, strings: Texts) -> Scalar:
    """One value of a column as a Python scalar; NULL is None, a DURATION is in seconds."""
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


def column_scalar(column: Column, row: int, strings: Texts) -> Scalar:
    return None if column.nulls[row] else scalar_of(column.values[row].item(), column.kind, strings)
