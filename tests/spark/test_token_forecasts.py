"""FORECAST of a correlator on Spark: what is learned and what is told is what it is in process."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.streams import declaration_of
from foretell.events.types import Type
from foretell.forecast.online.factory import ForecasterFactory
from foretell.spark.streaming import shard_processor
from tests.correlate.test_forecasts import drawn, random_correlator
from tests.spark.local_batch import LocalBatchJob
from tests.spark.test_local_stream import EmptyCache, LocalStream, shown

TEXT = """
STREAM s (k STRING, l STRING, time INT) TIME time;
CORRELATE m FROM s PER l DO repeat{do{push('x'){accumulate{a, b}}} unless{c}}
DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' FORECAST WITHIN 2 EVENTS ABOVE 0.3;
CORRELATE timed FROM s PER l DO parallel{repeat{push('x'){sequential{a, b}}}, repeat{push('y'){c}}}
DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' FORECAST OF 'x' WITHIN 20 ABOVE 0.4;
CORRELATE whole FROM s DO repeat{push('x'){sequential{a, b, c}}}
DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' FORECAST WITHIN 3 EVENTS ABOVE 0.4;
SUBSCRIBE p FROM s PER l MATCH a , b DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 1 EVENTS ABOVE 0.2;
"""
LAST = "SUBSCRIBE after FROM m MATCH x;"


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


@pytest.mark.parametrize("order", [0, 1])
def test_what_is_learned(spark: SparkSession, history: Path, order: int) -> None:
    learning = ft.Learning(half_life=math.inf, order=order)
    in_process = ft.train(TEXT, {"s": history}, learning=learning, engine="embedded")
    separate = ft.train(TEXT, {"s": history}, learning=learning, engine="spark")
    assert list(separate.subscriptions) == list(in_process.subscriptions) == ["m", "timed", "whole", "p"]
    for name, learned in in_process.subscriptions.items():
        other = separate.subscriptions[name]
        assert (other.fingerprint, other.contexts) == (learned.fingerprint, learned.contexts)
        assert other.statistics.states.tolist() == learned.statistics.states.tolist()
        assert other.statistics.counts == pytest.approx(learned.statistics.counts)
        assert other.statistics.matched == pytest.approx(learned.statistics.matched)
        assert other.statistics.sojourns.total == pytest.approx(learned.statistics.sojourns.total)
        assert other.sample is not None
        assert learned.sample is not None
        assert other.sample.hashes.tolist() == learned.sample.hashes.tolist()


@pytest.mark.parametrize("text", [TEXT, TEXT + LAST])
def test_what_is_told(spark: SparkSession, history: Path, text: str) -> None:
    """Row for row, as long as nothing is learned on the way: each task would learn from its own lanes."""
    model = ft.train(text, {"s": events(4_000, 1)})
    off = ft.Learning(online=False)
    in_process = ft.run(text, {"s": history}, model=model, learning=off, engine="embedded")
    separate = ft.run(text, {"s": history}, model=model, learning=off, engine="spark")
    told = {n.subscription for n in in_process if n.kind == "forecast"}
    assert told == {"m", "timed", "whole", "p"}
    assert separate.rows == in_process.rows
    frame = ft.run(text, {"s": spark.read.parquet(str(history))}, model=model, learning=off)
    assert [row["kind"] for row in frame.select("kind").collect()] == [n.kind for n in in_process]


def test_a_machine_with_too_many_states_is_refused(spark: SparkSession, history: Path) -> None:
    text = TEXT.partition("CORRELATE")[0] + (
        "CORRELATE m FROM s PER l DO push('x'){repeat(1000){a}} DEFINE a AS k = 'a' FORECAST WITHIN 2 EVENTS ABOVE 0.5;"
    )
    for use in (ft.train, ft.run):
        with pytest.raises(ft.LanguageError, match="'m' cannot have a FORECAST"):
            use(text, {"s": history}, engine="spark")


@pytest.mark.parametrize("seed", range(8))
def test_random_correlators_without_a_cluster(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of a batch and of a stream tell what one engine tells; the stream restores its state before each
    micro-batch."""
    chance = Random(seed)
    text = random_correlator(chance, chance.choice(["WITHIN 3 EVENTS ABOVE 0.2", "OF 'w' WITHIN 6 ABOVE 0.2"]))
    model, given, off = ft.train(text, {"s": drawn(chance, 600)}), drawn(chance, 400), ft.Learning(online=False)
    expected = ft.run(text, {"s": given}, model=model, learning=off, engine="embedded")
    program = ft.parse(text)
    declarations = {"s": declaration_of(program, "s", as_input_settings(None, None))}
    forecasters = ForecasterFactory(model.subscriptions, off)
    job = LocalBatchJob(program, {"s": pa.Table.from_pylist(given)}, declarations, {}, None, observers=forecasters)
    assert job.notifications().rows == expected.rows
    monkeypatch.setattr(shard_processor, "_engines", EmptyCache())
    types = {"s": {"k": Type.STRING, "n": Type.INT, "g": Type.INT, "t": Type.INT}}
    stream = LocalStream(program, types, None, chance.choice([1, 3]), model, off)
    engine = ft.Engine(text, model=model, learning=off)
    for first in range(0, len(given), 50):
        batch = {"s": given[first : first + 50]}
        wanted = engine.push_together(batch).table().to_pylist()
        assert stream.push(batch, chance) == sorted(map(shown, wanted))
