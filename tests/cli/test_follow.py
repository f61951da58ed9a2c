"""`foretell run --follow`: pipelines as files, what is wrong with them, and a whole one at work."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.cli.pipeline_file import read_pipeline
from foretell.errors import InputError
from tests.spark_processes import await_end, java_children

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline"
STATEMENTS = """STREAM s (k INT, v INT, t INT) TIME t;
SUBSCRIBE rise FROM s PER k MATCH a , b DEFINE b AS v > a.v;"""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "foretell.cli", "run", *map(str, arguments)]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('txt = "SUBSCRIBE"', "unknown key 'txt'"),
        ("text = 3\n[streams.s]", "text: expected a text"),
        ("[streams.s]", "either 'statements' or 'text'"),
        ("text = '''TEXT'''", "has no streams"),
        ("text = '''TEXT'''\n[streams.s]\nformat = 'json'", "streams.s: no path for the format json"),
        ("text = '''TEXT'''\n[streams.s]\npath = 'in.xml'", "there is no file"),
        ("text = '''TEXT'''\n[streams.s]\nformt = 'json'", "streams.s: unknown key 'formt'.*did you mean 'format'"),
        (
            "text = '''TEXT'''\n[streams.s]\nformat = 'csv'\npath = 'in.csv'\nread.sep = ';'",
            "streams.s.read: unknown key 'sep'",
        ),
        ("kinds = ['mach']\ntext = '''TEXT'''\n[streams.s]\nformat = 'rate'", "unknown kind 'mach'.*'match'"),
        ("text = '''TEXT'''\nlimits = 3\n[streams.s]\nformat = 'rate'", "limits: expected a table"),
        ("text = '''TEXT'''\n[streams.s]\nformat = 'rate'\n[limits]\nlanes = 1", "limits: unknown key 'lanes'"),
        (
            "late = 'l'\ntext = '''TEXT'''\n[streams.s]\nformat = 'rate'\n[output]\nformat = 'console'",
            "leave out 'late'",
        ),
        ("text = '''TEXT", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_pipeline(tmp_path: Path, toml: str, message: str) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(toml.replace("TEXT", STATEMENTS))
    with pytest.raises(InputError, match=f"(?s){message}"):
        read_pipeline(path, "checkpoint")


def test_a_pipeline_needs_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(f"text = '''{STATEMENTS}'''\n[streams.s]\nformat = 'rate'")
    with pytest.raises(InputError, match="no checkpoint"):
        read_pipeline(path)


def test_the_example_is_read() -> None:
    pipeline = read_pipeline(EXAMPLE / "pipeline.toml")
    assert pipeline.streams["logins"].options == {"maxFilesPerTrigger": "100"}
    assert pipeline.output is not None
    assert pipeline.output.path == str(EXAMPLE / "told")


def test_read_options_of_a_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(f"text = '''{STATEMENTS}'''\n[streams.s]\npath = 'in'\nread = {{ delimiter = ';', nulls = ['-'] }}")
    (tmp_path / "in").mkdir()
    read = read_pipeline(path, "checkpoint").streams["s"].read
    assert (read.delimiter, read.nulls) == (";", ("-",))


def test_a_pipeline_from_folder_to_folder(tmp_path: Path) -> None:
    """Until it is told to stop, with a malformed event, and more events while it runs; then another number of shards
    is refused. Nothing is said but the summary, and no Java is left."""
    (tmp_path / "in").mkdir()
    rows = [{"k": i % 3, "v": i * 7 % 10, "t": i} for i in range(60)]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "in" / "0.jsonl").write_text("\n".join([*lines[:30], '{"k": 1, "v": 2}']))
    toml = f"""text = '''{STATEMENTS}'''
checkpoint = "checkpoint"
shards = 2
[streams.s]
path = "in"
[output]
format = "parquet"
path = "told"
"""
    (tmp_path / "pipeline.toml").write_text(toml)
    # (Into a file: a pipe that nobody reads would hold it up when it is full.)
    with (tmp_path / "errors").open("w") as errors:
        running = subprocess.Popen(command(tmp_path / "pipeline.toml", "--follow"), stderr=errors)
    try:
        await_commit(tmp_path, 0, running)
        (tmp_path / "in" / ".1").write_text("\n".join(lines[30:]))
        (tmp_path / "in" / ".1").rename(tmp_path / "in" / "1.jsonl")
        await_commit(tmp_path, 1, running)
        java = java_children(running.pid)
        running.send_signal(signal.SIGTERM)
        assert running.wait() == 0, (tmp_path / "errors").read_text()[-2000:]
    finally:
        running.kill()
    assert (tmp_path / "errors").read_text().splitlines() == [
        "stopping after this micro-batch; a second Ctrl-C stops at once",
        "61 events, 52 matches, 0 late, 1 set aside, 0 refused",
    ]
    found = pq.read_table(tmp_path / "told" / "kind=match").select(["key", "start", "end", "events"]).to_pylist()
    wanted = ft.Engine(STATEMENTS).push("s", rows).to_arrow().select(["key", "start", "end", "events"]).to_pylist()
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    (bad,) = pq.read_table(tmp_path / "told" / "kind=bad")["detail"].to_pylist()
    assert json.loads(str(bad))["reason"] == "no time"
    (tmp_path / "pipeline.toml").write_text(toml.replace("shards = 2", "shards = 3"))
    ended = subprocess.run(command(tmp_path / "pipeline.toml", "--follow", "--once"), capture_output=True, text=True)
    assert ended.returncode == 1
    assert "belongs to another pipeline: its shards: 2, not 3" in ended.stderr
    assert java
    await_end(java)  # a JVM removes its temporary folders after the command has ended


def await_commit(folder: Path, number: int, running: subprocess.Popen[bytes]) -> None:
    """Wait for a finished micro-batch, which Spark tells another process by this file alone."""
    while not (folder / "checkpoint" / "commits" / str(number)).exists() and running.poll() is None:
        time.sleep(0.1)
