"""The same data in every form give the same events, NULLs and counts, in process and in the tasks of a Spark batch."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.events.ingest.read_options import ReadOptions
from foretell.notify.run_summary import RunSummary
from tests.spark.local_batch import local_batch

TEXT = """
STREAM s (k STRING, v INT, w FLOAT) TIME time;
SUBSCRIBE all FROM s PER k MATCH a RETURN a.v AS v, a.w AS w;
SUBSCRIBE big FROM s MATCH a DEFINE a AS v > 2 OR w IS NULL;
"""

values = st.sampled_from([1, 2, 3, -99, None, "dear", "NA", "-"])
times = st.sampled_from([1, 2, 3, 4, None, "never"])
rows_of_events = st.lists(
    st.fixed_dictionaries({"time": times, "k": st.sampled_from(["x", "y"]), "v": values, "w": values}), min_size=1
)


def seen(found: ft.Notifications) -> tuple[object, RunSummary, list[tuple[str, str, int, str]], int]:
    """What must be the same: rows, figures, the values that are NULL, and how many notes there are, besides the one
    that ft.run adds where no event could be read."""
    summary = found.summary
    notes = [note for note in found.notes if not (summary.all_set_aside and note.startswith("all "))]
    unreadable = [(n.column, n.cause, n.count, n.reason) for n in found.unreadable]
    return list(found), summary, unreadable, len(notes)


def forms(folder: Path, rows: list[dict[str, Any]]) -> dict[str, object]:
    """The rows as dicts, as a frame, and as files of texts."""
    with (folder / "s.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = pd.DataFrame(rows, dtype=object)
    return {"dicts": rows, "pandas": frame, "csv": folder / "s.csv", "jsonl": folder / "s.jsonl"}


@settings(deadline=None, max_examples=25)
@given(rows_of_events, st.sampled_from([(), (-99,), ("NA", -99)]))
def test_every_form_gives_the_same(rows: list[dict[str, Any]], nulls: tuple[str | float, ...]) -> None:
    read = ReadOptions(nulls=nulls)
    rows = [{"time": 1, "k": "x", "v": 1, "w": 1}, *rows]  # without any number, a frame's column is one of texts
    expected = seen(ft.run(TEXT, {"s": rows}, read=read, engine="reference"))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for name, source in forms(Path(folder), rows).items():
            assert seen(ft.run(TEXT, {"s": source}, read=read, engine="embedded")) == expected, name
            patch.setattr("foretell.spark.batch.sources.SMALL_BYTES", -1)  # the tasks read the files
            found = seen(local_batch(TEXT, {"s": source}, read=read).notifications())
            patch.undo()
            assert found == expected, f"{name} in tasks"


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "time": st.sampled_from([1.0, 2.0, 3.5, None, float("inf")]),
                "k": st.sampled_from(["x", "y", None]),
                "v": st.sampled_from([1.0, 2.5, 3.0, -99.0, 1e30, None]),
                "w": st.sampled_from([1.0, -99.0, None]),
            }
        ),
        min_size=1,
    ),
    st.sampled_from([(), (-99,)]),
    st.booleans(),
)
def test_parquet_files_and_frames_give_the_same(
    rows: list[dict[str, Any]], nulls: tuple[float, ...], with_ids: bool
) -> None:
    """INT is stored as FLOAT: some values do not fit. IDs let tasks drop events that cannot matter."""
    text = TEXT.replace("TIME time", "TIME time ID id") if with_ids else TEXT
    numbered = [{**row, "id": f"n{number}"} for number, row in enumerate(rows)]
    types: dict[str, pa.DataType] = {
        "time": pa.float64(),
        "k": pa.string(),
        "v": pa.float64(),
        "w": pa.float64(),
        "id": pa.string(),
    }
    table = pa.Table.from_pylist(numbered, pa.schema(types))
    read = ReadOptions(nulls=nulls)
    expected = seen(ft.run(text, {"s": table}, read=read, engine="reference"))
    assert seen(ft.run(text, {"s": numbered}, read=read, engine="embedded"))[:2] == expected[:2]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.parquet"
        pq.write_table(table, path, row_group_size=3)
        assert seen(ft.run(text, {"s": path}, read=read, engine="embedded")) == expected
        assert seen(local_batch(text, {"s": path}, read=read).notifications()) == expected


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_tasks_find_the_same_first_misfit(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"time": n, "k": "x", "v": 1.5 if kind == "parquet" and n > 4 else 1, "w": 2.0} for n in range(9)]
    if kind != "parquet":
        rows[5]["v"] = rows[7]["time"] = "many"
    path = tmp_path / f"s.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    else:
        forms(tmp_path, rows)
    with pytest.raises(ft.InputError) as expected:
        ft.run(TEXT, {"s": path}, engine="embedded", strict=True)
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", -1)
    with pytest.raises(ft.InputError) as found:
        local_batch(TEXT, {"s": path}, strict=True).notifications()
    assert str(found.value) == str(expected.value)
    assert str(found.value).endswith("v: expected INT, found " + ("1.5" if kind == "parquet" else "'many'"))
