"""Time zones as tables of the instants at which their offset from UTC changes.

Python's zoneinfo knows the zones; a table of all changes lets NumPy and the kernels find the offset of any time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import EPOCH
from foretell.records import record

_SECOND = timedelta(seconds=1)
_MICROSECOND = timedelta(microseconds=1)

#: No zone changed its offset before the first year, and after the last all follow a rule by the calendar, which repeats
#: after 400 years.
_FIRST_YEAR, _RULE_YEAR = 1800, 2100
_PERIOD = 146_097 * 86_400_000_000

#: Less than the time between any two changes of a zone: the shortest so far was four days.
_STEP = timedelta(days=3)


@record
class ZoneOffsets:
    """The offsets of a zone, in microseconds: `offsets[i]` from `instants[i - 1]` until `instants[i]`.

    Times from `rule_start` on have the offset of the time that lies whole periods of 400 years before them and is less
    than `rule_start + period`.
    """

    instants: Ints
    offsets: Ints
    rule_start: int
    period: int = _PERIOD

    def of(self, micros: Ints) -> Ints:
        """The offset from UTC at each of these times."""
        late = np.maximum(micros - self.rule_start, 0)
        equivalent = micros - late // self.period * self.period
        offsets: Ints = self.offsets[np.searchsorted(self.instants, equivalent, side="right")]
        return offsets


@cache
def zone_offsets(name: str) -> ZoneOffsets:
    zone = ZoneInfo(name)
    rule_start = datetime(_RULE_YEAR, 1, 1, tzinfo=UTC)
    moment, end = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC), rule_start + timedelta(microseconds=_PERIOD)
    offset = _offset(zone, moment)
    instants, offsets = [], [offset]
    while moment < end:
        later = moment + _STEP
        changed = _offset(zone, later)
        if changed != offset:
            instants.append(_change(zone, moment, later))
            offsets.append(changed)
            offset = changed
        moment = later
    return ZoneOffsets(_micros(instants), np.array([o // _MICROSECOND for o in offsets], np.int64), _since(rule_start))


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return offset


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first second with the later of two offsets."""
    offset = _offset(zone, before)
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        before, after = (middle, after) if _offset(zone, middle) == offset else (before, middle)
    return after


def _micros(moments: list[datetime]) -> Ints:
    return np.array([_since(moment) for moment in moments], np.int64)


def _since(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND
