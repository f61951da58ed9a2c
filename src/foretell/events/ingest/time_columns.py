"""Columns of times: texts parsed by the layouts of their shapes, without a loop over the texts.

The results agree with `TimeReading.parse`, which parses the texts that no layout fits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.ingest.epoch_numbers import UNITS, epoch_column
from foretell.events.ingest.local_times import DAY, zone_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, TypedColumn
from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_MICROS, MisfitError, convert
from foretell.events.ingest.time_forms import MONTHS, TimeReading, ambiguous_day
from foretell.events.ingest.time_layouts import LONGEST, SHAPES, Layout, layout_of
from foretell.events.types import Type

#: Texts that are parsed at once: their bytes stay in the processor's cache.
_BLOCK = 32_768
#: Shapes of a length in a block; texts of further shapes are parsed one by one.
_SHAPES = 32

Bytes = NDArray[np.uint8]

_MONTH_CODES = np.array([int.from_bytes(name.encode(), "big") for name in MONTHS])
_MONTH_ORDER = np.argsort(_MONTH_CODES)
_MONTH_LENGTHS = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

_SEPARATORS = np.frombuffer(b"/-", np.uint8)
_SLASHED = r"^\s*[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{4}"
_DAY_FIRST = r"^\s*(?:1[3-9]|[23][0-9])[/-]"
_MONTH_FIRST = r"^\s*[0-9]{1,2}[/-](?:1[3-9]|[23][0-9])[/-]"
_YEARLESS = r"^\s*(?:[A-Za-z]{3} )?[A-Za-z]{3} +[0-9]{1,2} [0-9]{1,2}:[0-9]{2}"


def parse_times(texts: ArrowArray, name: str, reading: TimeReading) -> TypedColumn:
    """The times of a column of texts."""
    values: list[ArrowArray] = []
    misfits: dict[int, str] = {}
    start = 0
    for chunk in chunks_of(texts):
        column = _parse_chunk(chunk, name, reading)
        values.append(column.values)
        misfits.update((start + position, reason) for position, reason in column.misfits.items())
        start += len(chunk)
    if len(values) == 1:
        return TypedColumn(values[0], misfits)
    return TypedColumn(pa.chunked_array(values, ARROW_TYPES[Type.TIMESTAMP]), misfits)


def chunks_of(texts: ArrowArray) -> list[ArrowArray]:
    return texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]


def _parse_chunk(texts: ArrowArray, name: str, reading: TimeReading) -> TypedColumn:
    trimmed = pc.ascii_trim_whitespace(texts)
    missing = nulls_of(texts)
    micros, parsed = _parse_layouts(trimmed, missing, reading)
    parsed &= (micros >= LEAST_MICROS) & (micros <= LAST_MICROS)
    misfits: dict[int, str] = {}
    for position in np.flatnonzero(~parsed & ~missing).tolist():
        try:
            value = convert(texts[position].as_py(), Type.TIMESTAMP, reading)
            assert isinstance(value, int)
            micros[position], parsed[position] = value, True
        except MisfitError as misfit:
            misfits[position] = misfit.reason(name)
    return TypedColumn(arrow_of(micros, ARROW_TYPES[Type.TIMESTAMP], None if parsed.all() else ~parsed), misfits)


def parse_epochs(numbers: ArrowArray, name: str) -> TypedColumn:
    """The times of a column of numbers: seconds, milliseconds, microseconds or nanoseconds since 1970."""
    missing = nulls_of(numbers)
    micros, plausible = epoch_column(np.where(missing, 0, numpy_of(numbers)))
    misfits: dict[int, str] = {}
    for position in np.flatnonzero(~plausible & ~missing).tolist():
        try:
            convert(numbers[position].as_py(), Type.TIMESTAMP)
        except MisfitError as misfit:
            misfits[position] = misfit.reason(name)
    return TypedColumn(arrow_of(micros, ARROW_TYPES[Type.TIMESTAMP], ~plausible), misfits)


# ── blocks of texts with one shape ──


def _parse_layouts(texts: ArrowArray, missing: Flags, reading: TimeReading) -> tuple[Ints, Flags]:
    micros = np.zeros(len(texts), np.int64)
    parsed = np.zeros(len(texts), np.bool_)
    for first in range(0, len(texts), _BLOCK):
        present = ~missing[first : first + _BLOCK]
        for rows, shape, block in _blocks(texts.slice(first, _BLOCK), present):
            layout = layout_of(shape, reading.time_format)
            if layout is not None:
                times = TimeBlock(block, layout, reading).times()
                micros[first + rows], parsed[first + rows] = times
    return micros, parsed


def _blocks(texts: ArrowArray, present: Flags) -> Iterator[tuple[Ints, str, Bytes]]:
    """The texts of each shape: their positions, the shape, and their bytes, a row for each place in the text."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    if texts.buffers()[2] is None:
        return
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    lengths = np.where(present, np.diff(offsets), 0)
    for length in np.unique(lengths).tolist():
        if not 0 < length <= LONGEST:
            continue
        rows = np.flatnonzero(lengths == length)
        if len(rows) == len(texts):
            matrix = data[offsets[0] : offsets[-1]].reshape(len(texts), length)
        else:
            matrix = data[offsets[:-1][rows, None] + np.arange(length)]
        for _ in range(_SHAPES):
            shapes = SHAPES[matrix]
            same = (shapes == shapes[0]).all(axis=1)
            whole = bool(same.all())
            chosen = matrix if whole else matrix[same]
            yield rows if whole else rows[same], shapes[0].tobytes().decode("latin-1"), np.ascontiguousarray(chosen.T)
            if whole:
                break
            matrix, rows = matrix[~same], rows[~same]


