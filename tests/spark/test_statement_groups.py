"""Statement groups of streams and the ids of their shards."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import declaration_of
from foretell.spark.partitioning.shard_ids import shard_ids, spark_hash
from foretell.spark.partitioning.statement_groups import stream_groups


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
    found = stream_groups(program, {"s": declaration_of(program, "s", InputSettings())}, 4)
    assert [group.name for group in found] == groups
