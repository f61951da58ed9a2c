"""Arrow data, Parquet files, pandas and polars frames."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from foretell.errors import InputError
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, events_of, read
from foretell.events.types import Type

OPEN = StreamDeclaration("ticks", {}, "time", open=True)
MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)


def column(values: pa.Array, kind: Type | None = None) -> tuple[list[object], list[tuple[int, str]], Type]:
    """What becomes of an Arrow column `a`, declared as `kind` or open."""
    table = pa.table({"time": pa.array(range(len(values))), "a": values})
    loaded = read(table, OPEN if kind is None else StreamDeclaration("ticks", {"a": kind}, "time"))
    return loaded.table.column("a").to_pylist(), reasons(loaded), loaded.schema.attributes["a"]


def reasons(loaded: EventBatch) -> list[tuple[int, str]]:
    """The places and reasons of quarantined events, and of the first value for each cause that is NULL."""
    bad = [(event.row, event.reason) for event in loaded.quarantined]
    return sorted([*bad, *((values.row, values.reason) for values in loaded.nulled)])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array([1, None], pa.int8()), Type.INT, [1, None]),
        (pa.array([1], pa.uint64()), Type.INT, [1]),
        (pa.array([1.5, float("nan"), None], pa.float32()), Type.FLOAT, [1.5, None, None]),
        (pa.array([Decimal("1.25"), None]), Type.FLOAT, [1.25, None]),
        (pa.array([True, None]), Type.BOOL, [True, None]),
        (pa.array(["x", None], pa.large_string()), Type.STRING, ["x", None]),
        (pa.array(["x", None], pa.string_view()), Type.STRING, ["x", None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), Type.STRING, ["x", None, "x"]),
        (pa.array([7, 7, 8]).dictionary_encode(), Type.INT, [7, 7, 8]),
        (pc.call_function("run_end_encode", [pa.array(["x", "x", None])]), Type.STRING, ["x", "x", None]),
        (pa.nulls(2), Type.STRING, [None, None]),
        (pa.array([MIDNIGHT.replace(tzinfo=None)], pa.timestamp("s")), Type.TIMESTAMP, [MIDNIGHT]),
        (pa.array([MIDNIGHT], pa.timestamp("ms", "Asia/Tokyo")), Type.TIMESTAMP, [MIDNIGHT]),
        (pa.array([MIDNIGHT, None], pa.timestamp("us", "UTC")), Type.TIMESTAMP, [MIDNIGHT, None]),
        (pa.array([date(2024, 1, 1), None], pa.date32()), Type.TIMESTAMP, [MIDNIGHT, None]),
        (pa.array([date(2024, 1, 1)], pa.date64()), Type.TIMESTAMP, [MIDNIGHT]),
    ],
)
def test_types_are_inferred(values: pa.Array, kind: Type, expected: list[object]) -> None:
    assert column(values) == (expected, [], kind)


def test_nanoseconds_are_rounded_down_as_in_texts() -> None:
    values, _, _ = column(pa.array([-1, 1999, None], pa.timestamp("ns")))
    assert [value and value.timestamp() for value in values] == [-1e-06, 1e-06, None]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("values", "kind", "expected", "bad"),
    [
        (pa.array([2**63, 5], pa.uint64()), None, [None, 5], [(1, "a: 9223372036854775808 does not fit INT")]),
        (pa.array([1.0, 1.5]), Type.INT, [1, None], [(2, "a: expected INT, found 1.5")]),
        (pa.array([Decimal("1.0"), Decimal("2.5")]), Type.INT, [1, None], [(2, "a: expected INT, found 2.5")]),
        (pa.array([2**60 + 1]), Type.FLOAT, [float(2**60)], []),
        (
            pa.array(["2024-01-01", "soon"]),
            Type.TIMESTAMP,
            [MIDNIGHT, None],
            [(2, "a: expected TIMESTAMP, found 'soon'")],
        ),
        (pa.array([10**13, 1704067200], pa.timestamp("s")), None, [None, MIDNIGHT], [(1, "a beyond range")]),
        (pa.array([b"ok", b"\xff"]).view(pa.string()), Type.STRING, ["ok", None], [(2, "a: not UTF-8")]),
        (pa.nulls(1), Type.BOOL, [None], []),
    ],
)
def test_values_that_do_not_fit(
    values: pa.Array, kind: Type | None, expected: list[object], bad: list[tuple[int, str]]
) -> None:
    found, found_bad, _ = column(values, kind)
    assert (found, found_bad) == (expected, bad)


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (pa.array(["x"]), Type.FLOAT, "a: expected FLOAT, but the column is string"),
        (pa.array([True]), Type.TIMESTAMP, "a: expected TIMESTAMP, but the column is bool"),
        (pa.array([True]), Type.INT, "a: expected INT, but the column is bool"),
        (pa.array([{"b": 1}]), Type.INT, 'a is an object, not INT\n  hint: use its parts: "a.b"'),
        (pa.array([b"x"]), Type.STRING, "a: expected STRING, but the column is binary"),
    ],
)
def test_a_declared_column_of_another_type_is_an_error(values: pa.Array, kind: Type, message: str) -> None:
    with pytest.raises(InputError) as caught:
        column(values, kind)
    assert (caught.value.code, str(caught.value)) == ("wrong-type", message)


def test_other_types_are_left_out_unless_they_are_named() -> None:
    table = pa.table({"time": [1], "place": [{"room": 1}], "raw": [b"x"]})
    assert read(table, OPEN).table.column_names == ["time", "place.room"]
    with pytest.raises(InputError, match=r"^raw: the column's type binary cannot be an attribute\n"):
        read(table, StreamDeclaration("s", {}, "time", id="raw"))
    with pytest.raises(InputError, match=r"^raw: the column's type binary cannot be a time\n"):
        read(table, StreamDeclaration("s", {}, "raw"))


def test_times() -> None:
    table = pa.table({"time": ["2024-01-01", None, "soon"], "a": [1, 2, 3]})
    loaded = read(table, OPEN)
    assert loaded.schema.time_type is Type.TIMESTAMP
    assert reasons(loaded) == [(2, "no time"), (3, "time: expected TIMESTAMP, found 'soon'")]
    assert loaded.quarantined[1].raw == '{"time": "soon", "a": 3}'
    assert loaded.table.to_pylist() == [{"time": MIDNIGHT, "a": 1}]
    endless = read(pa.table({"time": [1.0, float("inf")]}), OPEN)
    assert reasons(endless) == [(2, "time beyond range")]
    beyond = read(pa.table({"time": pa.array([2**62], pa.timestamp("ms"))}), OPEN)
    assert reasons(beyond) == [(1, "time beyond range")]
    with pytest.raises(InputError, match=r"^ticks:1: time beyond range$"):
        read(pa.table({"time": [float("inf")]}), OPEN, strict=True)


def test_tables_batches_readers() -> None:
    table = pa.table({"time": [1, 2], "a": ["x", "y"]})
    for source in (table, table.to_batches()[0], table.to_reader()):
        assert read(source, OPEN).table.to_pylist() == table.to_pylist()
    assert read(table.slice(0, 0), OPEN).table.num_rows == 0
    assert read(table.slice(1), OPEN).table.to_pylist() == [{"time": 2, "a": "y"}]


def test_a_chunked_table_keeps_count() -> None:
    table = pa.concat_tables([pa.table({"time": [1, None]}), pa.table({"time": [None, 2]})])
    loaded = read(table, OPEN)
    assert reasons(loaded) == [(2, "no time"), (3, "no time")]


def test_a_name_twice() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["time", "time"])
    with pytest.raises(InputError, match=r"^ticks has two columns 'time'$"):
        read(table, OPEN)


def test_missing_columns() -> None:
    with pytest.raises(InputError) as caught:
        read(pa.table({"time": [1]}), StreamDeclaration("ticks", {"price": Type.INT}, "time"))
    assert caught.value.code == "missing-column"
    assert str(caught.value) == "ticks: no column 'price'\n  hint: known here: 'time'"


def test_polars() -> None:
    frame = pl.DataFrame(
        {"time": [datetime(2024, 1, 1)], "name": ["x"], "kind": pl.Series(["k"], dtype=pl.Categorical), "n": [1]}
    )
    loaded = read(frame, OPEN)
    assert loaded.table.to_pylist() == [{"time": MIDNIGHT, "name": "x", "kind": "k", "n": 1}]
    assert loaded.table.schema.field("name").type == pa.string()


def test_pandas() -> None:
    frame = pd.DataFrame({"name": ["x", None], "x": [1.5, float("nan")]}, index=pd.to_datetime(["2024-01-01"] * 2))
    frame.index.name = "time"
    loaded = read(frame, OPEN)
    assert loaded.table.to_pylist() == [
        {"name": "x", "x": 1.5, "time": MIDNIGHT},
        {"name": None, "x": None, "time": MIDNIGHT},
    ]
    unnamed = pd.DataFrame({"time": [1, 2]}, index=["p", "q"])
    assert read(unnamed, OPEN).table.column_names == ["time"]


def test_a_pandas_column_of_several_types_goes_row_by_row() -> None:
    frame = pd.DataFrame({"time": [pd.Timestamp("2024-01-01"), pd.NaT, pd.Timestamp("2024-01-01")], "a": ["x", "y", 5]})
    loaded = read(frame, OPEN)
    assert loaded.table.to_pylist() == [{"time": MIDNIGHT, "a": "x"}, {"time": MIDNIGHT, "a": None}]
    assert reasons(loaded) == [(2, "no time"), (3, "a: expected STRING, found 5")]
    nullable = pd.DataFrame({"time": [1, 2, 3], "a": pd.Series(["x", pd.NA, 5], dtype=object)})
    assert read(nullable, OPEN).table.column("a").to_pylist() == ["x", None, None]


def test_parquet_reads_only_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "ticks.parquet"
    pq.write_table(pa.table({"time": [1, None], "price": [1, 2], "other": ["x", "y"]}), path)
    loaded = read(path, StreamDeclaration("ticks", {"price": Type.FLOAT}, "time"))
    assert loaded.table.to_pylist() == [{"price": 1.0, "time": 1}]
    assert [(bad.source, bad.row, bad.raw) for bad in loaded.quarantined] == [
        (str(path), 2, '{"time": null, "price": 2}')
    ]
    with pytest.raises(InputError, match="no time column 'otter'\n  hint: did you mean 'other'"):
        read(path, StreamDeclaration("ticks", {}, "otter"))


def test_files_that_are_not_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ticks.parquet"
    for content in (b"", b"time,price\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read(path, OPEN)
        assert caught.value.code == "wrong-format"
        assert caught.value.message == f"{path} is not a Parquet file"


def test_events_of_a_table() -> None:
    events = events_of(read(pa.table({"time": pa.array([5], pa.timestamp("us"))}), OPEN), 0)
    assert [(event.end, event.attributes) for event in events] == [(5, {"time": 5})]
