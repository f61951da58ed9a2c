"""Notifications to files and to standard output."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify import to_json, to_table, write, write_lines

MATCH = Notification("s", "match", None, 1, 2, 1.0, None, None, {}, {"a": 0}, Type.INT)
TWO = replace(MATCH, start=3, end=4)


def files(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write(iter([MATCH, TWO]), path)
    assert path.read_bytes() == to_json(MATCH) + to_json(TWO)
    write([], str(path))
    assert path.read_bytes() == b""
    assert files(tmp_path) == ["out.jsonl"]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    write([MATCH, TWO], path)
    assert pq.read_table(path).equals(to_table([MATCH, TWO]))
    assert files(tmp_path) == ["out.parquet"]


def test_the_file_gets_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write([MATCH], tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.touch()
    link.symlink_to(real)
    write([MATCH], link)
    assert link.is_symlink()
    assert real.read_bytes() == to_json(MATCH)


def test_an_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write([MATCH], tmp_path / "out.xlsx")
    assert caught.value.code == "unknown-format"
    assert str(caught.value) == (
        f"{tmp_path / 'out.xlsx'}: cannot tell the format by the ending\n"
        "  hint: known endings: .jsonl, .csv, .parquet, .jsonl.gz, .csv.gz"
    )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "out.jsonl"
    with pytest.raises(InputError) as caught:
        write([MATCH], path)
    assert caught.value.code == "cannot-write"
    assert str(caught.value) == f"cannot write '{path}': No such file or directory"


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.mkdir()
    with pytest.raises(InputError) as caught:
        write([MATCH], path)
    assert str(caught.value) == f"cannot write '{path}': Is a directory"
    assert files(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError) as caught:
        write([MATCH], path)
    assert (caught.value.code, str(caught.value)) == ("cannot-write", f"cannot write '{path}': No space left on device")
    assert path.read_text() == "old"
    assert files(tmp_path) == [name]


def test_a_failure_of_the_engine_passes_through_and_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[Notification]:
        yield MATCH
        raise RuntimeError("engine")

    with pytest.raises(RuntimeError, match="engine"):
        write(failing(), tmp_path / "out.jsonl")
    assert files(tmp_path) == []


def test_lines_onto_a_stream() -> None:
    stream = io.BytesIO()
    write_lines([MATCH, TWO], stream)
    assert [json.loads(line)["start"] for line in stream.getvalue().splitlines()] == [1, 3]


def test_a_stream_that_cannot_be_written() -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"^cannot write the output: No space left on device$") as caught:
        write_lines([MATCH], Full())
    assert caught.value.code == "cannot-write"


def test_a_reader_that_closes_early_is_no_error() -> None:
    program = (
        "import sys\n"
        "from foretell.events.notification import Notification\n"
        "from foretell.events.types import Type\n"
        "from foretell.notify import write_lines\n"
        "one = Notification('s', 'match', None, 1, 2, 1.0, None, None, {}, {}, Type.INT)\n"
        "write_lines((one for _ in range(100_000)), sys.stdout.buffer)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == to_json(replace(MATCH, events={}))
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
