"""Year, month, day, hour, minute and weekday of TIMESTAMP columns."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Ints
from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_MICROS
from foretell.events.time_zones import zone_offsets
from foretell.events.types import Type
from foretell.filter.column import Column, null_constant

_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000


def calendar_field(field: str, column: Column, zone: str | None) -> Column:
    """A field of each time, in UTC or in a zone; NULL where the zone's year would not be from 1 to 9999."""
    if column.kind is Type.NULL:
        return null_constant(Type.INT)
    local = column.values if zone is None else column.values + zone_offsets(zone).of(column.values)
    outside = (local < LEAST_MICROS) | (local > LAST_MICROS)
    return Column(Type.INT, _field(field, np.where(outside, 0, local)), column.nulls | outside)


def _field(field: str, micros: Ints) -> Ints:
    match field:
        case "hour":
            return micros % _DAY // _HOUR
        case "minute":
            return micros % _HOUR // _MINUTE
        case "weekday":
            return (micros // _DAY + 3) % 7  # 1970 began on a Thursday
        case "year":
            return micros.astype("M8[us]").astype("M8[Y]").astype(np.int64) + 1970
        case "month":
            return micros.astype("M8[us]").astype("M8[M]").astype(np.int64) % 12 + 1
    days = micros.astype("M8[us]").astype("M8[D]")
    in_month: Ints = (days - days.astype("M8[M]")).astype(np.int64)
    return in_month + 1
