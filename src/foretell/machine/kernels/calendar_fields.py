"""Year, month, day, hour, minute and weekday of a time, in UTC or in a zone."""

from __future__ import annotations

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import Array

DAY, HOUR, MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000

#: The numbers of the fields, in the order of `foretell.language.functions.CALENDAR_FIELDS`.
YEAR_FIELD, MONTH_FIELD, DAY_FIELD, HOUR_FIELD, MINUTE_FIELD, WEEKDAY_FIELD = range(6)

#: Before the instants of a zone's table come the start of its rule by the calendar and the period of that.
ZONE_HEADER = 2


@kernel
def local_time(micros: int, table: int, count: int, integers: Array) -> int:
    """A time in a zone, by the table of its `count` changes at `integers[table]` (foretell.events.time_zones)."""
    equivalent, rule_start, period = micros, integers[table], integers[table + 1]
    if micros >= rule_start:
        equivalent -= (micros - rule_start) // period * period
    first = table + ZONE_HEADER
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if integers[first + middle] <= equivalent:
            low = middle + 1
        else:
            high = middle
    return int(micros + integers[first + count + low])


@kernel
def calendar_field(micros: int, field: int) -> int:
    if field == HOUR_FIELD:
        return micros % DAY // HOUR
    if field == MINUTE_FIELD:
        return micros % HOUR // MINUTE
    days = micros // DAY
    if field == WEEKDAY_FIELD:
        return (days + 3) % 7  # 1970 began on a Thursday
    return _date_field(days, field)


@inlined
def _date_field(days: int, field: int) -> int:
    """Years begin in March here, so that the leap day is the last day; days count from 0000-03-01."""
    days += 719_468
    era = days // 146_097  # 400 years
    day = days - era * 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    if field == DAY_FIELD:
        return day - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    if field == MONTH_FIELD:
        return month
    return year + era * 400 + (1 if month <= 2 else 0)
