"""CSV files."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pyarrow as pa
import pytest

from foretell.errors import InputError
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.types import Type

OPEN = StreamDeclaration("ticks", {}, "time", open=True)


def load(folder: Path, text: str | bytes, declaration: StreamDeclaration = OPEN) -> EventBatch:
    path = folder / "ticks.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, declaration)


def reasons(loaded: EventBatch) -> list[tuple[int, str]]:
    """The places and reasons of quarantined events, and of the first value for each cause that is NULL."""
    bad = [(event.row, event.reason) for event in loaded.quarantined]
    return sorted([*bad, *((values.row, values.reason) for values in loaded.nulled)])


@pytest.mark.parametrize(
    ("fields", "kind", "values"),
    [
        (["1", "-2", "+3", " 4 "], Type.INT, [1, -2, 3, 4]),
        (["1", "2.5", ".5", "1e3", "nan", "-inf"], Type.FLOAT, [1.0, 2.5, 0.5, 1000.0, None, float("-inf")]),
        (["true", "False", "TRUE"], Type.BOOL, [True, False, True]),
        (["1", "x"], Type.STRING, ["1", "x"]),
        (["true", "1"], Type.STRING, ["true", "1"]),
        (["0x1f"], Type.STRING, ["0x1f"]),
        (["1_000"], Type.STRING, ["1_000"]),
        (["٣"], Type.STRING, ["٣"]),
        # A long number is a name: as FLOAT, two of them could become one.
        (["1", "99999999999999999999"], Type.STRING, ["1", "99999999999999999999"]),
        (["2024-01-01"], Type.STRING, ["2024-01-01"]),
        (["2024-01-01T00:00:00Z", "then"], Type.STRING, ["2024-01-01T00:00:00Z", "then"]),
        (["2024-01-01T99:00:00Z"], Type.STRING, ["2024-01-01T99:00:00Z"]),
        (["", ""], Type.STRING, [None, None]),
        (["", "5"], Type.INT, [None, 5]),
    ],
)
def test_the_most_specific_type_that_fits_all(
    tmp_path: Path, fields: list[str], kind: Type, values: list[object]
) -> None:
    loaded = load(tmp_path, "time,a\n" + "".join(f"1,{field}\n" for field in fields))
    assert loaded.schema.attributes["a"] is kind
    assert loaded.table.column("a").to_pylist() == values
    assert loaded.quarantined == ()


def test_full_date_times_are_timestamps(tmp_path: Path) -> None:
    loaded = load(tmp_path, "time,a\n1,2024-01-01T00:00:00Z\n2,2024-01-01 00:00\n3,\n4,2024-01-01T00:00:00+01:00\n")
    assert loaded.schema.attributes["a"] is Type.TIMESTAMP
    assert loaded.table.column("a").cast(pa.int64()).to_pylist() == [
        1704067200000000,
        1704067200000000,
        None,
        1704063600000000,
    ]


def test_the_first_time_decides(tmp_path: Path) -> None:
    assert load(tmp_path, "time\n2024-01-01\n").schema.time_type is Type.TIMESTAMP
    assert load(tmp_path, "time\n20240101\n").schema.time_type is Type.INT
    assert load(tmp_path, "time\n1\n2.5\n").schema.time_type is Type.FLOAT
    loaded = load(tmp_path, "time,a\nyesterday,1\n2024-01-01,2\n,3\n5,4\n")
    assert loaded.schema.time_type is Type.TIMESTAMP
    assert reasons(loaded) == [
        (2, "time: expected TIMESTAMP, found 'yesterday'"),
        (4, "no time"),
        (5, "time: expected TIMESTAMP, found '5'"),
    ]
    assert load(tmp_path, "time\nx\n").schema.time_type is Type.TIMESTAMP
    assert load(tmp_path, "time,a\n,1\n").schema.time_type is Type.INT


def test_values_that_do_not_fit_are_null_and_rows_that_are_none_quarantined(tmp_path: Path) -> None:
    declaration = StreamDeclaration(
        "ticks", {"n": Type.INT, "x": Type.FLOAT, "b": Type.BOOL, "t": Type.TIMESTAMP}, "time"
    )
    loaded = load(
        tmp_path,
        "time,n,x,b,t\n"
        "1,1.0,2,true,2024-01-01\n"
        "2,1.5,,,\n"
        "3,99999999999999999999,,,\n"
        "4,,abc,,\n"
        "5,,,1,\n"
        "6,,,,soon\n"
        "7,,\n"
        "8,,,,,\n"
        "1e400,,,,\n"
        "\n"
        "9,x,y,,\n",
        declaration,
    )
    assert reasons(loaded) == [
        (3, "n: expected INT, found '1.5'"),
        (4, "n: 99999999999999999999 does not fit INT"),
        (5, "x: expected FLOAT, found 'abc'"),
        (6, "b: expected BOOL, found '1'"),
        (7, "t: expected TIMESTAMP, found 'soon'"),
        (8, "expected 5 fields, found 3"),
        (9, "expected 5 fields, found 6"),
        (10, "time beyond range"),
    ]
    assert [(values.cause, values.count) for values in loaded.nulled] == [
        ("n: expected INT", 2),
        ("n: does not fit INT", 1),
        ("x: expected FLOAT", 2),
        ("b: expected BOOL", 1),
        ("t: expected TIMESTAMP", 1),
    ]
    assert loaded.quarantined[0] == QuarantinedEvent(
        "ticks", str(tmp_path / "ticks.csv"), 8, "expected 5 fields, found 3", "7,,"
    )
    assert loaded.table.column("n").to_pylist() == [1, None, None, None, None, None, None]
    assert loaded.total == 10


def test_quotes_and_the_lines_they_span(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'time,a\r\n1,"x, ""y""\r\nz"\r\nno,"two\nlines"\r\n2,w\r\n')
    assert loaded.table.to_pylist() == [{"time": 1, "a": 'x, "y"\r\nz'}, {"time": 2, "a": "w"}]
    assert loaded.quarantined[0].row == 4
    assert loaded.quarantined[0].raw == 'no,"two\nlines"'


def test_a_quote_that_is_not_closed_costs_one_line(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'time,a\n1,x\n2,"y\n3,z\n4,"w" v\n5,u\n')
    assert [row["time"] for row in loaded.table.to_pylist()] == [1, 3, 5]
    assert reasons(loaded) == [(3, "not CSV: ',' expected after '\"'"), (5, "not CSV: ',' expected after '\"'")]
    assert loaded.quarantined[0].raw == '2,"y'
    assert reasons(load(tmp_path, 'time,a\n1,x\n2,"y\n3,z\n')) == [(3, "a quote is not closed")]


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    loaded = load(tmp_path, b"\xef\xbb\xbftime,a\n1,caf\xc3\xa9\n2,caf\xe9\n")
    assert loaded.table.to_pylist() == [{"time": 1, "a": "café"}]
    assert reasons(loaded) == [(3, "not UTF-8")]
    assert loaded.quarantined[0].raw == "2,caf\ufffd"


def test_no_rows(tmp_path: Path) -> None:
    assert load(tmp_path, "").schema.attributes == {"time": Type.INT}
    assert load(tmp_path, "a,time\n").schema.attributes == {"a": Type.STRING, "time": Type.INT}
    assert load(tmp_path, "", StreamDeclaration("s", {"a": Type.BOOL}, "t")).schema.attributes == {
        "a": Type.BOOL,
        "t": Type.INT,
    }


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (StreamDeclaration("s", {}, "tmie"), "no time column 'tmie'\n  hint: did you mean 'time'?"),
        (StreamDeclaration("s", {"cost": Type.INT}, "time"), "no column 'cost'\n  hint: known here: 'price', 'time'"),
        (StreamDeclaration("s", {}, "time", order="prize"), "no column 'prize'\n  hint: did you mean 'price'?"),
    ],
)
def test_missing_columns(tmp_path: Path, declaration: StreamDeclaration, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, "time,price\n1,2\n", declaration)
    assert caught.value.code == "missing-column"
    assert str(caught.value) == f"{tmp_path / 'ticks.csv'}: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x00\x01", " is not CSV: it is binary"),
        (
            b"PK\x03\x04\x14\x00\x00\x00",
            " is not CSV: it is binary\n  hint: unpack the ZIP archive; .gz, .bz2, .zst and .xz are read as they are",
        ),
        (b"\xff,a\n", " is not CSV: its first line is no header"),
        (b'"time\n1\n', " is not CSV: its first line is no header"),
        (b"time,a,a\n", ": the header names 'a' twice"),
    ],
)
def test_files_that_are_not_csv_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, content)
    assert caught.value.code == "wrong-format"
    assert str(caught.value) == f"{tmp_path / 'ticks.csv'}{message}"


def test_thousands_of_columns_take_no_time(tmp_path: Path) -> None:
    """The time grew with the square of their number, and each column without a value was looked at many times."""
    text = f"time{',' * 12_000}\n{'1' + ',' * 12_000}\n"
    load(tmp_path, text)
    start = process_time()
    assert load(tmp_path, text).table.num_columns == 12_000
    assert process_time() - start < 2
