"""Missing columns: an error before the first notification, or a note where they are allowed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.events.ingest.read_options import ReadOptions

DECLARED = "STREAM s (k STRING, v INT) TIME time ID id; SUBSCRIBE m FROM s MATCH a;"
OPEN = "SUBSCRIBE m FROM s MATCH a;"
ALLOWED = ReadOptions(missing_columns=True)
ALLOW = "allow it with --missing-columns, or ReadOptions(missing_columns=True)"


def write(folder: Path, kind: str, files: dict[str, list[dict[str, object]]]) -> Path:
    folder = folder / kind
    folder.mkdir()
    for name, rows in files.items():
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        elif kind == "csv":
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            path.write_text("\n".join(lines) + "\n")
        else:
            path.write_text("".join(str(row).replace("'", '"') + "\n" for row in rows))
    return folder


def run(text: str, source: object, read: ReadOptions | None = None, engine: str = "embedded") -> ft.Notifications:
    time = None if "STREAM" in text else {"s": "time"}
    return ft.run(text, {"s": source}, time=time, read=read, engine=engine)


FULL: dict[str, object] = {"time": 1, "id": 1, "k": "a", "v": 2}


@pytest.mark.parametrize("name", ["k", "id"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_declared_column_that_no_event_has(tmp_path: Path, kind: str, name: str) -> None:
    rows = [{n: value for n, value in FULL.items() if n != name}]
    folder = write(tmp_path, kind, {"a": rows})
    says = f"{folder}/a.{kind}: no {'event has the ' if kind == 'jsonl' else ''}column '{name}'"
    with pytest.raises(ft.InputError) as caught:
        run(DECLARED, folder)
    assert (caught.value.code, caught.value.message) == ("missing-column", says)
    found = run(DECLARED, folder, ALLOWED)
    assert found.notes == (f"{says}: it is NULL",)
    assert [n.events for n in found] == [{"a": 0 if name == "id" else 1}]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("text", [DECLARED, OPEN])
def test_files_whose_columns_differ(tmp_path: Path, kind: str, text: str) -> None:
    files = {
        "a": [FULL],
        "b": [{n: value for n, value in FULL.items() if n != "v"}],
        "c": [dict(reversed(FULL.items()))],
    }
    folder = write(tmp_path, kind, files)
    says = f"{folder}/b.{kind}: no column 'v', which {folder}/a.{kind} has"
    with pytest.raises(ft.InputError) as caught:
        run(text, folder)
    assert (caught.value.message, caught.value.hint) == (says, ALLOW)
    found = run(text, folder, ALLOWED)
    assert found.notes == (f"{says}: it is NULL there",)
    assert len(found) == 3


def test_columns_that_nobody_reads_may_differ(tmp_path: Path) -> None:
    folder = write(tmp_path, "csv", {"a": [FULL], "b": [{**FULL, "w": 1}]})
    assert run(DECLARED, folder).notes == ()


def test_several_files_without_a_column_are_one_note(tmp_path: Path) -> None:
    short = [{n: value for n, value in FULL.items() if n != "v"}]
    folder = write(tmp_path, "csv", {"a": [FULL], "b": short, "c": short, "d": short})
    (note,) = run(DECLARED, folder, ALLOWED).notes
    assert note == f"{folder}/b.csv: no column 'v', which {folder}/a.csv has, nor have 2 other files: it is NULL there"


def test_json_events_may_lack_an_attribute(tmp_path: Path) -> None:
    folder = write(tmp_path, "jsonl", {"a": [FULL], "b": [{"time": 2, "id": 2}]})
    assert len(run(DECLARED, folder)) == 2


def test_without_events_nothing_is_missing(tmp_path: Path) -> None:
    assert run(DECLARED, []).notes == ()
    (tmp_path / "s.csv").write_text("")
    (tmp_path / "s.jsonl").write_text("")
    for name in ("s.csv", "s.jsonl"):
        assert run(DECLARED, tmp_path / name).summary.events == {"s": 0}


def test_the_time_is_never_optional(tmp_path: Path) -> None:
    with pytest.raises(ft.InputError) as caught:
        run(DECLARED, [{"id": 1, "k": "a", "v": 2}], ALLOWED)
    assert caught.value.message == "s: no event has the time column 'time'"


def test_a_push_may_lack_what_later_ones_have() -> None:
    engine = ft.Engine("STREAM s (k STRING, v INT, time INT) TIME time; SUBSCRIBE m FROM s MATCH a DEFINE a AS v = 1;")
    assert len(engine.push("s", [{"time": 1, "k": "a"}])) == 0
    assert len(engine.push("s", [{"time": 2, "v": 1}])) == 1
    assert [event.reason for event in engine.push("s", [{"v": 1}]).bad] == ["no time"]
    with pytest.raises(ft.InputError, match="s: no column 'k'"):
        engine.push("s", pa.table({"time": [3], "v": [1]}))


def test_a_place_in_a_list_may_be_beyond_all_of_them() -> None:
    text = 'STREAM s ("at[3]" FLOAT, "on[0]" FLOAT) TIME time; SUBSCRIBE m FROM s MATCH a;'
    assert len(run(text, [{"time": 1, "at": [1.5], "on": [2.5]}])) == 1
    with pytest.raises(ft.InputError, match=r"s: no event has the column 'on\[0\]'"):
        run(text, [{"time": 1, "at": [1.5]}])


def test_a_file_without_a_header(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("2026-03-01,1,a,2\n2026-03-02,2,b,3\n")
    for text in (DECLARED, "SUBSCRIBE m FROM s MATCH a DEFINE a AS temp > 3;"):
        with pytest.raises(ft.ForetellError, match="if the file has no header, name its columns: --columns NAME"):
            run(text, file)
    named = ReadOptions(columns=("time", "id", "k", "v"))
    assert len(run(DECLARED, file, named)) == 2
