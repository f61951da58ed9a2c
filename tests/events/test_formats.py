"""Input formats: files and folders, and their errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foretell.errors import InputError
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.types import Type

OPEN = StreamDeclaration("ticks", {}, "time", open=True)
VARYING = replace(OPEN, read=ReadOptions(missing_columns=True))


def refused(source: object) -> InputError:
    with pytest.raises(InputError) as caught:
        read(source, OPEN)
    return caught.value


def test_a_folder_is_its_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "b.ndjson").write_text('{"time": 3, "a": 0.5}\n{"time": "x"}\n')
    (tmp_path / "a.jsonl").write_text('{oops\n{"time": 1, "a": 1}\n')
    (tmp_path / "c.JSON").write_text("")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".a.jsonl.crc").write_text("")
    (tmp_path / ".hidden.jsonl").write_text("rubbish")
    (tmp_path / "README.txt").write_text("rubbish")
    (tmp_path / "inner.jsonl").mkdir()
    loaded = read(str(tmp_path), OPEN)
    assert loaded.table.to_pylist() == [{"time": 1, "a": 1.0}, {"time": 3, "a": 0.5}]
    assert [(bad.source, bad.row, bad.reason) for bad in loaded.quarantined] == [
        (str(tmp_path / "a.jsonl"), 1, "not JSON"),
        (str(tmp_path / "b.ndjson"), 2, "time: expected INT, found 'x'"),
    ]


def test_a_folder_of_csv(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("time,a\n1,5\n")
    (tmp_path / "2.csv").write_text("b,time\nx,2\nx\n")
    loaded = read(tmp_path, VARYING)
    assert loaded.table.to_pylist() == [{"time": 1, "a": 5, "b": None}, {"time": 2, "a": None, "b": "x"}]
    assert [(bad.source, bad.row) for bad in loaded.quarantined] == [(str(tmp_path / "2.csv"), 3)]
    with pytest.raises(InputError, match=r"^ticks: no column 'c'"):
        read(tmp_path, StreamDeclaration("ticks", {"c": Type.INT}, "time"))


def test_a_folder_of_parquet(tmp_path: Path) -> None:
    folder = tmp_path / "ticks.parquet"
    folder.mkdir()
    pq.write_table(pa.table({"time": pa.array([1, None], pa.int32()), "a": [1, 2]}), folder / "part-0.parquet")
    pq.write_table(pa.table({"time": [2, 3], "a": [0.5, None], "b": ["x", "y"]}), folder / "part-1.parquet")
    pq.write_table(pa.table({"b": ["no time at all"]}), folder / "part-2.parquet")
    loaded = read(folder, VARYING)
    assert loaded.table.to_pylist() == [
        {"time": 1, "a": 1.0, "b": None},
        {"time": 2, "a": 0.5, "b": "x"},
        {"time": 3, "a": None, "b": "y"},
    ]
    assert [(Path(bad.source).name, bad.row) for bad in loaded.quarantined] == [
        ("part-0.parquet", 2),
        ("part-2.parquet", 1),
    ]
    assert read(folder, StreamDeclaration("ticks", {}, "time", read=VARYING.read)).total == 5


def test_parquet_files_that_disagree(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [1], "a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"time": [1], "a": ["x"]}), tmp_path / "2.parquet")
    error = refused(tmp_path)
    assert error.code == "wrong-type"
    assert str(error) == "a: the column's type differs between files: int64, string"


def test_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "ticks.jsonl").write_text("")
    error = refused(tmp_path / "tikcs.jsonl")
    assert error.code == "no-file"
    assert str(error) == f"there is no file '{tmp_path / 'tikcs.jsonl'}'\n  hint: did you mean 'ticks.jsonl'?"
    (tmp_path / "o.csv").touch()
    assert str(refused(tmp_path / "nothere.csv")) == f"there is no file '{tmp_path / 'nothere.csv'}'"
    assert refused(tmp_path / "nowhere" / "x.csv").hint == ""


def test_an_empty_folder(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert error.code == "empty-folder"
    assert str(error) == (
        f"{tmp_path}: no events in this folder\n  hint: known endings: .jsonl, .ndjson, .json, .csv, .tsv, .tab, "
        ".parquet, .pq, .avro, .orc, .txt, .log"
    )


def test_a_folder_of_several_formats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "a.jsonl").write_text("")
    error = refused(tmp_path)
    assert (error.code, str(error)) == ("mixed-folder", f"{tmp_path}: files of several formats: CSV, JSON lines")


@pytest.mark.parametrize("name", ["ticks.jsonl", "ticks.csv", "ticks.parquet"])
def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    # Not by the file's mode: who runs the tests may be allowed everything.
    path = tmp_path / name
    path.write_text("")

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr(pq, "ParquetFile", refuse)
    error = refused(path)
    assert (error.code, str(error)) == ("cannot-read", f"cannot read '{path}': Permission denied")


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert str(refused(tmp_path)) == f"cannot read '{tmp_path}': Permission denied"
