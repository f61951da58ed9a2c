"""Pushed-down predicates keep every event that our own rules keep, and no more if they are translated completely."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from foretell.events.ingest.reader import StreamDeclaration
from foretell.spark.pushdown.catalyst import CatalystDialect
from foretell.spark.pushdown.predicate import AttributeOperand, ConstantOperand, TextDialect, pushed_down_predicate
from foretell.spark.pushdown.row_groups import RowGroupStatistics
from tests.spark.random_predicates import checked, loaded, ours, predicate, schema_of, table


@dataclass(frozen=True)
class RecordingDialect(CatalystDialect):
    """Records the attributes of untranslatable comparisons."""

    left_out: list[AttributeOperand] = field(default_factory=list)

    def compare(self, sign: str, left: AttributeOperand, right: AttributeOperand | ConstantOperand) -> Column | None:
        return self._recorded(left, super().compare(sign, left, right))

    def _recorded(self, left: AttributeOperand, found: Column | None) -> Column | None:
        if found is None:
            self.left_out.append(left)
        return found


def test_predicates_in_spark_keep_all_events_that_may_matter(spark: SparkSession, tmp_path: Path) -> None:
    dice = random.Random(5)
    rows = table(dice, 400)
    events, attributes = loaded(rows), schema_of().attributes
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    frame = spark.read.parquet(str(tmp_path))
    columns: list[Column] = []
    expected, exact, conditions = [], 0, []
    while len(columns) < 40:
        condition = predicate(dice)
        statement, dialect = checked(condition), RecordingDialect({c.name: c.dataType for c in frame.schema})
        pushed = pushed_down_predicate("s", attributes, [statement], {"s"}, dialect)
        if pushed is not None:
            whole = "+ 1" not in condition and not dialect.left_out
            columns.append(f.coalesce(pushed, f.lit(False)).alias(str(len(columns))))
            expected.append((ours(events, statement), whole))
            conditions.append(condition)
            exact += whole
    assert exact > 12
    notified = frame.select("id", *columns).toArrow().sort_by("id")
    for number, (mine, whole) in enumerate(expected):
        theirs = notified[str(number)].to_numpy()
        assert not (mine & ~theirs).any(), conditions[number]
        assert not whole or (mine == theirs).all(), conditions[number]
    # Spark's reader may take -0.0 for another number than 0.0.
    for condition in ("f = 0", "h >= 0.0", "0 > f"):
        assert (
            pushed_down_predicate("s", attributes, [checked(condition)], {"s"}, CatalystDialect.of(frame.schema))
            is None
        )
    # A filter also reaches the file's reader.
    for number in range(3):
        kept = frame.filter(columns[number]).select("id").toArrow()["id"].to_numpy()
        assert set(np.flatnonzero(expected[number][0])) <= set(kept.tolist()), conditions[number]


@pytest.mark.parametrize("seed", range(4))
def test_statistics_exclude_no_event_that_may_matter(seed: int, tmp_path: Path) -> None:
    dice, excluded = random.Random(seed), 0
    few: dict[str, list[Any]] = {
        "i": [5, 7, 2**53],
        "f": [1.5, 7.0, float("nan")],
        "n": [7],
        "s": ["ab", "é"],
        "g": [2**53 + 1, 3],
    }
    for _ in range(3):
        rows = table(dice, 12, few if dice.random() < 0.7 else None)
        events, declaration = loaded(rows), StreamDeclaration("s", schema_of().attributes, str(schema_of().time))
        pq.write_table(rows, tmp_path / "rows.parquet")
        with pq.ParquetFile(tmp_path / "rows.parquet") as file:
            for _ in range(40):
                condition = predicate(dice)
                statement = checked(condition)
                group = RowGroupStatistics(file, 0, declaration)
                if pushed_down_predicate("s", declaration.attributes, [statement], {"s"}, group) is False:
                    assert not ours(events, statement).any(), condition
                    excluded += 1
    assert excluded > 5


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("i > 5 AND f + 1 > 2", "i > 5"),
        ("i > 5 OR f + 1 > 2", None),
        ("NOT (i > 5 OR s = 'a')", "i <= 5 AND s <> 'a'"),
        ("i BETWEEN 1 AND 5", "i >= 1 AND i <= 5"),
        ("i IN (1, 2) AND b", "(i = 1 OR i = 2) AND b"),
        ("s LIKE 'a%'", None),
        ("5 < i AND s IS NULL", "i > 5 AND s IS NULL"),
        ("w > TIMESTAMP '2026-01-01T00:00:00Z'", "w > TIMESTAMP '2026-01-01T00:00:00Z'"),
        ("stream = 'u'", "FALSE"),
    ],
)
def test_predicates_as_text(condition: str, text: str | None) -> None:
    assert pushed_down_predicate("s", schema_of().attributes, [checked(condition)], {"s"}, TextDialect()) == text


def test_a_large_predicate_is_not_pushed_down() -> None:
    many = [checked(f"i > {n}") for n in range(300)]
    attributes = schema_of().attributes
    assert pushed_down_predicate("s", attributes, many[:100], {"s"}, TextDialect()) is not None
    assert pushed_down_predicate("s", attributes, many, {"s"}, TextDialect()) is None
    assert pushed_down_predicate("s", attributes, many[:1] * 1000, {"s"}, TextDialect()) == "i > 0"
