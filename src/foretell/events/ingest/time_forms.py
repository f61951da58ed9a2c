"""Time readings: how the texts of a stream's times are read. This defines the parsing of one text; columns of them
(time_columns.py) must agree with it.

>>> micros = TimeReading(zone="Europe/Berlin").parse("01.03.2024 10:00")
>>> micros == TimeReading().parse("Fri, 01 Mar 2024 09:00:00 GMT") == TimeReading().parse("1709283600000")
True
"""

from __future__ import annotations

import math
import re
from calendar import month_name, monthrange
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from foretell.errors import InputError
from foretell.events.ingest.epoch_numbers import UNITS, epoch_micros, epoch_unit
from foretell.events.ingest.local_times import checked_zone, zone_of
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.time_layouts import Layout, layout_of, shape_of
from foretell.events.types import EPOCH
from foretell.records import record

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NEW_YEAR = 101
_MICROSECOND = timedelta(microseconds=1)
_START = datetime(1970, 1, 1)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Half of a year: a log whose days go back so far has passed New Year.
_HALF_YEAR = 600


@record
class TimeReading:
    """The read options of times, with those that the data decided.

    Times without a year belong to `year` from the day `turn` on (month * 100 + day), and before it to the year after.
    With `plain`, undeclared numbers stay numbers.
    """

    time_format: str | None = None
    zone: str | None = None
    day_first: bool | None = None
    year: int | None = None
    turn: int = NEW_YEAR
    plain: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether ISO texts without an offset are UTC."""
        return self.zone is None and self.time_format is None

    @property
    def unformatted(self) -> TimeReading:
        """The reading of other columns than the time: `time_format` is for the time alone."""
        return replace(self, time_format=None) if self.time_format else self

    def parse(self, text: str) -> int:
        """The microseconds since 1970 of a text (ValueError for one that is no time)."""
        stripped = text.strip()
        if self.time_format is not None:
            return self.moment(datetime.strptime(stripped, self.time_format))
        layout = layout_of(shape_of(stripped))
        if layout is not None:
            return self._parse_layout(stripped, layout)
        if _NUMBER.fullmatch(stripped) and math.isfinite(number := float(stripped)):
            micros = epoch_micros(number)
            if micros is not None:
                return micros
        return self.moment(datetime.fromisoformat(stripped))

    def is_time(self, text: str) -> bool:
        try:
            self.parse(text)
        except InputError:  # a time, though of two readings
            return True
        except ValueError:
            return False
        return True

    def moment(self, moment: datetime) -> int:
        """The microseconds of a Python datetime."""
        if moment.tzinfo is not None:
            return (moment - EPOCH) // _MICROSECOND
        return self.local((moment - _START) // _MICROSECOND)

    def midnight(self, day: date) -> int:
        return self.local((day - _START.date()) // _MICROSECOND)

    def local(self, local: int) -> int:
        """The microseconds of a time without an offset."""
        return local if self.zone is None else local - zone_of(self.zone).offset(local)

    def _parse_layout(self, text: str, layout: Layout) -> int:
        fields = {name: text[start:end] for name, (start, end) in layout.items()}
        if "epoch" in fields:
            return _epoch(fields)
        month, day = self._month_and_day(text, fields)
        year = int(fields["year"]) if "year" in fields else self._year(month, day)
        seconds = int(fields.get("second", 0))
        clock = (_hour(fields), int(fields.get("minute", 0)), seconds)
        micros = int(fields["fraction"][:6].ljust(6, "0")) if "fraction" in fields else 0
        local = (datetime(year, month, day, *clock, micros) - _START) // _MICROSECOND
        return self._to_utc(local, fields)

    def _month_and_day(self, text: str, fields: dict[str, str]) -> tuple[int, int]:
        if "first" in fields:
            first, other = int(fields["first"]), int(fields["other"])
            day_first = self.day_first
            if day_first is None:
                day_first = first > 12 or fields["separator"] == "."
                if not day_first and is_ambiguous(first, other):
                    raise ambiguous_day(text)
            return (other, first) if day_first else (first, other)
        if "quarter" in fields:
            if fields["quarter_sign"] not in "qQ" or not 1 <= int(fields["quarter"]) <= 4:
                raise ValueError("no quarter")
            return 3 * int(fields["quarter"]) - 2, 1
        if "name" not in fields:
            return int(fields["month"]), int(fields.get("day", 1))
        return MONTHS.index(fields["name"].lower()) + 1, int(fields["day"])

    def _year(self, month: int, day: int) -> int:
        if self.year is None:
            raise ValueError("a time without a year")
        return self.year + (month * 100 + day < self.turn)

    def _to_utc(self, local: int, fields: dict[str, str]) -> int:
        if "utc" in fields:
            return local
        if "sign" in fields:
            hours, minutes, seconds = (int(fields.get(f"zone_{unit}", 0)) for unit in ("hour", "minute", "second"))
            if hours > 23 or minutes > 59 or seconds > 59:
                raise ValueError("no offset")
            offset = (hours * 3600 + minutes * 60 + seconds) * 1_000_000
            return local + offset if fields["sign"] == "-" else local - offset
        return local - zone_of(fields["zone"]).offset(local) if "zone" in fields else self.local(local)


DEFAULT_READING = TimeReading()


def _epoch(fields: dict[str, str]) -> int:
    whole = int(fields["epoch"])
    micros, unit = epoch_micros(whole), epoch_unit(whole)
    if micros is None or unit is None:
        raise ValueError("no time between 1990 and 2100")
    fraction = int(fields.get("epoch_fraction", "")[:6].ljust(6, "0"))
    return micros + fraction // UNITS[unit]


def _hour(fields: dict[str, str]) -> int:
    hour, half = int(fields.get("hour", 0)), fields.get("half", "").lower()
    if not half:
        return hour
    if half not in ("am", "pm") or not 1 <= hour <= 12:
        raise ValueError("no time of day")
    return hour % 12 + 12 * (half == "pm")


def is_ambiguous(first: int, other: int) -> bool:
    return 1 <= first <= 12 and 1 <= other <= 12 and first != other


def ambiguous_day(text: str, where: str = "") -> InputError:
    """The error for a text such as 03/04/2024."""
    first, other = (int(number) for number in re.findall("[0-9]+", text)[:2])
    day_first, month_first = f"{first} {month_name[other]}", f"{other} {month_name[first]}"
    return InputError(
        "ambiguous-time",
        f"{where}'{text}' is {day_first} with the day first and {month_first} with the month first",
        hint="say which: --day-first or --month-first, ReadOptions(day_first=True) or ReadOptions(day_first=False)",
    )


# ── from options and data ──


def reading_of(options: ReadOptions, today: date | None = None) -> TimeReading:
    """The reading by options alone: without `year` a time belongs to the latest year in which it is not in the future.

    A day of grace is for clocks of other zones.
    """
    if options.zone is not None:
        checked_zone(options.zone)
    reading = TimeReading(options.time_format, options.zone, options.day_first, options.year, plain=options.plain_times)
    if options.year is not None:
        return reading
    tomorrow = (today or utc_today()) + timedelta(days=1)
    after = tomorrow + timedelta(days=1)
    return replace(reading, year=tomorrow.year - (after.year == tomorrow.year), turn=after.month * 100 + after.day)


def utc_today() -> date:
    return datetime.now(UTC).date()


def settled_reading(
    options: ReadOptions, times: Sequence[str], source: str, name: str
) -> tuple[TimeReading, tuple[str, ...]]:
    """The reading by options and by the texts that decide it (time_columns.deciding_times), with notes on guesses."""
    reading = reading_of(options)
    if options.time_format is not None:
        return reading, ()
    fields = [_fields_of(text) for text in times]
    reading, notes = _with_day_first(reading, [f for f in fields if "first" in f], source, name)
    days = list(dict.fromkeys(_month_day(f) for f in fields if "year" not in f and "name" in f))
    return _with_year(reading, options.year, [day for day in days if day], source, name, notes)


def _fields_of(text: str) -> dict[str, str]:
    stripped = text.strip()
    layout = layout_of(shape_of(stripped)) or {}
    return {"text": stripped} | {field: stripped[start:end] for field, (start, end) in layout.items()}


def _with_day_first(
    reading: TimeReading, fields: Sequence[dict[str, str]], source: str, name: str
) -> tuple[TimeReading, tuple[str, ...]]:
    unclear = [f for f in fields if f["separator"] != "."]
    if reading.day_first is not None or not unclear:
        return reading, ()
    for f in unclear:
        for part, other, order in (("first", "other", "the day"), ("other", "first", "the month")):
            if int(f[part]) > 12 >= int(f[other]):
                note = f"{source}: {name} is read with {order} first, by '{f['text']}'; say day_first to decide it"
                return replace(reading, day_first=part == "first"), (note,)
    for f in unclear:
        if is_ambiguous(int(f["first"]), int(f["other"])):
            raise ambiguous_day(f["text"], f"{source}: {name}: ")
    return reading, ()


def _month_day(fields: dict[str, str]) -> int | None:
    name, day = fields["name"].lower(), int(fields["day"])
    if name not in MONTHS:
        return None
    month = MONTHS.index(name) + 1
    return month * 100 + day if 1 <= day <= monthrange(2000, month)[1] else None


def _with_year(
    reading: TimeReading, year: int | None, days: Sequence[int], source: str, name: str, notes: tuple[str, ...]
) -> tuple[TimeReading, tuple[str, ...]]:
    if not days:
        return reading, notes
    turn = _turn(days)
    if year is not None:
        return replace(reading, turn=turn), notes
    ordered = sorted(days, key=lambda day: (day < turn, day))
    today = utc_today() + timedelta(days=1)
    chosen = next((y for y in range(today.year, today.year - 12, -1) if _fits(ordered, y, turn, today)), today.year)
    settled = replace(reading, year=chosen, turn=turn)
    first, last = (f"{chosen + (d < turn)}-{d // 100:02}-{d % 100:02}" for d in (ordered[0], ordered[-1]))
    span = first if first == last else f"{first} to {last}"
    note = f"{source}: {name} has no year and is read as {span}; set it with --year, or ReadOptions(year={chosen})"
    return settled, (*notes, note)


def _turn(days: Sequence[int]) -> int:
    """The first day of the data: 1 January, unless they pass New Year; then the day after the longest gap."""
    if not any(later < day - _HALF_YEAR for day, later in pairwise(days)):
        return NEW_YEAR
    ordered = sorted(days)
    gaps = [(_day_number(later) - _day_number(day), later) for day, later in pairwise(ordered)]
    return max(gaps)[1]


def _day_number(day: int) -> int:
    return day // 100 * 31 + day % 100


def _fits(days: Iterable[int], year: int, turn: int, today: date) -> bool:
    """Whether no day is in the future, and 29 February is in a leap year."""
    try:
        return all(date(year + (day < turn), day // 100, day % 100) <= today for day in days)
    except ValueError:
        return False
