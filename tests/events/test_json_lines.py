"""JSON lines and iterables of dicts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from foretell.errors import InputError
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, events_of, read
from foretell.events.types import Type, parse_timestamp

OPEN = StreamDeclaration("ticks", {}, "time", open=True)
PRICED = StreamDeclaration("ticks", {"price": Type.FLOAT}, "time")


def lines(folder: Path, *texts: str, name: str = "ticks.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return path


def reasons(loaded: EventBatch) -> list[tuple[int, str]]:
    """The places and reasons of quarantined events, and of the first value for each cause that is NULL."""
    bad = [(event.row, event.reason) for event in loaded.quarantined]
    return sorted([*bad, *((values.row, values.reason) for values in loaded.nulled)])


def of(kind: Type, *values: object) -> tuple[list[object], list[tuple[int, str]]]:
    """What becomes of values of an attribute `a` declared as `kind`: those that fit, and the reasons of the others."""
    column = PythonColumn("a", values).cast(kind)
    plain = column.values.cast(pa.int64()) if kind is Type.TIMESTAMP else column.values
    fitting = [value for position, value in enumerate(plain.to_pylist()) if position not in column.misfits]
    return fitting, [(position + 1, reason) for position, reason in column.misfits.items()]


def test_types_are_inferred_and_normalised(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        '{"time": "2024-01-01T00:00:00Z", "name": "IBM", "price": 1, "up": true, "volume": 7}',
        '{"time": "2024-01-01T01:00:00+01:00", "name": null, "price": 2.5, "volume": 8}',
    )
    loaded = read(path, OPEN)
    assert loaded.schema.attributes == {
        "time": Type.TIMESTAMP,
        "name": Type.STRING,
        "price": Type.FLOAT,
        "up": Type.BOOL,
        "volume": Type.INT,
    }
    assert list(zip(loaded.table.schema.names, loaded.table.schema.types, strict=True)) == (
        [
            ("time", pa.timestamp("us", tz="UTC")),
            ("name", pa.string()),
            ("price", pa.float64()),
            ("up", pa.bool_()),
            ("volume", pa.int64()),
        ]
    )
    midnight = datetime(2024, 1, 1, tzinfo=UTC)
    assert loaded.table.to_pylist() == [
        {"time": midnight, "name": "IBM", "price": 1.0, "up": True, "volume": 7},
        {"time": midnight, "name": None, "price": 2.5, "up": None, "volume": 8},
    ]
    assert (loaded.total, loaded.quarantined) == (2, ())
    assert not loaded.schema.open


def test_declared_attributes_come_first_and_others_are_ignored() -> None:
    declaration = StreamDeclaration("s", {"b": Type.INT, "a": Type.INT}, "t", id="name", order="seq", lateness=5)
    loaded = read([{"extra": 1, "seq": 2, "t": 3, "a": 4, "b": 5, "name": "x"}], declaration)
    assert loaded.table.to_pylist() == [{"b": 5, "a": 4, "t": 3, "name": "x", "seq": 2}]
    assert list(loaded.schema.attributes) == ["b", "a", "t", "name", "seq"]
    assert (loaded.schema.time, loaded.schema.id, loaded.schema.order) == ("t", "name", "seq")
    assert loaded.schema.lateness == 5


def test_an_unknown_type_is_inferred_too() -> None:
    loaded = read([{"t": 3, "a": "x"}], StreamDeclaration("s", {"t": Type.UNKNOWN, "a": Type.UNKNOWN}, "t"))
    assert loaded.schema.attributes == {"t": Type.INT, "a": Type.STRING}


def test_open_with_some_declared() -> None:
    loaded = read([{"b": 1, "time": 1, "a": 2}], StreamDeclaration("s", {"a": Type.FLOAT}, "time", open=True))
    assert loaded.schema.attributes == {"a": Type.FLOAT, "b": Type.INT, "time": Type.INT}


def test_every_malformed_line_is_quarantined_with_its_reason(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        '{"time": "2024-01-01", "price": 1}',
        "{oops",
        "[1, 2]",
        "",
        '{"price": 2}',
        '{"time": null, "price": 2}',
        '{"time": "2024-01-01", "price": "abc"}',
        '{"time": "yesterday", "price": "abc"}',
        '{"time": "2024-01-01", "price": true}',
        '{"time": "2024-01-01", "price": {"amount": 1}}',
        '{"time": "2024-01-01", "price": [1]}',
        '{"time": "0001-01-01T00:00:00+02:00", "price": 1}',
        '{"time": "2024-01-01", "price": "\\ud800"}',
        '{"time": "2024-01-02", "price": 3}',
    )
    loaded = read(path, PRICED)
    assert reasons(loaded) == [
        (2, "not JSON"),
        (3, "not a JSON object"),
        (5, "no time"),
        (6, "no time"),
        (7, "price: expected FLOAT, found 'abc'"),
        (8, "time: expected TIMESTAMP, found 'yesterday'"),
        (12, "time beyond range"),
        (13, "not valid Unicode"),
    ]
    assert loaded.quarantined[1] == QuarantinedEvent("ticks", str(path), 3, "not a JSON object", "[1, 2]")
    assert loaded.quarantined[4].raw == '{"time": "yesterday", "price": "abc"}'
    assert loaded.table.column("price").to_pylist() == [1.0, None, None, None, None, 3.0]
    assert [values.count for values in loaded.nulled] == [4]
    assert loaded.total == 13


def test_bytes_that_are_no_text_are_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "ticks.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"time": 1, "price": 1}\r\n{"time": 2, "name": "\xff"}\r\n')
    loaded = read(path, PRICED)
    assert reasons(loaded) == [(2, "not UTF-8")]
    assert loaded.quarantined[0].raw == '{"time": 2, "name": "\ufffd"}'


def test_nesting_without_end_is_not_json(tmp_path: Path) -> None:
    path = lines(tmp_path, '{"time": 1, "price": 1}', '{"time":' + "[" * 100_000)
    assert reasons(read(path, PRICED)) == [(2, "not JSON")]


def test_strict_names_the_first_malformed_event(tmp_path: Path) -> None:
    path = lines(tmp_path, '{"time": 1, "price": 1}', '{"time": 1, "price": "abc"}', "{oops")
    with pytest.raises(InputError) as caught:
        read(path, PRICED, strict=True)
    assert caught.value.code == "bad-event"
    assert str(caught.value) == f"{path}:2: price: expected FLOAT, found 'abc'"


def test_strict_accepts_well_formed_events() -> None:
    assert read([{"time": 1}], OPEN, strict=True).total == 1


def test_int() -> None:
    assert of(Type.INT, 1, None, 2.0, 2**63 - 1, -(2**63)) == ([1, None, 2, 2**63 - 1, -(2**63)], [])
    assert of(Type.INT, 1.5, 99999999999999999999, -1e30, "1", True, float("inf")) == (
        [],
        [
            (1, "a: expected INT, found 1.5"),
            (2, "a: 99999999999999999999 does not fit INT"),
            (3, "a: -1e+30 does not fit INT"),
            (4, "a: expected INT, found '1'"),
            (5, "a: expected INT, found true"),
            (6, "a: expected INT, found inf"),
        ],
    )


def test_float() -> None:
    assert of(Type.FLOAT, 1, 2.5, float("nan"), 2**60 + 1, 10**20, Decimal("0.5")) == (
        [1.0, 2.5, None, float(2**60), 1e20, 0.5],
        [],
    )
    huge = 10**400
    assert of(Type.FLOAT, huge) == ([], [(1, f"a: {str(huge)[:59]}… does not fit FLOAT")])
    assert of(Type.FLOAT, 10**5000) == ([], [(1, "a: a very long number does not fit FLOAT")])


def test_bool_and_string() -> None:
    assert of(Type.BOOL, True, None, np.False_) == ([True, None, False], [])
    assert of(Type.BOOL, 1, "true") == ([], [(1, "a: expected BOOL, found 1"), (2, "a: expected BOOL, found 'true'")])
    assert of(Type.STRING, "x", None, "") == (["x", None, ""], [])
    assert of(Type.STRING, 5, "\ud800", "x" * 100 + "!", 1) == (
        ["x" * 100 + "!"],
        [(1, "a: expected STRING, found 5"), (2, "a: not valid Unicode"), (4, "a: expected STRING, found 1")],
    )
    assert of(Type.INT, "x" * 100) == ([], [(1, f"a: expected INT, found '{'x' * 59}…'")])


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29T12:34:56Z",
        "2024-02-29 12:34:56",
        "2024-02-29T12:34:56.5",
        "2024-02-29T12:34:56.123456Z",
        "2024-02-29T12:34:56.123456789Z",
        "2024-02-29T12:34:56+05:30",
        "2024-02-29",
        "0001-01-01T00:00:00",
        "9999-12-31T23:59:59.999999",
    ],
)
def test_timestamps_alone_and_among_others_are_the_same(text: str) -> None:
    expected = parse_timestamp(text)
    assert of(Type.TIMESTAMP, text) == ([expected], [])
    assert of(Type.TIMESTAMP, text, "2024-01-01T00:00:00+01:00") == ([expected, 1704063600000000], [])


def test_timestamps_of_python() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    micros = 1704110400000000
    assert of(
        Type.TIMESTAMP,
        noon,
        noon.replace(tzinfo=None),
        noon.astimezone(timezone(timedelta(hours=5))),
        np.datetime64("2024-01-01T12:00:00.000000001"),
        np.datetime64("NaT"),
        date(2024, 1, 1),
    ) == ([micros, micros, micros, micros, None, micros - 43_200_000_000], [])
    assert of(Type.TIMESTAMP, 5, "2024-13-01T00:00:00Z") == (
        [],
        [
            (1, "a: expected TIMESTAMP, found 5"),
            (2, "a: expected TIMESTAMP, found '2024-13-01T00:00:00Z'"),
        ],
    )
    assert of(Type.TIMESTAMP, "0000-01-01T00:00:00Z")[1] == [(1, "a: expected TIMESTAMP, found '0000-01-01T00:00:00Z'")]
    assert of(Type.TIMESTAMP, "9999-12-31T23:59:59-01:00")[1] == [(1, "a beyond range")]


def test_nan_and_infinity_as_python_writes_them(tmp_path: Path) -> None:
    path = lines(tmp_path, '{"time": 1, "price": NaN}', '{"time": 2, "price": Infinity}', '{"time": 3, "price": 1e400}')
    loaded = read(path, PRICED)
    assert loaded.table.column("price").to_pylist() == [None, float("inf"), float("inf")]


def test_a_number_is_a_time() -> None:
    assert read([{"time": 1}, {"time": 2}], OPEN).schema.time_type is Type.INT
    assert read([{"time": 1}, {"time": 2.5}], OPEN).schema.time_type is Type.FLOAT
    loaded = read([{"time": 1.5}, {"time": float("nan")}, {"time": float("inf")}], OPEN)
    assert reasons(loaded) == [(2, "no time"), (3, "time beyond range")]


def test_malformed_values_before_the_first_time_do_not_decide() -> None:
    loaded = read([{"time": "yesterday"}, {"time": [1]}, {"time": "2024-01-01"}, {"time": 5}], OPEN)
    assert loaded.schema.time_type is Type.TIMESTAMP
    assert reasons(loaded) == [
        (1, "time: expected TIMESTAMP, found 'yesterday'"),
        (2, "time: expected TIMESTAMP, found a list"),
        (4, "time: expected TIMESTAMP, found 5"),
    ]
    assert read([{"time": "yesterday"}], OPEN).schema.time_type is Type.TIMESTAMP
    assert read([{"time": True}], OPEN).schema.time_type is Type.INT


def test_the_first_value_decides_an_attribute() -> None:
    loaded = read([{"time": 1, "a": None}, {"time": 2, "a": "x"}, {"time": 3, "a": 5}], OPEN)
    assert loaded.schema.attributes["a"] is Type.STRING
    assert reasons(loaded) == [(3, "a: expected STRING, found 5")]


def test_int_with_a_later_text_stays_int_and_with_a_later_float_is_widened() -> None:
    assert read([{"time": 1, "a": 1}, {"time": 2, "a": "x"}], OPEN).schema.attributes["a"] is Type.INT
    loaded = read([{"time": 1, "a": 1}, {"time": 2, "a": "x"}, {"time": 3, "a": 0.5}], OPEN)
    assert loaded.schema.attributes["a"] is Type.FLOAT
    assert loaded.table.column("a").to_pylist() == [1.0, None, 0.5]


def test_a_nested_column_is_read_by_its_parts() -> None:
    rows = [{"time": 1, "place": {"room": 1}, "tags": ["x"]}]
    assert read(rows, OPEN).table.column_names == ["time", "place.room", "tags[0]"]
    with pytest.raises(InputError, match=r'place is an object, not STRING\n  hint: use its parts: "place.room"'):
        read(rows, StreamDeclaration("s", {}, "time", id="place"))


def test_a_column_of_nulls_is_a_string() -> None:
    assert read([{"time": 1, "a": None}], OPEN).schema.attributes["a"] is Type.STRING


def test_a_declared_attribute_that_no_event_has_is_an_error_unless_others_may_come() -> None:
    with pytest.raises(InputError, match="ticks: no event has the column 'price'"):
        read([{"time": 1}], PRICED)
    assert read([{"time": 1}], PRICED, whole=False).table.to_pylist() == [{"price": None, "time": 1}]


def test_a_time_that_no_event_has_is_an_error(tmp_path: Path) -> None:
    path = lines(tmp_path, '{"tiem": 1, "price": 2}')
    with pytest.raises(InputError) as caught:
        read(path, PRICED)
    assert caught.value.code == "missing-column"
    assert str(caught.value) == f"{path}: no event has the time column 'time'\n  hint: did you mean 'tiem'?"


def test_an_undeclared_id_that_no_event_has_is_an_error() -> None:
    with pytest.raises(InputError, match="ticks: no event has the column 'nmae'\n  hint: did you mean 'name'"):
        read([{"time": 1, "name": "x"}], StreamDeclaration("ticks", {}, "time", id="nmae"))


def test_a_time_must_be_a_time() -> None:
    with pytest.raises(InputError, match=r"^time: a time is TIMESTAMP, INT or FLOAT, not STRING$") as caught:
        read([{"time": "x"}], StreamDeclaration("s", {"time": Type.STRING}, "time"))
    assert caught.value.code == "wrong-type"


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
def test_an_empty_file_has_no_events(tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text(content)
    loaded = read(path, OPEN)
    assert (loaded.total, loaded.table.num_rows, loaded.schema.attributes) == (0, 0, {"time": Type.INT})
    assert read(path, PRICED).schema.attributes == {"price": Type.FLOAT, "time": Type.INT}
    assert read([], OPEN).total == 0


@pytest.mark.parametrize("content", [b"\x00\x01\xff\xfe\n\x80", b"[\n", b"time,price\n1,2\n"])
def test_a_file_without_any_object_is_not_json_lines(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path, OPEN)
    assert caught.value.code == "wrong-format"
    assert str(caught.value) == (
        f"{path} is not JSON: no line is an object, and it is no array of objects\n"
        '  hint: write an object a line, such as {"time": 1, "price": 2.5}'
    )


def test_dicts_from_any_iterable_and_other_values() -> None:
    rows: list[object] = [{"time": 1, "a": np.int64(3)}, 7, {"time": "x", "a": date(2024, 1, 1)}]
    loaded = read(iter(rows), OPEN)
    assert loaded.table.to_pylist() == [{"time": 1, "a": 3}]
    assert loaded.quarantined == (
        QuarantinedEvent("ticks", "ticks", 2, "not a mapping", "7"),
        QuarantinedEvent("ticks", "ticks", 3, "time: expected INT, found 'x'", '{"time": "x", "a": "2024-01-01"}'),
    )


def test_names_that_cannot_be_columns_are_left_out() -> None:
    rows: list[object] = [{"time": 1, 5: 2, "\ud800": 3}]
    assert read(rows, OPEN).table.column_names == ["time"]


def test_events_for_the_reference() -> None:
    rows = [{"time": "1970-01-01T00:00:01Z", "id": "x", "seq": 2}, {"id": "lost"}, {"time": "1970-01-01", "id": None}]
    loaded = read(rows, StreamDeclaration("s", {}, "time", id="id", order="seq"))
    first, second = events_of(loaded, 3)
    assert first.attributes == {"time": 1_000_000, "id": "x", "seq": 2}
    assert (first.stream, first.start, first.end, first.name) == ("s", 1_000_000, 1_000_000, "x")
    assert first.key == ((1_000_000, 0, 1, 2, 3, 0),)
    assert second.key == ((0, 0, 0, 0, 3, 1),)
    assert second.name is None
    assert [event.name for event in events_of(read([{"time": 1.5}], OPEN), 0)] == [None]


@pytest.mark.parametrize("source", [5, {"time": [1]}, b"x.csv"])
def test_unknown_sources_are_refused(source: object) -> None:
    with pytest.raises(InputError) as caught:
        read(source, OPEN)
    assert caught.value.code == "unknown-source"
    assert caught.value.message == f"ticks: cannot read events from a value of type {type(source).__name__}"


def test_half_a_character_in_a_name(tmp_path: Path) -> None:
    """Objects over several lines are read by Python's own reader, which takes them for texts."""
    loaded = read(lines(tmp_path, '{"time": 1,', '"a": 2}', '{"time": 2,', '"\\ud800": 3}'), OPEN)
    assert loaded.table.to_pylist() == [{"time": 1, "a": 2}]
    assert reasons(loaded) == [(3, "not valid Unicode")]
