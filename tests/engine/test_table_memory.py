"""FOR EACH tables beyond the memory that an engine may take are refused before they fill it."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.engine import Engine

TEXT = """STREAM s (v INT, t INT) TIME t;
SUBSCRIBE m FOR EACH people FROM s MATCH a DEFINE a AS v = :v;"""
LIMITS = ft.Limits(memory="4 MiB")
COUNT = 1_000_000


def refused(source: object, limits: ft.Limits = LIMITS) -> str:
    with pytest.raises(ft.InputError) as caught:
        Engine(TEXT, tables={"people": source}, limits=limits)
    assert caught.value.code == "memory-limit"
    with pytest.raises(ft.InputError) as again:
        ft.run(TEXT, {"s": [{"v": 1, "t": 1}]}, tables={"people": source}, limits=limits, engine="embedded")
    assert again.value.code == "memory-limit"
    return str(caught.value)


def rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"id": number, "v": number}


def test_a_frame() -> None:
    numbers = pa.array(np.arange(COUNT))
    assert refused(pa.table({"id": numbers, "v": numbers})) == (
        "people: the table does not fit into the memory: it takes about 15.3 MiB or more, and Limits.memory is 4 MiB\n"
        "  hint: give it fewer rows or columns, or raise Limits.memory"
    )


def test_a_file_that_is_short_and_has_a_billion_rows(tmp_path: Path) -> None:
    """Parquet holds a column of one value in a few bytes, and memory would not."""
    path, block = tmp_path / "people.parquet", pa.table({"id": pa.array(np.zeros(COUNT, np.int64))})
    with pq.ParquetWriter(path, block.schema) as writer:
        for _ in range(20):
            writer.write_table(block)
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    assert "it takes about 152.6 MiB or more, and Limits.memory is 4 MiB" in refused(path)
    before = pa.total_allocated_bytes()
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    assert (pa.default_memory_pool().max_memory() or 0) - before < 100 << 20


def test_text_files(tmp_path: Path) -> None:
    lines = "id,v\n" + "".join(f"{number},{number}\n" for number in range(200_000))
    path, packed = tmp_path / "people.csv", tmp_path / "people.csv.gz"
    path.write_text(lines)
    packed.write_bytes(gzip.compress(lines.encode()))
    assert refused(path) == refused(packed)


def test_rows_that_come_one_after_the_other() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for row in rows(10**9):
            taken += 1
            yield row

    with pytest.raises(ft.InputError, match=r"people: the table does not fit into the memory"):
        Engine(TEXT, tables={"people": endless()}, limits=LIMITS)
    assert taken < 100_000


def test_batches_that_come_one_after_the_other() -> None:
    batch = pa.table({"id": pa.array(np.arange(10_000)), "v": pa.array(np.arange(10_000))}).to_batches()[0]
    taken = 0

    def endless() -> Iterator[pa.RecordBatch]:
        nonlocal taken
        while True:
            taken += 1
            yield batch

    with pytest.raises(ft.InputError, match=r"people: the table does not fit into the memory"):
        Engine(TEXT, tables={"people": pa.RecordBatchReader.from_batches(batch.schema, endless())}, limits=LIMITS)
    assert taken < 100


def test_rows_that_come_later() -> None:
    """The rows that are there are counted, and so is what the engine has of them."""
    engine = Engine(TEXT, tables={"people": list(rows(10))}, limits=LIMITS)
    added = 10

    def grow() -> None:
        nonlocal added
        for _ in range(1_000):
            engine.add_rows("people", [{"id": added + n, "v": n} for n in range(1_000)])
            added += 1_000
            engine.push("s", [{"v": added, "t": added}])

    with pytest.raises(ft.InputError) as caught:
        grow()
    assert caught.value.code == "memory-limit"
    assert "Limits.memory is 4 MiB" in str(caught.value)
    assert 20_000 < added < 200_000
    engine.remove_rows("people", list(range(10, added)))
    assert [n.id for n in engine.push("s", [{"v": 3, "t": 10**9}])] == [3]
    engine.add_rows("people", [{"id": 10, "v": 3}])
    assert [n.id for n in engine.push("s", [{"v": 3, "t": 10**9 + 1}])] == [3, 10]
