"""Pipelines as `foretell run --follow` runs them: files, inferred types, errors, and rows beside matches."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.cli.pipeline_file import pipeline_of
from foretell.errors import InputError
from foretell.events.ingest.file_survey import FileSurvey
from foretell.events.ingest.read_options import ReadOptions
from foretell.spark.session import local_files
from foretell.spark.streaming import pipeline as pipelines
from foretell.spark.streaming.pipeline import run
from foretell.spark.streaming.stream_status import StreamStatus

RISE = "SUBSCRIBE rise FROM s PER k MATCH a , b DEFINE b AS v > a.v;"
DECLARED = "STREAM s (k INT, v INT, t TIMESTAMP) TIME t LATE BY 1 s; " + RISE
ROWS = [{"k": i % 2, "v": i, "t": f"2026-03-01T10:00:0{i}Z"} for i in range(4)]


def lines_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


class Followed:
    """What a pipeline wrote and said."""

    def __init__(self, folder: Path, text: str, source: Path, **options: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.log_lines: list[str] = []
        self.shown: list[StreamStatus] = []
        pipeline = pipeline_of(ft.parse(text), {"s": str(source)}, {}, {}, None, str(folder / "checkpoint"), **options)
        run(
            replace(pipeline, shards=1),  # each shard costs time in each micro-batch
            once=True,
            write=lambda line: self.lines.append(json.loads(line)),
            log=self.log_lines.append,
            status=self.shown.append,
        )


def test_a_statement_file_that_works_in_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Without a STREAM statement: types and the time are inferred, noted, and kept for the next start."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "0.jsonl").write_text(lines_of(ROWS))
    (source / "README.md").write_text("not events\n")
    (source / "README.txt").write_text("not events\n")
    first = Followed(tmp_path, RISE, source)
    in_process = ft.run(RISE, {"s": str(source)}, time={"s": "t"}, engine="embedded")
    assert first.lines == [json.loads(line) for line in b"".join(in_process.lines()).splitlines()]
    note = "note: stream 's': types inferred from the files that are there: k INT, v INT, t TIMESTAMP"
    time = "note: stream 's': the time is column 't'; change it with --time s=COLUMN"
    assert first.log_lines == [note, time, "4 events, 2 matches, 0 late, 0 set aside, 0 refused"]
    later = [{"k": 0, "v": 9.0, "t": "2026-03-01T10:00:08Z"}, {"k": 0, "v": 10, "t": "2026-03-01T10:00:09Z", "time": 1}]
    (source / "later").mkdir()
    (source / "later" / "1.jsonl").write_text(lines_of(later))  # would make v a FLOAT
    second = Followed(tmp_path, RISE, source)
    assert [line["end"] for line in second.lines] == ["2026-03-01T10:00:08Z", "2026-03-01T10:00:09Z"]
    assert second.log_lines == ["2 events, 2 matches, 0 late, 0 set aside, 0 refused"]
    kept = json.loads((tmp_path / "checkpoint" / "foretell.json").read_text())
    assert kept["types"] == {"s": {"k": "INT", "v": "INT", "t": "TIMESTAMP"}}
    assert kept["times"] == {"s": "t"}


def test_a_checkpoint_goes_on_with_and_without_checksums(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipelines write files without the checksums of Hadoop; other queries, and those before, write them."""
    context: Any = spark.sparkContext
    files = context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration())
    use_plain_files = local_files.use_plain_files
    source = tmp_path / "in"
    source.mkdir()
    for number, is_plain in enumerate([False, True, False, True]):
        spark.conf.unset(local_files.MANAGER)
        files.setWriteChecksum(True)
        files.setVerifyChecksum(True)
        monkeypatch.setattr(pipelines, "use_plain_files", use_plain_files if is_plain else lambda _: None)
        rows = [{"k": 0, "v": 2 * number + i, "t": f"2026-03-01T10:0{number}:0{i}Z"} for i in range(2)]
        (source / f"{number}.jsonl").write_text(lines_of(rows))
        followed = Followed(tmp_path, RISE, source)
        assert len(followed.lines) == (1 if number == 0 else 2)
        assert (tmp_path / "checkpoint" / "commits" / str(number)).is_file()
        assert (tmp_path / "checkpoint" / "commits" / f".{number}.crc").exists() != is_plain


def test_hive_style_folders(spark: SparkSession, tmp_path: Path) -> None:
    """The folders are a column, also of files that come later."""
    text = "SUBSCRIBE even FROM s PER k MATCH a DEFINE a AS day >= 'd2' RETURN a.day AS day, a.v AS v;"
    source = tmp_path / "in"
    for day in (1, 2):
        folder = source / f"day=d{day}"
        folder.mkdir(parents=True)
        (folder / "0.jsonl").write_text(lines_of([{"k": 0, "v": day, "t": f"2026-03-0{day}T10:00:00Z"}]))
    first = Followed(tmp_path, text, source)
    assert [line["bindings"] for line in first.lines] == [{"day": "d2", "v": 2}]
    (source / "day=d3").mkdir()
    (source / "day=d3" / "0.jsonl").write_text(lines_of([{"k": 0, "v": 3, "t": "2026-03-03T10:00:00Z"}]))
    second = Followed(tmp_path, text, source)
    assert [line["bindings"] for line in second.lines] == [{"day": "d3", "v": 3}]


