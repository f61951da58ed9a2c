"""The values of notifications as typed Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, ArrowType
from foretell.events.types import Type, parse_timestamp
from foretell.notify.row_encoder import encode_json


def column_type(kind: Type) -> ArrowType:
    """Return the Arrow type of a value: a DURATION is in seconds, as in all notifications, an untyped value a text."""
    return pa.float64() if kind is Type.DURATION else ARROW_TYPES.get(kind, pa.string())


def typed_values(values: Sequence[Any], kind: Type) -> ArrowArray:
    """Encode values as notifications have them: a timestamp is a text, a duration a number of seconds."""
    if kind is Type.TIMESTAMP:
        return arrow_of_values([parse_timestamp(v) if isinstance(v, str) else v for v in values], kind)
    if kind is Type.DURATION:
        return arrow_of_values(values, Type.FLOAT)
    if kind in ARROW_TYPES and kind is not Type.STRING:
        return arrow_of_values(values, kind)
    texts = [v if v is None or isinstance(v, str) else encode_json(v) for v in values]
    return arrow_of_values(texts, Type.STRING)
