"""The progress of a batch: which stage runs, and how many of its tasks are done."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from foretell.spark.batch.progress import BatchProgress, watching


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(0.5)
        yield batch


def test_a_context_without_its_jvm_is_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark registers a context as the active one before it has started a JVM for it."""
    monkeypatch.setattr(SparkContext, "_active_spark_context", SparkContext.__new__(SparkContext))
    shown: list[BatchProgress] = []
    with watching(shown.append, seconds=0.01):
        time.sleep(0.2)
    assert set(shown) == {BatchProgress("starting Spark")}


def test_stages_and_tasks(spark: SparkSession) -> None:
    frame = spark.range(0, 4, 1, 4).mapInArrow(slowly, "id long").repartition(3).mapInArrow(slowly, "id long")
    shown: list[BatchProgress] = []
    with watching(shown.append, seconds=0.05):
        frame.toArrow()
    assert {(progress.stage, progress.tasks) for progress in shown} >= {("reading", 4), ("matching", 3)}
    assert all(0 <= progress.done <= progress.tasks for progress in shown)
