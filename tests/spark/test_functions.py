"""Functions and CASE mean what they mean in Spark SQL, but for NaN and infinity, which are NULL here."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import foretell as ft

NUMBERS = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 2.675, 0.285, -1.005, 1.45, 7.25, 1234.5678, -0.4, 99.995, 1e-7, 3e10, None]
WHOLE = [0, 1, -1, 5, 15, 25, -25, 149, -150, 12345, 2_000_000_000, 3, 2, -3, 4, -5, None]
TEXTS = [
    "",
    "a",
    "Abc",
    "cäfé",
    "größe",
    "a1",
    "12",
    "漢字",
    "z😀y",
    "it's",
    " x ",
    "AbA",
    "b",
    "É",
    "ab",
    "x1y2",
    None,
]
MOMENTS = """
1969-12-31T23:59:59 1970-01-01T00:00:00 2024-02-29T12:30:15 2026-03-29T00:59:59 2026-03-29T01:00:00 2026-10-25T00:59:59
2026-10-25T01:00:00 2000-01-01T00:00:00 1999-12-31T23:45:00 2023-06-15T06:07:08 2100-03-01T00:00:00 1900-03-01T00:00:00
2026-11-16T10:00:00 2024-12-31T23:59:59 1950-07-04T05:06:07 2038-01-19T03:14:07
"""

#: What we write, and what Spark calls it where that is something else.
EXPRESSIONS: dict[str, str] = dict.fromkeys(
    [
        *("sqrt(x)", "pow(x, 2)", "pow(x, 0.5)", "pow(n, -1)", "ln(x)", "exp(x)", "exp(n)", "ln(n)"),
        *("round(x)", "round(x, 1)", "round(x, 2)", "round(x, -2)", "round(n)", "round(n, 2)", "round(n, -1)"),
        *("floor(x)", "ceil(x)", "floor(n)", "ceil(n)", "abs(x)", "abs(n)"),
        *("substr(s, 1)", "substr(s, 2)", "substr(s, 0)", "substr(s, -2)", "substr(s, 2, 2)", "substr(s, 0, 2)"),
        *(
            "substr(s, -5, 4)",
            "substr(s, 3, 0)",
            "substr(s, 2, -1)",
            "substr(s, n)",
            "substr(s, n, 2)",
            "substr(s, -3, n)",
        ),
        *("regexp_like(s, '^[a-c]')", "regexp_like(s, '[0-9]+$')", "regexp_like(s, 'ö|é')", "regexp_like(s, '')"),
        *("lower(s)", "upper(s)", "length(s)", "contains(s, 'b')", "coalesce(s, 'none')", "coalesce(n, x)"),
        *(f"{field}(at)" for field in ("year", "month", "day", "hour", "minute", "weekday")),
        "CASE WHEN n > 10 THEN 'many' WHEN n > 0 THEN s END",
        "CASE WHEN x > 1 THEN n ELSE x END",
        "CASE WHEN s IS NULL THEN TRUE ELSE length(s) > 2 END",
    ],
    "",
) | {
    "starts_with(s, 'A')": "startswith(s, 'A')",
    "ends_with(s, 'c')": "endswith(s, 'c')",
    "hour(at, 'Europe/Berlin')": "hour(from_utc_timestamp(at, 'Europe/Berlin'))",
    "day(at, 'America/New_York')": "day(from_utc_timestamp(at, 'America/New_York'))",
    "minute(at, 'Asia/Kolkata')": "minute(from_utc_timestamp(at, 'Asia/Kolkata'))",
    "weekday(at, 'Asia/Tokyo')": "weekday(from_utc_timestamp(at, 'Asia/Tokyo'))",
}


@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_as_in_spark(spark: SparkSession, engine: str) -> None:
    moments = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in MOMENTS.split()]
    columns: dict[str, Any] = {
        "time": pa.array(range(len(NUMBERS)), pa.int64()),
        "x": pa.array(NUMBERS, pa.float64()),
        "n": pa.array(WHOLE, pa.int64()),
        "s": pa.array(TEXTS, pa.string()),
        "at": pa.array([*moments, None], pa.timestamp("us", "UTC")),
    }
    table = pa.table(columns)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    theirs = [f"{other or ours} AS c{i}" for i, (ours, other) in enumerate(EXPRESSIONS.items())]
    wanted = spark.createDataFrame(table).orderBy("time").selectExpr(*theirs).collect()
    returned = ", ".join(f"{_of_step(ours)} AS c{i}" for i, ours in enumerate(EXPRESSIONS))
    found = ft.run(f"SUBSCRIBE m FROM s MATCH a RETURN {returned};", {"s": table}, time={"s": "time"}, engine=engine)
    assert len(found) == len(wanted) == len(NUMBERS)
    for row, (ours_row, their_row) in enumerate(zip(found, wanted, strict=True)):
        for i, expression in enumerate(EXPRESSIONS):
            given = {name: values[row] for name, values in columns.items()}
            assert ours_row.bindings[f"c{i}"] == _in_process(their_row[f"c{i}"]), (expression, given)


def _of_step(expression: str) -> str:
    """The expression about the step `a`; what stands in quotes and what is called stays as it is."""
    parts = expression.split("'")
    parts[::2] = [re.sub(r"\b(x|n|s|at)\b(?!\()", r"a.\1", part) for part in parts[::2]]
    return "'".join(parts)


def _in_process(value: Any) -> Any:
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-15, abs=0) if math.isfinite(value) else None
    return value
