"""Flat rows: names of columns, CSV, JSON lines, Parquet, compressed text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.notify import write
from foretell.notify.flat_rows import flat_row

EVENTS = [
    {"time": "2026-03-01T10:00:00", "user": "ann", "status": "denied"},
    {"time": "2026-03-01T10:00:40", "user": "ann", "status": "denied"},
    {"time": "2026-03-01T10:01:00", "user": "ann", "status": "success"},
]
STATEMENT = """SUBSCRIBE guessed FROM logins PER user MATCH fail{2} , ok
DEFINE fail AS status = 'denied', ok AS status = 'success' RETURN count(fail) AS failures, ok.user AS user;
SUBSCRIBE single FROM logins MATCH ok DEFINE ok AS status = 'success';"""


@pytest.fixture
def found() -> ft.Notifications:
    return ft.run(STATEMENT, {"logins": EVENTS}, time={"logins": "time"})


def test_names(found: ft.Notifications) -> None:
    """A name that key and bindings share has the name of its group; steps always have."""
    assert flat_row(next(n for n in found if n.subscription == "guessed")) == {
        "subscription": "guessed",
        "kind": "match",
        "start": "2026-03-01T10:00:00Z",
        "end": "2026-03-01T10:01:00Z",
        "probability": 1.0,
        "horizon": None,
        "id": None,
        "key.user": "ann",
        "failures": 2,
        "bindings.user": "ann",
        "events.fail": [0, 1],
        "events.ok": 2,
    }


CSV = """subscription,kind,start,end,probability,horizon,id,key.user,failures,bindings.user,events.fail,events.ok
guessed,match,2026-03-01T10:00:00Z,2026-03-01T10:01:00Z,1.0,,,ann,2,ann,"[0,1]",2
single,match,2026-03-01T10:01:00Z,2026-03-01T10:01:00Z,1.0,,,,,,,2
"""


def test_csv(found: ft.Notifications, tmp_path: Path) -> None:
    write(found, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == CSV
    write(found, tmp_path / "out.csv.gz")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).decode() == CSV


def test_json_lines(found: ft.Notifications, tmp_path: Path) -> None:
    write(found, tmp_path / "out.jsonl.gz", flat=True)
    lines = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == [flat_row(n) for n in found]


def test_parquet(found: ft.Notifications, tmp_path: Path) -> None:
    write(found, tmp_path / "out.parquet", flat=True)
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == CSV.splitlines()[0].split(",")
    assert str(table.schema.field("start").type) == "timestamp[us, tz=UTC]"
    assert table["failures"].to_pylist() == [2, None]
    assert table["events.fail"].to_pylist() == [[0, 1], None]


def test_no_notifications(tmp_path: Path) -> None:
    write(ft.Notifications(()), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "subscription,kind,start,end,probability,horizon,id\n"
    write(ft.Notifications(()), tmp_path / "out.parquet", flat=True)
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_values_of_several_types_are_text(tmp_path: Path) -> None:
    statements = "SUBSCRIBE a FROM s MATCH x RETURN x.n AS v; SUBSCRIBE b FROM s MATCH x RETURN x.k AS v;"
    found = ft.run(statements, {"s": [{"t": 1, "n": 5, "k": "five"}]}, time={"s": "t"})
    write(found, tmp_path / "out.parquet", flat=True)
    assert set(pq.read_table(tmp_path / "out.parquet")["v"].to_pylist()) == {"5", "five"}
