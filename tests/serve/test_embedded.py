"""Pipelines on the embedded engine: files that are followed, what is written, and restarts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from foretell.errors import ForetellError, InputError
from foretell.serve.checkpoint_store import CheckpointStore, PipelineCheckpoint
from tests.serve.service_client import LATE, RISE, STREAM, events, lines_of, serving, wait_for, write_pipeline


def written(folder: Path, kind: str = "match") -> list[dict[str, Any]]:
    files = sorted((folder / "out" / f"kind={kind}").glob("*"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


OUTPUT = '[output]\nformat = "json"\npath = "out"'


def test_files_that_appear_and_files_that_grow(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, more=OUTPUT)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 3)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 2})
        with (tmp_path / "in" / "0.jsonl").open("a") as file:
            file.write(lines_of(events(3, 1)) + '{"id": "e4", "k": "x", "v')
            file.flush()
            wait_for(lambda: served.client.counts("rise") == {"match": 3})
            file.write('": 4, "t": "2026-03-01T10:00:04Z"}\n')
        wait_for(lambda: served.client.counts("rise") == {"match": 4})
        (tmp_path / "in" / "later").mkdir()
        (tmp_path / "in" / "later" / "1.csv.gz").write_bytes(b"")
        (tmp_path / "in" / "later" / "1.json.gz").write_bytes(gzip.compress(lines_of(events(5, 1)).encode()))
        wait_for(lambda: served.client.counts("rise") == {"match": 5})
        wait_for(lambda: served.state()["watermark"] == "2026-03-01T10:00:05Z")
        state = served.state()
    assert state["streams"][0] | {"per_second": 0, "text": ""} == {
        "name": "s",
        "events": 6,
        "per_second": 0,
        "late": 0,
        "quarantined": 0,
        "unreadable": 0,
        "last_event_time": "2026-03-01T10:00:05Z",
        "text": "",
    }
    assert (state["status"], state["statements"][0]["last_at"]) == ("running", "2026-03-01T10:00:05Z")
    rows = written(tmp_path)
    assert [row["events"] for row in rows] == [
        json.dumps({"a": f"e{n}", "b": f"e{n + 1}"}, separators=(",", ":")) for n in range(5)
    ]
    assert rows[0]["start"] == "2026-03-01T10:00:00Z"


def test_rows_of_csv_keep_their_line_numbers(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, more='quarantine = "bad.jsonl"')
    file = tmp_path / "in" / "0.csv"
    file.write_text("id,k,v,t\ne0,x,0,2026-03-01T10:00:00Z\ne1,x,1,2026-03-01T10:00:01Z\n")
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        with file.open("a") as opened:
            opened.write('e2,x,2,2026-03-01T10:00:02Z\ne3,x,3,soon\n"e\n4",x,4,2026-03-01T10:00:04Z\n')
        wait_for(lambda: served.client.counts("rise") == {"match": 3})
        (row,) = served.client.get("/api/quarantine").json["rows"]
    assert row["reason"].startswith(f"{file}:5: t: expected TIMESTAMP, found 'soon'")
    (bad,) = map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())
    assert (bad["stream"], bad["raw"]) == ("s", "e3,x,3,soon")


def test_a_restart_goes_on(tmp_path: Path) -> None:
    """Partial matches, positions, the numbers of batches, and what was typed on the page outlive the process."""
    pipeline = write_pipeline(tmp_path, more=OUTPUT)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 2)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        text = "SUBSCRIBE falls FROM s PER k MATCH a , b DEFINE b AS v < a.v;"
        assert served.client.request("POST", "/api/statements", {"text": text}).status == 200
        changed = RISE.replace("v > a.v", "v > a.v + 1")
        assert served.client.request("PUT", "/api/statements/rise", {"text": changed}).status == 200
    (tmp_path / "in" / "1.jsonl").write_text(lines_of([*events(2, 1), *events(3, 1, v=1), *events(4, 1, v=9)]))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise"))
        state = served.state()
        assert served.client.counts("falls") == {"match": 1}
        assert "v > a.v + 1" in state["statements"][0]["text"]
        assert any("goes on from the checkpoint" in note for note in state["notes"])
        assert served.client.request("DELETE", "/api/statements/falls").status == 200
    with serving(pipeline) as served:
        assert [each["name"] for each in served.state()["statements"]] == ["rise"]
    names = [(row["subscription"], row["events"]) for row in written(tmp_path)]
    assert names == [
        ("rise", '{"a":"e0","b":"e1"}'),
        ("falls", '{"a":"e2","b":"e3"}'),
        ("rise", '{"a":"e3","b":"e4"}'),
    ]


def test_a_statement_that_the_file_changes_begins_anew(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 2)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
    write_pipeline(tmp_path, STREAM + RISE.replace("WITHIN 1 h", "WITHIN 2 h"))
    with serving(pipeline) as served:
        assert "new or changed statements begin anew: rise" in served.state()["notes"]


def test_a_crash_repeats_a_batch_under_its_number(tmp_path: Path) -> None:
    """The output of a batch is there and its checkpoint is not: the next run writes the same batch again."""
    pipeline = write_pipeline(tmp_path, more=f"{OUTPUT.replace('json', 'parquet')}")
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 3)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 2})
    state = tmp_path / "checkpoint" / "service.state"
    before = state.read_bytes()
    (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(3, 2)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 2})
    first = sorted(path.name for path in (tmp_path / "out" / "kind=match").iterdir())
    state.write_bytes(before)
    (tmp_path / "in" / "2.jsonl").write_text(lines_of(events(5, 1)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 3})
    files = sorted((tmp_path / "out" / "kind=match").iterdir())
    assert [path.name for path in files][: len(first)] == first
    found = [row["events"] for path in files for row in pq.read_table(path, partitioning=None).to_pylist()]
    assert found == [{"a": f"e{n}", "b": f"e{n + 1}"} for n in range(5)]


def test_late_and_malformed_events(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, LATE + RISE, 'quarantine = "bad.jsonl"\nlate = "late.jsonl"')
    (tmp_path / "in" / "0.jsonl").write_text(lines_of([*events(200, 2), *events(320, 1)]) + "no json\n")
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(0, 1, v="dear")))
        wait_for(lambda: served.client.get("/api/late").json["total"] == 1)
        late, bad = served.client.get("/api/late").json, served.client.get("/api/quarantine").json
        stream = served.state()["streams"][0]
        metrics = served.client.get("/metrics").body.decode()
    assert late["rows"][0]["event"] == {"id": "e0", "k": "x", "v": None, "t": "2026-03-01T10:00:00Z"}
    assert late["rows"][0]["reason"].startswith("later than LATE BY allows: time was 2026-03-01T10:04:20Z")
    assert (bad["total"], bad["rows"][0]["event"], bad["rows"][0]["stream"]) == (1, "no json", "s")
    assert (stream["late"], stream["quarantined"], stream["unreadable"]) == (1, 1, 1)
    assert 'foretell_late_total{stream="s"} 1' in metrics
    assert json.loads((tmp_path / "late.jsonl").read_text()) == {"stream": "s", "event": late["rows"][0]["event"]}
    assert json.loads((tmp_path / "bad.jsonl").read_text())["raw"] == "no json"


def test_late_events_are_not_tried(tmp_path: Path) -> None:
    """A trial has the events that the statements had; late ones do not move the stream's latest time either."""
    pipeline = write_pipeline(tmp_path, LATE + RISE)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(200, 2)))
    with serving(pipeline) as served:
        wait_for(lambda: served.state()["events"] == 2)
        (tmp_path / "in" / "1.jsonl").write_text(lines_of([*events(0, 1), *events(190, 1), *events(10, 2)]))
        wait_for(lambda: served.client.get("/api/late").json["total"] == 3)
        wait_for(lambda: served.state()["events"] == 6)
        assert served.state()["streams"][0]["last_event_time"] == "2026-03-01T10:03:21Z"
        tried = served.client.request("POST", "/api/try", {"text": "SUBSCRIBE every FROM s MATCH a;"}).json
    assert [row["events"] for row in tried["rows"]] == [{"a": "e190"}, {"a": "e200"}, {"a": "e201"}]
    assert tried["events"] == 3


