"""The time column that nobody has named: which data show it, which do not, and what is said of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import foretell as ft
from foretell.errors import InputError
from foretell.events.ingest.reader import StreamDeclaration, read
from tests.spark.local_batch import local_batch

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
UNKNOWN = "the time column of stream 's' is not known"

#: The header and rows of a CSV file, with the time column that they show.
CHOSEN = {
    "k,time\na,1\na,2\n": "time",
    "k,TS\na,1\na,2\n": "TS",
    "@timestamp,k\n2026-03-01,a\n2026-03-02,b\n": "@timestamp",
    "k,event_time,created\na,2026-03-01,2026-03-01\nb,2026-03-02,2026-03-02\n": "event_time",
    "k,booked\na,2026-03-01T10:00\nb,2026-03-01T11:00\n": "booked",
    "k,booked,text\na,,x\nb,NA,y\nc,2026-03-01,2026-03-01\n": "booked",
}
#: The same for files that do not show one, with the end of the message and the hint.
NOT_KNOWN = {
    "k,v\na,1\n": ("", "add --time s=COLUMN, or a statement STREAM s (...) TIME column; its columns are k, v"),
    "1,Rome\n2,Oslo\n": (
        "",
        "add --time s=COLUMN, or a statement STREAM s (...) TIME column; its columns are 1, Rome; "
        "if the file has no header, name its columns: --columns NAME,NAME,...",
    ),
    "k,v\n": (
        ": it has no events",
        "add --time s=COLUMN, or a statement STREAM s (...) TIME column; its columns are k, v",
    ),
    "": (": its input is empty", "add --time s=COLUMN, or a statement STREAM s (...) TIME column"),
    "time,ts\n1,2\n": (": it may be 'time' or 'ts'", "add --time s=time"),
    "sent,read\n2026-03-01,2026-03-01\n": (": it may be 'sent' or 'read'", "add --time s=sent"),
    "time,booked\n35.2,2026-03-01\n": (": it may be 'time' or 'booked'", "add --time s=time"),
    "date,time,k\n2026-03-01,10:00,a\n": (": it may be 'date+time' or 'date'", "add --time s=date+time"),
    "clock,day,k\n10:00:05 pm,2026-03-01,a\n": (": it may be 'day+clock' or 'day'", "add --time s=day+clock"),
}
PAIRS = "SUBSCRIBE m FROM s MATCH a , b;"


@pytest.fixture
def in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as if they were large: read in tasks, some lines at a time."""
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", 0)
    monkeypatch.setattr("foretell.spark.batch.input_splits.CHUNK_BYTES", 10)


def note_on(column: str) -> str:
    return f"stream 's': the time is column '{column}'; change it with --time s=COLUMN"


@pytest.mark.usefixtures("in_tasks")
@pytest.mark.parametrize("text", CHOSEN)
def test_the_one_candidate(tmp_path: Path, text: str) -> None:
    file = tmp_path / "s.csv"
    file.write_text(text)
    column = CHOSEN[text]
    expected = ft.run(PAIRS, {"s": file}, time={"s": column})
    found, in_tasks = ft.run(PAIRS, {"s": file}), local_batch(PAIRS, {"s": file}).notifications()
    assert list(found) == list(in_tasks) == list(expected)
    assert found.notes[1:] == (note_on(column), *expected.notes[1:])
    assert note_on(column) in in_tasks.notes
    assert found.bad == in_tasks.bad == expected.bad


@pytest.mark.usefixtures("in_tasks")
@pytest.mark.parametrize("text", NOT_KNOWN)
def test_several_or_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "s.csv"
    file.write_text(text)
    rest, hint = NOT_KNOWN[text]
    for run in (ft.run, local_batch):
        with pytest.raises(InputError) as caught:
            run(PAIRS, {"s": file})
        assert (caught.value.message, caught.value.hint) == (f"{UNKNOWN}{rest}", hint)


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        ([{"k": 1, "at": MOMENT}], "at"),
        ([{"k": 1}, {"k": 2, "at": "2026-03-01"}], "at"),
        ([{"time": 3, "at": 4}], "time"),
        (pa.table({"k": [1], "at": [MOMENT]}), "at"),
        (pa.table({"date": ["2026-03-01"], "at": ["2026-03-01"]}), "date"),
    ],
)
def test_rows_and_tables(rows: Any, column: str) -> None:
    batch = read(rows, StreamDeclaration("s", {}, "", open=True))
    assert (batch.schema.time, batch.notes) == (column, (note_on(column),))


def test_texts_of_tables_are_not_asked() -> None:
    """A task of Spark knows the types of a Parquet file, and not its values."""
    with pytest.raises(InputError, match=UNKNOWN):
        read(pa.table({"at": ["2026-03-01"]}), StreamDeclaration("s", {}, "", open=True))


def test_no_events_show_no_time(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text("")
    with pytest.raises(InputError, match=UNKNOWN):
        ft.run(PAIRS, {"s": file})


def test_an_engine_keeps_the_column_of_its_first_events() -> None:
    engine = ft.Engine(PAIRS)
    assert engine.push("s", [{"k": 1, "at": "2026-03-01"}]).notes == (note_on("at"),)
    restored = ft.Engine.restore(PAIRS, engine.snapshot())
    for each in (engine, restored):
        rows = each.push("s", [{"time": 5, "k": 1, "at": "2026-03-02"}])
        assert [row["end"] for row in rows.table().to_pylist()] == [MOMENT + timedelta(days=1)]
        assert rows.notes == ()


def test_train_and_backtest_do_so_too() -> None:
    events = [{"time": n, "v": n % 3} for n in range(60)]
    text = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS v = 0, b AS v = 1 FORECAST WITHIN 1 EVENTS ABOVE 0.5;"
    model = ft.train(text, {"s": events})
    assert note_on("time") in model.notes
    assert ft.backtest(text, {"s": events}, model=model).scorecards
