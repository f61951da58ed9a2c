"""Streaming queries give the notifications of the engine in process, also when they stop and start again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json
from pyspark.sql.streaming.query import StreamingQuery

import foretell as ft
from foretell.errors import InputError
from foretell.spark.streaming.query import bad, follow, late, matches, refused
from tests.spark.streaming_queries import (
    TYPES,
    WATCH,
    Event,
    expected,
    finish,
    frame,
    in_files,
    logins,
    put,
    read,
    rows_of,
)


def test_the_same_as_in_process(spark: SparkSession, tmp_path: Path) -> None:
    events = logins(400)
    in_files(tmp_path / "in", events, 200)
    finish(follow(WATCH, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=3), tmp_path)
    wanted = expected(spark, [ft.Engine(WATCH).push("logins", events)])
    assert {row[0] for row in wanted} == {"guess", "quiet"}
    assert rows_of(read(spark, tmp_path)) == wanted


def test_stopped_and_started_again(spark: SparkSession, tmp_path: Path) -> None:
    """With late events, which depend on what came before in all shards."""
    events = logins(300)
    strays = [{**events[3], "id": "stray"}, {**events[9], "id": "timeless", "at": None}]
    engine, notified = ft.Engine(WATCH), []
    for number, batch in enumerate((events[:150], events[150:], strays)):
        put(tmp_path / "in", batch, number)
        finish(follow(WATCH, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=3), tmp_path)
        notified.append(engine.push("logins", batch))
    rows = read(spark, tmp_path)
    assert rows_of(matches(rows)) == expected(spark, notified)
    (stray,) = late(rows).collect()
    assert (stray.subscription, json.loads(stray.detail)["id"]) == ("logins", "stray")
    assert stray.start == stray.end
    (timeless,) = bad(rows).collect()
    assert json.loads(timeless.detail)["reason"] == "no time"


TWO = """
STREAM orders (id STRING, k INT, at INT) TIME at ID id LATE BY 5;
STREAM payments (id STRING, k FLOAT, at INT) TIME at ID id LATE BY 5;
STREAM beats (id STRING, k INT, at INT) TIME at ID id;
SUBSCRIBE unpaid FROM orders, payments PER k MATCH o ; !p WITHIN 10
  DEFINE o AS stream = 'orders', p AS stream = 'payments';