def test_late_and_malformed_rows_are_in_the_output(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, LATE + RISE, f'kinds = ["late", "bad"]\n{OUTPUT}')
    (tmp_path / "in" / "0.jsonl").write_text(lines_of([*events(200, 2), *events(320, 1)]) + "no json\n")
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(0, 1)))
        wait_for(lambda: served.client.get("/api/late").json["total"] == 1)
    assert written(tmp_path) == []
    (late,), (bad,) = written(tmp_path, "late"), written(tmp_path, "bad")
    assert (late["subscription"], late["end"], json.loads(late["bindings"])["id"]) == (
        "s",
        "2026-03-01T10:00:00Z",
        "e0",
    )
    assert json.loads(bad["bindings"])["raw"] == "no json"


def test_a_pipeline_that_stops_stays_visible(tmp_path: Path) -> None:
    """Without LATE BY an event out of order is an error: the page goes on and shows it."""
    pipeline = write_pipeline(tmp_path, STREAM + RISE)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(5, 2)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        assert served.client.get("/readyz").status == 200
        (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(0, 1)))
        wait_for(lambda: served.state()["status"] == "failed")
        state, health = served.state(), served.client.get("/healthz")
        added = served.client.request("POST", "/api/statements", {"text": RISE.replace("rise", "again")})
        assert served.client.get("/api/notifications").json["rows"][0]["events"] == {"a": "e5", "b": "e6"}
    assert "but time is 2026-03-01T10:00:06Z already" in state["error"]["error"]
    assert "declare the stream with LATE BY" in state["error"]["hint"]
    assert (health.status, health.json["status"]) == (503, "failed")
    assert (added.status, added.json["error"]) == (409, "the pipeline does not run any more: failed")