class TimeBlock:
    """Texts of one layout: `places` has the bytes of all texts at each place."""

    def __init__(self, places: Bytes, layout: Layout, reading: TimeReading) -> None:
        self.places, self.layout, self.reading = places, layout, reading
        self.count = places.shape[1]

    def times(self) -> tuple[Ints, Flags]:
        """The microseconds since 1970, and whether they are valid."""
        if "epoch" in self.layout:
            return self._epoch()
        month, day = self._month_and_day()
        year = self._year(month, day)
        hour, valid = self._hour()
        minute, second = self._number("minute"), self._number("second")
        for value, greatest in ((hour, 23), (minute, 59), (second, 59), (year, 9999), (month, 12)):
            valid &= value <= greatest
        valid &= (year > 0) & (month > 0)
        valid &= (day >= 1) & (day <= _MONTH_LENGTHS[np.where(valid, month, 0)])
        valid &= (month != 2) | (day < 29) | ((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))
        clock = ((hour * 60 + minute) * 60 + second) * 1_000_000 + self._fraction("fraction")
        local = np.where(valid, _days(year, month, day) * DAY + clock, 0)
        return self._to_utc(local, valid)

    def _number(self, field: str) -> Ints:
        if field not in self.layout:
            return np.zeros(self.count, np.int64)
        start, end = self.layout[field]
        number: Ints = self.places[start].astype(np.int64) - 48
        for place in range(start + 1, end):
            number = number * 10 + (self.places[place].astype(np.int64) - 48)
        return number

    def _fraction(self, field: str) -> Ints:
        """A fraction in millionths; further digits are cut off."""
        if field not in self.layout:
            return np.zeros(self.count, np.int64)
        start, end = self.layout[field]
        digits = min(end - start, 6)
        cut = TimeBlock(self.places, {"cut": (start, start + digits)}, self.reading)
        millionths: Ints = cut._number("cut") * 10 ** (6 - digits)
        return millionths

    def _epoch(self) -> tuple[Ints, Flags]:
        start, end = self.layout["epoch"]
        if end - start == 19 and (self.places[start] >= ord("9")).any():  # may exceed 64 bits
            return np.zeros(self.count, np.int64), np.zeros(self.count, np.bool_)
        whole = self._number("epoch")
        micros, plausible = epoch_column(whole)
        if "epoch_fraction" in self.layout:
            per_second = np.ones(self.count, np.int64)
            for number in UNITS.values():
                per_second[whole >= 631_152_000 * number] = number
            micros += self._fraction("epoch_fraction") // per_second
        return micros, plausible

    def _month_and_day(self) -> tuple[Ints, Ints]:
        if "first" in self.layout:
            first, other = self._number("first"), self._number("other")
            day_first = self._day_first(first, other)
            return np.where(day_first, other, first), np.where(day_first, first, other)
        if "quarter" in self.layout:
            return self._quarter_month(), np.ones(self.count, np.int64)
        month = self._named_month() if "name" in self.layout else self._number("month")
        return month, self._number("day") if "day" in self.layout else np.ones(self.count, np.int64)

    def _quarter_month(self) -> Ints:
        """The first months of quarters; 0 where there is another letter than Q, or another number."""
        sign, quarter = self.places[self.layout["quarter_sign"][0]] | 0x20, self._number("quarter")
        return np.where((sign == ord("q")) & (quarter >= 1) & (quarter <= 4), 3 * quarter - 2, 0)

    def _day_first(self, first: Ints, other: Ints) -> Flags:
        if self.reading.day_first is not None:
            return np.full(self.count, self.reading.day_first)
        if self.places[self.layout["separator"][0]][0] == ord("."):
            return np.ones(self.count, np.bool_)
        unclear = np.flatnonzero((first <= 12) & (other <= 12) & (first > 0) & (other > 0) & (first != other))
        if len(unclear):
            raise ambiguous_day(self.places[:, unclear[0]].tobytes().decode())
        return first > 12

    def _named_month(self) -> Ints:
        """The months by their names; 0 for another name."""
        start, end = self.layout["name"]
        code = np.zeros(self.count, np.int64)
        for place in range(start, end):
            code = code * 256 + (self.places[place] | 0x20)
        found = np.minimum(np.searchsorted(_MONTH_CODES, code, sorter=_MONTH_ORDER), 11)
        month = _MONTH_ORDER[found]
        return np.where(_MONTH_CODES[month] == code, month + 1, 0)

    def _year(self, month: Ints, day: Ints) -> Ints:
        if "year" in self.layout:
            return self._number("year")
        if "short_year" in self.layout:
            short = self._number("short_year")
            return short + np.where(short < 69, 2000, 1900)  # as strptime
        if self.reading.year is None:
            return np.zeros(self.count, np.int64)
        return self.reading.year + (month * 100 + day < self.reading.turn)

    def _hour(self) -> tuple[Ints, Flags]:
        hour = self._number("hour")
        if "half" not in self.layout:
            return hour, np.ones(self.count, np.bool_)
        start, _ = self.layout["half"]
        letter, m = self.places[start] | 0x20, self.places[start + 1] | 0x20
        valid = ((letter == ord("a")) | (letter == ord("p"))) & (m == ord("m")) & (hour >= 1) & (hour <= 12)
        return hour % 12 + 12 * (letter == ord("p")), valid

    def _to_utc(self, local: Ints, valid: Flags) -> tuple[Ints, Flags]:
        if "utc" in self.layout:
            return local, valid
        if "sign" in self.layout:
            hours, minutes, seconds = (self._number(f"zone_{unit}") for unit in ("hour", "minute", "second"))
            offset = (hours * 3600 + minutes * 60 + seconds) * 1_000_000
            negative = self.places[self.layout["sign"][0]] == ord("-")
            return local - np.where(negative, -offset, offset), valid & (hours < 24) & (minutes < 60) & (seconds < 60)
        if "zone" in self.layout:
            return self._from_named_zones(local, valid)
        return (local if self.reading.zone is None else local - zone_of(self.reading.zone).offsets(local)), valid

    def _from_named_zones(self, local: Ints, valid: Flags) -> tuple[Ints, Flags]:
        start, end = self.layout["zone"]
        names = self.places[start:end]
        offsets = np.zeros(self.count, np.int64)
        todo = np.ones(self.count, np.bool_)
        while todo.any():
            name = names[:, int(np.argmax(todo))]
            same = (names == name[:, None]).all(axis=0)
            try:
                offsets[same] = zone_of(name.tobytes().decode()).offsets(local[same])
            except ValueError:
                valid[same] = False
            todo &= ~same
        return local - offsets, valid


