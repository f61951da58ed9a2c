"""Finite inputs on Spark: the rows of the engine in process, from files, frames and dicts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

import foretell as ft
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import declaration_of
from foretell.bench.workloads.ticks import ticks
from foretell.cli.commands import app
from foretell.spark.batch.job import BatchJob
from foretell.spark.batch.sort_keys import number_keys, scalar_key
from foretell.spark.pushdown import plan_inspection
from foretell.spark.streaming.query import bad, matches
from tests.case_files import Case, cases
from tests.engine_pair import comparable_rows
from tests.recover.estimate_programs import ESTIMATE_MODEL, ESTIMATES, estimate_events

W1 = (
    "SUBSCRIBE w1 FROM ticks PER name MATCH a , b , c "
    "DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price;"
)
MIXED = """
SUBSCRIBE rise FROM ticks PER name MATCH a , b DEFINE b AS price > a.price + 3;
SUBSCRIBE quiet FROM ticks PER name MATCH a ; !b DEFINE a AS volume > 990, b AS volume < 500 WITHIN 900;
SUBSCRIBE by_volume FROM ticks PER volume MATCH a ; b WITHIN 100;
SUBSCRIBE all_names FROM ticks MATCH a , b DEFINE a AS volume > 900, b AS volume > a.volume;
SUBSCRIBE thrice FROM rise MATCH a , b , c RETURN t(a) AS since WITHIN 60000;
"""


def all_cases() -> list[Case]:
    return [c for c in cases() if c.is_compiled and c.error is None]


def both(text: str, inputs: Mapping[str, object], **given: Any) -> tuple[list[Any], list[Any]]:
    embedded, spark = (ft.run(text, inputs, engine=engine, **given) for engine in ("embedded", "spark"))
    assert spark.totals == embedded.totals
    assert [(b.stream, b.source, b.row, b.reason) for b in spark.bad] == [
        (b.stream, b.source, b.row, b.reason) for b in embedded.bad
    ]
    return comparable_rows(spark), comparable_rows(embedded)


def frame_of(text: str, inputs: Mapping[str, object], **given: Any) -> DataFrame:
    found: object = ft.run(text, inputs, **given)
    assert isinstance(found, DataFrame)
    return found


def typed(frame: DataFrame, like: ft.Notifications) -> pa.Table:
    """Return the notifications of a frame in the types of Arrow; Spark's may have no NULLs."""
    return frame.toArrow().drop_columns(["detail"]).cast(like.to_arrow().schema)


@pytest.fixture(scope="module")
def some_ticks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ticks")
    table = ticks(20_000)
    for number in range(3):
        pq.write_table(table.slice(number * 7_000, 7_000), folder / f"{number}.parquet", row_group_size=2_000)
    return folder


# All of them run without Spark's shuffle in test_local_batch.py.
@pytest.mark.parametrize("case", all_cases()[::60], ids=lambda c: f"{c.file}: {c.name}")
def test_case(spark: SparkSession, case: Case) -> None:
    given = {"time": case.time, "tables": case.tables, "until": case.until, "model": case.model}
    found, expected = both(case.text, case.streams, **given)
    assert found == expected


def test_estimates(spark: SparkSession) -> None:
    """Matches, estimates and those that are withdrawn, from frames whose lanes are in several tasks."""
    found, expected = both(ESTIMATES, {"s": estimate_events(400)}, model=ESTIMATE_MODEL, until=2_000)
    assert found == expected
    assert {row[1] for row in found} == {"match", "estimate", "withdrawn"}


