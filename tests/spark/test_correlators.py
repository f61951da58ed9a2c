"""Correlators on Spark: events that no step accepts are left out of the shuffle, and the rows stay the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import foretell as ft
from foretell.cli.commands import app
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.types import Type
from foretell.spark.pushdown.quenching import may_matter
from tests.correlate.test_engines import events, program
from tests.correlate.test_templates import row, tables_of, template, typed
from tests.engine_pair import comparable_rows
from tests.spark.local_batch import LocalBatchJob, local_batch

STREAM = StreamDeclaration("s", {"k": Type.STRING, "n": Type.INT, "g": Type.INT, "t": Type.INT}, "t")


def dropped(job: LocalBatchJob, given: list[dict[str, Any]]) -> int:
    """How many events go to no shard."""
    batch = read(given, STREAM)
    kept = [may_matter(batch, job.plan.statements_of(group), job.plan.identified) for group in job.plan.groups]
    if not kept or any(each is None for each in kept):
        return 0
    return len(given) - int(np.count_nonzero(np.logical_or.reduce([each for each in kept if each is not None])))


def agree(seeds: range) -> int:
    """In many shards and with many rows, which are spread over tasks; the embedded engine drops nothing."""
    left_out = 0
    for seed in seeds:
        random = Random(seed)
        text, given = template(random), events(random)
        tables: dict[str, object] = tables_of(text, [row(random, n) for n in range(random.choice([1, 2, 40, 70]))])
        if random.random() < 0.3:
            text, tables = program(random), {}
        expected = ft.run(text, {"s": given}, tables=tables, engine="embedded")
        batch = local_batch(text, {"s": given}, tables=tables)
        assert comparable_rows(batch.notifications()) == comparable_rows(expected), (seed, text)
        assert batch.frame_matches(expected), (seed, text)
        left_out += dropped(batch, given)
    return left_out


def test_random_correlators() -> None:
    assert agree(range(30)) > 20


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_correlators_for_long() -> None:
    assert agree(range(20_000, 21_000)) > 500


LOW = """STREAM s (k STRING, n INT, g INT, t INT) TIME t;
CORRELATE m FOR EACH rows FROM s PER g DO repeat{push('x'){sequential{a, b}}}
DEFINE a AS n < :low AND k = 'a', b AS k = :k AND n > :high;
"""


def test_rows_of_a_table_bound_the_events(tmp_path: Path) -> None:
    """No row has a `low` above 2, a `high` below 3 or another `k` than b and c."""
    rows: list[dict[str, Any]] = [
        {"id": 1, "k": "b", "low": 1, "high": 4, "g": 0, "x": 0.5},
        {"id": 2, "k": "c", "low": 2, "high": 3, "g": 0, "x": None},
        {"id": 3, "k": None, "low": None, "high": 3, "g": 0, "x": None},
    ]
    (tmp_path / "low.ftl").write_text(LOW)
    given = [(k, n) for k in "abc" for n in range(6)]
    (tmp_path / "s.csv").write_text("k,n,g,t\n" + "".join(f"{k},{n},1,{t}\n" for t, (k, n) in enumerate(given)))
    lines = [f"{r['id']},{r['k'] or ''},{'' if r['low'] is None else r['low']},{r['high']}\n" for r in rows]
    (tmp_path / "rows.csv").write_text("id,k,low,high\n" + "".join(lines))
    shown = CliRunner().invoke(
        app,
        [
            "explain",
            str(tmp_path / "low.ftl"),
            f"--table=rows={tmp_path / 'rows.csv'}",
            f"--input=s={tmp_path / 's.csv'}",
        ],
    )
    assert "    shuffled events: those that some step accepts: 6 of 18\n" in shown.stdout  # a0, a1, b4, b5, c4, c5
    assert "    pushed down: n < 2 AND k = 'a' OR (k = 'b' OR k = 'c') AND n > 3\n" in shown.stdout
    assert "no comparison with a parameter is in all steps" in shown.stdout


def test_a_step_without_a_condition_needs_every_event(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text(LOW)
    shown = CliRunner().invoke(app, ["explain", str(tmp_path / "m.ftl")])
    assert "    shuffled events: all (m: a step accepts any event)\n" in shown.stdout


def test_a_frame_without_ids(spark: SparkSession, tmp_path: Path) -> None:
    """Its optimizer gets the bounds of the rows; what it filters still passes time."""
    given = [{"k": "abc"[n % 3], "n": n * 7 % 6, "g": n % 4, "t": n} for n in range(600)]
    rows = [{"id": n, "k": "b", "low": 2, "high": n % 3 + 2, "g": 0, "x": None} for n in range(40)]
    tables = {"rows": typed(rows)}
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "s.parquet")
    frame = spark.read.parquet(str(tmp_path / "s.parquet"))
    found = ft.run(LOW, {"s": frame}, tables=tables).toArrow()
    expected = ft.run(LOW, {"s": given}, tables=tables, engine="embedded")
    assert len(expected) > 500
    told = [(row["end"], row["id"], row["key"]["g"]) for row in found.to_pylist()]
    assert told == [(n.end, n.id, (n.key or {})["g"]) for n in expected]