SUBSCRIBE still FROM beats PER k MATCH a ; !b WITHIN 10;
"""


def test_several_streams_come_together(spark: SparkSession, tmp_path: Path) -> None:
    """Each statement has the time of its own streams: the beats end early, and theirs with them."""
    random, frames, engine = Random(5), {}, ft.Engine(TWO)
    batches: list[dict[str, list[Event]]] = [{}, {}]
    for name, kind, most in (("orders", int, 60), ("payments", float, 60), ("beats", int, 42)):
        for number, batch in enumerate(batches):
            times = range(number * 30, min(number * 30 + 30, most))
            batch[name] = [{"id": f"{name}{t}", "k": kind(random.randrange(9)), "at": t} for t in times]
            put(tmp_path / name, batch[name], number)
        types = f"id STRING, k {'DOUBLE' if kind is float else 'BIGINT'}, at BIGINT"
        frames[name] = frame(spark, tmp_path / name, types)
    finish(follow(TWO, frames, shards=4), tmp_path)
    wanted = expected(spark, [engine.push_together(batch) for batch in batches])
    assert {row[0] for row in wanted} == {"unpaid", "still"}
    assert rows_of(read(spark, tmp_path)) == wanted


def test_without_per_there_is_one_shard(spark: SparkSession, tmp_path: Path) -> None:
    """LocalBatchJob with a table, whose rows go with the state."""
    text = "STREAM s (v INT, t INT) TIME t; SUBSCRIBE up FOR EACH steps FROM s MATCH a , b DEFINE b AS v > a.v + :by;"
    tables = {"steps": [{"id": "some", "by": 0}, {"id": "much", "by": 5}]}
    events = [{"v": i * 7 % 10, "t": i} for i in range(20)]
    in_files(tmp_path / "in", events, 10)
    finish(follow(text, {"s": frame(spark, tmp_path / "in", "v BIGINT, t BIGINT")}, tables=tables), tmp_path)
    assert rows_of(read(spark, tmp_path)) == expected(spark, [ft.Engine(text, tables=tables).push("s", events)])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SUBSCRIBE a FROM s PER k MATCH x;", "no-time-column"),
        ("STREAM s (k INT, u INT, t INT) TIME t; SUBSCRIBE a FROM s MATCH x;", "missing-column"),
        ("STREAM r (k INT, t INT) TIME t; SUBSCRIBE a FROM r MATCH x;", "unread-input"),
        ("STREAM s (k INT, t INT) TIME t; SUBSCRIBE a FROM s MATCH x ; !y ; z LOSING 0.1 ABOVE 0.5;", "no-delay"),
    ],
)
def test_what_is_refused(spark: SparkSession, tmp_path: Path, text: str, code: str) -> None:
    tmp_path.joinpath("in").mkdir()
    with pytest.raises(InputError) as caught:
        follow(text, {"s": frame(spark, tmp_path / "in", "k BIGINT, t BIGINT")})
    assert caught.value.code == code


MORE = WATCH + "SUBSCRIBE failed FROM logins PER ip MATCH a DEFINE a AS NOT ok;"


def test_what_may_be_changed(spark: SparkSession, tmp_path: Path) -> None:
    """Statements may come when a query is started again; how keys are dealt out must stay."""
    events, notified = logins(120), []
    engine = ft.Engine(WATCH)
    for number, text in enumerate((WATCH, MORE)):
        batch = events[60 * number : 60 * number + 60]
        put(tmp_path / "in", batch, number)
        finish(follow(text, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=2), tmp_path)
        engine = ft.Engine.restore(text, engine.snapshot())
        notified.append(engine.push("logins", batch))
    rows = rows_of(read(spark, tmp_path))
    assert rows == expected(spark, notified)
    assert {row[0] for row in rows} == {"guess", "quiet", "failed"}
    put(tmp_path / "in", events[:1], 2)
    with pytest.raises(StreamingQueryException, match="holds 2 shards PER ip, and the query asks for 3 shards PER ip"):
        finish(follow(MORE, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=3), tmp_path)


MANY = """
SUBSCRIBE rise FROM s PER k MATCH a , b DEFINE b AS v > a.v;
SUBSCRIBE pair FROM s PER k, m MATCH a ; b WITHIN 99 DEFINE a AS v = 1, b AS v = 2;
SUBSCRIBE all FROM s MATCH a , b DEFINE a AS v > 7, b AS v > 7;
SUBSCRIBE first FROM s PER m MATCH a , b DEFINE a AS v < 3, b AS v < 3 RETURN b.m AS m, b.v AS v;
SUBSCRIBE second FROM first PER m MATCH a ; b WITHIN 20 DEFINE b AS v > a.v;
"""


def test_every_per_has_its_shards(spark: SparkSession, tmp_path: Path) -> None:
    """Statements with other PERs, with none, and that read results; and nothing is declared, so that types are those of
    the frame and events are named by their numbers in their lanes."""
    random = Random(3)
    events = [
        {"k": random.randrange(9), "m": random.choice("xyz"), "v": random.randrange(10), "t": i} for i in range(300)
    ]
    in_files(tmp_path / "in", events, 100)
    notified = follow(
        MANY, {"s": frame(spark, tmp_path / "in", "k INT, m STRING, v BIGINT, t INT")}, time={"s": "t"}, shards=3
    )
    finish(notified, tmp_path)
    engine = ft.Engine(MANY, time={"s": "t"})
    wanted = expected(spark, [engine.push("s", events[i : i + 100]) for i in (0, 100, 200)])
    assert {row[0] for row in wanted} == {"rise", "pair", "all", "first", "second"}
    assert rows_of(read(spark, tmp_path)) == wanted


NUMBERED = "STREAM s (k INT, v INT, t INT) TIME t LATE BY 2;"
BASE = (
    NUMBERED
    + """
