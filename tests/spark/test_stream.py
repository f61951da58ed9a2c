"""Streaming frames give what the engine in process gives, also when a query is stopped or killed in between."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, from_json

import foretell as ft
from foretell.arguments.streams import declaration_of
from foretell.errors import InputError
from foretell.spark.partitioning.shard_ids import shard_ids, spark_hash
from foretell.spark.partitioning.statement_groups import stream_groups
from foretell.spark.streaming.query import bad, follow, late, matches, refused

LOGINS = "STREAM logins (id STRING, ip STRING, ok BOOL, at TIMESTAMP) TIME at ID id LATE BY 20 s;"
WATCH = (
    LOGINS
    + """
SUBSCRIBE guess FROM logins PER ip MATCH a , b , c DEFINE a AS NOT ok, b AS NOT ok, c AS ok WITHIN 2 min;
SUBSCRIBE quiet FROM logins PER ip MATCH a ; !b WITHIN 1 min DEFINE a AS NOT ok;
"""
)
TYPES = {"logins": "id STRING, ip STRING, ok BOOLEAN, at TIMESTAMP"}

Event = dict[str, Any]


def logins(count: int, seed: int = 1, disorder: int = 8) -> list[Event]:
    """Two seconds apart, and not quite in order."""
    random = Random(seed)
    order = sorted(range(count), key=lambda i: i + random.uniform(0, disorder))
    return [_login(i, Random(i)) for i in order]


def _login(i: int, random: Random) -> Event:
    at = f"2026-03-01T{i // 1800:02}:{i // 30 % 60:02}:{2 * i % 60:02}Z"
    return {"id": f"e{i}", "ip": f"10.0.0.{random.randrange(40)}", "ok": random.random() < 0.4, "at": at}


def crowd(count: int, at: str, ok: bool = False) -> list[Event]:
    """So many addresses at once, for a state that is large."""
    return [{"id": f"{at}{i}", "ip": f"11.0.{i // 250}.{i % 250}", "ok": ok, "at": at} for i in range(count)]


def put(folder: Path, events: Iterable[Event], number: int) -> None:
    """A file more, whole at once; its age is its place in the order."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{number}.json"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    path.rename(folder / f"{number:04}.json")


def in_files(folder: Path, events: Sequence[Event], size: int, first: int = 0) -> None:
    for number, start in enumerate(range(0, len(events), size)):
        put(folder, events[start : start + size], first + number)


def frame(spark: SparkSession, folder: Path, types: str, files: int = 1) -> DataFrame:
    return spark.readStream.schema(types).option("maxFilesPerTrigger", files).json(str(folder))


def finish(told: DataFrame, folder: Path) -> None:
    """Goes on from the checkpoint until all files are read.

    Spark gives a Python process ten seconds to start before a query begins, which on a busy machine is not enough.
    """
    writer = told.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    for tries_left in reversed(range(5)):
        try:
            writer.start(str(folder / "out"), format="parquet").awaitTermination()
            return
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error) or not tries_left:
                raise


def rows_of(told: DataFrame) -> list[tuple[object, ...]]:
    told = told.selectExpr("subscription", "kind", "key", "start", "end", "id", "bindings", "events")
    return sorted((tuple(row) for row in told.collect()), key=repr)


def read(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder / "out"))


def expected(spark: SparkSession, told: Iterable[ft.Notifications]) -> list[tuple[object, ...]]:
    """The same rows by the same way: through a file, as the query's."""
    tables = [one.table() for one in told if len(one)]
    return sorted((row for table in tables for row in rows_of(spark.createDataFrame(table))), key=repr)


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
    engine, told = ft.Engine(WATCH), []
    for number, batch in enumerate((events[:150], events[150:], strays)):
        put(tmp_path / "in", batch, number)
        finish(follow(WATCH, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=3), tmp_path)
        told.append(engine.push("logins", batch))
    rows = read(spark, tmp_path)
    assert rows_of(matches(rows)) == expected(spark, told)
    (stray,) = late(rows).collect()
    assert (stray.subscription, json.loads(stray.bindings)["id"]) == ("logins", "stray")
    assert stray.start == stray.end
    (timeless,) = bad(rows).collect()
    assert json.loads(timeless.bindings)["reason"] == "no time"


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
        ("STREAM s (k INT, t INT) TIME t; SUBSCRIBE a FROM s MATCH x LOSING 0.1 ABOVE 0.5;", "not-in-engine"),
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
    events, told = logins(120), []
    engine = ft.Engine(WATCH)
    for number, text in enumerate((WATCH, MORE)):
        batch = events[60 * number : 60 * number + 60]
        put(tmp_path / "in", batch, number)
        finish(follow(text, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=2), tmp_path)
        engine = ft.Engine.restore(text, engine.snapshot())
        told.append(engine.push("logins", batch))
    rows = rows_of(read(spark, tmp_path))
    assert rows == expected(spark, told)
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
    told = follow(
        MANY, {"s": frame(spark, tmp_path / "in", "k INT, m STRING, v BIGINT, t INT")}, time={"s": "t"}, shards=3
    )
    finish(told, tmp_path)
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
    engine, told = ft.Engine(BASE, tables=tables), []
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
        told.append(engine.push("s", events))
    rows = read(spark, tmp_path)
    assert rows_of(matches(rows)) == expected(spark, told)
    assert {row[0] for row in rows_of(matches(rows))} == {"rise", "above", "fall", "same"}
    said = {json.loads(row.bindings)["number"]: json.loads(row.bindings)["reason"] for row in refused(rows).collect()}
    assert sorted(said) == [4, 5, 6, 7]
    assert "no shard can serve 'other'" in said[4]
    assert "did you mean 'rise'" not in said[6]  # it is gone
    assert "unknown action 'drop'" in said[7]
    assert refused(rows).count() == 4


