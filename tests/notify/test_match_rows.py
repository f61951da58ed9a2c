"""Notifications for many rows of a FOR EACH table, which are put together only where somebody takes them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.machine.matches.bound_events import column_order
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.notify import lazy_notifications, ordered_notifications
from foretell.notify.lazy_notifications import LazyNotifications
from tests.engine_pair import comparable_rows

TEXT = """STREAM s (k STRING, v INT, time INT) TIME time;
SUBSCRIBE m FOR EACH limits FROM s PER k MATCH a , b DEFINE a AS k = :k AND v > :v, b AS v > a.v RETURN b.v AS high;"""


def limits(first: int, count: int, chance: random.Random) -> list[dict[str, Any]]:
    return [{"id": first + i, "k": "xyz"[i % 3], "v": chance.randint(-1, 8)} for i in range(count)]


def found(columnar: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> list[ft.Notifications]:
    """Those of pushes between which rows come and go."""
    chance = random.Random(seed)
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", 0 if columnar else 10**9)
    engine = ft.Engine(TEXT, tables={"limits": limits(0, 40, chance)})
    results = []
    for number in range(4):
        events = [{"k": chance.choice("xyz"), "v": chance.randint(0, 9), "time": 100 * number + i} for i in range(60)]
        results.append(engine.push("s", events))
        engine.add_rows("limits", limits(1000 - 100 * number, 9, chance))
        engine.remove_rows("limits", [number, 20 + number])
    return results


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_come_and_go(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = found(False, seed, monkeypatch)
    monkeypatch.setattr(lazy_notifications, "CHUNK_LINES", 50)
    for each, mine in zip(plain, found(True, seed, monkeypatch), strict=True):
        assert isinstance(mine.rows, LazyNotifications)
        assert mine.rows.chunks[0].batches[0].rows is not None
        assert len(mine) == len(each) > 100
        assert comparable_rows(mine) == comparable_rows(each)
        assert mine.to_arrow().equals(each.to_arrow())
        assert mine.table().equals(each.table())
        assert b"".join(mine.lines()) == b"".join(each.lines())
        for first, stop in ((0, 1), (7, 90), (len(each) - 3, len(each)), (5, 5)):
            assert list(mine[first:stop]) == list(each[first:stop])
            assert list(mine.rows.part(first, stop - first).decode()) == list(each[first:stop])


def test_rows_in_the_order_of_their_ids() -> None:
    chance = np.random.default_rng(5)
    of_table: list[list[Any]] = [
        [9, 7, -1, 10, 3, 4, 5, 2],
        [1.5, -0.5, 9.0, 10.0, 2.0],
        ["b", "B", "10", "9", "é", ""],
    ]
    for known, counted in product(of_table, (False, True)):
        at = chance.permutation(len(known))  # the rows in the order of an index
        ids, when = [known[row] for row in at.tolist()], chance.integers(0, 4, len(known))
        since = when[at] if counted else None
        rows = IndexedRows(pa.array(known), at, when if counted else None)
        assert [rows.id_at(place) for place in range(len(ids))] == ids
        first, begin = chance.integers(0, 4, 50), chance.integers(0, len(ids), 50)
        count = np.array([chance.integers(0, len(ids) - b + 1) for b in begin.tolist()])
        expected = [
            sorted(
                (r for r in range(b, b + n) if since is None or since[r] <= f),
                key=lambda r: ids[r],
            )
            for b, n, f in zip(begin.tolist(), count.tolist(), first.tolist(), strict=True)
        ]
        intervals = np.where(count > 0, (begin << 32) + count, 0)
        assert rows.counts(intervals, first).tolist() == [len(own) for own in expected]
        assert rows.of(intervals, first).tolist() == [row for own in expected for row in own]


def test_the_order_by_columns_of_any_range() -> None:
    chance = np.random.default_rng(6)
    ends = [3, 2**20, 2**40, 2**62]
    for trial in range(200):
        count = int(chance.integers(0, 60))
        columns: list[Any] = [chance.integers(-end, end, count) for end in chance.choice(ends, chance.integers(1, 6))]
        columns.append(np.array([np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max])[chance.integers(0, 3, count)])
        if trial % 2:
            columns.insert(0, chance.choice([-0.0, 0.0, -1.5, 1e300, -1e300], count))
        by, tied = column_order(columns)
        assert by.tolist() == np.lexsort(columns[::-1]).tolist()
        rows = list(zip(*(column[by].tolist() for column in columns), strict=True))
        assert tied.tolist() == [n > 0 and rows[n] == rows[n - 1] for n in range(count)]
