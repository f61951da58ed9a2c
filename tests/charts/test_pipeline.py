"""The page of a running pipeline, of an engine's recorder and of the progress that Spark reports."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import foretell as ft
from foretell.charts.pipeline import pipeline_records
from foretell.charts.time_series import Series, TimeSeriesChart
from foretell.engine.engine_recorder import PipelineRecord
from tests.charts.browser import OPTIONS, executable

TEXT = """
    STREAM s (k INT, x INT, time INT) TIME time LATE BY 5;
    SUBSCRIBE m FROM s PER k MATCH a ; b DEFINE a AS x = 1, b AS x = 2;
"""


def recorded(batches: int, most: int = 1_000) -> ft.EngineRecorder:
    engine = ft.Engine(TEXT)
    recorder = ft.EngineRecorder(engine, most)
    for n in range(batches):
        events: list[dict[str, Any]] = [{"time": 10 * n + i, "k": n % 3, "x": i % 4} for i in range(10)]
        if n == 4:
            events += [{"time": 1, "k": 0, "x": 0}, {"time": "?", "k": 0, "x": 0}]
        recorder.record(engine.push("s", events))
    return recorder


def test_records_are_the_engines_own_figures() -> None:
    engine = ft.Engine(TEXT)
    recorder = ft.EngineRecorder(engine)
    total = 0
    for n in range(6):
        found = engine.push("s", [{"time": 10 * n + i, "k": n % 3, "x": i % 4} for i in range(10)])
        recorder.record(found)
        total += len(found)
        last = recorder.records[-1]
        assert (last.events, last.notifications) == (10, len(found))
        assert (last.partial_matches, last.waiting) == (engine.partial_matches, engine.waiting)
    assert total > 0
    assert sum(record.notifications for record in recorder.records) == total
    assert recorder.records[-1].lanes == 3
    assert recorder.records[-1].memory > 0
    assert all(record.seconds > 0 for record in recorder.records)


def test_a_recorder_takes_a_bounded_amount_of_memory() -> None:
    recorder, whole = recorded(60, 8), recorded(60)
    assert len(recorder.records) <= 8
    assert len(whole.records) == 60
    for name in ("events", "notifications", "late", "bad"):
        assert sum(getattr(record, name) for record in recorder.records) == sum(
            getattr(record, name) for record in whole.records
        )
    assert recorder.records[-1].partial_matches == whole.records[-1].partial_matches


def test_the_page_of_a_recorder(tmp_path: Path) -> None:
    recorder = recorded(20)
    page = ft.pipeline_page(recorder, tmp_path / "page.html")
    assert [chart.slug for chart in page.charts] == ["throughput", "state", "memory", "lanes", "aside"]
    assert "20 batches in " in page.introduction
    assert "1 event came late, 1 could not be read" in page.introduction
    assert page["memory"].svg().startswith("<svg")
    again = ft.pipeline_page(json.loads(json.dumps(recorder.as_dicts())))
    assert again["state"].records() == page["state"].records()
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html()
    assert "Recorder of 20 batches" in repr(recorder)


def test_the_page_of_a_query_on_spark() -> None:
    observed = {"events": 50, "matches": 3, "late": 1, "bad": 0, "partial_matches": 9, "waiting": 2, "state_bytes": 800}
    progress = [
        {
            "batchId": n,
            "timestamp": f"2026-03-01T10:00:{2 * n:02}.000Z",
            "durationMs": {"triggerExecution": 1500},
            "sources": [{"numInputRows": 60}],
            "observedMetrics": {"foretell": observed if n != 1 else None},
        }
        for n in range(3)
    ]

    first, empty, last = pipeline_records(SimpleNamespace(recentProgress=progress))
    assert (first.seconds, empty.seconds, last.busy) == (1.5, 2.0, 1.5)
    assert (first.events, first.notifications, first.memory, first.lanes) == (50, 3, 800, None)
    assert empty.events == 60  # those of the sources
    page = ft.pipeline_page(progress)
    assert [chart.slug for chart in page.charts] == ["throughput", "duration", "state", "memory", "aside"]


def test_very_many_records_are_thinned_with_a_note() -> None:
    points = tuple((float(n), float(n % 100)) for n in range(100_000))
    chart = TimeSeriesChart("c", "C", "", "number", (Series("a", points),))
    values = list(chart.specification()["layer"][0]["data"]["values"])
    assert len(values) <= 2_002
    assert {0.0, 99.0} <= {row["value"] for row in values}
    assert "of 100,000 points" in chart.note


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ft.InputError, match="the pipeline has no records yet"):
        ft.pipeline_page(ft.EngineRecorder(ft.Engine(TEXT)))
    for wrong in (5, "page.html", {"events": 3}):
        with pytest.raises(ft.InputError, match=r"pipeline: expected a foretell\.EngineRecorder"):
            ft.pipeline_page(wrong)
    with pytest.raises(ft.InputError, match="a record of the pipeline: it lacks 'seconds'"):
        ft.pipeline_page([{"time": 1.0}])
    with pytest.raises(ft.InputError, match="events is 'x', which is no number"):
        ft.pipeline_page([{"time": 1.0, "seconds": 1.0, "events": "x", "notifications": 0}])
    with pytest.raises(ft.InputError, match=r"found: expected the result of engine\.push"):
        ft.EngineRecorder(ft.Engine(TEXT)).record([])  # type: ignore[arg-type]
    with pytest.raises(ft.InputError, match=r"engine: expected a foretell\.Engine"):
        ft.EngineRecorder(TEXT)  # type: ignore[arg-type]
    with pytest.raises(ft.InputError, match="'C' has nothing to draw: there are no records"):
        TimeSeriesChart("c", "C", "", "number", (Series("a", ()),)).specification()


@pytest.mark.browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    page = ft.pipeline_page(recorded(20), tmp_path / "page.html")
    command = [executable(), *OPTIONS, "--enable-logging=stderr", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.count('class="marks') == len(page.charts)
    assert {"partial matches", "events held back"} <= set(re.findall(r"<text[^>]*>([^<]*)</text>", done.stdout))
    assert "CONSOLE" not in done.stderr


def test_joined_records_have_the_later_state() -> None:
    first = PipelineRecord(1.0, 1.0, 10, 2, partial_matches=5, busy=0.5)
    second = PipelineRecord(3.0, 2.0, 20, 1, partial_matches=7, busy=0.25)
    joined = first.joined(second)
    assert (joined.time, joined.seconds, joined.events, joined.partial_matches, joined.busy) == (3.0, 3.0, 30, 7, 0.75)
