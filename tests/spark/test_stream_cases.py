"""The suite of cases as streaming queries on Spark, micro_batches into micro-batches."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import foretell as ft
from foretell.spark.streaming.query import follow
from tests.case_files import Case
from tests.spark.micro_batches import ALL, SPARK_TYPES, as_types, batches, fits, lateness_of, live
from tests.spark.streaming_queries import expected, finish, frame, put, read, rows_of

LOG = logging.getLogger(__name__)


def check_case(spark: SparkSession, folder: Path, case: Case) -> None:
    random, lateness = Random(case.name), lateness_of(case)
    program, types, times = live(case, lateness)
    engine = ft.Engine(program, tables=case.tables, model=case.model)
    frames = {}
    micro_batches = batches(case, types, times, lateness, random)
    for name, attributes in types.items():
        for number, batch in enumerate(micro_batches):
            put(folder / name, batch[name], number)
        columns = ", ".join(f"`{column}` {SPARK_TYPES[kind]}" for column, kind in attributes.items())
        frames[name] = frame(spark, folder / name, columns)
    notifications = [
        engine.push_together({name: as_types(batch[name], types[name]) for name in types}) for batch in micro_batches
    ]
    finish(follow(program, frames, tables=case.tables, shards=random.choice((1, 2, 5)), model=case.model), folder)
    assert rows_of(read(spark, folder)) == expected(spark, notifications), f"{case.file}: {case.name}"


RUNNABLE = [case for case in ALL if fits(case)]
#: One of each file, every fourth file.
SAMPLE = list({case.file: case for case in RUNNABLE}.values())[::4]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda c: f"{c.file}: {c.name}")
def test_case(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    check_case(spark, tmp_path, case)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_cases(spark: SparkSession, tmp_path: Path) -> None:
    """Run several queries at once: most of their time goes into starting."""

    def run(number: int) -> str | None:
        try:
            check_case(spark, tmp_path / str(number), RUNNABLE[number])
        except (AssertionError, PySparkException, ft.ForetellError) as error:  # the other cases run all the same
            return f"{RUNNABLE[number].file}: {RUNNABLE[number].name}: {error}"[:2000]
        return None

    with ThreadPoolExecutor(4) as several:
        wrong = [message for message in several.map(run, range(len(RUNNABLE))) if message is not None]
    LOG.info("%d cases, %d wrong", len(RUNNABLE), len(wrong))
    assert not wrong, "\n\n".join(wrong)