def test_the_events_of_a_failed_push_come_again(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, STREAM + RISE, OUTPUT)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(5, 2)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        wait_for(lambda: written(tmp_path))
        (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(0, 1)))
        wait_for(lambda: served.state()["status"] == "failed")
    (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(7, 1)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
    assert len(written(tmp_path)) == 2


@pytest.mark.parametrize(
    ("more", "stream", "message"),
    [
        ('[output]\nformat = "delta"\npath = "x"', 'path = "in"', "does not write the format 'delta'"),
        ('[control]\nformat = "json"\npath = "x"', 'path = "in"', "follows no control stream"),
        ("", 'format = "kafka"', "does not read the format 'kafka'"),
        ("", 'path = "s3://bucket/in"', "no package for s3:// is installed"),
        ('late = "in/late.jsonl"', 'path = "in"', "would read the files of"),
    ],
)
def test_pipelines_that_this_engine_does_not_run(tmp_path: Path, more: str, stream: str, message: str) -> None:
    with pytest.raises(ForetellError, match=message), serving(write_pipeline(tmp_path, more=more, stream=stream)):
        raise AssertionError("it runs")


def test_a_checkpoint_has_one_user(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    with (
        serving(pipeline),
        pytest.raises(ForetellError, match="another process uses the checkpoint"),
        serving(pipeline),
    ):
        raise AssertionError("it runs")


def run_once(folder: Path, first: int) -> None:
    """A service with an output that processes two more events."""
    (folder / "in" / f"{first}.jsonl").write_text(lines_of(events(first, 2)))
    with serving(folder / "watch.toml") as served:
        wait_for(lambda: served.client.counts("rise"))


def test_a_new_checkpoint_does_not_overwrite_an_output(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, more=OUTPUT)
    run_once(tmp_path, 0)
    before = written(tmp_path)
    (tmp_path / "checkpoint").rename(tmp_path / "moved")
    with pytest.raises(ForetellError, match="has batches up to 0, and the checkpoint is new") as caught:
        run_once(tmp_path, 2)
    assert "a new checkpoint counts batches from 0 and would overwrite them" in caught.value.hint
    assert written(tmp_path) == before != []
    pipeline.write_text(pipeline.read_text().replace('path = "out"', 'path = "other"'))
    run_once(tmp_path, 4)
    assert len(list((tmp_path / "other" / "kind=match").iterdir())) == 1


def test_a_checkpoint_older_than_its_output_is_refused(tmp_path: Path) -> None:
    write_pipeline(tmp_path, more=OUTPUT)
    run_once(tmp_path, 0)
    state = tmp_path / "checkpoint" / "service.state"
    older = state.read_bytes()
    for first in (2, 4):
        run_once(tmp_path, first)
    newer, before = state.read_bytes(), written(tmp_path)
    state.write_bytes(older)
    with pytest.raises(ForetellError, match="has batches up to 2, and the checkpoint goes on with batch 1") as caught:
        run_once(tmp_path, 6)
    assert "bring back checkpoint and output of the same time" in caught.value.hint
    assert written(tmp_path) == before
    state.write_bytes(newer)
    run_once(tmp_path, 6)
    assert len(written(tmp_path)) == 7


def test_an_output_has_one_writer(tmp_path: Path) -> None:
    """Both checkpoints are new and the output is empty: only the first service may write."""
    pipeline = write_pipeline(tmp_path, more=OUTPUT)
    second = tmp_path / "second.toml"
    second.write_text(pipeline.read_text().replace('checkpoint = "checkpoint"', 'checkpoint = "another"'))
    with serving(pipeline):
        with pytest.raises(ForetellError, match="another process writes to the output"), serving(second):
            raise AssertionError("it runs")
        with pytest.raises(ForetellError, match="another process uses the checkpoint") as caught, serving(pipeline):
            raise AssertionError("it runs")
    assert caught.value.hint == "end it first; a second service needs a checkpoint and an output of its own"
    with serving(second):
        pass


def test_a_crash_after_the_first_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of batch 0 is there and its checkpoint could not be written: the next run writes batch 0 again."""
    write_pipeline(tmp_path, more=OUTPUT)
    write = CheckpointStore.write

    def write_only_the_beginning(store: CheckpointStore, checkpoint: PipelineCheckpoint) -> None:
        if checkpoint.batch:
            raise InputError("cannot-write", "the disk is full")
        write(store, checkpoint)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "write", write_only_the_beginning)
        run_once(tmp_path, 0)
    assert len(written(tmp_path)) == 1
    run_once(tmp_path, 2)
    assert [row["events"] for row in written(tmp_path)] == [f'{{"a":"e{n}","b":"e{n + 1}"}}' for n in range(3)]


def test_a_checkpoint_of_other_streams_is_refused(tmp_path: Path) -> None:
    with serving(write_pipeline(tmp_path)):
        pass
    other = (
        write_pipeline(tmp_path, (STREAM + RISE).replace(" s ", " z ")).read_text().replace("streams.s", "streams.z")
    )
    (tmp_path / "watch.toml").write_text(other)
    with (
        pytest.raises(ForetellError, match="belongs to another pipeline: its streams"),
        serving(tmp_path / "watch.toml"),
    ):
        raise AssertionError("it runs")