def test_a_single_compressed_file(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "a file.csv.gz"
    text = "k;v;t\n" + "".join(f"{row['k']};{row['v']};{row['t']}\n" for row in ROWS)
    source.write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b file.csv").write_text("no,events\n")
    followed = Followed(tmp_path, RISE, source, read={"s": ReadOptions(delimiter=";")})
    assert [line["events"] for line in followed.lines] == [{"a": 0, "b": 1}] * 2


def test_late_and_malformed_events_are_beside_the_matches(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    last = {"k": 5, "v": 0, "t": "2026-03-01T10:00:09Z"}
    (source / "0.jsonl").write_text(lines_of([*ROWS, last]) + "{no json\n")
    files = {"quarantine": tmp_path / "bad.jsonl", "late": tmp_path / "late.jsonl"}
    first = Followed(tmp_path, DECLARED, source, **files)
    assert {line["kind"] for line in first.lines} == {"match"}
    (bad,) = map(json.loads, files["quarantine"].read_text().splitlines())
    assert (bad["stream"], bad["raw"]) == ("s", "{no json")
    (source / "1.jsonl").write_text(lines_of([{"k": 0, "v": 9, "t": "2026-03-01T09:00:00Z"}]))
    second = Followed(tmp_path, DECLARED, source, **files)
    assert second.lines == []
    assert second.log_lines == ["1 event, 0 matches, 1 late, 0 set aside, 0 refused"]
    (late,) = map(json.loads, files["late"].read_text().splitlines())
    assert late == {"stream": "s", "event": {"k": 0, "v": 9, "t": "2026-03-01T09:00:00Z"}}


def test_the_status(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    source.write_text(lines_of(ROWS))
    shown = Followed(tmp_path, RISE, source).shown
    assert [status.phase for status in shown[:2]] == ["starting Spark", "starting the query"]
    assert shown[-1].time in (None, "2026-03-01T10:00:03Z")


def test_an_error_of_a_task_is_told_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its hint and file, and without Spark's stack."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "0.csv").write_text("k,w,t\n1,1,2026-03-01T10:00:00Z\n")
    monkeypatch.setattr(FileSurvey, "complete", lambda _, declaration, __: declaration)  # as if it came later
    with pytest.raises(InputError) as caught:
        Followed(tmp_path, DECLARED, source)
    assert caught.value.message == f"{source / '0.csv'}: no column 'v'"
    assert str(caught.value).count("no column") == 1
    assert "known here" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "files", "message"),
    [
        (RISE, {}, r"stream 's' has no declaration with types, and there are no files in .* that show them"),
        (DECLARED, {"0.csv": "k,w,t\n1,1,2026-03-01T10:00:00Z\n"}, "0.csv: no column 'v'"),
        (DECLARED.replace("v > a.v", "w > a.v"), {"0.csv": "k,v,t\n"}, "unknown attribute 'w'|no attribute 'w'"),
        (DECLARED.replace("SUBSCRIBE", "SUBSCRBE"), {"0.csv": "k,v,t\n"}, "SUBSCRBE"),
    ],
)
def test_errors_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, files: dict[str, str], message: str
) -> None:
    def start(*_: object, **__: object) -> SparkSession:
        raise AssertionError("Spark is started")

    monkeypatch.setattr("foretell.spark.streaming.pipeline.quiet_session", start)
    source = tmp_path / "in.jsonl" if not files else tmp_path / "in"
    source.mkdir()
    for name, content in files.items():
        (source / name).write_text(content)
    with pytest.raises(ft.ForetellError, match=message):
        Followed(tmp_path, text, source)


@pytest.mark.parametrize("option", ["checkpoint", "output", "quarantine"])
def test_a_pipeline_does_not_read_its_own_files(tmp_path: Path, option: str) -> None:
    source = tmp_path / "in"
    source.mkdir()
    place: Any = source / "own.jsonl"
    options = {"output": None, "checkpoint": str(tmp_path / "checkpoint"), option: place}
    pipeline = pipeline_of(ft.parse(DECLARED), {"s": str(source)}, {}, {}, **{**options, option: place})
    with pytest.raises(InputError) as caught:
        run(pipeline, once=True, write=print, log=print)
    kind = {"quarantine": "bad"}.get(option, option)
    message = f"stream 's' would read the files of '{place}' ({kind}): it watches {source}"
    assert str(caught.value) == f"{message}\n  hint: use a folder outside of it"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "logins").mkdir()
    with pytest.raises(InputError, match=r"there is no file '.*login'\n  hint: did you mean 'logins'\?"):
        Followed(tmp_path, DECLARED, tmp_path / "login")
