"""All that the tasks of a batch run, without Spark: every case, and files of every format cut into parts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.events.arrow import arrow_of_values, table_of
from foretell.events.texts import Texts, deciding_texts
from foretell.events.types import Type
from foretell.events.values import Values, deciding_values
from tests.both import told
from tests.spark.here import Here, batch_here
from tests.suite import Case, cases, sampled


def runs(case: Case) -> bool:
    return "CORRELATE" not in case.text and "LOSING" not in case.text and case.error is None


@pytest.mark.parametrize("case", sampled(filter(runs, cases())))
def test_case(case: Case) -> None:
    given: dict[str, Any] = {"time": case.time, "tables": case.tables, "until": case.until}
    batch, expected = batch_here(case.text, case.streams, **given), ft.run(case.text, case.streams, **given)
    found = batch.notifications()
    assert told(found) == told(expected)
    assert found.totals == expected.totals
    assert found.notes == expected.notes
    if len({n.time_type for n in expected}) < 2:
        assert batch.table().equals(expected.table().cast(batch.schema))


@pytest.mark.parametrize("case", sampled(filter(runs, cases()), 9))
def test_case_with_more_than_memory_holds(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.spark.shares.MEMORY", 0)
    monkeypatch.setattr("foretell.spark.spilling.TAKEN", 2)
    monkeypatch.setattr("foretell.spark.sources.ROWS", 3)
    given: dict[str, Any] = {"time": case.time, "tables": case.tables, "until": case.until}
    found, expected = batch_here(case.text, case.streams, **given), ft.run(case.text, case.streams, **given)
    assert told(found.notifications()) == told(expected)


QUENCHED = """
STREAM s (id INT, k STRING, v INT, w FLOAT) TIME time ID id;
SUBSCRIBE pairs FROM s PER k MATCH a ; b DEFINE a AS v = 1, b AS v = 2 AND w > a.w WITHIN 9;
SUBSCRIBE runs FROM s PER k MATCH a ;{v BETWEEN 3 AND 5 AND w > a.w} b+ DEFINE a AS v = 1, b AS w > prev.w WITHIN 30;
SUBSCRIBE missed FROM s PER k MATCH a ; !b DEFINE a AS v = 4, b AS v IN (1, 2) OR w IS NULL WITHIN 5;
SUBSCRIBE taken FROM s MATCH (a & b) | c DEFINE a AS v = 1, b AS v = 4, c AS k = 'x' AND v = 3 WITHIN 4
AFTER MATCH SKIP PAST LAST;
SUBSCRIBE again FROM pairs MATCH p , q WITHIN 40;
"""


@pytest.mark.parametrize("seed", range(5))
def test_events_that_cannot_matter_are_dropped(seed: int) -> None:
    dice = random.Random(seed)
    rows = [
        {
            "time": i // 2,
            "id": i,
            "k": dice.choice("xyz"),
            "v": dice.randrange(20),
            "w": dice.choice([None, 1.0, 2.0, 3.0]),
        }
        for i in range(400)
    ]
    batch = batch_here(QUENCHED, {"s": rows}, until=500)
    assert told(batch.notifications()) == told(ft.run(QUENCHED, {"s": rows}, until=500)) != []
    per_k = [task for share in batch.plan.shares if share.keys for task in share.shards]
    assert per_k
    assert 0 < sum(events_of(batch)[task] for task in per_k) < 300


@pytest.mark.parametrize(
    "changed",
    [
        QUENCHED.replace(" ID id", ""),  # their numbers are their names
        QUENCHED.replace("a ; b DEFINE a AS v = 1", "a , b DEFINE a AS v = 1"),
        QUENCHED.replace("SUBSCRIBE pairs", "SUBSCRIBE any FROM s PER k MATCH a ; b WITHIN 1; SUBSCRIBE pairs"),
        QUENCHED.replace("SUBSCRIBE pairs", "SUBSCRIBE none FROM s PER k MATCH !b WITHIN 9; SUBSCRIBE pairs"),
    ],
)
def test_events_that_may_matter_are_not(changed: str) -> None:
    rows = [{"time": i, "id": i, "k": "xy"[i % 2], "v": i % 20, "w": 1.0} for i in range(100)]
    batch = batch_here(changed, {"s": rows})
    assert told(batch.notifications()) == told(ft.run(changed, {"s": rows}))
    assert max(events_of(batch).values()) >= 50


def test_an_id_that_is_null_is_no_name() -> None:
    rows = [{"time": i, "id": i or None, "k": "x", "v": i % 5, "w": 1.0} for i in range(50)]
    batch = batch_here(QUENCHED, {"s": rows})
    assert told(batch.notifications()) == told(ft.run(QUENCHED, {"s": rows}))
    assert max(events_of(batch).values()) == 50


def events_of(batch: Here) -> Counter[int]:
    """How many events each task is given."""
    counts: Counter[int] = Counter()
    for row in batch._parts(batch.plan.sent()):
        [one] = row.to_pylist()
        if one["kind"] == "events":
            counts[one["task"]] += table_of(one["data"]).num_rows
    return counts


CHAIN = """
STREAM s (k STRING, j INT, v INT) TIME time ORDER BY v;
SUBSCRIBE up FROM s PER k, j MATCH a , b DEFINE b AS v > a.v RETURN a.k AS k, last(b).j AS j, b.v AS top;
SUBSCRIBE twice FROM up PER k, j MATCH x ; y DEFINE y AS top > x.top WITHIN 30 RETURN x.k AS k, y.j AS j;
SUBSCRIBE quiet FROM twice, s PER k, j MATCH x ; !y DEFINE x AS stream = 'twice', y AS v > 8 WITHIN 6;
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_runs_in_shards_where_the_key_goes_with_the_results(seed: int) -> None:
    dice = random.Random(seed)
    rows = [
        {"time": i // 4, "k": dice.choice("xyz"), "j": dice.randrange(3), "v": dice.randrange(10)} for i in range(300)
    ]
    batch = batch_here(CHAIN, {"s": rows}, until=200)
    expected = ft.run(CHAIN, {"s": rows}, until=200)
    assert {n.subscription for n in expected} == {"up", "twice", "quiet"}
    assert told(batch.notifications()) == told(expected)
    assert [share.tasks for share in batch.plan.shares] == [8]


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        (CHAIN.replace("a.k AS k", "lower(a.k) AS k"), ("j",)),
        (CHAIN.replace("last(b).j AS j", "a.v AS j"), ("k",)),
        (CHAIN.replace("FROM up PER k, j", "FROM up PER k"), ("k",)),
        (CHAIN.replace("MATCH a , b DEFINE", "MATCH a , b? DEFINE"), ("k",)),
        (CHAIN.replace("MATCH a , b DEFINE", "MATCH a , b? DEFINE").replace("a.k AS k", "b.k AS k"), ()),
        (
            CHAIN.replace(
                "MATCH a , b DEFINE b AS v > a.v RETURN", "MATCH a ; b ; !c DEFINE c AS v = 5 WITHIN 5 RETURN"
            ),
            (),
        ),
    ],
)
def test_a_chain_runs_in_shards_by_the_keys_that_go_with_its_results(changed: str, keys: tuple[str, ...]) -> None:
    for seed in range(3):
        dice = random.Random(seed)
        rows = [
            {"time": i // 3, "k": dice.choice("XYZ"), "j": dice.randrange(3), "v": dice.randrange(10)}
            for i in range(90)
        ]
        batch = batch_here(changed, {"s": rows})
        assert told(batch.notifications()) == told(ft.run(changed, {"s": rows})) != []
        assert [(share.keys, share.tasks) for share in batch.plan.shares] == [(keys, 8 if keys else 1)]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as if they were large: read in tasks, some lines at a time."""
    monkeypatch.setattr("foretell.spark.sources.SMALL", 0)
    monkeypatch.setattr("foretell.spark.parts.CHUNK", 40)


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
