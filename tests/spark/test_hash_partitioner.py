"""The hash partitioner puts keys where it always did: the state of a stream lies under the id of its shard."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.spark.partitioning.hash_partitioner import hash_partition, split_by_partition


def events(**columns: list[object]) -> EventBatch:
    count = len(next(iter(columns.values())))
    return read(pa.table({"time": list(range(count)), **columns}), StreamDeclaration("x", {}, "time", open=True))


# As they were when streams first kept state.
@pytest.mark.parametrize(
    ("keys", "shards"),
    [
        (["i"], [0, 2, 9, 11, 8, 8, 0, 2]),
        (["f"], [0, 2, 9, 11, 11, 0, 0, 0]),
        (["s"], [0, 7, 1, 0, 15, 3, 1, 7]),
        (["b"], [2, 0, 0, 2, 0, 0, 2, 2]),
        (["i", "s"], [0, 7, 11, 11, 11, 10, 1, 9]),
    ],
)
def test_the_partition_of_a_key_does_not_change(keys: list[str], shards: list[int]) -> None:
    group = events(
        i=[0, 1, 2, -7, 2**53, 2**53 + 1, None, 10],
        f=[0.0, 1.0, 2.0, -7.0, 0.5, -0.0, None, float("nan")],
        s=["", "a", "é", None, "S1", "S2", "S3", "a"],
        b=[True, False, None, True, False, None, True, True],
    )
    assert hash_partition(group, keys, 16).tolist() == shards


def test_small_whole_numbers_come_to_all_partitions() -> None:
    for kind in (int, float):
        counts = np.bincount(hash_partition(events(k=[kind(i) for i in range(800)]), ["k"], 8), minlength=8)
        assert counts.min() > 60


def test_splitting_keeps_the_order_of_rows() -> None:
    number = np.array([2, 0, 2, 2, 0])
    found = {
        partition: rows["k"].to_pylist()
        for partition, rows in split_by_partition(pa.table({"k": list("abcde")}), number, 4)
    }
    assert found == {0: ["b", "e"], 2: ["a", "c", "d"]}
