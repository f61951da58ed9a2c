"""`ft.run`, `ft.load` and `ft.parse` with wrong arguments: the messages, and that nothing else is raised."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import foretell as ft
from foretell.build import event, steps, subscribe

TEXT = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';"
EVENTS = [{"time": 1, "k": "a"}, {"time": 2, "k": "b"}]
DATED = [{"time": "2026-01-01T00:00:00", "k": "a"}, {"time": "2026-01-01T00:00:01", "k": "b"}]
SOURCES = "give a path, an Arrow table, a pandas or polars frame, or an iterable of dicts"


def run(**given: Any) -> ft.Notifications:
    given = {"subscriptions": TEXT, "inputs": {"s": EVENTS}, "time": {"s": "time"}, **given}
    return ft.run(given.pop("subscriptions"), given.pop("inputs"), **given)


def refused(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(ft.InputError) as caught:
        call()
    return caught.value.code, str(caught.value)


# ── statements ──

STATEMENTS = "subscriptions: expected statements (text, or the result of ft.load or ft.parse), found "


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, "None"),
        (5, "5"),
        (b"x", "a value of type bytes"),
        ([], "a value of type list"),
        ([TEXT], "a value of type list"),
        (Path("m.ftl"), "a value of type PosixPath\n  hint: load a file with ft.load('m.ftl')"),
        ("m.ftl", "'m.ftl'\n  hint: load a file with ft.load('m.ftl')"),
    ],
)
def test_statements(given: object, found: str) -> None:
    assert refused(lambda: run(subscriptions=given)) == ("bad-argument", STATEMENTS + found)


def test_a_built_statement_needs_no_wrapping() -> None:
    a, b = steps("a", "b")
    built = subscribe("m").from_("s").match(a.next(b)).define(a, event.k == "a").define(b, event.k == "b")
    assert list(run(subscriptions=built)) == list(run(subscriptions=[built])) == list(run())


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        (None, "bad-argument", "load: expected a path, found None"),
        (b"x", "bad-argument", "load: expected a path, found a value of type bytes"),
        ("", "no-file", "there is no file ''"),
        ("x\0", "no-file", "there is no file 'x\\x00'"),
        ("no.ftl", "no-file", "there is no file 'no.ftl'"),
        ("/", "cannot-read", "cannot read '/': it is a folder"),
    ],
)
def test_load(path: Any, code: str, message: str) -> None:
    assert refused(lambda: ft.load(path)) == (code, message)


def test_load_says_what_the_file_may_be_called(tmp_path: Path) -> None:
    (tmp_path / "watch.ftl").write_text(TEXT)
    assert refused(lambda: ft.load(tmp_path / "wacth.ftl"))[1].endswith("hint: did you mean 'watch.ftl'?")
    (tmp_path / "watch.ftl").write_bytes(b"\xff")
    message = f"cannot read '{tmp_path / 'watch.ftl'}': it is not UTF-8"
    assert refused(lambda: ft.load(tmp_path / "watch.ftl")) == ("cannot-read", message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "parse: expected a text, found None"),
        (
            Path("m.ftl"),
            "parse: expected a text, found a value of type PosixPath\n  hint: load a file with ft.load('m.ftl')",
        ),
    ],
)
def test_parse(text: Any, message: str) -> None:
    assert refused(lambda: ft.parse(text)) == ("bad-argument", message)


# ── what is given by name ──


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": None}, "inputs: expected a dict, found None\n  hint: inputs={'logins': 'logins.jsonl'}"),
        (
            {"inputs": [1]},
            "inputs: expected a dict, found a value of type list\n  hint: inputs={'logins': 'logins.jsonl'}",
        ),
        ({"inputs": {5: []}}, "a name in inputs: expected a text, found 5\n  hint: inputs={'logins': 'logins.jsonl'}"),
        (
            {"time": {"s": None}},
            "time of 's': expected the name of a column, found None\n  hint: time={'logins': 'time'}",
        ),
        ({"time": {"s": 5}}, "time of 's': expected the name of a column, found 5\n  hint: time={'logins': 'time'}"),
        ({"time": 5}, "time: expected a dict, found 5\n  hint: time={'logins': 'time'}"),
        (
            {"tables": [1]},
            "tables: expected a dict, found a value of type list\n  hint: tables={'limits': 'limits.csv'}",
        ),
        ({"strict": "no"}, "strict: expected True or False, found 'no'"),
    ],
)
def test_names(given: dict[str, Any], message: str) -> None:
    assert refused(lambda: run(**given)) == ("bad-argument", message)


def test_engine() -> None:
    message = "unknown engine 7\n  hint: known here: 'embedded', 'reference', 'spark'"
    assert refused(lambda: run(engine=7)) == ("unknown-engine", message)
    assert refused(lambda: run(engine="refrence"))[1] == "unknown engine 'refrence'\n  hint: did you mean 'reference'?"


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("", "no-file", "there is no file ''"),
        ("x\0", "no-file", "there is no file 'x\\x00'"),
        (None, "unknown-source", f"s: cannot read events from a value of type NoneType\n  hint: {SOURCES}"),
        (pa.array([1]), "unknown-source", f"s: cannot read events from a value of type Int64Array\n  hint: {SOURCES}"),
        (pl.Series([1]), "unknown-source", f"s: cannot read events from a value of type Series\n  hint: {SOURCES}"),
        (pd.DataFrame([[1, 2]], columns=["time", "time"]), "wrong-format", "s has two columns 'time'"),
        (pd.DataFrame([[1, 2, "x"]], columns=["time", "k", "k"]), "wrong-format", "s has two columns 'k'"),
        (pa.table([pa.array([1]), pa.array([2])], names=["time", "time"]), "wrong-format", "s has two columns 'time'"),
    ],
)
def test_sources(source: object, code: str, message: str) -> None:
    assert refused(lambda: run(inputs={"s": source})) == (code, message)


@pytest.mark.parametrize("table", [[1], [None], [1, {"id": 1}]])
def test_a_row_of_a_table_that_is_none(table: list[object]) -> None:
    text = "SUBSCRIBE m FOR EACH tt FROM s MATCH a DEFINE a AS k = :x;"
    assert refused(lambda: run(subscriptions=text, tables={"tt": table})) == ("bad-table", "tt:1: not a mapping")


@pytest.mark.parametrize("declared", ["", "STREAM s TIME time; ", "STREAM s (k STRING) TIME time; "])
@pytest.mark.parametrize("length", ["5 min", "5"])
def test_a_stream_without_events_takes_any_unit(declared: str, length: str) -> None:
    text = f"{declared}SUBSCRIBE m FROM s MATCH a ; b @(t(b) - t(a) < {length}) WITHIN {length};"
    assert len(run(subscriptions=text, inputs={"s": []})) == 0


# ── models ──

SHAPE = '\n  hint: a model is {"subscriptions": {"name": {"after": {"step": {"distribution": …}}}}}'


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (5, f"model: expected a path or a dict, found 5{SHAPE}"),
        ([], f"model: expected a path or a dict, found a value of type list{SHAPE}"),
        (b"x", f"model: expected a path or a dict, found a value of type bytes{SHAPE}"),
        ({}, f"the model has no object 'subscriptions'{SHAPE}"),
        ({"subscriptions": []}, f"the model has no object 'subscriptions'{SHAPE}"),
    ],
)
def test_a_model_of_the_wrong_kind(model: object, message: str) -> None:
    assert refused(lambda: run(model=model)) == ("bad-model", message)


NESTED = "[" * 100_000
NAMED = "'m': its delays: expected an object, found a list"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"subscriptions":{"m":[]}}', f"the model 'm.json', subscription {NAMED}"),
        ("5", f"the model 'm.json' has no object 'subscriptions'{SHAPE}"),
        ("null", f"the model 'm.json' has no object 'subscriptions'{SHAPE}"),
        ('"abc"', f"the model 'm.json' has no object 'subscriptions'{SHAPE}"),
        ('{"after":{"y":5}}', f"the model 'm.json' has no object 'subscriptions'{SHAPE}"),
        (
            '{"subscriptions":{"m":{"after":{"y":5}}}}',
            "the model 'm.json', subscription 'm': the delay of 'y': expected an object, found 5",
        ),
        (
            '{"subscriptions":{"m":{"after":5}}}',
            "the model 'm.json', subscription 'm': 'after': expected an object, found 5",
        ),
        (
            '{"subscriptions":{"m":{"next":{}}}}',
            "the model 'm.json', subscription 'm': expected 'after' or 'before' in the delays, found 'next'",
        ),
        ("abc", "the model 'm.json' is not JSON: Expecting value: line 1 column 1 (char 0)"),
        pytest.param("9" * 5000, "the model 'm.json' has a number with too many digits", id="digits"),
        pytest.param(NESTED, "the model 'm.json' is nested too deeply", id="nested"),
    ],
)
def test_a_model_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(text)
    assert refused(lambda: run(model="m.json")) == ("bad-model", message)


def test_a_model_of_something_else() -> None:
    message = "the model has delays of an unknown subscription 'mm'\n  hint: did you mean 'm'?"
    assert refused(lambda: run(model={"subscriptions": {"mm": {}}})) == ("unknown-subscription", message)


def test_a_model_that_is_not_there() -> None:
    assert refused(lambda: run(model="")) == ("no-file", "there is no file ''")
    assert refused(lambda: run(model="no.json")) == ("no-file", "there is no file 'no.json'")
    assert refused(lambda: run(model=Path("/"))) == ("cannot-read", "cannot read '/': it is a folder")


def test_a_nonsense_delay_of_a_model() -> None:
    model = json.loads('{"subscriptions":{"m":{"after":{"y":{"distribution":"exponential","mean":1e400}}}}}')
    code, text = refused(lambda: run(model=model))
    assert code == "bad-delay"
    assert text.startswith("the model, subscription 'm': the delay of 'y': invalid delay 'exponential': mean is inf\n")


# ── until ──

NUMBER = "\n  hint: give a finite number, as the streams' time is one"
MOMENT = "\n  hint: give an ISO text such as '2026-03-01T10:00:00', or a datetime; the last year is 9999"
LATEST = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))


@pytest.mark.parametrize(
    ("until", "found"),
    [
        (True, "True"),
        ("inf", "'inf'"),
        ("nan", "'nan'"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        ("1e400", "'1e400'"),
        (2**63, "9223372036854775808"),
        (b"5", "a value of type bytes"),
        ([5], "a value of type list"),
        (date(2026, 1, 2), "a value of type date"),
        (datetime(2026, 1, 2), "a value of type datetime"),
        ("2026-01-02", "'2026-01-02'"),
    ],
)
def test_until_where_time_is_a_number(until: object, found: str) -> None:
    message = f"until: expected a number, found {found}{NUMBER}"
    assert refused(lambda: run(until=until)) == ("bad-until", message)


@pytest.mark.parametrize(
    ("until", "found"),
    [
        (True, "True"),
        (5, "5"),
        (5.5, "5.5"),
        ("5", "'5'"),
        (b"2026-01-02", "a value of type bytes"),
        ([], "a value of type list"),
        ("10000-01-01", "'10000-01-01'"),
        ("9999-12-31T23:59:59-05:00", "'9999-12-31T23:59:59-05:00'"),
        (LATEST, "a value of type datetime"),
    ],
)
def test_until_where_time_is_a_timestamp(until: object, found: str) -> None:
    message = f"until: expected a date and time, found {found}{MOMENT}"
    assert refused(lambda: run(inputs={"s": DATED}, until=until)) == ("bad-until", message)


SILENT = "SUBSCRIBE m FROM s MATCH !z WITHIN {0} DEFINE z AS k = 'z';"


@pytest.mark.parametrize("until", [12, "12", "12.0", 12.5])
def test_until_a_number(until: object) -> None:
    assert [n.ended for n in run(subscriptions=SILENT.format("10"), until=until)] == [11]


@pytest.mark.parametrize(
    "until", ["2026-01-02", date(2026, 1, 2), datetime(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)]
)
def test_until_a_moment(until: object) -> None:
    found = run(subscriptions=SILENT.format("20 hours"), inputs={"s": DATED}, until=until)
    assert [n.ended for n in found] == [datetime(2026, 1, 1, 20, tzinfo=UTC)]


def test_until_where_nothing_shows_the_kind_of_time() -> None:
    for until in (5, "2026-01-02"):
        assert len(run(inputs={"s": []}, until=until)) == 0


def test_until_where_there_are_both_kinds_of_time() -> None:
    text = TEXT + "SUBSCRIBE n FROM r MATCH a , b;"
    inputs, time = {"s": EVENTS, "r": DATED}, {"s": "time", "r": "time"}
    assert len(run(subscriptions=text, inputs=inputs, time=time)) == 2
    assert refused(lambda: run(subscriptions=text, inputs=inputs, time=time, until=5)) == (
        "bad-until",
        "until: some streams have timestamps and others plain numbers as time, so no value fits all of them\n"
        "  hint: run the statements on each kind of time separately",
    )


# ── notes ──


def test_what_is_asked_for_and_not_given() -> None:
    assert run().notes == ()
    found = run(subscriptions=TEXT.replace(";", " FORECAST WITHIN 10 EVENTS ABOVE 0.8;"), engine="reference")
    assert found.notes == ("'m' has no forecasts: the reference evaluator makes none",)
    assert len(found) == 1


# ── one time column, some statements ──


def test_one_name_is_the_time_column_of_all_streams() -> None:
    rows = [{"at": time, "k": k, "other": 9 - time} for time, k in ((1, "a"), (2, "b"))]
    both = "SUBSCRIBE m FROM s, u MATCH a , b DEFINE a AS stream = 's', b AS stream = 'u';"
    assert len(ft.run(TEXT, {"s": rows}, time="at")) == 1
    assert len(ft.run(both, {"s": rows[:1], "u": rows[1:]}, time="at")) == 1
    assert len(ft.Engine(TEXT, time="at").push("s", rows)) == 1


def test_a_time_column_beside_that_of_a_statement() -> None:
    message = "the time column of stream 's' is 'time' by its STREAM statement, not 'at'"
    text = "STREAM s (k STRING) TIME time;" + TEXT
    assert refused(lambda: ft.run(text, {"s": EVENTS}, time="at")) == ("time-twice", message)


HELPED = """SUBSCRIBE changes FROM s MATCH a , b RETURN a.k AS k; SUBSCRIBE m FROM changes MATCH x DEFINE x AS k = 'a';
SUBSCRIBE n FROM changes MATCH x;"""


@pytest.mark.parametrize("engine", ["embedded", "reference"])
def test_only_some_statements(engine: str) -> None:
    found = run(subscriptions=HELPED, only=["m", "n"], engine=engine)
    assert [n.subscription for n in found] == ["m", "n"]
    assert list(found.summary.matches.items()) == [("m", 1), ("n", 1)]
    assert found.to_arrow().num_rows == 2


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["change"], "there is no statement 'change'\n  hint: did you mean 'changes'?"),
        ("m", "only: expected a list of names, found 'm'\n  hint: only=['name']"),
        ([5], "a name in only: expected a text, found 5\n  hint: only=['name']"),
    ],
)
def test_wrong_names_of_statements(only: Any, message: str) -> None:
    assert refused(lambda: run(subscriptions=HELPED, only=only))[1] == message
