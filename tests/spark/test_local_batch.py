"""The tasks of a batch job, without Spark: every case, and files of every format in several splits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.python_columns import PythonColumn, deciding_values
from foretell.events.ingest.text_columns import TextColumn, deciding_texts
from foretell.events.types import Type
from foretell.language.derived_windows import derived_window_notes
from foretell.spark.partitioning.shuffle_rows import EVENTS, ShuffleRow, read_table
from foretell.spark.partitioning.statement_groups import TableSlice
from tests.case_files import Case, cases, sampled
from tests.engine_pair import comparable_rows
from tests.recover.estimate_programs import ESTIMATES, estimate_events, exponential, wide_program
from tests.spark.local_batch import LocalBatchJob, local_batch

VARYING = ft.ReadOptions(missing_columns=True)


def runs(case: Case) -> bool:
    return case.is_compiled and case.error is None


def _is_on_nothing_found(note: str) -> bool:
    """Whether the note says why nothing was found: that takes the events, which the driver of Spark does not have."""
    return "': no event of '" in note or "': no two events have the same " in note


@pytest.mark.parametrize("case", sampled(filter(runs, cases())))
def test_case(case: Case) -> None:
    given: dict[str, Any] = {"time": case.time, "tables": case.tables, "until": case.until, "model": case.model}
    batch, expected = local_batch(case.text, case.streams, **given), ft.run(case.text, case.streams, **given)
    found = batch.notifications()
    assert comparable_rows(found) == comparable_rows(expected)
    assert found.totals == expected.totals
    of_run = derived_window_notes(ft.parse(case.text).program)  # ft.run adds them for all engines
    expected_notes = [note for note in expected.notes if note not in of_run and not _is_on_nothing_found(note)]
    assert found.notes == tuple(expected_notes)
    if len({n.time_type for n in expected}) < 2:
        assert batch.frame_matches(expected)


@pytest.mark.parametrize("case", sampled(filter(runs, cases()), 9))
def test_case_with_more_than_memory_holds(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.spark.batch.plan.MEMORY_BYTES", 0)
    monkeypatch.setattr("foretell.spark.batch.external_sort.BUFFERED_ROWS", 2)
    monkeypatch.setattr("foretell.spark.batch.sources.ROWS", 3)
    given: dict[str, Any] = {"time": case.time, "tables": case.tables, "until": case.until, "model": case.model}
    found, expected = local_batch(case.text, case.streams, **given), ft.run(case.text, case.streams, **given)
    assert comparable_rows(found.notifications()) == comparable_rows(expected)


@pytest.mark.parametrize("seed", [*range(4), 13, 23])
def test_estimates(seed: int) -> None:
    program = wide_program(random.Random(seed))
    given: dict[str, Any] = {"tables": program.tables, "until": program.until, "model": program.model}
    expected = ft.run(program.program, {"s": program.events}, engine="embedded", **given)
    batch = local_batch(program.program, {"s": program.events}, **given)
    assert comparable_rows(batch.notifications()) == comparable_rows(expected)
    assert batch.frame_matches(expected)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(5_000, 5_300))
def test_estimates_for_long(seed: int) -> None:
    test_estimates(seed)


def test_estimates_of_a_trained_model() -> None:
    events = estimate_events(600)
    model = ft.train(ESTIMATES, {"s": events[:400]}).document()
    batch = local_batch(ESTIMATES, {"s": events[400:]}, model=model, until=3_000)
    expected = ft.run(ESTIMATES, {"s": events[400:]}, model=model, until=3_000, engine="embedded")
    assert {n.kind for n in expected} >= {"estimate"}
    assert comparable_rows(batch.notifications()) == comparable_rows(expected)


def test_an_event_matters_where_its_operator_is_changed() -> None:
    """With a lost, b may be any later b, not only the first of the same v."""
    text = """STREAM s (id INT, k STRING, v INT, w INT) TIME time ID id;
    SUBSCRIBE m FROM s PER k MATCH a ; b ;{w = 1 AND v = b.v} c DEFINE a AS v = 1, b AS v = 2, c AS v = 3
    LOSING 0.5 OF b ABOVE 0;"""
    rows = [{"time": n, "id": n, "k": "x", "v": v, "w": w} for n, (v, w) in enumerate([(1, 0), (3, 0), (3, 1), (9, 9)])]
    model = {"subscriptions": {"m": {"after": {"b": exponential(5.0, 0.9), "c": exponential(5.0, 0.9)}}}}
    expected = ft.run(text, {"s": rows}, model=model, engine="embedded")
    assert len(expected) == 2
    assert comparable_rows(local_batch(text, {"s": rows}, model=model).notifications()) == comparable_rows(expected)


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
    batch = local_batch(QUENCHED, {"s": rows}, until=500)
    assert comparable_rows(batch.notifications()) == comparable_rows(ft.run(QUENCHED, {"s": rows}, until=500)) != []
    partitioned = [shard for group in batch.plan.groups if group.keys for shard in group.shards]
    assert partitioned
    assert 0 < sum(events_of(batch)[shard] for shard in partitioned) < 300


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
    batch = local_batch(changed, {"s": rows})
    assert comparable_rows(batch.notifications()) == comparable_rows(ft.run(changed, {"s": rows}))
    assert max(events_of(batch).values()) >= 50


def test_an_id_that_is_null_is_no_name() -> None:
    rows = [{"time": i, "id": i or None, "k": "x", "v": i % 5, "w": 1.0} for i in range(50)]
    batch = local_batch(QUENCHED, {"s": rows})
    assert comparable_rows(batch.notifications()) == comparable_rows(ft.run(QUENCHED, {"s": rows}))
    assert max(events_of(batch).values()) == 50


def events_of(batch: LocalBatchJob) -> Counter[int]:
    """Count the events that each shard gets."""
    counts: Counter[int] = Counter()
    for batches in batch.shuffle_rows(batch.plan.handle()):
        for row in ShuffleRow.of_arrow(batches):
            if row.kind == EVENTS:
                counts[row.shard] += read_table(row.data).num_rows
    return counts


SIFTED = """
STREAM s (id INT, k STRING, v INT, w FLOAT, unread STRING) TIME time ID id ORDER BY w;
SUBSCRIBE pairs FROM s PER k MATCH a ; b DEFINE a AS v > 90, b AS v > 90 AND w > a.w WITHIN 40;
SUBSCRIBE missed FROM s PER k MATCH a ; !b DEFINE a AS v > 96, b AS v > 98 WITHIN 30;
SUBSCRIBE all_of_them FROM s MATCH a ;{v > 97} b DEFINE a AS v = 99;
"""


def groups(folder: Path, dice: random.Random, bad: str = "") -> None:
    """Three files of some row groups each; in every other group no event can matter. One of the middle is malformed."""
    for number in range(3):
        count = 60
        columns: dict[str, Any] = {
            "id": pa.array(range(count * number, count * (number + 1)), pa.int64()),
            "time": pa.array([(count * number + i) // 2 for i in range(count)], pa.int32()),
            "k": pa.array([dice.choice("xyz") for _ in range(count)]),
            "v": pa.array([dice.randrange(80, 100) if i // 10 % 2 else dice.randrange(80) for i in range(count)]),
            "w": pa.array([dice.choice([None, float("nan"), 1.0, 2.0]) for _ in range(count)], pa.float32()),
            "unread": pa.array(["long " * 9 + str(dice.random()) for _ in range(count)]),
        }
        if number == 1 and bad == "time":
            columns["time"] = pa.array([None if i == 23 else 30 + i // 2 for i in range(count)], pa.int32())
        elif number == 1 and bad:
            texts = [b"\xff" if i == 23 else b"x" for i in range(count)]
            columns[bad] = pa.array(texts, pa.binary()).view(pa.string())
        elif number == 2:
            del columns["w"]  # NULL there
        pq.write_table(pa.table(columns), folder / f"{number}.parquet", row_group_size=10)


@pytest.mark.parametrize("bad", ["", "time", "k", "unread"])
@pytest.mark.parametrize("seed", range(3))
def test_row_groups_without_an_event_that_can_matter(seed: int, bad: str, tmp_path: Path) -> None:
    groups(tmp_path, random.Random(seed), bad)
    given: dict[str, Any] = {"until": 200, "read": VARYING}
    expected = ft.run(SIFTED, {"s": tmp_path}, engine="embedded", **given)
    batch = local_batch(SIFTED, {"s": tmp_path}, **given)
    found = batch.notifications()
    assert {n.subscription for n in expected} == {"pairs", "missed", "all_of_them"}
    assert comparable_rows(found) == comparable_rows(expected)
    assert found.totals == expected.totals == (("s", 180),)
    assert [(b.source, b.row, b.reason) for b in found.bad] == [(b.source, b.row, b.reason) for b in expected.bad]
    assert len(found.bad) == (bad == "time")
    assert found.unreadable == expected.unreadable
    assert [values.column for values in found.unreadable] == ([bad] if bad in ("k", "unread") else [])
    assert found.notes == expected.notes


def test_of_such_row_groups_little_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups(tmp_path, random.Random(1))
    read: list[set[str]] = []
    plain = pq.ParquetFile.read_row_group

    def noted(file: pq.ParquetFile, i: int, columns: list[str], **given: Any) -> pa.Table:
        read.append(set(columns))
        return plain(file, i, columns=columns, **given)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    batch = local_batch(SIFTED, {"s": tmp_path}, read=VARYING)
    list(batch.shuffle_rows(batch.plan.handle()))
    # TextColumn are looked at, for they may not be UTF-8; times and the others are not.
    assert read.count({"k", "unread"}) == 9
    assert sum("v" in columns for columns in read) == 9


def test_a_column_that_only_the_file_has_is_no_attribute(tmp_path: Path) -> None:
    text = """STREAM s (id INT) TIME time ID id; STREAM u (id INT, x INT) TIME time ID id;
    SUBSCRIBE m FROM s, u MATCH a ; b DEFINE a AS x > 5, b AS x IS NULL AND stream = 's';"""
    for stream in "su":
        table = pa.table({"time": [1, 2, 3], "id": [1, 2, 3], "x": [7, 8, 9]})
        pq.write_table(table, tmp_path / f"{stream}.parquet", row_group_size=2)
    inputs = {stream: tmp_path / f"{stream}.parquet" for stream in "su"}
    expected = ft.run(text, inputs, engine="embedded")
    assert comparable_rows(local_batch(text, inputs).notifications()) == comparable_rows(expected) != []


TEMPLATE = """
STREAM s (id INT, k STRING, v INT) TIME time ID id;
SUBSCRIBE above FOR EACH limits FROM s MATCH a ; b DEFINE a AS v > :low, b AS v > a.v + :gap WITHIN 6
AFTER MATCH CONSUME;
SUBSCRIBE one_of FOR EACH limits FROM s MATCH a | b DEFINE a AS v = :low, b AS v = :low + :gap AFTER MATCH CONSUME;
SUBSCRIBE quiet FOR EACH limits FROM s MATCH a ; !b DEFINE a AS v = :low, b AS v > :low + :gap WITHIN 1
AFTER MATCH CONSUME;
SUBSCRIBE shared FOR EACH limits FROM s MATCH a ; b DEFINE a AS v > :low, b AS v > a.v + :gap WITHIN 6;
SUBSCRIBE of_one FOR EACH limits FROM s MATCH a ; b DEFINE a AS v = :low WITHIN 2;
SUBSCRIBE plain FROM s MATCH a , b DEFINE b AS v > a.v;
"""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("memory", [0, 1 << 30])
def test_the_rows_of_a_table_are_spread_over_tasks(seed: int, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.spark.partitioning.statement_groups.ROWS_PER_TASK", 3)
    monkeypatch.setattr("foretell.spark.batch.plan.MEMORY_BYTES", memory)
    monkeypatch.setattr("foretell.spark.batch.external_sort.BUFFERED_ROWS", 7)
    monkeypatch.setattr("foretell.spark.batch.sources.ROWS", 20)
    dice = random.Random(seed)
    events = [{"time": i // 3, "id": dice.randrange(1000), "k": "x", "v": dice.randrange(10)} for i in range(90)]
    ids = [*dice.sample(range(-20, 20), 6), 2.5, *dice.sample(["a", "", "10", "é", "b"], 4)]
    limits = [{"id": item, "low": dice.randrange(6), "gap": dice.randrange(1, 5)} for item in ids]
    limits = [{**row, "id": str(row["id"])} for row in limits] if seed else [r for r in limits if type(r["id"]) is int]
    batch = local_batch(TEMPLATE, {"s": events}, tables={"limits": limits}, until=50)
    expected = ft.run(TEMPLATE, {"s": events}, tables={"limits": limits}, until=50)
    assert {n.subscription for n in expected} == {"above", "one_of", "quiet", "shared", "of_one", "plain"}
    assert comparable_rows(batch.notifications()) == comparable_rows(expected)
    assert batch.frame_matches(expected)
    slices = {name: group.table_slice for group in batch.plan.groups for name in group.statements}
    assert {name for name, item in slices.items() if item == TableSlice(1, 2)} == {"above", "one_of", "quiet"}


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
    batch = local_batch(CHAIN, {"s": rows}, until=200)
    expected = ft.run(CHAIN, {"s": rows}, until=200)
    assert {n.subscription for n in expected} == {"up", "twice", "quiet"}
    assert comparable_rows(batch.notifications()) == comparable_rows(expected)
    assert [len(group.shards) for group in batch.plan.groups] == [8]


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
        batch = local_batch(changed, {"s": rows})
        assert comparable_rows(batch.notifications()) == comparable_rows(ft.run(changed, {"s": rows})) != []
        assert [(group.keys, len(group.shards)) for group in batch.plan.groups] == [(keys, 8 if keys else 1)]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as if they were large: read in tasks, some lines at a time."""
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", 0)
    monkeypatch.setattr("foretell.spark.batch.input_splits.CHUNK_BYTES", 40)


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
    given: dict[str, Any] = {"read": VARYING} if declared else {"time": {"s": "time"}, "read": VARYING}
    expected = ft.run(text, {"s": tmp_path}, engine="embedded", **given)
    found = local_batch(text, {"s": tmp_path}, **given).notifications()
    assert len(expected.bad) > 1
    assert comparable_rows(found) == comparable_rows(expected) != []
    assert (found.bad, found.totals) == (expected.bad, expected.totals)
    assert (found.unreadable, found.notes) == (expected.unreadable, expected.notes)
    assert found.summary == expected.summary


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
        local_batch(text, inputs, time={"s": "time"})
    assert expected.value.code == found.value.code == code
    assert str(found.value) == str(expected.value)


