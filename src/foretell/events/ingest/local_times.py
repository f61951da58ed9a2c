"""Local times: their offsets from UTC in a time zone, for one and for many.

Where a clock is set back, a local time that occurs twice is its first occurrence. Where it is set forward, a local time
that does not occur is shifted by the length of the gap (02:30 becomes 03:30), as in Spark and Java.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from foretell.arrays import Ints
from foretell.errors import InputError, closest

_MICROSECOND = timedelta(microseconds=1)
_START = datetime(1970, 1, 1)
DAY = 86_400_000_000
#: Zones change their offset rarely: whole days, then minutes have one offset.
_STEPS = (DAY, 60_000_000)

#: Abbreviations with one meaning, by RFC 2822 (in hours).
_ABBREVIATIONS = {
    "UT": 0, "GMT": 0, "UTC": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8,
    "PDT": -7,
}  # fmt: skip


class LocalTimes:
    """The local times of a zone of the IANA database, or of an abbreviation of RFC 2822."""

    def __init__(self, name: str) -> None:
        """A ValueError for an unknown name."""
        self.name = name
        self._hours = _ABBREVIATIONS.get(name.upper())
        try:
            self._zone = ZoneInfo("UTC" if self._hours is not None else name)
        except (KeyError, ValueError, OSError):  # OSError: the name of a folder, as 'Europe'
            raise ValueError(f"unknown time zone '{name}'") from None

    def offset(self, local: int) -> int:
        """The microseconds to subtract from a local time for UTC."""
        if self._hours is not None:
            return self._hours * 3_600_000_000
        try:
            moment = _START + timedelta(microseconds=local)
        except OverflowError:
            return 0  # beyond any time that an event can have
        offset = moment.replace(tzinfo=self._zone).utcoffset()
        assert offset is not None
        return offset // _MICROSECOND

    def offsets(self, local: Ints) -> Ints:
        """The same for many local times."""
        if self._hours is not None:
            return np.full(len(local), self._hours * 3_600_000_000, np.int64)
        return self._stepped(local, _STEPS)

    def _stepped(self, local: Ints, steps: Sequence[int]) -> Ints:
        if not steps:
            return np.array([self.offset(int(time)) for time in local], np.int64)
        numbers, places = np.unique(local // steps[0], return_inverse=True)
        first = np.array([self.offset(int(number) * steps[0]) for number in numbers], np.int64)
        last = np.array([self.offset((int(number) + 1) * steps[0] - 1) for number in numbers], np.int64)
        offsets = first[places]
        changing = (first != last)[places]
        if changing.any():
            offsets[changing] = self._stepped(local[changing], steps[1:])
        return offsets


@lru_cache(maxsize=256)
def zone_of(name: str) -> LocalTimes:
    return LocalTimes(name)


def checked_zone(name: str) -> LocalTimes:
    """The zone of a read option, or an error that names a similar one."""
    try:
        return zone_of(name)
    except ValueError as error:
        meant = closest(name, sorted(available_timezones()))
        hint = f"did you mean '{meant}'?" if meant else "name a zone such as 'Europe/Berlin'"
        raise InputError("unknown-zone", str(error), hint=hint) from None
