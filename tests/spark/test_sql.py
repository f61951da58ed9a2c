"""Table functions: SQL returns the notifications of the engine in process, in typed columns."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

import foretell as ft
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import declaration_of
from foretell.bench.workloads.ticks import ticks
from foretell.spark.sql.input_schemas import stream_schemas
from foretell.spark.sql.table_function import TableFunction, TablePartition, partition_class, register
from tests.recover.estimate_programs import ESTIMATE_MODEL, ESTIMATES, estimate_events

STATEMENTS = """
STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;
SUBSCRIBE rise FROM ticks PER name MATCH a , b DEFINE b AS price > a.price + 1
RETURN a.name AS name, b.price - a.price AS gain;
SUBSCRIBE runs FROM ticks PER name MATCH a , b+ , c?
DEFINE a AS price < 55, b AS price > prev.price, c AS volume > 900
RETURN count(b) AS n, avg(b.price) AS mean, a.name AS who, t(a) AS since, a.price < 52 AS low;
SUBSCRIBE quiet FROM ticks PER name MATCH a ; !b DEFINE a AS volume > 950, b AS volume < 500 WITHIN 900;
SUBSCRIBE big FOR EACH limits FROM ticks PER name MATCH a , b DEFINE a AS volume > :least, b AS volume > :least;
SUBSCRIBE thrice FROM rise PER name MATCH x , y , z DEFINE z AS gain > y.gain WITHIN 60000;
"""
LIMITS = [{"id": "high", "least": 900}, {"id": "higher", "least": 950}]
BAD = "STREAM s (k INT, time INT) TIME time; SUBSCRIBE m FROM s PER k MATCH a , b;"
LONGS = StructType([StructField("time", LongType()), StructField("k", LongType())])
NAMES = ("rise", "runs", "quiet", "big", "thrice")


@pytest.fixture(scope="module")
def few() -> pa.Table:
    return ticks(5_000)


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, few: pa.Table) -> None:
    # In pieces and out of order, so that nothing comes as it lies in a file.
    spark.createDataFrame(few).repartition(5, "volume").createOrReplaceTempView("ticks")
    assert set(register(spark, STATEMENTS, tables={"limits": LIMITS})) == set(NAMES)


@pytest.fixture(scope="module")
def expected(few: pa.Table) -> list[dict[str, Any]]:
    """Time passes in a partition with its own events, so all of them are told until when it goes on."""
    found = ft.run(STATEMENTS, {"ticks": few}, tables={"limits": LIMITS}, engine="embedded", until=_latest(few))
    rows = found.table().to_pylist()
    return [row | {name: json.loads(row[name] or "null") for name in ("key", "bindings", "events")} for row in rows]


def _latest(table: pa.Table) -> int:
    return int(table["ts"].to_numpy().max())


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps([row["end"], row["key"], row["id"], row["events"]]))


@pytest.mark.parametrize("name", NAMES)
def test_as_in_process(spark: SparkSession, expected: list[dict[str, Any]], name: str) -> None:
    mine = [row for row in expected if row["subscription"] == name]
    call = f"{name}(events => TABLE(ticks), until => (SELECT max(ts) FROM ticks))"
    found = spark.sql(f"SELECT * FROM {call}").toArrow().to_pylist()
    assert len(mine) > 20
    for row in mine:
        row["bindings"] = row["bindings"] or None
    assert _in_order(found) == _in_order(mine)


def test_lanes_stay_together(spark: SparkSession) -> None:
    """NULL and NaN are one lane, and so are 0.0 and -0.0; there are as many partitions as the keys allow."""
    values = "(1, 0D), (2, -0D), (3, CAST('NaN' AS DOUBLE)), (4, CAST(NULL AS DOUBLE)), (5, 7D), (6, 7D)"
    _view(spark, "s", f"SELECT * FROM VALUES {values} AS s(t, k)")
    register(spark, "STREAM s (t INT, k FLOAT) TIME t; SUBSCRIBE m FROM s PER k MATCH a , b;")
    found = spark.sql("SELECT start, end FROM m(TABLE(s)) ORDER BY start")
    assert [tuple(row) for row in found.collect()] == [(1, 2), (3, 4), (5, 6)]
    assert "pmod(hash(" in plan_of(found)


def test_keys_that_are_not_as_declared_have_one_partition(spark: SparkSession) -> None:
    """The values 2.5 and NULL are one lane, of INTs."""
    _view(spark, "s", "SELECT * FROM VALUES (1, 2.5D), (2, CAST(NULL AS DOUBLE)) AS s(t, k)")
    register(spark, "STREAM s (t INT, k INT) TIME t; SUBSCRIBE m FROM s PER k MATCH a;")
    assert "SinglePartition" in plan_of(spark.sql("SELECT * FROM m(TABLE(s))"))


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


def test_only_the_columns_that_are_needed_are_sent(spark: SparkSession) -> None:
    plan = plan_of(spark.sql("SELECT * FROM rise(TABLE(ticks))"))
    assert set(re.findall(r"(\w+)#", re.findall(r"named_struct\((.*?)partition_by_0", plan)[-1])) == {
        "ts",
        "name",
        "price",
    }


def test_columns_have_types(spark: SparkSession) -> None:
    frame = spark.sql("SELECT * FROM runs(TABLE(ticks))")
    assert {f.name: f.dataType.simpleString() for f in frame.schema} == {
        "subscription": "string",
        "kind": "string",
        "key": "struct<name:string>",
        "start": "bigint",
        "end": "bigint",
        "probability": "double",
        "horizon": "string",
        "id": "string",
        "bindings": "struct<n:bigint,mean:double,who:string,since:bigint,low:boolean>",
        "events": "struct<a:bigint,b:array<bigint>,c:bigint>",
    }
    query = "SELECT key.name, bindings.* FROM runs(TABLE(ticks)) WHERE size(events.b) > 2"
    assert spark.sql(query).columns == ["name", "n", "mean", "who", "since", "low"]


def test_time_goes_on_until(spark: SparkSession) -> None:
    text = """STREAM s (k INT, at TIMESTAMP, ok BOOL) TIME at ID at;
    SUBSCRIBE silent FROM s PER at, k MATCH a ; !b DEFINE b AS ok WITHIN 1 min
    RETURN t(a) AS since, a.ok AS good, duration AS seconds;"""
    register(spark, text)
    _view(spark, "s", "SELECT 1 AS k, TIMESTAMP '2026-03-01 10:00:00.5' AS at, CAST(NULL AS BOOLEAN) AS ok")
    call = "SELECT key.*, bindings.*, end, events.a FROM silent(TABLE(s){})"
    [row] = spark.sql(call.format(", until => TIMESTAMP '2026-03-01 11:00:00'")).toArrow().to_pylist()
    at = datetime(2026, 3, 1, 10, 0, 0, 500_000, UTC)
    assert row.pop("a") == "2026-03-01T10:00:00.500000Z"
    assert row == {"at": at, "k": 1, "since": at, "good": None, "seconds": 0.0, "end": at.replace(minute=1)}


def test_without_per_the_table_is_a_lane(spark: SparkSession) -> None:
    register(spark, "SUBSCRIBE pair FROM s MATCH a , b;", {"s": "ticks"}, time={"s": "ts"})
    [(count,)] = spark.sql("SELECT count(*) FROM pair(TABLE(SELECT ts FROM ticks))").collect()
    assert count == spark.table("ticks").count() - 1


def test_malformed_events_are_counted(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """As in a task, which has a class of its own; what a worker logs goes to the executor's log."""
    rows: dict[str, Any] = {"time": [1.0, None, 3.0, 4.5], "k": [7, 7, 7, 7]}
    made = _handler(spark, BAD)
    for _ in range(2):
        partition = made()
        assert [*partition.eval(pa.RecordBatch.from_pydict(rows))] == []
        [notified] = partition.terminate()
        assert notified["events"].to_pylist() == [{"a": 0, "b": 1}]
    partition.cleanup()
    assert caplog.messages == ["s: 4 malformed events are quarantined, one of them: no time"]
    partition = _handler(spark, BAD, strict=True)()
    [*partition.eval(pa.RecordBatch.from_pydict(rows))]
    with pytest.raises(ft.ForetellError, match="s:2: no time"):
        [*partition.terminate()]


