"""The column `estimate` of every output says the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.events.estimate_detail import EstimateDetail, GapFactor, LostStep
from foretell.events.notification import COLUMNS, ESTIMATE, Notification
from foretell.notify import ordered_notifications
from foretell.notify.flat_rows import flat_row
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.messages import messages_of, messages_of_batch
from foretell.notify.row_encoder import to_row

STREAM = "STREAM s (time TIMESTAMP, k STRING) TIME time;"
LOSING = f"""{STREAM}
SUBSCRIBE m FROM s MATCH a ; b ; c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'
WITHIN 5 min LOSING 0.5 OF b, c ABOVE 0.01;
SUBSCRIBE plain FROM s MATCH a DEFINE a AS k = 'a';
"""


def exponential(mean: float, share: float = 1.0) -> dict[str, Any]:
    return {"distribution": "exponential", "mean": mean, "share": share}


AFTER = {
    "b": {"a": exponential(60, 0.5)},
    "c": {"a": exponential(120, 0.5), "b": exponential(120, 0.5)},
}
MODEL = {"subscriptions": {"m": {"after": AFTER}}}

KINDS = ("estimate", "match", "withdrawn")


def events(count: int = 30) -> list[dict[str, Any]]:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    kinds = ["a", "c", "a", "b", "a", "b", "c"]
    return [{"time": (start + timedelta(seconds=90 * n)).isoformat(), "k": kinds[n % len(kinds)]} for n in range(count)]


@pytest.fixture(params=[0, 10**9], ids=["columns", "objects"])
def found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ft.Notifications:
    """As columns, and as single objects."""
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", request.param)
    notifications = ft.run(LOSING, {"s": events()}, model=MODEL, engine="embedded")
    assert isinstance(notifications.rows, LazyNotifications) is (request.param == 0)
    return notifications


def rows_of(found: ft.Notifications) -> list[dict[str, Any]]:
    return [json.loads(line) for text in found.lines() for line in text.splitlines()]


def test_estimates_alone_have_details(found: ft.Notifications) -> None:
    assert {n.kind for n in found} >= {"match", "estimate"}
    for n in found:
        assert (n.estimate is not None) == (n.kind == "estimate")
    assert {lost.step for n in found if n.estimate is not None for lost in n.estimate.lost} == {"b", "c"}


def test_lines_of_json(found: ft.Notifications) -> None:
    for row, n in zip(rows_of(found), found, strict=True):
        assert row == json.loads(json.dumps(to_row(n)))
        assert list(row) == [*COLUMNS, *([ESTIMATE] if n.kind == "estimate" else [])]
        if n.estimate is not None:
            assert set(row[ESTIMATE]["lost"]) == {lost.step for lost in n.estimate.lost}
            assert all(interval["low"].endswith("Z") for interval in row[ESTIMATE]["lost"].values())


def as_detail(row: Mapping[str, Any] | None) -> EstimateDetail | None:
    """A row of the typed column as notifications have it."""
    if row is None:
        return None
    lost = tuple(LostStep(s, micros(t["low"]), micros(t["high"])) for s, t in row["lost"].items() if t is not None)
    return EstimateDetail(row["score"], lost, tuple(GapFactor(**gap) for gap in row["gaps"]))


def micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_typed_columns(found: ft.Notifications, tmp_path: Path) -> None:
    table = found.to_arrow()
    assert table.column_names == [*COLUMNS, ESTIMATE]
    assert [as_detail(row) for row in table[ESTIMATE].to_pylist()] == [n.estimate for n in found]
    ft.run(LOSING, {"s": events()}, model=MODEL, output=tmp_path / "found.parquet")
    assert pq.read_table(tmp_path / "found.parquet").equals(table)


def test_texts(found: ft.Notifications, tmp_path: Path) -> None:
    table = found.table()
    assert table.column_names == [*COLUMNS, ESTIMATE]
    texts = [None if text is None else json.loads(text) for text in table[ESTIMATE].to_pylist()]
    assert texts == [row.get(ESTIMATE) for row in rows_of(found)]
    ft.run(LOSING, {"s": events()}, model=MODEL, output=tmp_path / "found.parquet", json=True)
    assert pq.read_table(tmp_path / "found.parquet").equals(table)


def test_messages(found: ft.Notifications) -> None:
    mine = [json.loads(message.body) for message in messages_of(found)]
    assert [message.get(ESTIMATE) for message in mine] == [row.get(ESTIMATE) for row in rows_of(found)]
    batches = found.table().to_batches()
    assert [json.loads(m.body) for batch in batches for m in messages_of_batch(batch)] == mine


def test_flat_rows(found: ft.Notifications, tmp_path: Path) -> None:
    of_estimate = next(n for n in found if n.kind == "estimate" and n.events["c"] is not None)
    row = flat_row(of_estimate)
    assert [name for name in row if name.startswith("estimate.")] == [
        "estimate.score",
        "estimate.lost.b.low",
        "estimate.lost.b.high",
        "estimate.gaps",
    ]
    ft.run(LOSING, {"s": events()}, model=MODEL, output=tmp_path / "found.csv")
    header = (tmp_path / "found.csv").read_text().splitlines()[0].split(",")
    assert header[-6:] == [
        "estimate.score",
        "estimate.lost.b.low",
        "estimate.lost.b.high",
        "estimate.gaps",
        "estimate.lost.c.low",
        "estimate.lost.c.high",
    ]


def test_without_losing_there_is_no_such_column(tmp_path: Path) -> None:
    plain = STREAM + LOSING.splitlines()[3]
    found = ft.run(plain, {"s": events()}, engine="embedded", output=tmp_path / "found.parquet")
    again = ft.run(plain, {"s": events()}, engine="embedded")
    assert len(found) == len(again) > 5
    assert again.to_arrow().column_names == again.table().column_names == [*COLUMNS]
    assert pq.read_table(tmp_path / "found.parquet").column_names == [*COLUMNS]


def test_only_negated_steps_may_be_lost() -> None:
    """Spark has no struct without fields."""
    text = LOSING.replace("a ; b ; c", "a ; !b ; c").replace("OF b, c", "OF b")
    table = ft.run(text, {"s": events()}, model=MODEL, engine="embedded").to_arrow()
    assert table.schema.field(ESTIMATE).type.field("lost").type == pa.string()
    details = [row for row in table[ESTIMATE].to_pylist() if row is not None]
    assert details
    assert {row["lost"] for row in details} == {None}


def test_views_show_lost_steps_briefly(found: ft.Notifications) -> None:
    of_estimate = next(n for n in found if n.kind == "estimate" and n.events["c"] is not None)
    assert "b lost, 00:00:" in repr(of_estimate)
    assert "estimate" in repr(found).splitlines()[1]
    assert "lost" not in repr(next(n for n in found if n.kind == "match"))


def test_a_statement_that_reads_estimates_assumes_nothing_itself() -> None:
    text = LOSING + "SUBSCRIBE again FROM m MATCH x;"
    found = ft.run(text, {"s": events()}, model=MODEL, engine="embedded")
    again: list[Notification] = [n for n in found["again"] if n.kind == "estimate"]
    assert again
    assert {n.estimate for n in again} == {None}


def test_rows_of_a_table_have_the_details_of_their_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    text = LOSING.replace("SUBSCRIBE m FROM", "SUBSCRIBE m FOR EACH rows FROM").replace(
        "a AS k = 'a', b", "a AS k = 'a' AND 1 <= :least, b", 1
    )
    tables = {"rows": [{"id": n, "least": n} for n in range(4)]}
    given: dict[str, Any] = {"model": MODEL, "tables": tables, "engine": "embedded"}
    plain = ft.run(text, {"s": events()}, **given)
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", 0)
    found = ft.run(text, {"s": events()}, **given)
    assert isinstance(found.rows, LazyNotifications)
    assert {n.id for n in found["m"] if n.estimate is not None} == {1, 2, 3}
    assert list(found) == list(plain)
    assert rows_of(found) == rows_of(plain)
    assert found.to_arrow().equals(plain.to_arrow())
