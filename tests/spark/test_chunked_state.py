"""Chunked state: pages give back the snapshot, and little is written if little has changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.tws_tester import TwsTester

import foretell as ft
from foretell.spark.streaming import chunked_state
from foretell.spark.streaming.chunked_state import ChunkedState, page_ends
from foretell.spark.streaming.deferred_processor import StateVariables
from foretell.spark.streaming.query import follow
from tests.spark.streaming_queries import TYPES, WATCH, crowd, expected, frame, logins, put, rows_of

OLD = Path(__file__).parent / "state" / "one_value.tar.gz"


def block(count: int, seed: int = 1) -> bytes:
    return np.random.default_rng(seed).bytes(count)


class SnapshotProcessor(StatefulProcessor):
    """Returns the snapshot before, and writes the one that comes."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = ChunkedState(StateVariables.of(handle))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # type: ignore[override]  # noqa: N802, N803
        (row,) = rows
        before = self.state.read()
        old = None if before is None else (before.metadata, self.state.snapshot(before))
        _, cost = self.state.write(before, row.about, row.block)
        yield Row(old=old, cost=cost)

    def close(self) -> None:
        pass


class CheckedState:
    """One snapshot in Spark's state, compared each time with the one that was written before."""

    def __init__(self) -> None:
        self.tester = TwsTester(SnapshotProcessor())
        self.last: tuple[str, bytes] | None = None

    def put(self, about: str, block: bytes) -> chunked_state.WriteCost:
        ((old, cost),) = self.tester.test("key", [Row(about=about, block=block)])
        assert old == self.last
        self.last = about, block
        assert len(self.tester.peekMapState("pages", "key")) == (
            cost.pages if len(block) > chunked_state.SMALL_BYTES else 0
        )
        assert isinstance(cost, chunked_state.WriteCost)
        return cost


def test_a_small_state_is_one_value() -> None:
    state = CheckedState()
    assert state.put("first", b"few bytes") == chunked_state.WriteCost(9, 1, 1, 9)
    assert state.put("second", b"") == chunked_state.WriteCost(0, 1, 1, 0)
    assert state.put("third", block(chunked_state.SMALL_BYTES)).pages == 1


def test_only_new_pages_are_written() -> None:
    state, first = CheckedState(), block(4_000_000)
    cost = state.put("first", first)
    assert cost.pages == cost.pages_written > 100
    assert cost.bytes_written == 4_000_000 + 8 + 16 * cost.pages
    assert state.put("again", first).pages_written == 0
    changed = bytearray(first)
    changed[2_000_000] ^= 1
    assert 1 <= state.put("a byte", bytes(changed)).pages_written <= 3
    assert state.put("longer", first + block(8_000, 2)).pages_written <= 4
    assert state.put("moved on", first[80_000:] + block(80_000, 3)).pages_written <= 12
    more = first[:1_000_000] + block(4_096, 4) + first[1_000_000:]
    assert state.put("more in between", more).pages_written <= 12
    assert state.put("back", first).pages_written <= 12
    assert state.put("small", b"small").pages_written == 1
    assert state.put("large", first).pages_written == cost.pages


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 4_095, 4_096, 4_097, 65_536, 1_000_003])
@pytest.mark.parametrize("content", ["random", "zeros", "ones"])
def test_where_pages_end(length: int, content: str) -> None:
    item = {"random": block(length), "zeros": bytes(length), "ones": b"\1" * length}[content]
    ends = page_ends(item)
    lengths = np.diff(ends, prepend=0)
    assert ends[-1] == length
    assert (lengths[:-1] >= 4_096).all()
    assert (lengths <= 65_536 + 7).all()


def test_a_page_that_is_missing() -> None:
    state = CheckedState()
    state.put("first", block(1_000_000))
    left = dict(state.tester.peekMapState("pages", "key"))
    left.popitem()
    state.tester.updateMapState("pages", "key", left)
    with pytest.raises(ft.InputError, match="lacks some of its pages"):
        state.put("second", b"")


def test_a_checkpoint_from_before_there_were_pages(spark: SparkSession, tmp_path: Path) -> None:
    """The checkpoint has one value for each of two shards, after 150 events; then the state becomes large."""
    shutil.unpack_archive(OLD, tmp_path)
    for path in ("sources/0/0", "sources/0/1", "state/0/_metadata/v2/0"):  # Spark has paths there
        file = tmp_path / "checkpoint" / path
        file.write_text(file.read_text().replace("/FOLDER", str(tmp_path)))
    events, engine = logins(200), ft.Engine(WATCH)
    last = {"id": "last", "ip": "11.0.0.0", "ok": True, "at": "2026-03-01T02:00:00Z"}
    for batch in (events[:100], events[100:150]):
        engine.push("logins", batch)
    coming = [[*events[150:], *crowd(3_000, "2026-03-01T01:00:00Z")], [last]]
    notified = [engine.push("logins", batch) for batch in coming]
    for number, batch in enumerate(coming, 2):
        put(tmp_path / "in", batch, number)
    writer = follow(WATCH, {"logins": frame(spark, tmp_path / "in", TYPES["logins"])}, shards=2).writeStream
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query = writer.start(str(tmp_path / "out"), format="parquet")
    query.awaitTermination()
    assert notified[0]
    assert len(notified[1]) == 3_000
    files = [str(path) for path in (tmp_path / "out").glob("*.parquet")]  # the sink knows of no batches before
    assert rows_of(spark.read.parquet(*files)) == expected(spark, notified)
    before, after = (item["observedMetrics"]["foretell"] for item in query.recentProgress[:2])
    assert (before["pages"], before["pages_written"], before["bytes_written"]) == (2, 2, before["state_bytes"])
    assert after["pages"] >= after["pages_written"] > 4
