"""The Arrow encoder and lazy notifications give the same as notifications made one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.engine.planning import start_runtime
from foretell.events import arrow_interop
from foretell.events.arrow_interop import arrow_of, take_rows
from foretell.events.types import Type
from foretell.machine.matches.notification_order import notifications_of
from foretell.notify import lazy_notifications, ordered_notifications
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.notifications import Notifications
from foretell.notify.ordered_notifications import to_notifications
from foretell.notify.row_encoder import to_json, to_table
from foretell.notify.typed_columns import TypedNotifications
from tests.case_files import Case, cases
from tests.engine_pair import EnginePair, comparable_rows
from tests.test_cases import beyond

CASES = [case for case in cases() if case.error is None and not beyond("embedded", case) and case.model is None]
MANY = """STREAM s (k STRING, v FLOAT, time INT) TIME time;
SUBSCRIBE p FROM s PER k MATCH a , b DEFINE b AS b.v > a.v RETURN a.v AS low, b.v / a.v AS ratio;
SUBSCRIBE q FROM s MATCH a DEFINE a AS v > 5 RETURN a.v AS v;"""


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", 0)


@pytest.mark.parametrize("most", [ordered_notifications.MAX_ENCODED_ROWS, 2])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.file}: {c.name}")
def test_a_case_as_columns(case: Case, most: int, always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_notifications, "MAX_ENCODED_ROWS", most)
    both = EnginePair(case.text, case.streams, time=case.time, tables=case.tables)
    found = start_runtime(both.checked, both.given).process(both.loaded)
    plain = notifications_of(found)
    mine = to_notifications(found)
    assert comparable_rows(mine) == comparable_rows(plain)
    assert isinstance(mine, LazyNotifications) or not plain
    if isinstance(mine, LazyNotifications):
        assert b"".join(mine.lines()) == b"".join(map(to_json, plain))
        if mine.time_types() != {Type.TIMESTAMP, Type.INT}:
            assert mine.table().equals(to_table(plain)), (mine.table().to_pylist(), to_table(plain).to_pylist())
            typed = TypedNotifications.of_statements({batch.schema.name: batch.schema for batch in found}.values())
            assert typed.table_of(mine).equals(typed.table_of(plain))


def events(count: int) -> pa.Table:
    chance = np.random.default_rng(4)
    return pa.table(
        {
            "k": chance.choice(["a", "é", '"'], count).tolist(),
            "v": chance.choice([0.0, 2.5, 7.25, 1e300], count).tolist(),
            "time": list(range(count)),
        }
    )


def test_many_are_columns_and_few_are_not() -> None:
    assert isinstance(ft.run(MANY, {"s": events(400)}).rows, LazyNotifications)
    assert isinstance(ft.run(MANY, {"s": events(9)}).rows, tuple)


def test_every_access_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_notifications, "CHUNK_ROWS", 7)
    found = ft.run(MANY, {"s": events(400)})
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", 10**9)
    plain = ft.run(MANY, {"s": events(400)})
    assert isinstance(found.rows, LazyNotifications)
    assert isinstance(plain.rows, tuple)
    assert len(found) == len(plain) > 100
    assert comparable_rows(found) == comparable_rows(plain)
    assert found == plain == found
    assert [found[i] for i in (0, 6, 7, -1, -len(plain))] == [plain[i] for i in (0, 6, 7, -1, -len(plain))]
    backwards = [found[i] for i in reversed(range(len(plain)))]
    assert backwards == list(reversed(plain))
    assert [found[i] for i in range(len(plain))] == list(plain)
    for group in (slice(None), slice(3, 20), slice(-5, None), slice(9, 2), slice(None, None, -3), slice(10**9)):
        assert found[group] == plain[group]
    for wrong in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            found[wrong]
    assert found.table().equals(plain.table())
    monkeypatch.setattr(lazy_notifications, "CHUNK_LINES", 50)
    assert b"".join(found.lines()) == b"".join(plain.lines())
    assert found.rows != plain.rows[:-1]
    assert found.rows != "text"


def test_notifications_of_an_engine_do_not_change_later() -> None:
    """Also when the engine has forgotten the events."""
    engine = ft.Engine(MANY)
    found = engine.push("s", events(400))
    assert isinstance(found.rows, LazyNotifications)
    later = [{"k": "a", "v": 9.0, "time": 1000 + i} for i in range(400)]
    engine.push("s", later)
    assert comparable_rows(found) == comparable_rows(ft.run(MANY, {"s": events(400)}))


def test_infinite_numbers_are_kept_and_null_in_a_table() -> None:
    infinite = [float("inf"), float("-inf"), 1.5] * 40
    group = [{"k": "Infinity", "v": v, "time": n} for n, v in enumerate(infinite)]
    text = "SUBSCRIBE p FROM s PER k MATCH a RETURN a.v AS v;"
    found = ft.run(text, {"s": group}, time={"s": "time"})
    assert isinstance(found.rows, LazyNotifications)
    assert [n.bindings["v"] for n in found] == infinite
    assert found.table().equals(to_table(tuple(found)))
    assert b"".join(found.lines()) == b"".join(map(to_json, found))
    assert set(found.table()["bindings"].to_pylist()) == {'{"v":null}', '{"v":1.5}'}
    assert set(found.table()["key"].to_pylist()) == {'{"k":"Infinity"}'}


def test_times_of_two_kinds_have_no_column(always: None) -> None:
    text = """STREAM i (time INT) TIME time; STREAM f (time FLOAT) TIME time;
    SUBSCRIBE p FROM i MATCH a; SUBSCRIBE q FROM f MATCH a;"""
    found = ft.run(text, {"i": [{"time": 2**60 + 1}], "f": [{"time": 0.5}]})
    assert [n.end for n in found] == [0.5, 2**60 + 1]
    assert found.table()["end"].to_pylist() == [0.5, float(2**60 + 1)]


def test_timestamps_and_numbers_do_not_make_a_table(always: None) -> None:
    text = """STREAM i (time INT) TIME time; STREAM t (time TIMESTAMP) TIME time;
    SUBSCRIBE p FROM i MATCH a; SUBSCRIBE q FROM t MATCH a;"""
    found = ft.run(text, {"i": [{"time": 1}], "t": [{"time": "2026-01-01T00:00:00Z"}]})
    assert {n.time_type for n in found} == {Type.INT, Type.TIMESTAMP}
    assert b"".join(found.lines()) == b"".join(map(to_json, found))
    with pytest.raises(ft.ForetellError) as caught:
        found.table()
    assert caught.value.code == "mixed-times"


def test_a_long_number_beside_timestamps(always: None) -> None:
    text = """STREAM i (time INT) TIME time; STREAM t (time TIMESTAMP) TIME time;
    SUBSCRIBE p FROM i MATCH a; SUBSCRIBE q FROM t MATCH a;"""
    found = ft.run(text, {"i": [{"time": 2**62}], "t": [{"time": "1969-01-01T00:00:00Z"}]})
    assert b"".join(found.lines()) == b"".join(map(to_json, found))


def test_a_lone_surrogate(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SUBSCRIBE p FROM s MATCH a RETURN '\ud800\u00e9' AS v;"
    found = ft.run(text, {"s": [{"time": 1}]}, time={"s": "time"})
    assert found[0].bindings == {"v": "\ud800\u00e9"}
    assert b"".join(found.lines()) == b"".join(map(to_json, found))
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", 10**9)
    assert ft.run(text, {"s": [{"time": 1}]}, time={"s": "time"}) == found


def test_forecasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_notifications, "MAX_ENCODED_ROWS", 5)
    text = MANY.replace("RETURN a.v AS low, b.v / a.v AS ratio", "FORECAST WITHIN 3 EVENTS ABOVE 0.1")
    found = ft.run(text, {"s": events(400)})
    assert isinstance(found.rows, LazyNotifications)
    assert {n.kind for n in found} == {"match", "forecast"}
    monkeypatch.setattr(ordered_notifications, "MIN_COLUMNAR_ROWS", 10**9)
    plain = ft.run(text, {"s": events(400)})
    assert comparable_rows(found) == comparable_rows(plain)
    assert found.table().equals(plain.table())
    assert b"".join(found.lines()) == b"".join(plain.lines())


def test_texts_too_long_for_a_column_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ft.run(MANY, {"s": events(400)})

    def full(*_: object, **__: object) -> pa.Table:
        raise pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes")

    monkeypatch.setattr(ordered_notifications, "encode_results", full)
    found = ft.run(MANY, {"s": events(400)})
    assert isinstance(found.rows, tuple)
    assert found == plain


def test_the_reference_gives_a_sequence_too() -> None:
    for count in (6, 400):
        assert ft.run(MANY, {"s": events(count)}, engine="reference") == ft.run(MANY, {"s": events(count)})


def test_no_notifications() -> None:
    assert to_notifications([]) == ()
    assert Notifications(()).table().num_rows == 0


def test_texts_of_more_than_one_column_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.concat_tables([pa.table({"n": [0, 1], "t": ["a", None]}), pa.table({"n": [2, 3], "t": ["c", "d"]})])
    order = arrow_of(np.array([3, 0, 2, 1, 0]))
    plain = take_rows(table, order)
    monkeypatch.setattr(arrow_interop, "_MOST_BYTES", table.nbytes - 1)
    found = take_rows(table, order)
    assert found.to_pylist() == plain.to_pylist()
    assert found.schema == plain.schema