def test_a_frame_has_what_estimates_rest_on(spark: SparkSession) -> None:
    """As a struct, and as JSON text."""
    reads = spark.createDataFrame(pa.Table.from_pylist(estimate_events(400)))
    expected = ft.run(ESTIMATES, {"s": estimate_events(400)}, model=ESTIMATE_MODEL, until=2_000, engine="embedded")
    given: dict[str, Any] = {"model": ESTIMATE_MODEL, "until": 2_000}
    structs = frame_of(ESTIMATES, {"s": reads}, **given)
    names = ["kind", "id", "estimate"]
    assert outlines(structs.toArrow().select(names)) == outlines(expected.to_arrow().select(names))
    lost = structs.select("estimate.lost.x.low").toArrow()["low"]
    assert 0 < lost.null_count < len(lost)
    texts = frame_of(ESTIMATES, {"s": reads}, json=True, **given).toArrow()
    assert texts.column_names[-1] == "estimate"
    details = [json.loads(text) for text in texts["estimate"].to_pylist() if text is not None]
    assert len(details) == sum(n.kind == "estimate" for n in expected)


def outlines(table: pa.Table) -> list[str]:
    """Estimates without what depends on rounding."""
    return [
        str([row["kind"], row["id"], row["estimate"] and (row["estimate"]["score"], row["estimate"]["lost"])])
        for row in table.to_pylist()
    ]


@pytest.mark.soak
@pytest.mark.parametrize("case", all_cases(), ids=lambda c: f"{c.file}: {c.name}")
def test_every_case(spark: SparkSession, case: Case) -> None:
    test_case(spark, case)


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_text_files(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr("foretell.spark.batch.sources.SMALL_BYTES", 0)
    for number in range(2):
        rows = [{"time": i + 40 * number, "k": "xy"[i % 2], "v": i if number else i / 2} for i in range(40)]
        lines = [json.dumps(row) if ending == ".jsonl" else ",".join(map(str, row.values())) for row in rows]
        header = [] if ending == ".jsonl" else ["time,k,v"]
        (tmp_path / f"{number}{ending}").write_text("\n".join([*header, *lines[:20], "no row", *lines[20:]]))
    text = "SUBSCRIBE m FROM s PER k MATCH a , b DEFINE b AS v > a.v RETURN a.v AS v;"
    found, expected = both(text, {"s": tmp_path}, time={"s": "time"})
    assert found == expected != []


def test_the_page_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"time": 1, "ip": "a", "status": "denied"}, {"time": 2, "ip": "a", "status": "success"}]
    (tmp_path / "logins.jsonl").write_text("\n".join(map(json.dumps, rows)))
    page = Path(__file__).parents[2] / "docs" / "spark.md"
    [code] = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    # Spark has been started elsewhere, and takes paths from there.
    for path in ("logins.jsonl", "notifications/"):
        assert f'"{path}"' in code
        code = code.replace(f'"{path}"', repr(str(tmp_path / path)))
    exec(code, {})
    assert pq.read_table(tmp_path / "notifications").num_rows == 1


