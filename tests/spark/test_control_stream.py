"""Changes of the control stream that somebody else wrote: files are not read, and the query goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.events.types import Type
from foretell.plan.result_schema import result_schema
from foretell.spark.notification_columns import notification_columns
from foretell.spark.partitioning.shuffle_rows import CHANGES
from foretell.spark.streaming.control_stream import MOST_TEXT, StatementChange, decode_changes
from foretell.spark.streaming.query import follow, refused
from tests.spark.streaming_queries import finish, frame, put, read
from tests.spark.test_local_stream import LocalStream

STREAM = "STREAM s (k STRING, t INT) TIME t;"
TEXT = STREAM + "SUBSCRIBE m FOR EACH marks FROM s MATCH a DEFINE a AS k = :k;"
NEW = "SUBSCRIBE n FOR EACH more FROM s MATCH a RETURN :line AS line;"


def _changes(secret: Path) -> list[dict[str, Any]]:
    """Malformed changes, each for a reason of its own."""
    path = json.dumps(str(secret))
    return [
        {"action": "subscribe", "text": NEW, "rows": f'{{"more": {path}}}'},
        {"action": "subscribe", "text": NEW, "rows": path},
        {"action": "subscribe", "text": NEW, "rows": f'{{"more": [{path}]}}'},
        {"action": "subscribe", "text": str(secret)},
        {"action": "add rows", "name": "marks", "rows": path},
        {"action": "add rows", "name": "marks", "rows": f"[{path}]"},
        {"action": "add rows", "name": "marks", "rows": '{"id": 1}'},
        {"action": "add rows", "name": "marks", "rows": "no JSON"},
        {"action": "add rows", "name": "marks", "rows": None},
        {"action": "add rows", "name": "marks", "rows": "[" * 100_000},
        {"action": "add rows", "name": "marks", "rows": '[{"id": {}, "k": 1}]'},
        {"action": "add rows", "name": None, "rows": "[]"},
        {"action": "remove rows", "name": "marks", "rows": "[[1], {}]"},
        {"action": "remove rows", "name": "marks", "rows": '"a"'},
        {"action": "subscribe", "text": "SUBSCRIBE n FROM s MATCH " + "(" * 20_000 + "a"},
        {"action": "subscribe", "text": "x" * (MOST_TEXT + 1)},
        {"action": "subscribe", "text": "SUBSCRIBE n FROM s MATCH a DEFINE a AS k = '\0\ufffd"},
        {"action": "subscribe", "text": None},
        {"action": "unsubscribe", "name": None},
        {"action": "confirm", "name": None},
        {"action": "confirm", "name": "ffff"},
        {"action": "refute", "name": "ffff", "rows": path},
        {"action": "refute", "name": "ffff", "rows": "no JSON"},
        {"action": "\0", "name": "\0"},
        {"action": None},
        {},
    ]


def test_the_column_of_estimates_is_there_for_what_may_come() -> None:
    shapes = [
        result_schema(statement) for statement in ft.parse(TEXT).checked({}, {"marks": {"k": Type.STRING}}).statements
    ]
    fixed, changing = (notification_columns(shapes, json=True, changing=may) for may in (False, True))
    assert [*fixed.schema.names, "estimate"] == changing.schema.names


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.csv"
    path.write_text("id,line\n1,do not tell\n")
    return path


def test_malformed_changes_are_refused(secret: Path) -> None:
    changes = [{"action": None, **change, "number": n} for n, change in enumerate(_changes(secret), 1)]
    tables = {"marks": pa.table({"id": ["a"], "k": ["a"]})}
    stream = LocalStream(ft.parse(TEXT), {"s": {"k": Type.STRING, "t": Type.INT}}, tables, 1)
    (group,) = stream.topology.processor.groups
    (mapper,) = stream.topology.mappers.values()
    events = pa.table({"k": ["a"], "t": [1]}).select(mapper.declaration.columns).to_batches()
    rows = [row for batch in mapper(iter(events)) for row in batch.to_pylist()]
    (shard,) = group.shards
    rows.append({**rows[0], "stream": None, "kind": CHANGES, "sequence": 0, "data": json.dumps(changes).encode()})
    (output,) = stream.process(shard, [_spark_row(row) for row in rows])
    assert (output.refused, output.matches) == (len(changes), 1)
    assert b"do not tell" not in output.notifications


def _spark_row(row: dict[str, Any]) -> Any:
    from pyspark.sql import Row

    return Row(**row)


def test_changes_come_in_the_order_of_their_numbers() -> None:
    data = pa.py_buffer(
        b'[{"number": 2, "action": "b"}, {"number": null, "action": null}, {"number": 1, "action": "a"}]'
    )
    assert [change.action for change in decode_changes([data])] == [None, "a", "b"]
    assert decode_changes([data])[0] == StatementChange(None, None)


def test_a_query_goes_on(spark: SparkSession, tmp_path: Path, secret: Path) -> None:
    """On Spark: also with numbers that are none, and with bytes that are no text."""
    malformed = [change for change in _changes(secret) if len(change.get("text") or "") < MOST_TEXT]
    put(tmp_path / "in", [{"k": "a", "t": 1}], 0)
    put(tmp_path / "changes", [{"number": "?", "action": "drop"}, *malformed], 0)
    columns = "number STRING, action STRING, name STRING, text STRING, rows STRING"
    control = frame(spark, tmp_path / "changes", columns)
    control = control.selectExpr("number", "decode(encode(action, 'UTF-8'), 'UTF-8') AS action", "name", "text", "rows")
    garbled = control.selectExpr("number", "CAST(X'FF61' AS STRING) AS action", "name", "text", "rows")
    inputs = {"s": frame(spark, tmp_path / "in", "k STRING, t BIGINT")}
    tables = {"marks": [{"id": "a", "k": "a"}]}
    finish(follow(TEXT, inputs, tables=tables, control=control.union(garbled), shards=1), tmp_path)
    rows = read(spark, tmp_path)
    assert refused(rows).count() == 2 * (1 + len(malformed))
    assert "do not tell" not in str(rows.collect())
