"""All that the tasks of a batch run, without Spark: every case, and files of every format cut into parts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.events.arrow import arrow_of_values
from foretell.events.texts import Texts, deciding_texts
from foretell.events.types import Type
from foretell.events.values import Values, deciding_values
from tests.both import told
from tests.spark.here import batch_here
from tests.suite import Case, cases


def runs(case: Case) -> bool:
    return "CORRELATE" not in case.text and "LOSING" not in case.text and case.error is None


@pytest.mark.parametrize("case", [*filter(runs, cases())], ids=lambda c: f"{c.file}: {c.name}")
def test_case(case: Case) -> None:
    given: dict[str, Any] = {"time": case.time, "tables": case.tables, "until": case.until}
    batch, expected = batch_here(case.text, case.streams, **given), ft.run(case.text, case.streams, **given)
    found = batch.notifications()
    assert told(found) == told(expected)
    assert found.totals == expected.totals
    assert found.notes == expected.notes
    if len({n.time_type for n in expected}) < 2:
        assert batch.table().equals(expected.table().cast(batch.schema))


@pytest.mark.parametrize("case", [*filter(runs, cases())][::3], ids=lambda c: f"{c.file}: {c.name}")
def test_case_with_more_than_memory_holds(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.spark.shares.MEMORY", 0)
    monkeypatch.setattr("foretell.spark.spilling.TAKEN", 2)
    monkeypatch.setattr("foretell.spark.sources.ROWS", 3)
    given: dict[str, Any] = {"time": case.time, "tables": case.tables, "until": case.until}
    found, expected = batch_here(case.text, case.streams, **given), ft.run(case.text, case.streams, **given)
    assert told(found.notifications()) == told(expected)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as if they were large: read in tasks, some lines at a time."""
    monkeypatch.setattr("foretell.spark.sources.SMALL", 0)
    monkeypatch.setattr("foretell.spark.packing.CHUNK", 40)


LINES = [
    '{"time": 1, "k": "a", "v": 1}',
    '{"time": 2, "k": "a"',
    "",
    '{"time": "2026-01-01", "k": "b", "v": 2}',
    '{"k": "b", "v": 2}',
    '{"time": 2, "k": "b", "v": 2.5, "w": true}',
    '{"time": 2, "k": "a", "v": "high"}',
    '{"time": 3, "k": "b", "v": NaN, "w": false}',
    "[1, 2]",
    '{"time": 4.5, "k": "a", "v": 3, "w": [1]}',
    '{"time": 5, "k": "b", "v": 3, "w": null}',
]
ROWS = 'time,k,v\n1,a,1\nsoon,a,2\n2,b,"2\n"\n3,b,x,y\n4,a,nan\n5,b,2.5\n'


@pytest.mark.parametrize(
    "declared", ["", "STREAM s (k STRING, v FLOAT) TIME time;", "STREAM s (v INT, x INT) TIME time;"]
)
@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
@pytest.mark.usefixtures("in_parts")
def test_text_files_are_read_in_tasks(tmp_path: Path, ending: str, declared: str) -> None:
    if ending == ".jsonl":
        texts = ["\n".join(LINES[:4]), "\n".join(LINES[4:]) + "\n", ""]
    else:
        texts = [ROWS, "k,time\nc,6\nc,7\n", "time,k,v,x\n8,c,99999999999999999999,\n"]
        texts = texts if "x INT" in declared or not declared else texts[:2]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}{ending}").write_text(text)
    text = declared + "SUBSCRIBE m FROM s MATCH a , b RETURN a.v AS one, b.v AS two;"
    given: dict[str, Any] = {} if declared else {"time": {"s": "time"}}
    expected = ft.run(text, {"s": tmp_path}, engine="embedded", **given)
    found = batch_here(text, {"s": tmp_path}, **given).notifications()
    assert len(expected.bad) > 1
    assert told(found) == told(expected) != []
    assert (found.bad, found.totals) == (expected.bad, expected.totals)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("s.jsonl", "time,k\n1,a\n", "wrong-format"),
        ("s.csv", "time,time\n1,a\n", "wrong-format"),
        ("s.csv", "when,k\n1,a\n", "missing-column"),
        ("s.jsonl", '{"when": 1}\n', "missing-column"),
    ],
)
@pytest.mark.usefixtures("in_parts")
def test_text_files_that_are_wrong(tmp_path: Path, name: str, content: str, code: str) -> None:
    (tmp_path / name).write_text(content)
    text, inputs = "SUBSCRIBE m FROM s MATCH a , b;", {"s": tmp_path / name}
    with pytest.raises(ft.ForetellError) as expected:
        ft.run(text, inputs, time={"s": "time"}, engine="embedded")
    with pytest.raises(ft.ForetellError) as found:
        batch_here(text, inputs, time={"s": "time"})
    assert expected.value.code == found.value.code == code
    assert str(found.value) == str(expected.value)


COLUMN = st.lists(st.sampled_from(["", "1", "-7", "+5", "1.5", "nan", "true", "2026-01-01 10:00", "2026-13-01 10:00",
                                   "2026-01-01", "x", "99999999999999999999", " 3 ", "1e3", "false"]))  # fmt: skip
VALUES: Any = st.lists(st.sampled_from([None, 1, 2**70, 1.5, float("nan"), True, "x", "2026-01-01", "7", [1], {}]))


@settings(deadline=None)
@given(st.lists(COLUMN))
def test_few_texts_tell_the_type_of_all(parts: list[list[str]]) -> None:
    def texts(some: Iterable[str]) -> Texts:
        return Texts("c", arrow_of_values([one or None for one in some], Type.STRING))

    whole = texts(chain.from_iterable(parts))
    few = texts(chain.from_iterable(deciding_texts(texts(part).texts) for part in parts))
    assert (few.guess(), few.guess_time()) == (whole.guess(), whole.guess_time())


@settings(deadline=None)
@given(st.lists(VALUES))
def test_few_values_tell_the_type_of_all(parts: list[list[object]]) -> None:
    whole = Values("c", list(chain.from_iterable(parts)))
    few = Values("c", list(chain.from_iterable(map(deciding_values, parts))))
    assert (few.guess(), few.guess_time()) == (whole.guess(), whole.guess_time())
