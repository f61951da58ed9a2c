"""Messages of a real broker as a stream of Spark: every one once, through restarts of both."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from foretell.connectors.mqtt.client import Broker
from foretell.connectors.mqtt.subscriber import Subscriber, TopicSubscription
from foretell.spark.connectors.registry import register
from tests.broker import Mosquitto, wait_until
from tests.spark_processes import kill_with_descendants

TOPIC = "plant/+/temperature"
FIELDS = "sensor STRING, value DOUBLE, at TIMESTAMP"


@pytest.fixture
def source(spark: SparkSession, mosquitto: Mosquitto, tmp_path: Path) -> Any:
    register(spark)

    def load(topic: str = TOPIC, **options: str | int) -> DataFrame:
        reader = spark.readStream.format("foretell_mqtt").option("host", "127.0.0.1").option("port", mosquitto.port)
        given = {"topic": topic, "spool": str(tmp_path / "spool"), **options}
        return reader.options(**given).load()

    return load


def introduce(mosquitto: Mosquitto, tmp_path: Path, topic: str = TOPIC) -> None:
    """The broker knows the query from here on and keeps messages for it."""
    Subscriber(Broker("127.0.0.1", mosquitto.port), TopicSubscription(topic), tmp_path / "spool").close()


def into_files(frame: DataFrame, tmp_path: Path, **trigger: Any) -> StreamingQuery:
    query = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    return query.trigger(**trigger).start(str(tmp_path / "rows"))


def values(spark: SparkSession, tmp_path: Path) -> list[float]:
    return [row["value"] for row in spark.read.parquet(str(tmp_path / "rows")).orderBy("number", "value").collect()]


def readings(start: int, end: int) -> list[bytes]:
    return [json.dumps({"sensor": "a", "value": i, "at": "2026-03-01T12:00:00Z"}).encode() for i in range(start, end)]


def test_a_query_that_is_stopped_and_started_again(
    spark: SparkSession, source: Any, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    frame = source(schema=FIELDS, maxMessagesPerBatch=100)
    introduce(mosquitto, tmp_path)
    mosquitto.publish("plant/1/temperature", readings(0, 250))
    mosquitto.publish("plant/1/pressure", [b"not ours"])
    query = into_files(frame, tmp_path, availableNow=True)
    query.awaitTermination()
    assert [p["numInputRows"] for p in query.recentProgress if p["numInputRows"]] == [100, 100, 50]
    mosquitto.stop()
    mosquitto.start()
    mosquitto.publish("plant/2/temperature", readings(250, 300))
    into_files(frame, tmp_path, availableNow=True).awaitTermination()
    assert values(spark, tmp_path) == list(range(300))
    row = spark.read.parquet(str(tmp_path / "rows")).where("number = 299").collect()[0]
    assert (row["topic"], row["sensor"], row["malformed"]) == ("plant/2/temperature", "a", None)
    assert json.loads(row["payload"])["value"] == 299
    assert row["at"].timestamp() == 1772366400
    assert row["received"].year >= 2026


def test_what_is_malformed_arrives_with_its_reason(
    spark: SparkSession, source: Any, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    frame = source(schema="value DOUBLE")
    introduce(mosquitto, tmp_path)
    payloads = [b'{"value": 1}', b"off", b'[{"value": 2}, {"value": "x"}, 3]', b"\xff\xfe", b"", b'{"value": 4}', b"[]"]
    mosquitto.publish("plant/1/temperature", payloads)
    into_files(frame, tmp_path, availableNow=True).awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "rows")).orderBy("number", "payload").collect()
    assert [(r["number"], r["value"], r["malformed"], bytes(r["payload"])) for r in rows] == [
        (0, 1.0, None, b'{"value": 1}'),
        (1, None, "not JSON", b"off"),
        (2, None, "not a JSON object", b"3"),
        (2, None, "value: expected FLOAT, found 'x'", b'{"value": "x"}'),
        (2, 2.0, None, b'{"value": 2}'),
        (3, None, "not UTF-8", b"\xff\xfe"),
        (4, None, "not JSON", b""),
        (5, 4.0, None, b'{"value": 4}'),
    ]


def test_the_broker_restarts_while_the_query_runs(
    spark: SparkSession, source: Any, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    frame = source().selectExpr("number", "cast(get_json_object(string(payload), '$.value') as double) value")
    query = into_files(frame, tmp_path, processingTime="200 milliseconds")
    try:
        wait_until(lambda: query.lastProgress is not None or query.exception(), 60)
        for start in (0, 200):
            mosquitto.publish("plant/1/temperature", readings(start, start + 200))
            wait_until(lambda: _rows(query) >= start + 100, 60)  # noqa: B023
            mosquitto.stop()
            mosquitto.start()
        mosquitto.publish("plant/1/temperature", readings(400, 500))
        wait_until(lambda: _rows(query) >= 500, 60)
        assert query.exception() is None
    finally:
        query.stop()
    assert values(spark, tmp_path) == list(range(500))


def _rows(query: StreamingQuery) -> int:
    assert query.exception() is None, query.exception()
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def test_columns_of_ones_own(spark: SparkSession, mosquitto: Mosquitto, tmp_path: Path) -> None:
    register(spark)
    reader = spark.readStream.format("foretell_mqtt").option("host", "127.0.0.1").option("port", mosquitto.port)
    reader = reader.option("topic", "t").option("spool", str(tmp_path / "spool"))
    frame = reader.schema("number LONG, on BOOLEAN, payload STRING, malformed STRING").load()
    introduce(mosquitto, tmp_path, "t")
    mosquitto.publish("t", [b'{"on": true}', b'{"on": 1}'])
    into_files(frame, tmp_path, availableNow=True).awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "rows")).orderBy("number").collect()
    assert [(r["on"], r["payload"], r["malformed"]) for r in rows] == [
        (True, '{"on": true}', None),
        (None, '{"on": 1}', "on: expected BOOL, found 1"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topc": "x"}, "there is no option 'topc'"),
        ({"qos": "2"}, "a crash would lose it"),
        ({"port": "x"}, "the option 'port' 'x' is not a whole number"),
        ({"port": "1"}, "nothing listens at 127.0.0.1:1"),
        ({"spool": ""}, "the option 'spool' is missing"),
        ({"schema": "list ARRAY<INT>"}, "a field is BOOLEAN, BIGINT, DOUBLE, STRING or TIMESTAMP, not ARRAY"),
        ({"schema": "topic STRING"}, "a column occurs twice"),
    ],
)
def test_mistakes_are_told(source: Any, tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException) as caught:
        into_files(source(**options), tmp_path, availableNow=True).awaitTermination()
    assert message in str(caught.value)


def test_a_spool_that_was_replaced(source: Any, tmp_path: Path) -> None:
    into_files(source(), tmp_path, availableNow=True).awaitTermination()
    with pytest.raises(PySparkException, match="the checkpoint belongs to another spool"):
        into_files(source(spool=str(tmp_path / "other")), tmp_path, availableNow=True).awaitTermination()


CHILD = """
import sys
from foretell.spark.connectors.registry import register
from foretell.spark.session import session
port, folder = sys.argv[1:]
spark = session(**{"spark.master": "local[2]"})
register(spark)
source = spark.readStream.format("foretell_mqtt").option("host", "127.0.0.1").option("port", port)
source = source.option("topic", "plant/#").option("spool", folder + "/spool").option("schema", "value DOUBLE")
frame = source.option("maxMessagesPerBatch", 300).load()
frame.writeStream.format("parquet").option("checkpointLocation", folder + "/checkpoint").start(folder + "/rows")
print("ready", flush=True)
spark.streams.awaitAnyTermination()
"""


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_all_is_killed_in_the_middle(spark: SparkSession, mosquitto: Mosquitto, tmp_path: Path) -> None:
    """SIGKILL to driver, JVM and subscriber in mid-stream; the next goes on where it stopped."""
    total = 0
    for last in (False, False, True):
        command = [sys.executable, "-c", CHILD, str(mosquitto.port), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as child:
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"ready\n"
                wait_until(lambda: (tmp_path / "spool" / "subscription").exists(), 200)
                mosquitto.publish("plant/1", readings(total, total + 2000))
                total += 2000
                wanted = total if last else total - 1500
                wait_until(lambda: done(tmp_path) >= wanted, 200)  # noqa: B023
            finally:
                kill_with_descendants(child.pid)
    assert values(spark, tmp_path) == list(range(total))


def done(folder: Path) -> int:
    """How far the query has come, by its checkpoint."""
    commits = [int(path.name) for path in folder.glob("checkpoint/commits/[0-9]*")]
    if not commits:
        return 0
    offsets = (folder / "checkpoint" / "offsets" / str(max(commits))).read_text()
    return int(json.loads(offsets.splitlines()[-1])["number"])
