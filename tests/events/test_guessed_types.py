"""Guesses about the types of text columns: markers of missing values, leading zeros, identifiers, stray texts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.events.ingest.null_markers import NullMarkers
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, reading_notes
from foretell.events.types import Type

TIME = "time"


def column(folder: Path, values: list[str], *, is_id: bool = False, nulls: tuple[str | float, ...] = ()) -> EventBatch:
    path = folder / "s.csv"
    path.write_text("time,v\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values)))
    declaration = StreamDeclaration("s", {}, TIME, id="v" if is_id else None, open=True, read=ReadOptions(nulls=nulls))
    return read(path, declaration)


def typed(batch: EventBatch) -> tuple[Type, list[object]]:
    return batch.schema.attributes["v"], batch.table["v"].to_pylist()


# ── markers of missing values ──


@pytest.mark.parametrize("marker", ["NA", "N/A", "n/a", "null", "NULL", "None", "-", "?", " NA", "#N/A", "NaT"])
def test_a_usual_marker_does_not_make_a_column_string(tmp_path: Path, marker: str) -> None:
    batch = column(tmp_path, ["1", marker, "3"])
    assert typed(batch) == (Type.INT, [1, None, 3])
    assert reading_notes(batch) == (
        f"s: '{marker.strip()}' is read as a missing value in v (1 value, the first at {tmp_path}/s.csv:3)",
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1.5", "NA"], Type.FLOAT),
        (["NA", "true", "false"], Type.BOOL),
        (["NA", "2026-01-01T00:00:00"], Type.TIMESTAMP),
        (["NA", "-", "x"], Type.STRING),
        (["NA", "-"], Type.STRING),
    ],
)
def test_markers_among_values_of_each_type(tmp_path: Path, values: list[str], kind: Type) -> None:
    batch = column(tmp_path, values)
    assert batch.schema.attributes["v"] is kind
    assert batch.table["v"].null_count == (0 if kind is Type.STRING else values.count("NA"))
    assert bool(reading_notes(batch)) == (kind is not Type.STRING)


def test_markers_after_many_numbers_are_found(tmp_path: Path) -> None:
    assert typed(column(tmp_path, [*map(str, range(200)), "NA"])) == (Type.INT, [*range(200), None])


def test_a_marker_in_json_does_not_decide(tmp_path: Path) -> None:
    batch = read([{"time": 1, "v": "NA"}, {"time": 2, "v": 5}], StreamDeclaration("s", {}, TIME, open=True))
    assert typed(batch) == (Type.INT, [None, 5])
    batch = read([{"time": 1, "v": "NA"}, {"time": 2, "v": "x"}], StreamDeclaration("s", {}, TIME, open=True))
    assert typed(batch) == (Type.STRING, ["NA", "x"])


def test_declared_markers_in_every_format(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"time": 1, "v": -99, "k": "NA"}, {"time": 2, "v": 5, "k": "x"}]
    (tmp_path / "s.csv").write_text("time,v,k\n1,-99.00,NA\n2,5,x\n")
    (tmp_path / "s.jsonl").write_text('{"time":1,"v":-99,"k":"NA"}\n{"time":2,"v":5,"k":"x"}\n')
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    sources = [rows, pa.Table.from_pylist(rows), *(tmp_path / f"s.{end}" for end in ("csv", "jsonl", "parquet"))]
    for nulls in (("NA", -99), ("NA", "-99"), ("NA", -99.0)):
        for source in sources:
            batch = read(source, StreamDeclaration("s", {}, TIME, open=True, read=ReadOptions(nulls=nulls)))
            assert batch.table.select(["v", "k"]).to_pylist() == [{"v": None, "k": None}, {"v": 5, "k": "x"}]
            assert not batch.nulled
            assert not batch.notes


def test_a_marker_of_the_time_sets_the_event_aside(tmp_path: Path) -> None:
    declaration = StreamDeclaration("s", {}, TIME, open=True, read=ReadOptions(nulls=(-1,)))
    batch = read([{"time": -1}, {"time": 2}], declaration)
    assert [event.reason for event in batch.quarantined] == ["no time"]


def test_a_number_is_no_marker_for_texts_but_for_fields_of_csv(tmp_path: Path) -> None:
    markers = NullMarkers.of((-99,))
    assert not markers.has("-99")
    assert markers.has(-99.0)
    assert not NullMarkers.of((1,)).has(True)
    assert typed(column(tmp_path, ["-99", "x"], nulls=(-99,))) == (Type.STRING, [None, "x"])
    assert typed(column(tmp_path, ["-99", "2026-01-01T00:00:00"], nulls=(-99,)))[0] is Type.TIMESTAMP


# ── leading zeros and identifiers ──


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["007", "12"], Type.STRING),
        (["12", "007"], Type.STRING),
        (["-01"], Type.STRING),
        (["00"], Type.STRING),
        (["007", "1.5"], Type.STRING),
        (["0", "-0", "+5"], Type.INT),
        (["0.5", "00.5"], Type.FLOAT),
        (["1e3", "1000"], Type.FLOAT),
        (["1.0", "1.00"], Type.FLOAT),
    ],
)
def test_leading_zeros_keep_a_column_string(tmp_path: Path, values: list[str], kind: Type) -> None:
    assert column(tmp_path, values).schema.attributes["v"] is kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2"], Type.INT),
        (["1", "+1"], Type.STRING),
        (["1.0", "2.5"], Type.FLOAT),
        (["1.0", "1.00"], Type.STRING),
        (["1e3", "1000"], Type.STRING),
        (["1", "1.0"], Type.STRING),
        (["007", "7"], Type.STRING),
    ],
)
def test_identifiers_never_become_one(tmp_path: Path, values: list[str], kind: Type) -> None:
    batch = column(tmp_path, values, is_id=True)
    assert batch.schema.attributes["v"] is kind
    assert len(set(batch.table["v"].to_pylist())) == len(values)


# ── stray texts ──


def test_a_stray_text_is_named(tmp_path: Path) -> None:
    batch = column(tmp_path, [*map(str, range(300)), "dear", *map(str, range(300))])
    remark = (
        f"v is STRING because of 'dear' at {tmp_path}/s.csv:302; "
        "to read numbers, declare STREAM s (v INT, ...) TIME time"
    )
    assert batch.notes == (f"s: {remark}",)
    assert batch.schema.remarks == {"v": remark}


@pytest.mark.parametrize(
    ("values", "notified"),
    [
        (["1", "2", "x"], True),
        (["1", "x"], False),
        ([*"123456", "x", "y"], False),
        ([*map(str, range(300)), "x", "y"], True),
        ([*map(str, range(100)), "x", "y", "z"], False),
        (["x", *map(str, range(300))], True),
        (["a", "b", "c"], False),
        (["1.5", "2", "3", "NA", "5", "x"], True),
        (["007", "008"], False),
    ],
)
def test_few_texts_are_stray(tmp_path: Path, values: list[str], notified: bool) -> None:
    assert bool(column(tmp_path, values).notes) == notified


@pytest.mark.parametrize("engine", ["embedded", "reference"])
@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("v > 3", "cannot compare STRING with INT"),
        ("v IN (1, 2)", "cannot compare STRING with INT"),
        ("v BETWEEN 1 AND 2", "cannot compare STRING with INT"),
        ("v + 1 > 3", "cannot calculate STRING + INT"),
    ],
)
def test_a_comparison_with_a_number_names_the_row(tmp_path: Path, condition: str, message: str, engine: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,v\n1,1.5\n2,2\n3,x\n4,4\n5,5\n")
    with pytest.raises(ft.LanguageError) as caught:
        ft.run(f"SUBSCRIBE m FROM s MATCH a DEFINE a AS {condition}", {"s": path}, time={"s": "time"}, engine=engine)
    assert caught.value.message == message
    hint = f"v is STRING because of 'x' at {path}:4; to read numbers, declare STREAM s (v FLOAT, ...) TIME time"
    assert caught.value.hint == hint


def test_a_comparison_of_padded_numbers_names_the_leading_zero(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,zip\n1,10115\n2,01067\n")
    with pytest.raises(ft.LanguageError) as caught:
        ft.run("SUBSCRIBE m FROM s MATCH a DEFINE a AS zip > 3", {"s": path}, time={"s": "time"}, engine="embedded")
    assert caught.value.hint == (
        f"zip is STRING because of the leading zero of '01067' at {path}:3; "
        "to read numbers, declare STREAM s (zip INT, ...) TIME time"
    )


def test_a_marker_of_several_columns_is_one_note(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,v,w,x\n1,5,NA,7\n2,NA,NA,?\n3,6,1,1\n")
    batch = read(path, StreamDeclaration("s", {}, TIME, open=True))
    assert reading_notes(batch) == (
        f"s: 'NA' is read as a missing value in v, w (3 values, the first at {path}:2)",
        f"s: '?' is read as a missing value in x (1 value, the first at {path}:3)",
    )


@pytest.mark.parametrize("engine", ["embedded", "reference"])
@pytest.mark.parametrize("condition", ["v > 1", "v = 'x'", "v", "v > prev.v + 1"])
def test_columns_of_a_header_alone_have_no_type(tmp_path: Path, condition: str, engine: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,v\n")
    found = ft.run(f"SUBSCRIBE m FROM s MATCH a DEFINE a AS {condition};", {"s": path}, engine=engine)
    assert (list(found), found.summary.events) == ([], {"s": 0})


def test_declared_columns_of_a_header_alone_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,v\n")
    with pytest.raises(ft.LanguageError, match="cannot compare STRING with INT"):
        ft.run("STREAM s (v STRING) TIME time; SUBSCRIBE m FROM s MATCH a DEFINE a AS v > 1;", {"s": path})


def test_a_column_without_values_says_so_where_it_should_be_a_number(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("time,v\n1,\n2,NA\n")
    with pytest.raises(ft.LanguageError, match="cannot compare STRING with INT") as caught:
        ft.run("SUBSCRIBE m FROM s MATCH a DEFINE a AS v > 1;", {"s": path})
    hint = "v is STRING because no event has a value of it; to read numbers, declare STREAM s (v FLOAT, ...) TIME time"
    assert caught.value.hint == hint
    found = ft.run("SUBSCRIBE m FROM s MATCH a DEFINE a AS v IS NOT NULL;", {"s": path})
    assert not [note for note in found.notes if "STRING" in note]