def _view(spark: SparkSession, name: str, query: str) -> None:
    spark.sql(query).createOrReplaceTempView(name)


def _handler(spark: SparkSession, text: str, *, strict: bool = False) -> type[TablePartition]:
    program = ft.parse(text)
    declarations = {name: declaration_of(program, name, InputSettings()) for name in program.sources}
    schemas = stream_schemas(spark, program, None, None)
    return partition_class(TableFunction(program.text, "m", schemas, declarations, {}, strict, partitions=2))


# ── mistakes ──


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("rise(TABLE(SELECT ts, name FROM ticks))", "ticks: no column 'price'"),
        ("rise(TABLE(SELECT ts, name, 'dear' AS price FROM ticks))", "price: expected FLOAT, but the column is string"),
        ("rise(1.0)", "rise needs a table of events"),
        ("rise()", "rise needs a table of events"),
        ("rise(TABLE(ticks), event => 1)", "rise has no argument 'event'"),
        ("rise(TABLE(ticks), 1, 3)", "rise has no third argument"),
        ("rise(TABLE(ticks), until => 'soon')", "until: expected a number, found 'soon'"),
        (
            "quiet(TABLE(ticks))",
            "quiet: time alone completes matches, and no partition knows the table's latest time",
        ),
    ],
)
def test_a_call_that_is_wrong_is_not_started(spark: SparkSession, call: str, message: str) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"SELECT * FROM {call}")
    assert f"foretell.errors.InputError: {message}" in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_partitioning_of_the_caller_is_refused(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="rise") as caught:
        spark.sql("SELECT * FROM rise(TABLE(ticks) PARTITION BY volume)")
    assert caught.value.getCondition() == "TABLE_VALUED_FUNCTION_REQUIRED_METADATA_INCOMPATIBLE_WITH_CALL"