def _days(year: Ints, month: Ints, day: Ints) -> Ints:
    """Days since 1970 of dates in the Gregorian calendar, counted in years that begin in March."""
    year = year - (month <= 2)
    in_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - 719_468


# ── deciding times ──


def deciding_times(texts: ArrowArray) -> list[str]:
    """The texts that decide between day first and month first, and the days of times without a year, in their order."""
    texts = texts.drop_null()
    return [texts[position].as_py() for position in deciding_positions(texts)]


def deciding_positions(texts: ArrowArray) -> list[int]:
    """The positions of these among texts without NULLs."""
    if not any(_may_decide(chunk) for chunk in chunks_of(texts)):
        return []
    return sorted({*_deciding_slashed(texts), *_deciding_yearless(texts)})


def _may_decide(texts: ArrowArray) -> bool:
    """Whether a text begins with a letter or a space, or has a slash or hyphen after one or two characters: nearly all
    columns of times have none, and need no regular expression."""
    if not len(texts) or not texts.buffers()[2]:  # without texts, or all of them are empty
        return False
    starts = np.frombuffer(texts.buffers()[1], np.int32, len(texts), texts.offset * 4)
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    first, second, third = (SHAPES[data[np.minimum(starts + place, len(data) - 1)]] for place in range(3))
    separated = np.isin(second, _SEPARATORS) | np.isin(third, _SEPARATORS)
    return bool((separated | (first != ord("0"))).any())


def _deciding_slashed(texts: ArrowArray) -> list[int]:
    slashed: list[int] = _positions(texts, _SLASHED)[:1].tolist()
    if slashed:
        for pattern in (_DAY_FIRST, _MONTH_FIRST):
            slashed += _positions(texts, pattern)[:1].tolist()
    return slashed


def _deciding_yearless(texts: ArrowArray) -> list[int]:
    """The first text of each day."""
    positions = _positions(texts, _YEARLESS)
    if not positions.size:
        return []
    days = pc.extract_regex(texts.take(arrow_of(positions)), r"(?P<day>[A-Za-z]{3} +[0-9]{1,2}) ")
    codes: ArrowArray = pc.struct_field(days, [0]).dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    numbers: Ints = numpy_of(codes.indices).astype(np.int64)
    _, first = np.unique(numbers, return_index=True)
    return [int(position) for position in positions[first]]


def _positions(texts: ArrowArray, pattern: str) -> Ints:
    return np.flatnonzero(numpy_of(pc.match_substring_regex(texts, pattern)))