COLUMN = st.lists(st.sampled_from(["", "1", "-7", "+5", "1.5", "nan", "true", "2026-01-01 10:00", "2026-13-01 10:00",
                                   "2026-01-01", "x", "99999999999999999999", " 3 ", "1e3", "false"]))  # fmt: skip
VALUES: Any = st.lists(st.sampled_from([None, 1, 2**70, 1.5, float("nan"), True, "x", "2026-01-01", "7", [1], {}]))


@settings(deadline=None)
@given(st.lists(COLUMN))
def test_few_texts_tell_the_type_of_all(parts: list[list[str]]) -> None:
    def texts(group: Iterable[str]) -> TextColumn:
        return TextColumn("c", arrow_of_values([item or None for item in group], Type.STRING))

    whole = texts(chain.from_iterable(parts))
    few = texts(chain.from_iterable(deciding_texts(texts(part).texts) for part in parts))
    assert (few.infer_type(), few.infer_time_type()) == (whole.infer_type(), whole.infer_time_type())


@settings(deadline=None)
@given(st.lists(VALUES))
def test_few_values_tell_the_type_of_all(parts: list[list[object]]) -> None:
    whole = PythonColumn("c", list(chain.from_iterable(parts)))
    few = PythonColumn("c", list(chain.from_iterable(map(deciding_values, parts))))
    assert (few.infer_type(), few.infer_time_type()) == (whole.infer_type(), whole.infer_time_type())
