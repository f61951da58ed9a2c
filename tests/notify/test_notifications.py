"""The result of a run as people see it, and its typed columns."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import foretell as ft

STATEMENTS = """
STREAM logins (user STRING, status STRING, time TIMESTAMP) TIME time;
SUBSCRIBE guessed FROM logins PER user MATCH fail+ , ok
DEFINE fail AS status = 'denied', ok AS status = 'success'
RETURN count(fail) AS failures, t(ok) AS at, duration AS took, ok.user = 'ann' AS is_ann;
SUBSCRIBE denied FROM logins MATCH fail DEFINE fail AS status = 'denied' AND user = $who;
"""
MIXED = """
STREAM s (k INT, time INT) TIME time;
STREAM named (k FLOAT, event STRING, time INT) TIME time ID event;
SUBSCRIBE x FROM s PER k MATCH a RETURN a.k AS v;
SUBSCRIBE y FROM named PER k MATCH a+ WITHIN 1 RETURN max(a.k) AS v;
"""


def logins(count: int = 1) -> list[dict[str, Any]]:
    rows = [
        ("00:00", "ann", "denied"),
        ("00:20", "bob", "denied"),
        ("00:40", "ann", "denied"),
        ("01:00", "ann", "success"),
    ]
    return [
        {"time": f"2026-03-{day + 1:02}T10:{time}", "user": user, "status": status}
        for day in range(count)
        for time, user, status in rows
    ]


def found(count: int = 1, **options: Any) -> ft.Notifications:
    return ft.run(STATEMENTS, {"logins": logins(count)}, **options)


# ── views ──


def test_repr() -> None:
    assert repr(found()["guessed"]) == (
        "2 notifications: guessed 2 matches\n"
        "  key       start                end       bindings              events\n"
        "  user=ann  2026-03-01 10:00:00  10:01:00  failures=2, at=2026…  fail=[0, 1], o…\n"
        "  user=ann  2026-03-01 10:00:40  10:01:00  failures=1, at=2026…  fail=[1], ok=2"
    )
    many = repr(found(20)).splitlines()
    assert many[0] == "100 notifications: denied 60 matches; guessed 40 matches"
    assert many[-2:] == ["  … 95 more", "  the last ends at 2026-03-20T10:01:00Z"]
    assert len(many) <= 10
    assert max(map(len, many)) <= 80


def test_repr_of_nothing_says_what_was_read() -> None:
    empty = ft.run(STATEMENTS, {"logins": [{"user": "x"}, logins()[3]]})
    assert repr(empty).startswith("no notifications\n  events read: logins 2\n  1 event set aside: see .bad\n  note: ")
    assert empty.notes[0] == "'guessed': no event of 'logins' has status = 'denied'; known here: 'success'"


def test_repr_shows_notes_and_late_events() -> None:
    engine = ft.Engine("STREAM s (k INT, time INT) TIME time LATE BY 1; SUBSCRIBE m FROM s MATCH a;")
    engine.push("s", [{"time": 10, "k": 1}])
    late = engine.push("s", [{"time": 1, "k": 1}])
    assert repr(late) == "no notifications\n  events read: s 1\n  1 late event: see .late"
    noted = ft.Notifications((), notes=("first", "second"))
    assert repr(noted) == "no notifications\n  note: first\n  2 notes in all: see .notes"


def test_repr_of_one() -> None:
    n = found()["guessed"][0]
    assert repr(n) == (
        "Notification(guessed match, 2026-03-01T10:00:00Z to 2026-03-01T10:01:00Z, user=ann, "
        "failures=2, at=2026-03-01T10:01:00Z, took=60.0, is_ann=True, fail=[0, 1], ok=2)"
    )
    assert "<td" in n._repr_html_()
    assert "text-align: right" in ft.run("SUBSCRIBE m FROM s MATCH a;", {"s": [{"time": 5}]})._repr_html_()


def test_long_values_are_cut() -> None:
    rows = [{"time": i, "k": "x" * 1000} for i in range(50)]
    text = "STREAM s (k STRING, time INT) TIME time; SUBSCRIBE m FROM s MATCH a{50} RETURN first(a).k AS k;"
    (n,) = ft.run(text, {"s": rows})
    assert f"k={'x' * 59}…, a=[0, 1, 2, 3, 4, … 50 in all])" in repr(n)


def test_html_is_escaped_and_without_colours() -> None:
    rows = [{"time": "2026-03-01", "user": "<script>alert('x')</script>", "status": "denied"}]
    html = ft.run(STATEMENTS, {"logins": rows})._repr_html_()
    assert "<script>" not in html
    assert "who=&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in html
    assert "color" not in html.replace("border-collapse", "")
    assert len(found(20)._repr_html_().split("<tr>")) == 1 + 1 + 20


# ── one statement ──


@pytest.mark.parametrize("count", [1, 20], ids=["objects", "columns"])
def test_one_statement(count: int) -> None:
    both = found(count)
    assert both._ipython_key_completions_() == ["guessed", "denied"]
    assert list(both["guessed"]) == [n for n in both if n.subscription == "guessed"]
    assert both["guessed"].to_arrow().schema.names == both.to_arrow().schema.names
    with pytest.raises(ft.InputError) as refused:
        both["gessed"]
    assert str(refused.value) == "there is no statement 'gessed'\n  hint: did you mean 'guessed'?"


# ── typed columns ──


@pytest.mark.parametrize("count", [1, 20], ids=["objects", "columns"])
@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_typed_columns(count: int, engine: str) -> None:
    table = found(count, engine=engine)["guessed"].to_arrow()
    time: Any = pa.timestamp("us", "UTC")
    assert table.schema.field("key").type == pa.struct([("user", pa.string())])
    assert table.schema.field("start").type == time
    assert table.schema.field("bindings").type == pa.struct(
        [("failures", pa.int64()), ("at", time), ("took", pa.float64()), ("is_ann", pa.bool_())]
    )
    assert table.schema.field("events").type == pa.struct([("fail", pa.list_(pa.int64())), ("ok", pa.int64())])
    row = table.to_pylist()[0]
    end = datetime(2026, 3, 1, 10, 1, tzinfo=UTC)
    assert row["key"] == {"user": "ann"}
    assert row["end"] == end
    assert row["bindings"] == {"failures": 2, "at": end, "took": 60.0, "is_ann": True}
    assert row["events"] == {"fail": [0, 1], "ok": 2}
    assert (row["kind"], row["probability"], row["horizon"], row["id"]) == ("match", 1.0, None, None)
    assert table.num_rows == 2 * count


def test_columns_of_several_statements() -> None:
    table = found().to_arrow()
    denied = next(row for row in table.to_pylist() if row["subscription"] == "denied")
    assert denied["key"] is None
    assert denied["bindings"] == {"failures": None, "at": None, "took": None, "is_ann": None, "who": "ann"}
    assert denied["events"] == {"fail": [0], "ok": None}  # a list, as the other statement's step is repeated


def test_columns_of_different_types() -> None:
    inputs = {"s": [{"time": 1, "k": 1}], "named": [{"time": 2, "k": 2.5, "event": "n"}]}
    table = ft.run(MIXED, inputs).to_arrow()
    assert table.schema.field("key").type == pa.struct([("k", pa.float64())])
    assert table["bindings"].to_pylist() == [{"v": 1.0}, {"v": 2.5}]
    assert table["events"].to_pylist() == [{"a": ["0"]}, {"a": ["n"]}]


def test_types_do_not_depend_on_the_rows() -> None:
    empty = ft.run(STATEMENTS, {"logins": []}).to_arrow()
    assert empty.num_rows == 0
    assert empty.schema == found().to_arrow().schema
    assert ft.Notifications(()).to_arrow().num_rows == 0


def test_ids_and_forecasts() -> None:
    text = """
    STREAM s (k INT, time INT) TIME time;
    SUBSCRIBE t FOR EACH limits FROM s MATCH a DEFINE a AS k > :least;
    SUBSCRIBE f FROM s MATCH a , b DEFINE a, b AS k = $v RETURN b.k + 1 AS next FORECAST WITHIN 2 EVENTS ABOVE 0.01;
    """
    rows = [{"time": i, "k": i % 3 // 2} for i in range(300)]
    table = ft.run(text, {"s": rows}, tables={"limits": [{"id": 7, "least": 0}]}).to_arrow()
    assert table.schema.field("id").type == pa.int64()
    assert table.schema.field("bindings").type == pa.struct([("v", pa.int64()), ("next", pa.int64())])
    notified = {(row["subscription"], row["kind"]): row for row in table.to_pylist()}
    assert notified["t", "match"]["id"] == 7
    assert notified["f", "match"]["bindings"] == {"v": None, "next": 1}
    assert notified["f", "forecast"]["horizon"] == "2 EVENTS"
    assert notified["f", "forecast"]["bindings"]["next"] is None


def test_tokens_and_engine() -> None:
    text = "STREAM s (k INT, time INT) TIME time; CORRELATE c FROM s DO push('x'){a} DEFINE a AS k = 1;"
    assert ft.run(text, {"s": [{"time": 1, "k": 1}]}).to_arrow()["bindings"].to_pylist() == [{"token": "x"}]
    engine = ft.Engine(STATEMENTS)
    first = engine.push("logins", logins())
    engine.unsubscribe("denied")
    later = engine.push("logins", [{**row, "time": row["time"].replace("03-01", "04-01")} for row in logins()])
    assert first.to_arrow().schema.field("bindings").type.num_fields == 5
    assert later.to_arrow().schema.field("bindings").type.num_fields == 4


def test_notifications_without_statements_have_no_types() -> None:
    bare = ft.Notifications(tuple(found()))
    with pytest.raises(ft.InputError) as refused:
        bare.to_arrow()
    assert str(refused.value) == (
        "the types of these notifications are not known\n  hint: take those of a run, or table(), which has JSON text"
    )


def test_pandas() -> None:
    frame = found()["guessed"].to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["bindings"][0]["failures"] == 2
    assert frame["events"][0]["ok"] == 2
    flat = found().to_pandas(flat=True)
    assert str(flat["bindings.failures"].dtype) == "Int64"
    assert str(flat["bindings.is_ann"].dtype) == "boolean"
    assert flat["key.user"].tolist() == [None, None, None, "ann", "ann"]
    assert str(flat["end"].dtype) == "datetime64[us, UTC]"


def test_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = found()["guessed"].to_polars()
    assert frame.schema["bindings"] == pl.Struct(
        {"failures": pl.Int64, "at": pl.Datetime("us", "UTC"), "took": pl.Float64, "is_ann": pl.Boolean}
    )
    assert frame["events"].struct.field("fail").to_list() == [[0, 1], [1]]
    assert found()["guessed"].to_polars(flat=True)["key.user"].to_list() == ["ann", "ann"]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ft.InputError) as refused:
        found().to_polars()
    assert str(refused.value) == "polars is not installed\n  hint: pip install polars"


def test_repr_shows_unreadable_values() -> None:
    text = "STREAM s (k INT, time INT) TIME time; SUBSCRIBE m FROM s MATCH a;"
    notified = ft.run(text, {"s": [{"time": 1, "k": 1}, {"time": 2, "k": "x"}]})
    assert repr(notified).splitlines()[-1] == "  1 unreadable value set to NULL: see .unreadable"