def test_a_million_ticks(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(ticks(1_000_000), tmp_path / "ticks.parquet", row_group_size=100_000)
    found = ft.run(W1, {"ticks": tmp_path / "ticks.parquet"}, time={"ticks": "ts"}, engine="spark")
    assert len(found) == 23_627
    frame = spark.read.parquet(str(tmp_path / "ticks.parquet"))
    assert frame_of(W1, {"ticks": frame}, time={"ticks": "ts"}).count() == 23_627


@pytest.mark.parametrize("until", [None, 1_800_000_000_000])
def test_several_lanes_and_derived_streams(spark: SparkSession, some_ticks: Path, until: int | None) -> None:
    found, expected = both(MIXED, {"ticks": some_ticks}, time={"ticks": "ts"}, until=until)
    assert {row[0] for row in expected} == {"rise", "quiet", "by_volume", "all_names", "thrice"}
    assert found == expected


def test_a_frame_gives_a_frame(spark: SparkSession, some_ticks: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = frame_of(MIXED, {"ticks": spark.read.parquet(str(some_ticks))})
    assert "stream 'ticks': the time is column 'ts'; change it with --time ticks=COLUMN" in caplog.messages
    expected = ft.run(MIXED, {"ticks": some_ticks}, time={"ticks": "ts"}, engine="embedded")
    assert typed(frame, expected).equals(expected.to_arrow())
    frame = frame_of(MIXED, {"ticks": spark.read.parquet(str(some_ticks))}, json=True)
    assert frame.toArrow().cast(expected.table().schema).equals(expected.table())


def test_timestamps_and_zones(spark: SparkSession) -> None:
    text = "STREAM s (k STRING) TIME time; SUBSCRIBE m FROM s PER k MATCH a , b RETURN t(a) AS since;"
    rows = [{"time": f"2026-03-01T10:00:0{i}.5", "k": "xy"[i % 2]} for i in range(6)]
    expected = ft.run(text, {"s": rows}, engine="embedded")
    frame = spark.createDataFrame(pa.Table.from_pylist(rows)).selectExpr("k", "to_timestamp(time || 'Z') AS time")
    assert typed(frame_of(text, {"s": frame}), expected).equals(expected.to_arrow())


def test_two_streams_whose_keys_are_of_different_types(spark: SparkSession) -> None:
    text = """STREAM s (k INT) TIME time ORDER BY seq; STREAM u (k FLOAT) TIME time ORDER BY seq;
    SUBSCRIBE m FROM s, u PER k MATCH a ; b WITHIN 3;
    SUBSCRIBE n FROM s, u PER stream MATCH a , b , c;"""
    s = [{"time": i // 3, "k": i % 5 if i % 4 else None, "seq": -i} for i in range(40)]
    u = [{"time": i // 2, "k": float(i % 5), "seq": i / 2} for i in range(40)]
    found, expected = both(text, {"s": s, "u": u})
    assert len(expected) > 100
    assert found == expected


def test_malformed_events_of_files(spark: SparkSession, tmp_path: Path) -> None:
    text = "STREAM s (k INT, unread INT) TIME time; SUBSCRIBE m FROM s PER k MATCH a , b;"
    for number in range(2):
        rows: dict[str, Any] = {"time": [1.0, None, 3.0, 4.0], "k": [1, 1, 1, 1], "unread": [1.0, 2.0, 2.5, 3.0]}
        pq.write_table(pa.table(rows), tmp_path / f"{number}.parquet", row_group_size=2)
    found, expected = both(text, {"s": tmp_path})
    assert found == expected
    with pytest.raises(ft.ForetellError, match=r"0\.parquet:2: no time"):
        ft.run(text, {"s": tmp_path}, engine="spark", strict=True)


def test_a_note_counts_the_absences_that_are_still_open(spark: SparkSession) -> None:
    text = """STREAM s (k INT, state INT, time INT) TIME time;
    SUBSCRIBE m FROM s PER k MATCH a ; !b DEFINE a AS state = 0, b AS state = 1 WITHIN 10;"""
    rows = [{"time": i, "k": i % 7, "state": i % 3 // 2} for i in range(100)]
    found, expected = (ft.run(text, {"s": rows}, engine=engine) for engine in ("spark", "embedded"))
    assert expected.notes == found.notes
    assert "partial matches of 'm' were still waiting" in found.notes[0]


def test_nothing_comes(spark: SparkSession) -> None:
    text = "STREAM s (k INT, time INT) TIME time; SUBSCRIBE m FROM s PER k MATCH a , b;"
    found, expected = both(text, {"s": []}, until=5)
    assert found == expected == []


def test_the_command(spark: SparkSession, some_ticks: Path, tmp_path: Path) -> None:
    (tmp_path / "w1.ftl").write_text(W1)
    lines = []
    for engine in ("spark", "embedded"):
        out = tmp_path / f"{engine}.jsonl"
        options = ["--input", f"ticks={some_ticks}", "--time", "ticks=ts", "--engine", engine, "--output", str(out)]
        assert CliRunner().invoke(app, ["run", str(tmp_path / "w1.ftl"), *options]).exit_code == 0
        lines.append([json.loads(line) for line in out.read_text().splitlines()])
    assert lines[0] == lines[1] != []


def test_a_path_runs_on_spark_and_what_is_in_memory_does_not(
    spark: SparkSession, some_ticks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def noted(batch: BatchJob) -> ft.Notifications:
        ran.append(batch.plan.text)
        return ft.Notifications(())

    monkeypatch.setattr(BatchJob, "notifications", noted)
    monkeypatch.setattr("foretell.api.engine_choice.SPARK_FROM", 1)
    ft.run(W1, {"ticks": some_ticks}, time={"ticks": "ts"})
    ft.run(W1, {"ticks": ticks(10)}, time={"ticks": "ts"})
    assert ran == [W1]


@pytest.mark.parametrize(
    ("error", "expected_message"),
    [
        (ft.InputError("no-spark", "Spark does not start"), "Spark does not start"),
        (ft.InputError("no-java", "there is none", hint="get one"), "there is none"),
    ],
)
def test_spark_does_not_start(
    some_ticks: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, expected_message: str
) -> None:
    def failing() -> SparkSession:
        raise error

    monkeypatch.setattr("foretell.spark.batch.job.quiet_session", failing)
    with pytest.raises(ft.ForetellError) as caught:
        ft.run(W1, {"ticks": some_ticks}, time={"ticks": "ts"}, engine="spark")
    assert caught.value.message == expected_message
    assert "--engine embedded" in caught.value.hint


def test_malformed_events_of_frames(spark: SparkSession) -> None:
    text = "STREAM s (k INT) TIME time; SUBSCRIBE m FROM s PER k MATCH a , b;"
    frame = spark.createDataFrame([(1, 1.0), (None, 2.0), (3, 2.5), (4, 1.0)], "time int, k double")
    results = frame_of(text, {"s": frame})
    # The k that is no INT is NULL, in a lane of its own.
    assert [(row.start, row.end) for row in matches(results).collect()] == [(1, 4)]
    rows = [(row.subscription, json.loads(row.detail)["reason"]) for row in bad(results).collect()]
    assert rows == [("s", "no time")]
    with pytest.raises(PythonException, match=r"no time|k: expected INT"):  # whichever task comes first
        frame_of(text, {"s": frame}, strict=True).count()


SIFTED = """
STREAM s (time INT, id INT, k STRING, v INT, w FLOAT) TIME time ID id;
SUBSCRIBE pairs FROM s PER k MATCH a ; b DEFINE a AS v > 95, b AS v > 90 AND w > a.w WITHIN 40;
SUBSCRIBE missed FROM s PER k MATCH a ; !b DEFINE a AS v > 96, b AS v = 99 WITHIN 30;
"""


def test_spark_drops_what_cannot_matter(spark: SparkSession, tmp_path: Path) -> None:
    dice = np.random.default_rng(3)
    count = 900
    names = [b"\xff" if i == 451 else b"xyz"[i % 3 : i % 3 + 1] for i in range(count)]
    times = [None if i == 7 else 5000 if i == 451 else i for i in range(count)]
    columns: dict[str, Any] = {
        "time": times,
        "id": range(count),
        "k": pa.array(names, pa.binary()).view(pa.string()),
        "v": dice.integers(0, 100, count),
        "w": np.where(dice.random(count) < 0.3, np.nan, dice.random(count)),
        "other": ["x" * 20] * count,
    }
    for part in range(3):
        pq.write_table(pa.table(columns).slice(300 * part, 300), tmp_path / f"{part}.parquet")
    expected = ft.run(SIFTED, {"s": tmp_path}, engine="embedded")
    assert len(expected) > 20
    assert max(n.end for n in expected) > 890  # time goes on to the last event, which cannot matter
    frame = spark.read.parquet(str(tmp_path))
    for given, pushed in ((frame.filter("id >= 0"), True), (frame.repartition(2), False)):
        results = frame_of(SIFTED, {"s": given})
        assert ("Aggregate" in plan_of(results)) == pushed
        rows = results.toArrow()
        is_bad = pc.equal(rows["kind"], pa.scalar("bad"))
        found = rows.filter(pc.invert(is_bad)).drop_columns(["detail"])
        assert found.cast(expected.to_arrow().schema).equals(expected.to_arrow())
        reasons = {json.loads(str(text))["reason"] for text in rows.filter(is_bad)["detail"].to_pylist()}
        assert reasons == {item.reason for item in expected.bad} == {"no time"}
    # The error of a malformed event tells its number, so then all come.
    assert "Aggregate" not in plan_of(frame_of(SIFTED, {"s": frame}, strict=True))


def plan_of(frame: DataFrame) -> str:
    java: Any = frame._jdf
    return str(java.queryExecution().optimizedPlan().toString())


@pytest.mark.parametrize(
    ("changed", "never_null"),
    [
        (lambda frame: frame, True),
        (lambda frame: frame.filter("other > 1"), True),
        (lambda frame: frame.selectExpr("other AS id"), False),
        (lambda frame: frame.selectExpr("other AS id").filter("id > 1"), True),
        (lambda frame: frame.selectExpr("id + 1 AS id"), False),
        (lambda frame: frame.join(frame.select("other"), "other"), False),
    ],
)
def test_whether_a_column_has_no_null(
    spark: SparkSession, tmp_path: Path, changed: Callable[[DataFrame], DataFrame], never_null: bool
) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3], "other": [1, None, 2]}), tmp_path / "some.parquet")
    assert plan_inspection.never_null(changed(spark.read.parquet(str(tmp_path))), "id") == never_null


def test_what_is_cheap_to_read_twice(spark: SparkSession, tmp_path: Path) -> None:
    for folder in ("plain", "folders/half=0"):
        (tmp_path / folder).mkdir(parents=True)
        pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / folder / "some.parquet")
    plain = spark.read.parquet(str(tmp_path / "plain"))
    assert plan_inspection.is_cheap(plain.filter("id > 1").selectExpr("id + 1 AS id"))
    assert not plan_inspection.is_cheap(spark.read.parquet(str(tmp_path / "folders")))
    assert not plan_inspection.is_cheap(spark.read.schema("id long").json(str(tmp_path / "plain")))
    for costly in (plain.orderBy("id"), plain.distinct(), plain.filter("rand() > 0.5"), plain.limit(2)):
        assert not plan_inspection.is_cheap(costly)


def test_sort_keys_sort_as_values_do() -> None:
    numbers = [-1e300, -(2**63), -(2**53) - 1, -(2**53), -1.5, -1, 0, 0.5, 1, 2**53, 2**53 + 1, 2**63 - 1, 1e300]
    assert sorted(numbers, key=scalar_key) == numbers
    assert scalar_key(-0.0) == scalar_key(0)
    for sample in (np.array(numbers, np.float64), np.array([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1])):
        keys = [bytes(key) for key in number_keys(sample).to_pylist()]
        assert sorted(set(keys)) == list(dict.fromkeys(keys))
    texts = ["", "\0", "\0a", "a", "a\0", "aa", "ä", "\U0001f600"]
    assert sorted(texts, key=scalar_key) == texts


def test_only_what_is_needed_goes_through_the_shuffle(spark: SparkSession, some_ticks: Path) -> None:
    program = ft.parse(W1)
    batch = BatchJob(
        program,
        {"ticks": some_ticks},
        {"ticks": declaration_of(program, "ticks", InputSettings({"ticks": "ts"}))},
        {},
        None,
    )
    assert [group.columns for group in batch.plan.groups] == [{"ticks": ("ts", "name", "price")}]
