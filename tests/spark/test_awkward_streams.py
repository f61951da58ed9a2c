"""Awkward files come through a stream as in process: `foretell run --follow --once`, many cases in one query."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.arguments.pipeline import Pipeline
from foretell.cli.pipeline_file import pipeline_of
from foretell.events.ingest.nulled_values import counted_values, unreadable_values
from foretell.events.types import Type
from foretell.spark.partitioning.shard_input import ShardInput
from foretell.spark.partitioning.shuffle_rows import ShuffleRow
from foretell.spark.streaming import pipeline as pipelines
from foretell.spark.streaming.pipeline import run
from tests.awkward.awkward_files import AwkwardFile, awkward_files
from tests.awkward.outcomes import typed_row

#: `--strict` is not an option of `--follow`.
CASES = [case for case in awkward_files() if not case.strict]
REFUSED = [case for case in CASES if case.stream_refusal is not None]
READ = [case for case in CASES if case.stream_refusal is None]
#: Cases on real Spark, in one query; the others run where there is time.
SAMPLE = (
    "paths: Hive-style folders with leading zeros and texts",
    "values: a text in a declared number column is NULL there, and the event stays",
    "text_lines: an optional group is NULL where it is not there",
    "json: a line that is not JSON is set aside",
)
IN_ONE_QUERY = 20
EVERY = 8  #: of the tests without Spark


def _sampled(cases: list[AwkwardFile]) -> list[Any]:
    return [
        pytest.param(case, id=str(case), marks=[pytest.mark.soak] if number % EVERY else [])
        for number, case in enumerate(cases)
    ]


@dataclass
class FollowedFiles:
    """Cases as the streams s0, s1, … of one pipeline, and what it wrote and said."""

    folder: Path
    cases: list[AwkwardFile]
    lines: list[dict[str, Any]] = field(default_factory=list)
    log_lines: list[str] = field(default_factory=list)

    def pipeline(self) -> Pipeline:
        sources: dict[str, str] = {}
        for number, case in enumerate(self.cases):
            (self.folder / str(number)).mkdir()
            sources[f"s{number}"] = case.write(self.folder / str(number))
        return pipeline_of(
            ft.parse(" ".join(_renamed(case.program, number) for number, case in enumerate(self.cases))),
            sources,
            {f"s{number}": case.time for number, case in enumerate(self.cases) if not case.declare},
            {},
            None,
            str(self.folder / "checkpoint"),
            read={f"s{number}": case.read_options for number, case in enumerate(self.cases)},
            quarantine=self.folder / "bad.jsonl",
        )

    def run(self) -> None:
        one_shard = replace(self.pipeline(), shards=1)  # each shard costs time in each micro-batch
        run(one_shard, once=True, write=lambda line: self.lines.append(json.loads(line)), log=self.log_lines.append)

    def outcome(self, number: int) -> list[object]:
        """The rows of a case, and the number of its events that were set aside."""
        case, lines = self.cases[number], [line for line in self.lines if line["subscription"].endswith(f"_{number}")]
        rows = len(lines) if case.statement else [typed_row(line["bindings"]) for line in lines]
        start = datetime.fromisoformat(lines[0]["start"]) if case.first_time is not None else None
        return [rows, start, self.set_aside[f"s{number}"]]

    @property
    def set_aside(self) -> Counter[str]:
        path = self.folder / "bad.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter(json.loads(line)["stream"] for line in lines)


def _renamed(program: str, number: int) -> str:
    streams = re.sub(r"\b(STREAM|FROM) s\b", rf"\1 s{number}", program)
    return re.sub(r"\bSUBSCRIBE (\w+)", rf"SUBSCRIBE \1_{number}", streams)


def _expected(case: AwkwardFile) -> list[object]:
    rows = case.matches if case.statement else [typed_row(row) for row in case.rows]
    return [rows, None if case.first_time is None else datetime.fromisoformat(case.first_time), case.set_aside]


def _no_spark(*_: object, **__: object) -> NoReturn:
    raise AssertionError("Spark is started")


@pytest.mark.parametrize("case", _sampled(REFUSED))
def test_errors_before_spark_starts(case: AwkwardFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.spark.streaming.pipeline.quiet_session", _no_spark)
    with pytest.raises(ft.ForetellError, match=re.escape(str(case.stream_refusal))):
        FollowedFiles(tmp_path, [case]).run()


@pytest.mark.parametrize("case", _sampled(READ))
def test_in_tasks(case: AwkwardFile, tmp_path: Path) -> None:
    """Without Spark: the rows that a task sends, what it reports, and the notes before Spark starts."""
    pipeline = FollowedFiles(tmp_path, [case]).pipeline()
    declarations, notes = pipelines.declarations_of_files(pipeline)
    mapper = pipelines.topology_of_files(pipeline, declarations).mappers["s0"]
    files = sorted(file for file in (tmp_path / "0").rglob("*") if file.is_file() and file.name[0] not in "._")
    shard_input = ShardInput()
    content: dict[str, list[Any]] = {
        "path": [f"file:{file}" for file in files],
        "content": [file.read_bytes() for file in files],
    }
    for batch in mapper(iter([pa.RecordBatch.from_pydict(content)])):
        for row in ShuffleRow.of_arrow(batch):
            shard_input.add(row)
    unreadable = {values.column: values.count for values in unreadable_values(shard_input.nulled)}
    assert unreadable == dict(case.nulls)
    assert len(shard_input.quarantined) == case.set_aside
    if case.events is not None:
        assert shard_input.progress["s0"].total == len(case.events) + case.set_aside
    for fragment in case.notes:
        assert any(fragment in note for note in notes), (fragment, notes)


def _followed(cases: list[AwkwardFile], folder: Path) -> None:
    followed = FollowedFiles(folder, cases)
    followed.run()
    found = {str(case): followed.outcome(number) for number, case in enumerate(cases)}
    assert found == {str(case): _expected(case) for case in cases}
    unreadable = sum(sum(case.nulls.values()) for case in cases)
    counted = [part for part in followed.log_lines[-1].split(", ") if part.endswith("unreadable")]
    assert counted == ([f"{counted_values(unreadable)} unreadable"] if unreadable else [])


def test_some_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    _followed([case for case in READ if str(case) in SAMPLE], tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_all_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    groups: dict[tuple[bool, bool], list[AwkwardFile]] = {}
    for number, case in enumerate(READ):
        (tmp_path / f"types{number}").mkdir()
        groups.setdefault(_kind(case, tmp_path / f"types{number}"), []).append(case)
    for kind, cases in groups.items():
        for first in range(0, len(cases), IN_ONE_QUERY):
            folder = tmp_path / f"{kind}{first}"
            folder.mkdir()
            _followed(cases[first : first + IN_ONE_QUERY], folder)


def _kind(case: AwkwardFile, folder: Path) -> tuple[bool, bool]:
    """What cases of one query have in common: whether times are timestamps, and whether durations are plain."""
    pipeline = FollowedFiles(folder, [case]).pipeline()
    (declaration,) = pipelines.declarations_of_files(pipeline)[0].values()
    return declaration.attributes[declaration.time] is Type.TIMESTAMP, pipeline.statements.plain_durations
