"""The reorder buffer: order, arrival within an instant, late events, few runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.reorder_buffer import ReorderBuffer
from foretell.storage.blob import pack, unpack

quick = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def batch(times: Iterable[float], numbers: Iterable[int]) -> EventBatch:
    table = pa.table({"t": list(times), "n": list(numbers)})
    return read(table, StreamDeclaration("s", {}, "t", open=True))


@quick
@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=6), max_size=30), st.sampled_from([0, 7, 7.5]))
def test_arrival_decides_within_an_instant(batches: list[list[int]], lateness: float) -> None:
    buffer = ReorderBuffer({"s": lateness})
    count = 0
    released: list[tuple[int, int]] = []
    late = 0
    for times in batches:
        late += len(buffer.add(batch(times, range(count, count + len(times)))))
        count += len(times)
        for released_batch in buffer.release().values():
            rows = list(zip(*released_batch.table.to_pydict().values(), strict=True))
            assert released_batch.total == len(rows)
            released += rows if lateness else sorted(rows)
    for released_batch in buffer.drain().values():
        released += zip(*released_batch.table.to_pydict().values(), strict=True)
    assert released == sorted(released)
    assert (len(released) + late, len(buffer)) == (count, 0)


def test_many_single_events_are_held_in_few_runs() -> None:
    buffer = ReorderBuffer({"s": 1000})
    most = 0
    for number, time in enumerate(np.random.default_rng(1).permutation(600).tolist()):
        buffer.add(batch([time], [number]))
        most = max(most, buffer.runs("s"))
    assert most <= 10
    assert buffer.drain()["s"].table["t"].to_pylist() == list(range(600))


def test_held_events_are_a_copy() -> None:
    times = np.array([1, 2])
    buffer = ReorderBuffer({"s": 5})
    buffer.add(read(pa.table({"t": pa.array(times)}), StreamDeclaration("s", {}, "t")))
    times[:] = 7
    assert buffer.drain()["s"].table["t"].to_pylist() == [1, 2]


def test_late_events_are_counted_by_stream() -> None:
    buffer = ReorderBuffer({"s": 1})
    buffer.add(batch([9], [0]))
    assert buffer.add(batch([7, 8, 2], [1, 2, 3])).rows.tolist() == [1, 3]
    assert Counter(buffer.late_counts) == Counter({"s": 2})
    assert buffer.restore(buffer.lateness, buffer.state()).late_counts == {"s": 2}


def test_a_snapshot_holds_all_events_and_the_watermark() -> None:
    buffer = ReorderBuffer({"s": 5})
    buffer.add(batch([9, 3, 7], [0, 1, 2]))
    _, state = unpack(pack("waiting", {}, buffer.state()), "waiting")
    restored = ReorderBuffer.restore(buffer.lateness, state)
    assert restored.watermark == buffer.watermark == 4
    assert restored.release()["s"].table.equals(buffer.release()["s"].table)
    assert restored.drain()["s"].table.equals(buffer.drain()["s"].table)
