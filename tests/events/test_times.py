"""Times as files have them: formats, zones, epoch numbers, days and years that the data decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foretell.errors import InputError
from foretell.events.ingest import time_forms
from foretell.events.ingest.local_times import zone_of
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.scalar_parsing import MisfitError, convert
from foretell.events.ingest.time_columns import parse_times
from foretell.events.ingest.time_forms import TimeReading
from foretell.events.types import Type, format_timestamp, parse_timestamp

OPEN = StreamDeclaration("s", {}, "time", open=True)
TODAY = date(2026, 11, 16)


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_forms, "utc_today", lambda: TODAY)


def load(times: Sequence[object], declaration: StreamDeclaration = OPEN, **options: Any) -> EventBatch:
    declared = replace(declaration, read=ReadOptions(**options))
    return read([{"time": time} for time in times], declared)


def moments(batch: EventBatch) -> list[str]:
    micros: Any = batch.table["time"].cast(pa.int64()).to_pylist()
    return [format_timestamp(time) for time in micros]


def raised(times: Sequence[object], **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        load(times, **options)
    return str(caught.value)


# ── formats ──

TEN = "2024-03-01T10:00:00Z"
NINE = "2024-03-01T09:00:00Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-01T10:00:00", TEN),
        ("2024-03-01 10:00", TEN),
        ("  2024-03-01 10:00:00\t", TEN),
        ("2024-03-01T10:00:00Z", TEN),
        ("2024-03-01 10:00:00 Z", TEN),
        ("2024-03-01T10:00:00+01:00", NINE),
        ("2024-03-01 10:00:00 +0100", NINE),
        ("2024-03-01T10:00:00.5-01", "2024-03-01T11:00:00.500000Z"),
        ("2024-03-01 10:00:00,123", "2024-03-01T10:00:00.123000Z"),
        ("2024-03-01T10:00:00.123456789Z", "2024-03-01T10:00:00.123456Z"),
        ("2024-03-01 10:00:00 Europe/Berlin", NINE),
        ("2024-03-01T10:00:00[Europe/Berlin]", NINE),
        ("2024-03-01T10:00:00+01:00[Europe/Berlin]", NINE),
        ("2024-03-01T10:00:00+02:00[Europe/Berlin]", "2024-03-01T08:00:00Z"),  # the offset decides
        ("2024-03-01 10:00:00 UTC", TEN),
        ("2024-03-01 10:00:00 EST", "2024-03-01T15:00:00Z"),
        ("2024-03-01 10:00:00 America/Argentina/Buenos_Aires", "2024-03-01T13:00:00Z"),
        ("2024-03-01", "2024-03-01T00:00:00Z"),
        ("2024/3/1 9:05", "2024-03-01T09:05:00Z"),
        ("2024-03", "2024-03-01T00:00:00Z"),
        (" 2024/03", "2024-03-01T00:00:00Z"),
        ("1959Q1", "1959-01-01T00:00:00Z"),
        ("1959-q4", "1959-10-01T00:00:00Z"),
        ("1959 Q3", "1959-07-01T00:00:00Z"),
        ("20240301T100000Z", TEN),
        ("2024-W09-5", "2024-03-01T00:00:00Z"),
        ("01/Mar/2024:10:00:00 +0100", NINE),
        ("Fri, 01 Mar 2024 10:00:00 GMT", TEN),
        ("Fri, 1 Mar 2024 10:00:00 +0100 (CET)", NINE),
        ("1 Mar 2024 10:00", TEN),
        ("01-MAR-2024 10:00:00", TEN),
        ("Fri Mar  1 10:00:00 2024", TEN),
        ("Fri Mar 01 10:00:00.123456 2024", "2024-03-01T10:00:00.123456Z"),
        ("01.03.2024 10:00", TEN),
        ("13/04/2024 10:00", "2024-04-13T10:00:00Z"),
        ("4/13/2024 10:00 PM", "2024-04-13T22:00:00Z"),
        ("04-13-2024, 12:30 am", "2024-04-13T00:30:00Z"),
        ("1709287200", TEN),
        ("1709287200.5", "2024-03-01T10:00:00.500000Z"),
        ("1709287200123", "2024-03-01T10:00:00.123000Z"),
        ("1709287200123.456", "2024-03-01T10:00:00.123456Z"),
        ("1709287200123456", "2024-03-01T10:00:00.123456Z"),
        ("1709287200123456789", "2024-03-01T10:00:00.123456Z"),
        ("1.7092872E9", TEN),
    ],
)
def test_formats_of_texts(text: str, expected: str) -> None:
    declared = StreamDeclaration("s", {"time": Type.TIMESTAMP}, "time")
    alone, among_others = load([text], declared), load([text, "2024-03-01T10:00:00", None, TEN], declared)
    assert moments(alone) == [expected]
    assert moments(among_others) == [expected, TEN, TEN]


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2024-13-01 10:00",
        "2023-02-29",
        "2024-03-01 24:00",
        "2024-03-01 10:60",
        "2024-03-01 10:00:00 Europe/Atlantis",
        "2024-03-01 10:00:00 +25:00",
        "01/Mrz/2024:10:00:00 +0100",
        "13/13/2024",
        "2024-13",
        "2024-00",
        "2024Q5",
        "2024X1",
        "2024q0",
        "13/04/2024 13:00 PM",
        "13/04/2024 10:00 XM",
        "5",
        "17092872001",
        "99999999999999999999",
        "Mar  1",
        "é024-03-01",
        "2024-03-01T10:00:00" + " " * 3 + "x" * 100,
    ],
)
def test_texts_that_are_no_times(text: str) -> None:
    declared = StreamDeclaration("s", {"time": Type.TIMESTAMP}, "time")
    shown = repr(text if len(text) <= 60 else text[:59] + "…")
    assert [bad.reason for bad in load([text, TEN], declared).quarantined] == [
        f"time: expected TIMESTAMP, found {shown}"
    ]


FORMATS = [
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%d %H:%M:%S +0530",
    "%Y-%m-%d %H:%M:%S America/New_York",
    "%Y-%m-%d",
    "%d/%b/%Y:%H:%M:%S -0100",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S %Y",
    "%b %d %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d.%m.%Y %I:%M:%S %p",
]


@given(
    st.lists(
        st.none()
        | st.text(max_size=12)
        | st.builds(
            lambda moment, form: moment.strftime(form),
            st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)),
            st.sampled_from(FORMATS),
        )
        | st.integers(10**8, 10**19).map(str),
        max_size=30,
    ),
    st.sampled_from([None, "Europe/Berlin", "Pacific/Apia"]),
)
@example(["2024-03-01", "é" * 5, "2024-03-01T00:00:00Z"], None)
@example(["2024-03", "2024Q1", "2024-q4", "2024 X1", "2024Q5", "2024-13"], "Europe/Berlin")
@example(["9223372036854775808", "0001-01-01"], "Europe/Berlin")
def test_columns_are_parsed_as_their_texts_are_one_by_one(texts: list[str | None], zone: str | None) -> None:
    reading = TimeReading(zone=zone, day_first=True, year=2024, turn=301)
    column = parse_times(pa.array(texts, pa.string()), "t", reading)
    expected: list[int | None] = []
    reasons: dict[int, str] = {}
    for position, text in enumerate(texts):
        try:
            expected.append(None if text is None else convert(text, Type.TIMESTAMP, reading))  # type: ignore[arg-type]
        except MisfitError as misfit:
            expected.append(None)
            reasons[position] = misfit.reason("t")
    assert column.values.cast(pa.int64()).to_pylist() == expected
    assert column.misfits == reasons


# ── formats that the user gives ──


@pytest.mark.parametrize(
    ("time_format", "texts"),
    [
        ("%d.%m.%y %H-%M", ["01.03.24 10-00", "1.3.24 10-0"]),
        ("%Y%m%d%H%M%S", ["20240301100000"]),
        ("%Y-%jT%H", ["2024-061T10"]),
        ("%I:%M %p on %d %B %Y", ["10:00 AM on 1 March 2024"]),
        ("%d/%b/%Y %H:%M:%S.%f %z", ["01/Mar/2024 11:00:00.0 +0100", "01/Mar/2024 10:00:00.000000 Z"]),
    ],
)
def test_a_format_of_strptime(time_format: str, texts: list[str]) -> None:
    batch = load([*texts, TEN], time_format=time_format)
    assert moments(batch) == [TEN] * len(texts)
    assert [bad.row for bad in batch.quarantined] == [len(texts) + 1]


def test_a_format_reads_numbers_too() -> None:
    assert moments(load([20240301], time_format="%Y%m%d")) == ["2024-03-01T00:00:00Z"]
    table = pa.table({"time": pa.array([20240301, None])})
    batch = read(table, replace(OPEN, read=ReadOptions(time_format="%Y%m%d")))
    assert moments(batch) == ["2024-03-01T00:00:00Z"]


def test_a_format_is_for_the_time_column_alone() -> None:
    declared = StreamDeclaration("s", {"due": Type.TIMESTAMP}, "time", read=ReadOptions(time_format="%d.%m.%Y"))
    batch = read([{"time": "01.03.2024", "due": TEN}], declared)
    assert batch.table["due"].cast(pa.int64()).to_pylist() == [parse_timestamp(TEN)]


# ── numbers ──


@pytest.mark.parametrize(
    ("number", "unit"),
    [
        (1709287200, "seconds"),
        (1709287200.0, "seconds"),
        (1709287200000, "milliseconds"),
        (1709287200000000, "microseconds"),
        (1709287200000000000, "nanoseconds"),
    ],
)
def test_epoch_numbers_show_their_unit(number: float, unit: str, tmp_path: Path) -> None:
    note = f"is read as {unit} since 1970; declare `time INT` to keep the number"
    for source, name in _sources([number, number], tmp_path):
        batch = read(source, OPEN)
        assert moments(batch) == [TEN, TEN]
        assert batch.notes == (f"{name}: time {note}",)


def _sources(numbers: Sequence[float], folder: Path) -> list[tuple[object, str]]:
    csv, table = folder / "events.csv", pa.table({"time": pa.array(numbers)})
    csv.write_text("time\n" + "".join(f"{number}\n" for number in numbers))
    return [([{"time": number} for number in numbers], "s"), (csv, str(csv)), (table, "s"), (table.to_pandas(), "s")]


def test_plain_numbers_stay_numbers(tmp_path: Path) -> None:
    for numbers in ([1, 2], [0.5, 2.5], [5, 1709287200], [1709287200, 1709287200000], [20240301], [4102444800]):
        for source, _ in _sources(numbers, tmp_path):
            batch = read(source, OPEN)
            assert (batch.table["time"].to_pylist(), batch.notes) == (numbers, ())


def test_a_declared_number_stays_a_number() -> None:
    declared = StreamDeclaration("s", {"time": Type.INT}, "time")
    batch = load([1709287200], declared)
    assert (batch.table["time"].to_pylist(), batch.notes) == ([1709287200], ())


def test_a_declared_timestamp_takes_epoch_numbers_of_any_unit(tmp_path: Path) -> None:
    declared = StreamDeclaration("s", {"time": Type.TIMESTAMP}, "time")
    for source, _ in _sources([1709287200, 1709287200000, 5], tmp_path):
        batch = read(source, declared)
        assert moments(batch) == [TEN, TEN]
        assert [bad.reason for bad in batch.quarantined] in (
            ["time: expected TIMESTAMP, found 5"],
            ["time: expected TIMESTAMP, found '5'"],
        )


def test_missing_numbers_are_no_times() -> None:
    table = pa.table({"time": pa.array([1709287200000, None], pa.int64())})
    batch = read(table, OPEN)
    assert moments(batch) == [TEN]
    assert [bad.reason for bad in batch.quarantined] == ["no time"]


# ── day first, month first ──


def test_the_data_decide_between_day_and_month_first() -> None:
    batch = load(["03/04/2024 10:00", "13/04/2024 10:00"])
    assert moments(batch) == ["2024-04-03T10:00:00Z", "2024-04-13T10:00:00Z"]
    assert batch.notes == ("s: time is read with the day first, by '13/04/2024 10:00'; say day_first to decide it",)
    batch = load(["03/04/2024", "04/13/2024", "13/05/2024"])
    assert moments(batch) == ["2024-03-04T00:00:00Z", "2024-04-13T00:00:00Z"]
    assert batch.notes == ("s: time is read with the month first, by '04/13/2024'; say day_first to decide it",)
    assert [bad.row for bad in batch.quarantined] == [3]


def test_dates_with_dots_have_the_day_first() -> None:
    assert moments(load(["03.04.2024"])) == ["2024-04-03T00:00:00Z"]


def test_the_option_decides_between_day_and_month_first() -> None:
    assert moments(load(["03/04/2024"], day_first=True)) == ["2024-04-03T00:00:00Z"]
    batch = load(["03/04/2024", "13/04/2024"], day_first=False)
    assert moments(batch) == ["2024-03-04T00:00:00Z"]
    assert [bad.row for bad in batch.quarantined] == [2]
    assert batch.notes == ()


def test_an_ambiguous_day_is_an_error() -> None:
    message = (
        "'3/4/2024 10:00' is 3 April with the day first and 4 March with the month first\n"
        "  hint: say which: --day-first or --month-first, ReadOptions(day_first=True) or ReadOptions(day_first=False)"
    )
    assert raised(["3/4/2024 10:00", "5/5/2024 10:00"]) == "s: time: " + message
    assert raised(["12/12/2024 9:00", "3/4/2024 10:00"]) == message
    assert moments(load(["12/12/2024 9:00"])) == ["2024-12-12T09:00:00Z"]


# ── years ──


def test_the_year_is_the_latest_that_is_not_in_the_future() -> None:
    batch = load(["Nov 16 10:00:00", "Nov 17 10:00:00"])
    assert moments(batch) == ["2026-11-16T10:00:00Z", "2026-11-17T10:00:00Z"]
    note = "s: time has no year and is read as 2026-11-16 to 2026-11-17; set it with --year, or ReadOptions(year=2026)"
    assert batch.notes == (note,)
    assert moments(load(["Nov 10 10:00:00", "Nov 18 10:00:00"])) == ["2025-11-10T10:00:00Z", "2025-11-18T10:00:00Z"]


def test_a_log_that_passes_new_year() -> None:
    times = ["Dec 30 10:00:00", "Dec 31 23:59:59", "Jan  1 00:00:00", "Dec 31 23:59:59", "Feb  2 10:00:00"]
    batch = load(times)
    expected = ["2025-12-30T10", "2025-12-31T23", "2026-01-01T00", "2025-12-31T23", "2026-02-02T10"]
    assert [moment[:13] for moment in moments(batch)] == expected
    note = "s: time has no year and is read as 2025-12-30 to 2026-02-02; set it with --year, or ReadOptions(year=2025)"
    assert batch.notes == (note,)
    assert [moment[:4] for moment in moments(load(times, year=2019))] == ["2019", "2019", "2020", "2019", "2020"]


def test_a_year_for_times_without_one() -> None:
    batch = load(["Mar  1 10:00:00", "Jan  5 10:00:00", "Feb 29 10:00:00"], year=2024)
    assert moments(batch) == ["2024-03-01T10:00:00Z", "2024-01-05T10:00:00Z", "2024-02-29T10:00:00Z"]
    assert batch.notes == ()


def test_29_february_needs_a_leap_year() -> None:
    assert moments(load(["Feb 28 10:00:00", "Feb 29 10:00:00"])) == ["2024-02-28T10:00:00Z", "2024-02-29T10:00:00Z"]


def test_times_without_a_year_by_the_clock_alone() -> None:
    reading = time_forms.reading_of(ReadOptions())
    assert [format_timestamp(reading.parse(text))[:10] for text in ("Nov 17 00:00:00", "Nov 18 00:00:00")] == [
        "2026-11-17",
        "2025-11-18",
    ]
    at_new_year = time_forms.reading_of(ReadOptions(), date(2026, 12, 30))
    assert format_timestamp(at_new_year.parse("Jan  1 00:00:00"))[:10] == "2026-01-01"
    assert format_timestamp(at_new_year.parse("Dec 31 00:00:00"))[:10] == "2026-12-31"


# ── zones ──


def test_a_zone_for_times_without_an_offset() -> None:
    times = ["2024-03-01 10:00", "2024-07-01 10:00:00", TEN, "2024-03-01 10:00 America/New_York", "2024-03-01"]
    expected = [NINE, "2024-07-01T08:00:00Z", TEN, "2024-03-01T15:00:00Z", "2024-02-29T23:00:00Z"]
    assert moments(load(times, zone="Europe/Berlin")) == expected


def test_a_zone_for_datetimes_and_frames() -> None:
    naive = datetime(2024, 3, 1, 10)
    assert moments(load([naive, naive.replace(tzinfo=UTC), date(2024, 3, 1)], zone="Europe/Berlin")) == [
        NINE,
        TEN,
        "2024-02-29T23:00:00Z",
    ]
    options = replace(OPEN, read=ReadOptions(zone="Europe/Berlin"))
    table = pa.table({"time": pa.array([naive], pa.timestamp("ns"))})
    assert moments(read(table, options)) == [NINE]
    assert moments(read(table.cast(pa.schema([("time", pa.timestamp("ns", "UTC"))])), options)) == [TEN]


def test_local_times_where_clocks_are_set() -> None:
    missing, twice = "2024-03-31 02:30", "2024-10-27 02:30"
    expected = ["2024-03-31T01:30:00Z", "2024-10-27T00:30:00Z"]  # 03:30 in summer, and the first 02:30
    assert moments(load([missing, twice], zone="Europe/Berlin")) == expected
    assert moments(load([f"{missing} Europe/Berlin", f"{twice} Europe/Berlin"])) == expected
    assert moments(load([datetime.fromisoformat(missing), twice], zone="Europe/Berlin")) == expected


def test_an_unknown_zone() -> None:
    assert (
        raised([TEN], zone="Europe/Berln") == "unknown time zone 'Europe/Berln'\n  hint: did you mean 'Europe/Berlin'?"
    )


@given(
    st.lists(st.datetimes(datetime(1890, 1, 1), datetime(2100, 1, 1)), max_size=20),
    st.sampled_from(["Europe/Amsterdam", "Australia/Lord_Howe", "PST"]),
)
def test_offsets_of_many_local_times(times: list[datetime], name: str) -> None:
    zone = zone_of(name)
    local = np.array([(time - datetime(1970, 1, 1)) // timedelta(microseconds=1) for time in times], np.int64)
    assert zone.offsets(local).tolist() == [zone.offset(int(time)) for time in local]


# ── two columns ──


def test_a_time_from_two_columns(tmp_path: Path) -> None:
    options = replace(OPEN, read=ReadOptions(time_columns=("date", "clock")))
    rows: list[Any] = [{"date": "2024-03-01", "clock": "10:00", "km": 1.5}, {"date": None, "clock": "10:00", "km": 1.5}]
    csv = tmp_path / "trips.csv"
    csv.write_text("date,clock,km\n2024-03-01,10:00,1.5\n,10:00,1.5\n")
    for source in (rows, csv, pa.Table.from_pylist(rows)):
        batch = read(source, options)
        assert batch.schema.time == "time"
        assert list(batch.schema.attributes) == ["date", "clock", "km", "time"]
        assert moments(batch) == [TEN]
        assert [bad.reason for bad in batch.quarantined] == ["no time"]
    closed = replace(options, attributes={"km": Type.FLOAT}, open=False)
    assert list(read(csv, closed).schema.attributes) == ["km", "time"]


def test_two_columns_of_other_types() -> None:
    options = replace(OPEN, read=ReadOptions(time_columns=("date", "clock"), time_format="%Y-%m-%d %H%M"))
    table = pa.table({"date": pa.array([date(2024, 3, 1)]), "clock": pa.array([1000])})
    assert moments(read(table, options)) == [TEN]
    assert moments(read([{"date": date(2024, 3, 1), "clock": 1000}], options)) == [TEN]


def test_columns_of_a_joined_time_must_be_there() -> None:
    options = replace(OPEN, read=ReadOptions(time_columns=("date", "clok")))
    with pytest.raises(InputError, match=r"s: no column 'clok' for the time\n  hint: did you mean 'clock'\?"):
        read([{"date": "2024-03-01", "clock": "10:00"}], options)


def test_the_name_of_a_joined_time_may_be_taken() -> None:
    options = replace(OPEN, read=ReadOptions(time_columns=("date", "clock")))
    with pytest.raises(InputError) as caught:
        read([{"date": "2024-03-01", "clock": "10:00", "time": 5}], options)
    assert str(caught.value) == (
        "s: there is a column 'time' already, and 'date+clock' is named so too\n"
        "  hint: rename it, or use it: --time s=time"
    )


# ── pandas periods ──


@pytest.mark.parametrize("frequency", ["Q", "M", "D"])
def test_a_period_is_its_start(frequency: str) -> None:
    periods = pd.period_range("2024-01-01", periods=3, freq=frequency, name="time")
    starts = [format_timestamp(int(start.timestamp() * 1e6)) for start in periods.to_timestamp()]
    column = pd.DataFrame({"v": [1, 2, 3], "time": periods})
    index = pd.DataFrame({"v": [1, 2, 3]}, index=periods)
    for frame in (column, index):
        batch = read(frame, OPEN)
        assert moments(batch) == starts
        assert batch.table["v"].to_pylist() == [1, 2, 3]
    assert str(column["time"].dtype).startswith("period")  # the caller's frame is as it was


def test_a_period_that_is_missing() -> None:
    frame = pd.DataFrame({"time": pd.PeriodIndex(["2024-01", None], freq="M")})
    batch = read(frame, OPEN)
    assert (moments(batch), [bad.reason for bad in batch.quarantined]) == (["2024-01-01T00:00:00Z"], ["no time"])


def test_a_type_that_cannot_be_a_time() -> None:
    frame = pd.DataFrame({"time": pd.to_timedelta([1, 2], unit="s")})
    with pytest.raises(InputError) as caught:
        read(frame, OPEN)
    assert str(caught.value) == (
        "time: the column's type duration[ns] cannot be a time\n  hint: make it a timestamp, a number or a text"
    )


def test_numbers_of_hundreds_of_digits(tmp_path: Path) -> None:
    """They are no epoch in any unit."""
    path = tmp_path / "s.jsonl"
    path.write_text('{"time": 1}\n{"time": ' + "9" * 400 + "}\n")
    loaded = read(path, OPEN)
    assert loaded.table.num_rows == 1
    assert len(loaded.quarantined) == 1


def test_only_empty_texts(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"time": "", "k": 1}\n')
    assert len(read(path, OPEN).quarantined) == 1
