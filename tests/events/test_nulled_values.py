"""Values that cannot be read: NULL, counted by column and cause; only events without a time are quarantined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import foretell as ft
from foretell.events.ingest.nulled_values import cause_of, merge_nulled, unreadable_summary
from foretell.events.ingest.quarantine import quarantine_summary
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, reading_notes
from foretell.events.types import Type

DECLARED = StreamDeclaration("s", {"k": Type.STRING, "v": Type.FLOAT, "time": Type.INT}, "time")


def read_text(folder: Path, name: str, text: str, declaration: StreamDeclaration = DECLARED) -> EventBatch:
    path = folder / name
    path.write_text(text)
    return read(path, declaration)


def counts(batch: EventBatch) -> list[tuple[str, str, int, int, bool]]:
    return [(n.column, n.cause, n.count, n.row, n.is_marker) for n in batch.nulled]


CSV = "time,k,v\n1,a,1\n2,b,dear\n,c,x\n4,d,cheap\n5,e,NA\nx,f,2\n7,g,NA\n"


def test_only_events_without_a_time_are_quarantined(tmp_path: Path) -> None:
    batch = read_text(tmp_path, "s.csv", CSV)
    assert batch.table["time"].to_pylist() == [1, 2, 4, 5, 7]
    assert batch.table["v"].to_pylist() == [1.0, None, None, None, None]
    assert [(e.row, e.reason) for e in batch.quarantined] == [(4, "no time"), (7, "time: expected INT, found 'x'")]
    # The 'x' of line 4 is not counted: its event is not there.
    assert counts(batch) == [("v", "v: expected FLOAT", 2, 3, False), ("v", "'NA'", 2, 6, True)]
    assert batch.total == 7


def test_the_summary_has_one_line_for_all_texts_of_a_column(tmp_path: Path) -> None:
    rows = "".join(f"{n},a,text{n}\n" for n in range(1000))
    batch = read_text(tmp_path, "s.csv", f"time,k,v\n{rows}")
    assert list(unreadable_summary(batch.nulled, [("s", batch.total)])) == [
        "s: 1,000 of 1,000 values of v set to NULL: 1,000 × expected FLOAT, found 'text0' (and others) "
        f"(the first at {tmp_path}/s.csv:2)"
    ]


def test_the_summary_of_one_value_is_exact(tmp_path: Path) -> None:
    batch = read_text(tmp_path, "s.csv", "time,k,v\n1,a,dear\n")
    assert list(unreadable_summary(batch.nulled, [("s", 1)])) == [
        f"s: 1 of 1 value of v set to NULL: 1 × expected FLOAT, found 'dear' (the first at {tmp_path}/s.csv:2)"
    ]


def test_quarantined_events_are_grouped_by_cause(tmp_path: Path) -> None:
    rows = "".join(f"text{n},a,1\n" for n in range(1000))
    batch = read_text(tmp_path, "s.csv", f"time,k,v\n{rows},b,1\n1,c\n")
    assert list(quarantine_summary(batch.quarantined, [("s", batch.total)])) == [
        "s: 1,002 of 1,002 events set aside: 1,000 × time: expected INT, found 'text0' (and others), 1 × no time, "
        f"1 × expected 3 fields, found 2 (the first at {tmp_path}/s.csv:2)"
    ]


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("price: expected FLOAT, found 'dear'", "price: expected FLOAT"),
        ("a: expected INT, found 'x, found y\nz'", "a: expected INT"),
        ("n: 99999999999999999999 does not fit INT", "n: does not fit INT"),
        ("n: a very long number does not fit FLOAT", "n: does not fit FLOAT"),
        ("time beyond range", "time beyond range"),
        ("no time", "no time"),
        ("expected 3 fields, found 2", "expected 3 fields"),
    ],
)
def test_cause_of(reason: str, cause: str) -> None:
    assert cause_of(reason) == cause


def test_every_format_counts_alike(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"time": 1, "k": "a", "v": 1.5}, {"time": 2, "k": "b", "v": "dear"}]
    rows += [{"time": None, "k": "c", "v": 3.0}, {"time": 4, "k": None, "v": "NA"}, {"time": 5, "k": "e", "v": None}]
    csv = "time,k,v\n1,a,1.5\n2,b,dear\n,c,3.0\n4,,NA\n5,e,\n"
    json = "\n".join(str(row).replace("'", '"').replace("None", "null") for row in rows)
    found = [
        read(rows, DECLARED),
        read(pd.DataFrame(rows, dtype=object), DECLARED),
        read_text(tmp_path, "s.csv", csv),
        read_text(tmp_path, "s.jsonl", json),
    ]
    for batch in found:
        assert batch.table.to_pylist() == found[0].table.to_pylist()
        assert [(n.column, n.cause, n.count, n.is_marker) for n in batch.nulled] == [
            ("v", "v: expected FLOAT", 1, False),
            ("v", "'NA'", 1, True),
        ]
        assert len(batch.quarantined) == 1


def test_arrow_values_that_do_not_fit_are_null() -> None:
    table = pa.table({"time": pa.array([1, 2, 3]), "v": pa.array([1.0, 1.5, 2.0]), "k": pa.array(["a", "b", "c"])})
    batch = read(table, StreamDeclaration("s", {"k": Type.STRING, "v": Type.INT, "time": Type.INT}, "time"))
    assert batch.table["v"].to_pylist() == [1, None, 2]
    assert counts(batch) == [("v", "v: expected INT", 1, 2, False)]


def test_strict_stops_at_the_first_value_or_record(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    for text, error in (
        (CSV, f"{path}:3: v: expected FLOAT, found 'dear'"),
        ("time,k,v\n1,a,1\n2,b\n3,c,dear\n", f"{path}:3: expected 3 fields, found 2"),
        ("time,k,v\n1,a,NA\n", f"{path}:2: v: expected FLOAT, found 'NA'"),
        ("time,k,v\nx,a,dear\n", f"{path}:2: time: expected INT, found 'x'"),
    ):
        path.write_text(text)
        with pytest.raises(ft.InputError) as caught:
            read(path, DECLARED, strict=True)
        assert (caught.value.code, str(caught.value)) == ("bad-event", error)


def test_merge_adds_counts_and_keeps_the_first(tmp_path: Path) -> None:
    item = read_text(tmp_path, "a.csv", "time,k,v\n1,a,x\n").nulled
    two = read_text(tmp_path, "b.csv", "time,k,v\n1,a,y\n2,a,y\n").nulled
    (merged,) = merge_nulled([*item, *two])
    assert (merged.count, merged.reason, merged.alike) == (3, "v: expected FLOAT, found 'x'", False)
    (merged,) = merge_nulled([*item, *two], lambda values: -values.count)
    assert (merged.count, merged.reason, merged.row) == (3, "v: expected FLOAT, found 'y'", 2)


def test_an_id_that_is_not_utf8_keeps_what_can_be_read() -> None:
    ids = pa.array([b"a", b"caf\xe9"]).view(pa.string())
    table = pa.table({"time": [1, 2], "id": ids, "k": ids})
    batch = read(table, StreamDeclaration("s", {"k": Type.STRING}, "time", id="id"))
    assert batch.table["id"].to_pylist() == ["a", "caf�"]
    assert batch.table["k"].to_pylist() == ["a", None]
    assert counts(batch) == [("k", "k: not UTF-8", 1, 2, False)]


def test_a_push_reports_what_it_could_not_read() -> None:
    engine = ft.Engine("STREAM s (v FLOAT, time INT) TIME time; SUBSCRIBE m FROM s MATCH a DEFINE a AS v > 0;")
    found = engine.push("s", [{"time": 1, "v": 1}, {"time": 2, "v": "x"}, {"v": 3}, {"time": 4, "v": "n/a"}])
    assert [n.events for n in found] == [{"a": 0}]
    assert [(n.column, n.count, n.reason) for n in found.unreadable] == [("v", 1, "v: expected FLOAT, found 'x'")]
    assert [event.reason for event in found.bad] == ["no time"]
    assert found.notes == ("s: 'n/a' is read as a missing value in v (1 value, the first at s:4)",)
    assert found.summary.unreadable == {"s": {"v": 1}}
    together = engine.push_together({"s": [{"time": 5, "v": "y"}]})
    assert [values.count for values in together.unreadable] == [1]


def test_notes_name_the_markers(tmp_path: Path) -> None:
    batch = read_text(tmp_path, "s.csv", CSV)
    assert reading_notes(batch) == (
        f"s: 'NA' is read as a missing value in v (2 values, the first at {tmp_path}/s.csv:6)",
    )