SUBSCRIBE rise FROM s PER k MATCH a , b DEFINE b AS v > a.v;
SUBSCRIBE above FOR EACH marks FROM s PER k MATCH a DEFINE a AS v > :mark;
CORRELATE twice FOR EACH marks FROM s PER k DO repeat{push('twice'){repeat(2){a}}} DEFINE a AS v > :mark;
"""
)
FALL = "SUBSCRIBE fall FROM s PER k MATCH a , b DEFINE b AS v < a.v;"
CHANGES: list[list[dict[str, Any]]] = [
    [],
    [
        {"number": 2, "action": "unsubscribe", "name": "rise"},
        {"number": 1, "action": "subscribe", "text": FALL},
        {"number": 3, "action": "add rows", "name": "marks", "rows": '[{"id": "low", "mark": 3}]'},
        {"number": 4, "action": "subscribe", "text": "SUBSCRIBE other FROM s MATCH a;"},
        {"number": 5, "action": "subscribe", "text": "SUBSCRIBE wrong FROM s PER k MATCH"},
        {"number": 6, "action": "unsubscribe", "name": "risen"},
        {"number": 7, "action": "drop", "name": "rise"},
    ],
    [{"number": 8, "action": "remove rows", "name": "marks", "rows": '["high"]'}],
]


def test_statements_change_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """By a control stream; the query is started again in between, and once with one statement more."""
    random = Random(8)
    tables = {"marks": [{"id": "high", "mark": 8}]}
    engine, notified = ft.Engine(BASE, tables=tables), []
    more = BASE + "SUBSCRIBE same FROM s PER k MATCH a , b DEFINE b AS v = a.v;"
    for number, changes in enumerate(CHANGES):
        events = [{"k": random.randrange(5), "v": random.randrange(10), "t": 40 * number + i} for i in range(40)]
        put(tmp_path / "in", events, number)
        put(tmp_path / "changes", changes, number)
        control = frame(spark, tmp_path / "changes", "number INT, action STRING, name STRING, text STRING, rows STRING")
        inputs = {"s": frame(spark, tmp_path / "in", "k BIGINT, v BIGINT, t BIGINT")}
        text = more if number == 2 else BASE
        finish(follow(text, inputs, tables=tables, control=control, shards=2), tmp_path)
        if number == 1:
            engine.subscribe(FALL)
            engine.unsubscribe("rise")
            engine.add_rows("marks", [{"id": "low", "mark": 3}])
        if number == 2:
            engine.subscribe(more.rsplit(";", 2)[1] + ";")
            engine.remove_rows("marks", ["high"])
        notified.append(engine.push("s", events))
    rows = read(spark, tmp_path)
    assert rows_of(matches(rows)) == expected(spark, notified, json=True)
    assert {row[0] for row in rows_of(matches(rows))} == {"rise", "above", "twice", "fall", "same"}
    message = {
        json.loads(row.bindings)["number"]: json.loads(row.bindings)["reason"] for row in refused(rows).collect()
    }
    assert sorted(message) == [4, 5, 6, 7]
    assert "no shard can serve 'other'" in message[4]
    assert "did you mean 'rise'" not in message[6]  # it is gone
    assert "unknown action 'drop'" in message[7]
    assert refused(rows).count() == 4


def as_on_the_page(query: StreamingQuery) -> None:
    """`watch` of docs/monitoring.md, for a query that has run."""
    page = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(def watch.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    names["watch"](query)


def test_figures_in_the_progress(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = logins(60)
    in_files(tmp_path / "in", [*events, {**events[0], "at": None}], 61)
    notified = follow(WATCH, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=2)
    query = notified.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).format("noop")
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    figures = started.recentProgress[0]["observedMetrics"]["foretell"]
    as_on_the_page(started)
    assert f"0 {figures['events']} {figures['matches']}\n" in capsys.readouterr().out
    engine = ft.Engine(WATCH)
    found = engine.push("logins", events)
    assert (figures["matches"], figures["bad"], figures["late"]) == (len(found), 1, 0)
    assert (figures["partial_matches"], figures["waiting"]) == (engine.partial_matches, engine.waiting)
    assert figures["state_bytes"] > 1000
    # The page of the query draws the same figures.
    page = ft.pipeline_page(started)
    assert page.charts[0].slug == "throughput"
    shown = {record["series"]: record["value"] for record in page["state"].records() if "value" in record}
    assert shown == {"partial matches": figures["partial_matches"], "events held back": figures["waiting"]}
    (memory, *_) = page["memory"].records()
    assert memory["value"] == figures["state_bytes"]
    assert "set aside" not in page.introduction
    assert "1 could not be read" in page.introduction
    assert "processing" in page["duration"].svg()
    assert ft.pipeline_page(started.recentProgress)["state"].records() == page["state"].records()


def test_run_gives_a_streaming_frame(spark: SparkSession, tmp_path: Path) -> None:
    tmp_path.joinpath("in").mkdir()
    given: Any = {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}
    assert cast(Any, ft.run(WATCH, given)).isStreaming


def test_values_that_hold_json(spark: SparkSession, tmp_path: Path) -> None:
    """As the page has it for Kafka, whose connector is not here: a column `value`, taken apart by Spark."""
    page = (Path(__file__).parents[2] / "docs" / "kafka.md").read_text(encoding="utf-8")
    columns = "id STRING, ip STRING, ok BOOLEAN, at TIMESTAMP, malformed STRING"
    options = {"columnNameOfCorruptRecord": "malformed"}
    assert f'columns = "{columns}"' in page
    assert f"options = {json.dumps(options)}" in page
    (tmp_path / "in").mkdir()
    rows = [
        '{"id": "x", "ip": "a", "ok": false, "at": "2026-11-15 10:00:00"}',
        '{"id": "y", "ip": "b", "ok": "no", "at": "2026-11-15 10:00:01"}',
        '{"id": "z", "ip": 1, "ok": "no"}',
        "{",
    ]
    (tmp_path / "in" / "0.txt").write_text("\n".join(rows))
    event = from_json(col("value").cast("string"), columns, options)
    logins = spark.readStream.text(str(tmp_path / "in")).select(event.alias("event")).select("event.*")
    text = "STREAM logins TIME at ID id; SUBSCRIBE m FROM logins MATCH a RETURN a.ip AS ip, a.ok AS ok;"
    finish(follow(text, {"logins": logins}, shards=1), tmp_path)
    notified = read(spark, tmp_path).select("kind", "bindings").orderBy("start").collect()
    assert sorted(row["kind"] for row in notified) == ["bad", "bad", "match", "match"]
    matches = [row["bindings"].asDict() for row in notified if row["kind"] == "match"]
    assert matches == [{"ip": "a", "ok": False}, {"ip": "b", "ok": None}]
    written = ("subscription AS key", "to_json(struct(*)) AS value")
    assert all(f'"{expression}"' in page for expression in written)
    lines = read(spark, tmp_path).selectExpr(*written).collect()
    assert {row["key"] for row in lines} == {"m", "logins"}
    assert {json.loads(row["value"])["kind"] for row in lines} == {"bad", "match"}
