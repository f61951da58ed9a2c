"""Files: compressions, encodings, delimiters, patterns, folders, standard input, and the errors of each."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.errors import InputError
from foretell.events.ingest.formats import read_raw
from foretell.events.ingest.input_files import input_files, needs_spark
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.types import Type

CSV = b"time,a\n1,x\n2,y\n"
JSON = b'{"time": 1, "a": "x"}\n{"time": 2, "a": "y"}\n'
ROWS = [{"time": 1, "a": "x"}, {"time": 2, "a": "y"}]


def load(source: object, **options: Any) -> EventBatch:
    return read(source, StreamDeclaration("ticks", {}, "time", open=True, read=ft.ReadOptions(**options)))


def notes(source: object, **options: Any) -> tuple[str, ...]:
    return read_raw(source, "ticks", None, ft.ReadOptions(**options)).notes


def refused(source: object, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        load(source, **options)
    return caught.value


def zstandard(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard,
    ".xz": lzma.compress,
}


# ── compression ──


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize(("name", "content"), [("t.csv", CSV), ("t.jsonl", JSON), ("t.tsv", CSV.replace(b",", b"\t"))])
def test_compressed_files(tmp_path: Path, name: str, content: bytes, ending: str) -> None:
    path = tmp_path / (name + ending)
    path.write_bytes(COMPRESS[ending](content))
    assert load(path).table.to_pylist() == ROWS
    assert notes(path) == ()
    # Two compressed files one after the other are one.
    path.write_bytes(COMPRESS[ending](content[:10]) + COMPRESS[ending](content[10:]))
    assert load(path).table.to_pylist() == ROWS


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_file_that_is_cut_off(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.csv{ending}"
    content = COMPRESS[ending](os.urandom(100_000))
    path.write_bytes(content[:50_000])
    error = refused(path)
    name = {".gz": "gzip", ".bz2": "bzip2", ".zst": "Zstandard", ".xz": "xz"}[ending]
    assert error.code == "cut-off"
    assert str(error) == f"{path} is cut off: its {name} data end early\n  hint: copy or download it again"


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_file_that_is_not_compressed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(CSV * 100)
    error = refused(path)
    name = {".gz": "gzip", ".bz2": "bzip2", ".zst": "Zstandard", ".xz": "xz"}[ending]
    assert (error.code, error.message) == ("wrong-format", f"{path} is not a {name} file, or it is damaged")


def test_files_of_one_folder_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_bytes(b"time,a\n1,x\n")
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"time,a\n2,y\n"))
    assert load(tmp_path).table.to_pylist() == ROWS


# ── delimiters, headers, encodings ──


@pytest.mark.parametrize(("mark", "shown"), [(";", "';'"), ("\t", "tabs"), ("|", "'|'")])
def test_delimiters_are_guessed_by_the_header(tmp_path: Path, mark: str, shown: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,a\n1,x\n2,y\n".replace(",", mark))
    assert load(path).table.to_pylist() == ROWS
    assert notes(path) == (f"{path}: its fields are separated by {shown}, not by commas",)
    assert notes(path, delimiter=mark) == ()


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("time,a;b;c\n1,x\n", ["time", "a;b;c"]),
        ("time;a,b\n1;2\n", ["time", "a,b"]),
        ('time;"a,b,c,d"\n1;2\n', ["time", "a,b,c,d"]),
        ("time\n1\n", ["time"]),
        ("time,a\n1;2;3\n", ["time", "a"]),
        ("time;a|b\n1;2|3\n", ["time", "a|b"]),
        ("", []),
    ],
)
def test_a_guess_needs_a_row_that_fits(tmp_path: Path, text: str, columns: list[str]) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert list(read_raw(tmp_path / "t.csv", "ticks").names) == columns


def test_given_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time:a\n1:x\n2:y\n")
    assert load(path, delimiter=":").table.to_pylist() == ROWS
    for mark in ("::", "", "\n", "é", '"'):
        error = refused(path, delimiter=mark)
        assert error.code == "bad-delimiter"
        assert error.message == f"{mark!r} cannot separate fields"
        assert error.hint == "give one ASCII character, such as ';' or '\\t'"


def test_files_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,x\n2,y\n3\n")
    loaded = load(path, columns=("time", "a"))
    assert loaded.table.to_pylist() == ROWS
    assert [(bad.row, bad.reason) for bad in loaded.quarantined] == [(3, "expected 2 fields, found 1")]
    assert str(refused(path, columns=("time", "a", "b"))) == (
        f"{path}: 3 columns are named, but its first line has 2 fields\n  hint: name every field of the file, in order"
    )
    assert refused(path, columns=("time", "time")).message == f"{path}: the header names 'time' twice"


def test_columns_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",time,a,\n0,1,x,\n1,2,y,\n")
    assert load(path).table.to_pylist() == [{"column_1": number, **row} for number, row in enumerate(ROWS)]
    assert notes(path) == (f"{path}: a column without a name is called column_1",)


def test_decimal_commas_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time;price;code\n1;1,5;a,b\n2;2;c\n")
    loaded = load(path)
    assert loaded.schema.attributes["price"] is Type.STRING
    assert notes(path)[1:] == (f"{path}: 'price' has decimal commas, such as '1,5', and is read as STRING",)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_encodings(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / name
    text = "time,a\n1,é\n" if name == "t.csv" else '{"time": 1, "a": "é"}\n'
    path.write_bytes(text.encode(encoding))
    assert load(path, encoding=encoding).table.to_pylist() == [{"time": 1, "a": "é"}]


def test_a_byte_order_mark_tells_utf16(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("time,a\n1,é\n".encode("utf-16"))
    assert load(path).table.to_pylist() == [{"time": 1, "a": "é"}]
    assert notes(path) == (f"{path}: read as UTF-16, by its byte order mark",)
    path.write_bytes("time,a\n1,é\n".encode("utf-16")[:-1])
    assert refused(path).message == f"{path} is not UTF-16: truncated data at byte 23"


def test_unknown_encodings(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(CSV)
    for name in ("latin-99", "rot13", "base64"):
        error = refused(tmp_path / "t.csv", encoding=name)
        assert (error.code, error.message) == ("unknown-encoding", f"unknown encoding '{name}'")


# ── formats ──


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("events", CSV, "CSV"),
        ("events.dat", b" " + JSON, "JSON lines"),
        ("events.txt", CSV, "CSV"),
        ("events.log", JSON, "JSON lines"),
        ("events.dat.gz", gzip.compress(CSV), "CSV"),
    ],
)
def test_unknown_endings_are_guessed_by_content(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert load(tmp_path / name).table.to_pylist() == ROWS
    assert notes(tmp_path / name) == (f"{tmp_path / name}: read as {kind}, by its content",)


def test_parquet_by_its_content(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "events")
    assert load(tmp_path / "events").table.to_pylist() == ROWS
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "events.pq")
    assert notes(tmp_path / "events.pq") == ()


def test_a_given_format_replaces_the_ending(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(CSV)
    assert load(tmp_path / "events.jsonl", format="csv").table.to_pylist() == ROWS
    assert load(tmp_path, format="csv").table.to_pylist() == ROWS
    error = refused(tmp_path / "events.jsonl", format="cvs")
    assert str(error) == "unknown format 'cvs'\n  hint: did you mean 'csv'?"


@pytest.mark.parametrize("ending", [".xlsx", ".xls", ".ods"])
def test_spreadsheets_are_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"ticks{ending}"
    path.write_bytes(b"PK\x03\x04")
    assert str(refused(path)) == f"{path}: spreadsheets are not read\n  hint: save the sheet as CSV"


@pytest.mark.parametrize(
    ("name", "content"), [("t.avro", b"Obj\x01"), ("t.orc", b"ORC"), ("t", b"Obj\x01"), ("t", b"ORC")]
)
def test_formats_that_only_spark_reads(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    kind = "Avro" if content == b"Obj\x01" else "ORC"
    assert needs_spark(path)
    assert str(refused(path)) == (f"{path}: only Spark reads {kind} data\n  hint: use --engine spark (engine='spark')")


def test_tables_that_only_spark_reads(tmp_path: Path) -> None:
    assert refused("table:logins").message == "logins: only Spark reads a table of Spark's catalog"
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "iceberg" / "metadata").mkdir(parents=True)
    (tmp_path / "iceberg" / "metadata" / "v1.metadata.json").write_text("{}")
    assert refused(tmp_path / "delta").message == f"{tmp_path / 'delta'}: only Spark reads Delta data"
    assert refused(tmp_path / "iceberg").message == f"{tmp_path / 'iceberg'}: only Spark reads Iceberg data"
    assert not needs_spark([{"time": 1}])


# ── folders and patterns ──


def test_folders_with_folders(tmp_path: Path) -> None:
    for name, time in (("b/1.csv", 2), ("a/x/1.csv", 1), ("c.csv", 3), (".git/1.csv", 9), ("_tmp/1.csv", 9)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"time\n{time}\n")
    assert load(tmp_path).table.to_pylist() == [{"time": 1}, {"time": 2}, {"time": 3}]


def test_patterns(tmp_path: Path) -> None:
    for name, time in (("logs/b.csv", 2), ("logs/a.csv", 1), ("logs/x/c.csv", 3), ("logs/_a.csv", 9), ("n.csv", 9)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"time\n{time}\n")
    (tmp_path / "logs" / "notes.md").write_text("no events")

    def times(pattern: str) -> list[int]:
        return [row["time"] for row in load(f"{tmp_path}/{pattern}").table.to_pylist()]

    assert times("logs/*.csv") == [1, 2]
    assert times("logs/[b]*") == [2]
    assert times("logs/**/*.csv") == [1, 2, 3]
    assert times("logs/**") == [1, 2, 3]
    assert times("l*/*") == [1, 2, 3]
    assert times("l*") == [1, 2, 3]
    assert str(refused(tmp_path / "logs" / "*.jsonl")) == f"no file matches '{tmp_path}/logs/*.jsonl'"
    (tmp_path / "logs" / "d.jsonl").write_text("")
    assert refused(tmp_path / "logs" / "*").code == "mixed-folder"


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "t[1].csv").write_bytes(CSV)
    (tmp_path / "t1.csv").write_text("time\n9\n")
    assert load(tmp_path / "t[1].csv").table.to_pylist() == ROWS


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_hive_style_folders(tmp_path: Path, kind: str) -> None:
    row = {"time": 1, "month": "file"}
    for year, month, place in ((2023, "12", "S%C3%A3o Paulo"), (2024, "01", "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"year={year}" / f"month={month}" / f"place={place}"
        folder.mkdir(parents=True)
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist([row]), folder / "a.parquet")
        else:
            (folder / f"a.{kind}").write_text(
                "time,month\n1,file\n" if kind == "csv" else '{"time": 1, "month": "f"}\n'
            )
    loaded = load(tmp_path)
    assert loaded.table.to_pylist() == [
        {"time": 1, "month": "12", "year": 2023, "place": "São Paulo"},
        {"time": 1, "month": "01", "year": 2024, "place": None},
    ]
    declared = StreamDeclaration("ticks", {"year": Type.INT, "month": Type.INT}, "time")
    assert read(tmp_path, declared).table.to_pylist() == [
        {"year": 2023, "month": 12, "time": 1},
        {"year": 2024, "month": 1, "time": 1},
    ]
    matched = load(f"{tmp_path}/year=*/month=01/**/*").table.to_pylist()
    assert [(row["year"], row["month"]) for row in matched] == [(2024, "01")]


def test_file_addresses(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_bytes(CSV)
    assert load(path.as_uri()).table.to_pylist() == ROWS
    assert str(refused(path.as_uri().replace("a%20b", "none"))) == f"there is no file '{tmp_path}/none.csv'"


@pytest.mark.parametrize(("scheme", "packages"), [("s3a", "fsspec s3fs"), ("gs", "fsspec gcsfs"), ("odd", "fsspec")])
def test_addresses_without_a_package(monkeypatch: pytest.MonkeyPatch, scheme: str, packages: str) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert str(refused(f"{scheme}://bucket/t.csv")) == (
        f"cannot read '{scheme}://bucket/t.csv': no package for {scheme}:// is installed\n"
        f"  hint: pip install {packages}, or use --engine spark (engine='spark') where Spark reads it"
    )
    assert needs_spark(f"{scheme}://bucket/t.csv")


def test_addresses_through_fsspec() -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    rows = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(ROWS), rows)
    for name, content in (
        ("/logs/year=2024/a.csv", b"time,a\n1,x\n"),
        ("/logs/year=2025/b.csv.gz", gzip.compress(b"time,a\n2,y\n")),
        ("/logs/_temporary/c.csv", b"time\n9\n"),
        ("/rows.parquet", rows.getvalue().to_pybytes()),
    ):
        memory.pipe_file(name, content)
    with_year = [{**ROWS[0], "year": 2024}, {**ROWS[1], "year": 2025}]
    assert load("memory://logs").table.to_pylist() == with_year
    assert load("memory://logs/*/*.csv*").table.to_pylist() == with_year
    assert load("memory://rows.parquet").table.to_pylist() == ROWS
    assert str(refused("memory://logs/none.csv")) == "there is no file 'memory://logs/none.csv'"
    assert str(refused("memory://none/*.csv")) == "no file matches 'memory://none/*.csv'"
    assert refused("odd://x/y.csv").hint == "Protocol not known: odd"


# ── standard input and pipes ──


@pytest.mark.parametrize(("content", "kind"), [(CSV, "CSV"), (JSON, "JSON lines"), (gzip.compress(CSV), "CSV")])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes, kind: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    raw = read_raw("-", "ticks")
    assert raw.notes == (f"standard input: read as {kind}, by its content",)
    assert raw.rows == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert load("-").table.to_pylist() == ROWS


def test_standard_input_for_two_streams() -> None:
    text = "SUBSCRIBE s FROM a, b MATCH x"
    with pytest.raises(InputError) as caught:
        ft.run(text, {"a": "-", "b": "-"}, time={"a": "time", "b": "time"}, engine="embedded")
    assert str(caught.value) == "'a' and 'b' both read standard input\n  hint: give one of them a file"


def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "events"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(CSV,))
    writer.start()
    assert load(path).table.to_pylist() == ROWS
    writer.join()


def test_listing_reads_nothing_of_files_with_known_endings(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    listing = input_files(tmp_path)
    assert (listing.format, [file.path for file in listing.files]) == ("CSV", [str(tmp_path / "a.csv")])
    assert listing.files[0].size() == len(CSV)
