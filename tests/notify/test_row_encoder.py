"""Notifications as lines of JSON and as a table."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.errors import InputError
from foretell.events.notification import COLUMNS, Notification
from foretell.events.types import Type, format_timestamp
from foretell.notify import to_json, to_table

MATCH = Notification(
    subscription="intrusion",
    kind="match",
    key={"ip": "10.0.0.1"},
    start=1704067200000000,
    end=1704067201500000,
    probability=1.0,
    horizon=None,
    id=None,
    bindings={"x": "10.0.0.1"},
    events={"s1": 0, "s2": [1, 2], "s3": None},
    time_type=Type.TIMESTAMP,
)
FORECAST = replace(
    MATCH, kind="forecast", key=None, start=1, end=2, horizon=10, id=7, bindings={}, events={}, time_type=Type.INT
)


def test_one_line_with_the_columns_in_their_order() -> None:
    assert to_json(MATCH) == (
        b'{"subscription":"intrusion","kind":"match","key":{"ip":"10.0.0.1"},'
        b'"start":"2024-01-01T00:00:00Z","end":"2024-01-01T00:00:01.500000Z","probability":1.0,"horizon":null,'
        b'"id":null,"bindings":{"x":"10.0.0.1"},"events":{"s1":0,"s2":[1,2],"s3":null}}\n'
    )
    assert tuple(json.loads(to_json(MATCH))) == COLUMNS


def test_plain_numbers_stay_numbers() -> None:
    assert to_json(FORECAST) == (
        b'{"subscription":"intrusion","kind":"forecast","key":null,"start":1,"end":2,"probability":1.0,"horizon":10,'
        b'"id":7,"bindings":{},"events":{}}\n'
    )


def test_a_line_is_one_line() -> None:
    line = to_json(replace(MATCH, bindings={"text": "two\nlines é"}))
    assert line.count(b"\n") == 1
    assert "two\\nlines é" in line.decode()


def test_a_table() -> None:
    table = to_table([MATCH, replace(MATCH, key=None, horizon="5 min", id="ann")])
    assert list(zip(table.schema.names, table.schema.types, strict=True)) == (
        [
            ("subscription", pa.string()),
            ("kind", pa.string()),
            ("key", pa.string()),
            ("start", pa.timestamp("us", tz="UTC")),
            ("end", pa.timestamp("us", tz="UTC")),
            ("probability", pa.float64()),
            ("horizon", pa.string()),
            ("id", pa.string()),
            ("bindings", pa.string()),
            ("events", pa.string()),
        ]
    )
    assert tuple(table.column_names) == COLUMNS
    assert table.to_pylist()[1] == {
        "subscription": "intrusion",
        "kind": "match",
        "key": None,
        "start": datetime(2024, 1, 1, tzinfo=UTC),
        "end": datetime(2024, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC),
        "probability": 1.0,
        "horizon": "5 min",
        "id": "ann",
        "bindings": '{"x":"10.0.0.1"}',
        "events": '{"s1":0,"s2":[1,2],"s3":null}',
    }
    assert table.column("key")[0].as_py() == '{"ip":"10.0.0.1"}'


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        ([Type.INT], pa.int64()),
        ([Type.FLOAT], pa.float64()),
        ([Type.INT, Type.FLOAT], pa.float64()),
        ([], pa.timestamp("us", tz="UTC")),
    ],
)
def test_the_type_of_times(times: list[Type], kind: pa.DataType) -> None:
    table = to_table(replace(FORECAST, time_type=time) for time in times)
    assert table.schema.field("start").type == kind
    assert table.column("id").to_pylist() == ["7"] * len(times)
    assert table.column("horizon").to_pylist() == ["10"] * len(times)


def test_started_and_ended_are_datetimes() -> None:
    assert (MATCH.started, MATCH.ended) == (
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC),
    )
    assert (FORECAST.started, FORECAST.ended) == (1, 2)


def test_two_kinds_of_time_do_not_fit_one_table() -> None:
    with pytest.raises(InputError) as caught:
        to_table([MATCH, FORECAST])
    assert caught.value.code == "mixed-times"
    assert str(caught.value) == (
        "some subscriptions have timestamps and others plain numbers as time: one table cannot hold both\n"
        "  hint: write JSON lines, or run them separately"
    )


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()
SCALARS = SCALARS.filter(lambda value: not (isinstance(value, float) and value in (float("inf"), float("-inf"))))


@given(
    key=st.none() | st.dictionaries(st.text(), SCALARS),
    bindings=st.dictionaries(st.text(), SCALARS),
    events=st.dictionaries(st.text(), SCALARS | st.lists(SCALARS)),
    start=st.integers(-(10**15), 10**15),
    probability=st.floats(0, 1),
)
def test_written_notifications_can_be_read(
    key: dict, bindings: dict, events: dict, start: int, probability: float
) -> None:
    notification = replace(MATCH, key=key, bindings=bindings, events=events, start=start, probability=probability)
    row = json.loads(to_json(notification))
    assert (row["key"], row["bindings"], row["events"]) == (key, bindings, events)
    assert (row["start"], row["probability"]) == (format_timestamp(start), probability)
    [cells] = to_table([notification]).to_pylist()
    assert (json.loads(cells["bindings"]), json.loads(cells["events"])) == (bindings, events)
