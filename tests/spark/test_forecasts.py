"""Forecasts on Spark: what is learned and what is told is what it is in process."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import foretell as ft

TEXT = """
STREAM s (k STRING, l STRING, time INT) TIME time;
SUBSCRIBE p FROM s PER l MATCH a , b , c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'
FORECAST WITHIN 2 EVENTS ABOVE 0.1;
SUBSCRIBE q FROM s MATCH a ; b ; c
DEFINE a AS k = 'a' AND l = $l, b AS k = 'b' AND l = $l, c AS k = 'c' AND l = $l WITHIN 30
FORECAST WITHIN 20 ABOVE 0.05;
"""

# Runs of eight events of one kind or another: more states than bits, and parts.
_RUNS = {kind: [f"{kind}{n}" for n in range(8)] for kind in "mnopqvwxyz"}
_SETS = dict(zip(_RUNS, ("a", "b", "c", "d", "ab", "ac", "ad", "bc", "bd", "cd"), strict=True))
TEXT += f"""
SUBSCRIBE r FROM s PER l MATCH {" | ".join(f"({' , '.join(steps)})" for steps in _RUNS.values())}
DEFINE {", ".join(f"{', '.join(steps)} AS k IN ({str([*_SETS[kind]])[1:-1]})" for kind, steps in _RUNS.items())}
FORECAST WITHIN 4 EVENTS ABOVE 0.3;
"""


def events(count: int, seed: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "k": chance.choice(list("abcd"), count, p=[0.4, 0.3, 0.2, 0.1]),
        "l": chance.choice([f"l{n}" for n in range(7)], count),
        "time": np.arange(count),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "s.parquet"
    pq.write_table(events(4_000, 1), path, row_group_size=1_000)
    return path


@pytest.mark.parametrize(
    "learning",
    [ft.Learning(half_life=math.inf), ft.Learning(half_life=math.inf, order=2, features=("k = 'd'",))],
    ids=["states", "contexts"],
)
def test_what_is_learned(spark: SparkSession, tmp_path: Path, learning: ft.Learning) -> None:
    columns = events(4_000, 1).to_pydict()
    columns["time"][2_345] = None
    pq.write_table(pa.table(columns), tmp_path / "s.parquet", row_group_size=1_000)
    in_process = ft.train(TEXT, {"s": tmp_path}, learning=learning, engine="embedded")
    separate = ft.train(TEXT, {"s": tmp_path}, learning=learning, engine="spark")
    assert list(separate.subscriptions) == list(in_process.subscriptions)
    assert separate.notes == in_process.notes
    assert "1 of 4,000 events set aside: 1 × no time" in separate.notes[0]
    for name, learned in in_process.subscriptions.items():
        other = separate.subscriptions[name]
        assert (other.fingerprint, other.contexts) == (learned.fingerprint, learned.contexts)
        assert other.statistics.states.tolist() == learned.statistics.states.tolist()
        assert other.statistics.counts == pytest.approx(learned.statistics.counts)
        assert other.statistics.matched == pytest.approx(learned.statistics.matched)
        assert other.statistics.sojourns.total == pytest.approx(learned.statistics.sojourns.total)
        for part, mine in zip(other.parts, learned.parts, strict=True):
            assert part.states.tolist() == mine.states.tolist()
            assert part.counts == pytest.approx(mine.counts)
        assert bool(learned.parts) == (name == "r")
        assert other.sample is not None
        assert learned.sample is not None
        assert other.sample.hashes.tolist() == learned.sample.hashes.tolist()
        assert other.period == learned.period
        assert (other.statistics.events, other.statistics.matches) == (
            learned.statistics.events,
            learned.statistics.matches,
        )


@pytest.mark.parametrize("form", ["parquet", "frame", "json"])
def test_a_period_of_the_history(spark: SparkSession, history: Path, tmp_path: Path, form: str) -> None:
    """The events before and after it change nothing: neither the counts nor how old events are."""
    text = TEXT[: TEXT.index("SUBSCRIBE r")]
    (tmp_path / "s.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in events(4_000, 1).to_pylist()))
    sources: dict[str, Any] = {"parquet": history, "frame": spark.read.parquet(str(history)), "json": tmp_path}
    in_process = ft.train(text, {"s": events(4_000, 1)}, since=900, until=2_950.0)
    separate = ft.train(text, {"s": sources[form]}, since=900, until=2_950.0, engine="spark")
    for name, learned in in_process.subscriptions.items():
        other = separate.subscriptions[name]
        assert (other.statistics.events, other.period) == (2_050, ("900", "2949"))
        assert other.statistics.counts == pytest.approx(learned.statistics.counts, rel=0.01)
        assert other.statistics.sojourns.total == pytest.approx(learned.statistics.sojourns.total, rel=0.01)
        assert other.sample is not None
        assert learned.sample is not None
        assert other.sample.hashes.tolist() == learned.sample.hashes.tolist()
    report = ft.backtest(text, {"s": events(4_000, 1)}, model=separate, since=900, until=2_950)
    assert "'p': 100% of these events were in the training data" in report.warnings[0]


def test_a_malformed_event_stops_strict_training(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"k": "a", "l": "x", "time": 1}\n{"k": "a", "l": "x"}\n')
    with pytest.raises(ft.ForetellError, match=r"s\.jsonl:2: no time"):
        ft.train(TEXT, {"s": tmp_path}, strict=True, engine="spark")


def test_what_is_told(spark: SparkSession, history: Path) -> None:
    """Row for row, as long as nothing is learned on the way: each task would learn from its own lanes."""
    model = ft.train(TEXT, {"s": events(4_000, 1)})
    off = ft.Learning(online=False)
    in_process = ft.run(TEXT, {"s": history}, model=model, learning=off, engine="embedded")
    separate = ft.run(TEXT, {"s": history}, model=model, learning=off, engine="spark")
    assert {n.subscription for n in in_process if n.kind == "forecast"} == {"p", "q", "r"}
    assert separate.rows == in_process.rows
    frame = ft.run(TEXT, {"s": spark.read.parquet(str(history))}, model=model, learning=off)
    kinds = [row["kind"] for row in frame.select("kind").collect()]
    assert kinds == [n.kind for n in in_process]


def test_a_model_of_other_statements_is_refused(spark: SparkSession, history: Path) -> None:
    model = ft.train(TEXT, {"s": events(500, 1)})
    other = TEXT.replace("'c'", "'e'")
    with pytest.raises(ft.InputError, match="was trained for other statements"):
        ft.run(other, {"s": history}, model=model, engine="spark")
