"""The engine by the size of the inputs, and the estimate of their sizes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.api import engine_choice
from foretell.api.engine_choice import EngineChoice, choose_engine
from foretell.api.input_size import estimated_events
from foretell.arguments.input_settings import InputSettings

PLAIN = ft.parse("SUBSCRIBE m FROM s MATCH a , b;")
LOSING = ft.parse("SUBSCRIBE m FROM s MATCH a ; b LOSING 0.1 ABOVE 0.5;")
CORRELATED = ft.parse("CORRELATE m FROM s DO push('x'){a};")


def choice(program: ft.Subscriptions, source: object, engine: str | None = None) -> EngineChoice:
    return choose_engine(program, {"s": source}, InputSettings(), engine)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A folder with the same 20,000 events in several formats."""
    events = [{"time": i, "text": "x" * (i % 7)} for i in range(20_000)]
    pq.write_table(pa.Table.from_pylist(events), tmp_path / "s.parquet")
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (tmp_path / "s.jsonl").write_text(lines)
    (tmp_path / "s.csv").write_text("time,text\n" + "".join(f"{e['time']},{e['text']}\n" for e in events))
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress((tmp_path / "s.csv").read_bytes()))
    return tmp_path


def test_estimates(rows: Path) -> None:
    assert estimated_events(rows / "s.parquet", ft.ReadOptions()).events == 20_000
    for name in ("s.jsonl", "s.csv"):
        found = estimated_events(rows / name, ft.ReadOptions())
        assert found.events == pytest.approx(20_000, rel=0.2)
        assert not found.exact


def test_files_by_their_size(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = choice(PLAIN, rows / "s.parquet")
    assert small.notes == ("runs in this process: 20,000 events; Spark from 5 million on",)
    monkeypatch.setattr(engine_choice, "SPARK_FROM", 15_000)
    assert choice(PLAIN, str(rows / "s.csv")).engine == "spark"
    assert choice(PLAIN, rows / "s.parquet").notes == ("runs on Spark: 20,000 events; Spark from 15,000 on",)
    assert choice(PLAIN, rows / "s.csv", "embedded") == EngineChoice("embedded")


def test_data_in_memory(rows: Path) -> None:
    assert choice(PLAIN, [{"time": 1}]) == EngineChoice("embedded")
    assert choice(PLAIN, "-") == EngineChoice("embedded")
    assert choice(PLAIN, "table:logins") == EngineChoice("spark", "only Spark reads table:logins")
    assert choice(LOSING, [{"time": 1}]) == EngineChoice("embedded")
    assert choice(CORRELATED, [{"time": 1}]) == EngineChoice("embedded")


def test_a_run_notes_its_engine(rows: Path) -> None:
    found = ft.run(PLAIN, {"s": rows / "s.parquet"}, time={"s": "time"})
    assert found.notes == ("runs in this process: 20,000 events; Spark from 5 million on",)
    assert ft.run(PLAIN, {"s": rows / "s.parquet"}, time={"s": "time"}, engine="embedded").notes == ()


def test_empty_and_broken_files(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("")
    (tmp_path / "s.parquet").write_text("no parquet")
    assert choice(PLAIN, tmp_path / "s.csv").engine == "embedded"
    assert choice(PLAIN, tmp_path / "s.parquet").engine == "embedded"
    with pytest.raises(ft.InputError, match="there is no file"):
        choice(PLAIN, tmp_path / "no.csv")