@pytest.mark.parametrize(
    ("text", "inputs", "code"),
    [
        ("SUBSCRIBE m FROM s MATCH a ; b ; c LOSING 0.1 ABOVE 0.5;", {"s": LONGS}, "no-delay"),
        ("SUBSCRIBE m FROM s, u MATCH a ; b;", {"s": LONGS, "u": LONGS}, "several-streams"),
        ("SUBSCRIBE m FROM s MATCH a;", {}, "undeclared-stream"),
        ("SUBSCRIBE m FROM s MATCH a DEFINE a AS price > 1;", {"s": LONGS}, "unknown-attribute"),
        ("SUBSCRIBE m FROM s MATCH a;", {"s": "no_such_table"}, "unknown-table"),
        ("SUBSCRIBE m FROM s MATCH a;", {"s": 5}, "bad-argument"),
        ("SUBSCRIBE m FROM s MATCH a;", {"s": LONGS, "u": LONGS}, "unread-input"),
        ("SUBSCRIBE m FOR EACH t FROM s MATCH a;", {"s": LONGS}, "missing-table"),
        ("STREAM s TIME time;", {}, "no-statements"),
    ],
)
def test_what_cannot_be_registered(spark: SparkSession, text: str, inputs: dict[str, Any], code: str) -> None:
    with pytest.raises(ft.ForetellError) as caught:
        register(spark, text, inputs, time=dict.fromkeys(inputs, "time") or {"s": "time"})
    assert caught.value.code == code, str(caught.value)


def test_correlators(spark: SparkSession) -> None:
    text = "STREAM s (k INT, g INT, time INT) TIME time; "
    text += "CORRELATE pairs FROM s PER g DO repeat{push('both'){accumulate{a, b}}} DEFINE a AS k = 1, b AS k = 2;"
    text += "CORRELATE of FOR EACH kinds FROM s DO repeat{push('two'){repeat(2){a}}} DEFINE a AS k = :k AND g < 3;"
    kinds = {"kinds": [{"id": "x", "k": 1}, {"id": "y", "k": 2}, {"id": "z", "k": 1}]}
    events = [{"k": 1 + n * 7 % 3, "g": n % 5, "time": n} for n in range(200)]
    spark.createDataFrame(pa.Table.from_pylist(events)).createOrReplaceTempView("levers")
    assert register(spark, text, {}, tables=kinds) == ("pairs", "of")
    found = spark.sql("SELECT key.g, end, bindings.token FROM pairs(TABLE(levers))").toArrow().to_pylist()
    every = ft.run(text, {"s": events}, tables=kinds, engine="reference")
    expected = [(n.key, n.end, n.bindings) for n in every if n.subscription == "pairs"]
    assert sorted((row["g"], row["end"], row["token"]) for row in found) == sorted(
        ((key or {})["g"], end, bindings["token"]) for key, end, bindings in expected
    )
    assert len(found) > 50
    by_row = spark.sql("SELECT id, end FROM of(TABLE(levers))").toArrow().to_pylist()
    assert sorted((row["id"], row["end"]) for row in by_row) == sorted((n.id, n.end) for n in every if n.id)
    assert {row["id"] for row in by_row} == {"x", "y", "z"}


def test_lost_events(spark: SparkSession) -> None:
    events = estimate_events(200)
    spark.createDataFrame(pa.Table.from_pylist(events)).createOrReplaceTempView("reads")
    assert register(spark, ESTIMATES, {}, model=ESTIMATE_MODEL) == ("theft",)
    names = ["kind", "end", "probability", "id", "estimate"]
    found = spark.sql(f"SELECT {', '.join(names)} FROM theft(TABLE(reads), until => 3000)").toArrow()
    expected = ft.run(ESTIMATES, {"s": events}, model=ESTIMATE_MODEL, until=3_000, engine="embedded")
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_arrow().select(names).to_pylist()))
    lost = spark.sql("SELECT estimate.lost.x.low FROM theft(TABLE(reads), until => 3000)").toArrow()
    assert lost["low"].null_count < len(lost)


def test_the_time_column_need_not_be_named(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    register(spark, "SUBSCRIBE timed FROM s MATCH a;", {"s": LONGS})
    assert caplog.messages == ["stream 's': the time is column 'time'; change it with --time s=COLUMN"]


def test_the_page(spark: SparkSession) -> None:
    """docs/sql.md, as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    (python,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(python, {})
    queries = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    found = [spark.sql(query).toArrow() for query in queries]
    shown = re.findall(r"^\| (.*) \|$", page, re.MULTILINE)
    notified = [found[0].column_names, *([str(v) for v in row.values()] for row in found[0].to_pylist())]
    assert [line.split(" | ") for line in shown if "---" not in line] == notified
    assert [table.num_rows for table in found] == [1, 1]
