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

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline"
STATEMENTS = """STREAM s (k INT, v INT, t INT) TIME t;
SUBSCRIBE rise FROM s PER k MATCH a , b DEFINE b AS v > a.v;"""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "foretell.cli", "run", *map(str, arguments)]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('txt = "SUBSCRIBE"', "unknown key 'txt'"),
        ("text = 3\n[streams.s]", "text: expected a text"),
        ("[streams.s]", "either 'statements' or 'text'"),
        ("text = '''TEXT'''", "has no streams"),
        ("text = '''TEXT'''\n[streams.s]\nformat = 'json'", "streams.s: no path for the format json"),
        ("text = '''TEXT'''\n[streams.s]\npath = 'in.xml'", "cannot tell the format"),
        ("text = '''TEXT'''\n[streams.s]\nformt = 'json'", "streams.s: unknown key 'formt'.*did you mean 'format'"),
        ("kinds = ['mach']\ntext = '''TEXT'''\n[streams.s]\nformat = 'rate'", "unknown kind 'mach'.*'match'"),
        ("text = '''TEXT'''\nlimits = 3\n[streams.s]\nformat = 'rate'", "limits: expected a table"),
        ("text = '''TEXT'''\n[streams.s]\nformat = 'rate'\n[limits]\nlanes = 1", "limits: unknown key 'lanes'"),
        ("text = '''TEXT", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_pipeline(tmp_path: Path, toml: str, said: str) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(toml.replace("TEXT", STATEMENTS))
    with pytest.raises(InputError, match=f"(?s){said}"):
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


def test_a_pipeline_from_folder_to_folder(tmp_path: Path) -> None:
    """Once, with a malformed event; then until it is told to stop, with more events; then other streams are refused."""
    (tmp_path / "in").mkdir()
    rows = [{"k": i % 3, "v": i * 7 % 10, "t": i} for i in range(60)]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "in" / "0.jsonl").write_text("\n".join([*lines[:30], '{"k": "x", "t": 30}']))
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
    ended = subprocess.run(command(tmp_path / "pipeline.toml", "--follow", "--once"), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "1 bad" in ended.stderr
    # (Into a file: a pipe that nobody reads would hold it up when it is full.)
    with (tmp_path / "said").open("w") as said:
        running = subprocess.Popen(command(tmp_path / "pipeline.toml", "--follow"), stderr=said)
    try:
        (tmp_path / "in" / ".1").write_text("\n".join(lines[30:]))
        (tmp_path / "in" / ".1").rename(tmp_path / "in" / "1.jsonl")
        while not (tmp_path / "checkpoint" / "commits" / "1").exists() and running.poll() is None:
            time.sleep(0.1)  # Spark tells another process of a finished micro-batch by this file alone
        running.send_signal(signal.SIGTERM)
        assert running.wait() == 0, (tmp_path / "said").read_text()[-2000:]
    finally:
        running.kill()
    found = pq.read_table(tmp_path / "told" / "kind=match").select(["key", "start", "end", "events"]).to_pylist()
    wanted = ft.Engine(STATEMENTS).push("s", rows).table().select(["key", "start", "end", "events"]).to_pylist()
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    (bad,) = pq.read_table(tmp_path / "told" / "kind=bad")["bindings"].to_pylist()
    assert json.loads(str(bad))["reason"] == "k: expected INT, found 'x'"
    (tmp_path / "pipeline.toml").write_text(toml.replace("shards = 2", "shards = 3"))
    ended = subprocess.run(command(tmp_path / "pipeline.toml", "--follow", "--once"), capture_output=True, text=True)
    assert ended.returncode == 1
    assert "belongs to another pipeline: its shards: 2, not 3" in ended.stderr


def test_statements_and_a_folder(tmp_path: Path) -> None:
    """Without a pipeline: lines of JSON on standard output."""
    (tmp_path / "in").mkdir()
    (tmp_path / "rise.ftl").write_text(STATEMENTS)
    (tmp_path / "in" / "0.csv").write_text("k,v,t\n1,1,1\n1,2,2\n")
    arguments = ("--follow", "--once", "--input", f"s={tmp_path / 'in'}", "--checkpoint", tmp_path / "checkpoint")
    ended = subprocess.run(command(tmp_path / "rise.ftl", *arguments), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    (line,) = ended.stdout.splitlines()
    assert json.loads(line)["events"] == {"a": 0, "b": 1}