def test_figures_in_the_progress(spark: SparkSession, tmp_path: Path) -> None:
    events = logins(60)
    in_files(tmp_path / "in", [*events, {**events[0], "at": None}], 61)
    told = follow(WATCH, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=2)
    query = told.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).format("noop")
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    figures = started.recentProgress[0]["observedMetrics"]["foretell"]
    engine = ft.Engine(WATCH)
    found = engine.push("logins", events)
    assert (figures["matches"], figures["bad"], figures["late"]) == (len(found), 1, 0)
    assert (figures["partial_matches"], figures["waiting"]) == (engine.partial_matches, engine.waiting)
    assert figures["state_bytes"] > 1000


def test_run_gives_a_streaming_frame(spark: SparkSession, tmp_path: Path) -> None:
    tmp_path.joinpath("in").mkdir()
    given: Any = {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}
    assert cast(Any, ft.run(WATCH, given)).isStreaming


def test_shards_go_round_the_partitions(spark: SparkSession) -> None:
    codes = shard_ids("PER ip", 16)
    found = spark.createDataFrame([(code,) for code in codes], "code BIGINT").selectExpr("hash(code) AS hash").collect()
    assert [row.hash for row in found] == spark_hash(np.array(codes)).tolist()
    assert [row.hash % 4 for row in found] == [n % 4 for n in range(16)]
    assert codes[:2] == (shard_ids("PER ip", 1)[0], codes[1])
    assert not set(codes) & set(shard_ids("PER port", 16))


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("SUBSCRIBE x FROM s PER b, a MATCH m;", ["PER a, b"]),
        ("SUBSCRIBE x FROM s PER a, stream MATCH m;", ["PER a"]),
        ("SUBSCRIBE x FROM s PER a MATCH m; SUBSCRIBE y FROM s MATCH m;", ["PER a", "without PER"]),
        ("SUBSCRIBE x FROM s PER a MATCH m RETURN m.b AS a; SUBSCRIBE y FROM x PER a MATCH m;", ["without PER"]),
        ("SUBSCRIBE x FROM s PER a MATCH m RETURN m.a AS a; SUBSCRIBE y FROM x PER a MATCH m;", ["PER a"]),
        ("SUBSCRIBE x FROM s PER a MATCH n , m? RETURN m.a AS a; SUBSCRIBE y FROM x PER a MATCH m;", ["without PER"]),
    ],
)
def test_groups_are_named_by_their_partition_keys(text: str, groups: list[str]) -> None:
    program = ft.parse("STREAM s (a INT, b INT, t INT) TIME t;" + text)
    found = stream_groups(program, {"s": declaration_of(program, "s", {})}, 4)
    assert [group.name for group in found] == groups


def test_values_that_hold_json(spark: SparkSession, tmp_path: Path) -> None:
    """As the page has it for Kafka, whose connector is not here: a column `value`, taken apart by Spark."""
    page = (Path(__file__).parents[2] / "docs" / "streaming.md").read_text(encoding="utf-8")
    columns = "id STRING, ip STRING, ok BOOLEAN, at TIMESTAMP, malformed STRING"
    options = {"columnNameOfCorruptRecord": "malformed"}
    assert f'columns = "{columns}"' in page
    assert f"options = {json.dumps(options)}" in page
    (tmp_path / "in").mkdir()
    rows = ['{"id": "x", "ip": "a", "ok": false, "at": "2026-11-15 10:00:00"}', '{"id": "y", "ip": 1, "ok": "no"}', "{"]
    (tmp_path / "in" / "0.txt").write_text("\n".join(rows))
    event = from_json(col("value").cast("string"), columns, options)
    logins = spark.readStream.text(str(tmp_path / "in")).select(event.alias("event")).select("event.*")
    text = "STREAM logins TIME at ID id; SUBSCRIBE m FROM logins MATCH a DEFINE a AS NOT ok RETURN a.ip AS ip;"
    finish(follow(text, {"logins": logins}, shards=1), tmp_path)
    told = read(spark, tmp_path).select("kind", "bindings").collect()
    assert sorted(row["kind"] for row in told) == ["bad", "bad", "match"]
    assert [json.loads(row["bindings"]) for row in told if row["kind"] == "match"] == [{"ip": "a"}]
