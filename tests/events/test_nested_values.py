"""JSON arrays and objects over several lines; nested objects, structs and lists as attributes by paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.connectors.mqtt.payloads import message_table
from foretell.connectors.mqtt.spool import SpooledMessage
from foretell.errors import InputError, LanguageError
from foretell.events.ingest.json_lines import read_json_lines
from foretell.events.ingest.nested_paths import name_of, path_of
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.types import Type

OPEN = StreamDeclaration("s", {}, "time", open=True)
ROWS: list[Any] = [
    {"time": 1, "user": {"name": "ann", "tags": ["a", "b"]}, "at": [1.5, 2.5]},
    {"time": 2, "user": {"name": None, "tags": []}, "at": None},
    {"time": 3, "user": None, "at": [3.5]},
]


def load(folder: Path, content: bytes, declaration: StreamDeclaration = OPEN) -> EventBatch:
    path = folder / "events.json"
    path.write_bytes(content)
    return read(path, declaration)


def reasons(batch: EventBatch) -> list[tuple[int, str, str]]:
    return [(bad.row, bad.reason, bad.raw) for bad in batch.quarantined]


# ── files that are no JSON lines ──


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_objects(tmp_path: Path, indent: int | None) -> None:
    content = json.dumps([{"time": 1, "a": "x"}, 5, {"time": 2, "a": None}, {"a": "y"}], indent=indent).encode()
    batch = load(tmp_path, b"\xef\xbb\xbf\n " + content + b"\n")
    assert batch.table.to_pylist() == [{"time": 1, "a": "x"}, {"time": 2, "a": None}]
    assert reasons(batch) == [(2, "not a JSON object", "5"), (4, "no time", '{"a": "y"}')]


def test_an_array_with_nan_and_an_empty_one(tmp_path: Path) -> None:
    batch = load(tmp_path, b'[{"time": 1, "a": NaN}, {"time": 2, "a": 1.5}]')
    assert batch.table["a"].to_pylist() == [None, 1.5]
    assert load(tmp_path, b"[]").total == 0


def test_objects_over_several_lines(tmp_path: Path) -> None:
    content = b'{\n  "time": 1\n}\n{\n  "time": 2}{"time": 3}\nodd\n  text\n{"time": 4}\n[1]\n{"time":\n'
    batch = load(tmp_path, content)
    assert batch.table["time"].to_pylist() == [1, 2, 3, 4]
    assert reasons(batch) == [
        (6, "not JSON", "odd\n  text"),
        (9, "not a JSON object", "[1]"),
        (10, "not JSON", '{"time":'),
    ]


def test_lines_stay_lines(tmp_path: Path) -> None:
    batch = load(tmp_path, b'{oops\n{"time": 1}\n')
    assert reasons(batch) == [(1, "not JSON", "{oops")]
    batch = load(tmp_path, b'[1, 2]\n{"time": 1}\n')
    assert reasons(batch) == [(1, "not a JSON object", "[1, 2]")]


@pytest.mark.parametrize("content", [b"[1, 2", b'[{"time": 1}', b'"text"\n', b"time,price\n1,2\n"])
def test_files_that_are_not_json(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, content)
    assert str(caught.value) == (
        f"{tmp_path}/events.json is not JSON: no line is an object, and it is no array of objects\n"
        '  hint: write an object a line, such as {"time": 1, "price": 2.5}'
    )


# ── paths ──


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("user.name", ("user", "name")),
        ("a[0][12].b c", ("a", 0, 12, "b c")),
        ("price", None),
        (".a", None),
        ("a.", None),
        ("a..b", None),
        ("[0]", None),
        ("a[x]", None),
        ("a[-1]", None),
        ("a[0]b", None),
    ],
)
def test_paths(name: str, path: tuple[str | int, ...] | None) -> None:
    assert path_of(name) == path
    assert path is None or name_of(path) == name


def sources(folder: Path) -> list[object]:
    lines, parquet = folder / "events.jsonl", folder / "events.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, parquet)
    return [ROWS, lines, table, parquet, table.to_pandas(), pa.concat_tables([table.slice(0, 1), table.slice(1)])]


def test_declared_paths(tmp_path: Path) -> None:
    types = {"user.name": Type.STRING, "user.tags[1]": Type.STRING, "at[0]": Type.FLOAT, "at[7]": Type.FLOAT}
    for source in sources(tmp_path):
        batch = read(source, StreamDeclaration("s", types, "time"))
        assert batch.table.to_pylist() == [
            {"user.name": "ann", "user.tags[1]": "b", "at[0]": 1.5, "at[7]": None, "time": 1},
            {"user.name": None, "user.tags[1]": None, "at[0]": None, "at[7]": None, "time": 2},
            {"user.name": None, "user.tags[1]": None, "at[0]": 3.5, "at[7]": None, "time": 3},
        ]


def test_undeclared_scalars_are_attributes_by_their_paths(tmp_path: Path) -> None:
    for source in sources(tmp_path):
        batch = read(source, OPEN)
        shown = {name: kind for name, kind in batch.schema.attributes.items() if batch.table[name].null_count < 3}
        assert shown == {
            "time": Type.INT,
            "user.name": Type.STRING,
            "user.tags[0]": Type.STRING,
            "user.tags[1]": Type.STRING,
            "at[0]": Type.FLOAT,
            "at[1]": Type.FLOAT,
        }
        assert batch.table["user.tags[0]"].to_pylist() == ["a", None, None]
        assert batch.table["at[1]"].to_pylist() == [2.5, None, None]


def test_depth_and_number_of_undeclared_attributes() -> None:
    deep = {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}, "x": {"y": {"z": {"w": 5}}}, "l": list(range(20))}
    names = read([{"time": 1, **deep}], OPEN).table.column_names
    assert names == ["time", "x.y.z.w", *(f"l[{n}]" for n in range(8))]
    many = read([{"time": 1, "m": {f"k{n}": n for n in range(300)}}], OPEN)
    assert len(many.table.column_names) == 257
    assert many.notes == ("s: only the first 256 nested attributes are read; declare the ones that you need",)


def test_a_key_that_is_spelled_like_a_path_comes_first() -> None:
    rows = [{"time": 1, "a.b": "key", "a": {"b": "path"}}, {"time": 2, "a": {"b": "path"}}]
    for declaration in (OPEN, StreamDeclaration("s", {"a.b": Type.STRING}, "time")):
        assert read(rows, declaration).table["a.b"].to_pylist() == ["key", "path"]


def test_a_nested_time() -> None:
    batch = read([{"meta": {"at": "2024-03-01"}}], StreamDeclaration("s", {}, "meta.at", open=True))
    assert batch.schema.time_type is Type.TIMESTAMP
    with pytest.raises(
        InputError, match=r"s: no event has the time column 'meta.ta'\n  hint: did you mean 'meta.at'\?"
    ):
        read([{"meta": {"at": 1}}], StreamDeclaration("s", {}, "meta.ta", open=True))


def test_an_object_is_no_text(tmp_path: Path) -> None:
    for source in sources(tmp_path):
        with pytest.raises(InputError) as caught:
            read(source, StreamDeclaration("s", {"user": Type.STRING}, "time"))
        assert str(caught.value).startswith(
            'user is an object, not STRING\n  hint: use its parts: "user.name", "user.tags[0]", "user.tags[1]"'
        )
        with pytest.raises(InputError, match=r'^at is a list, not FLOAT\n  hint: use its parts: "at\[0\]", "at\[1\]"'):
            read(source, StreamDeclaration("s", {"at": Type.FLOAT}, "time"))


@pytest.mark.parametrize(
    ("condition", "message", "hint"),
    [
        ("user = 'ann'", "'user' is an object", 'use its parts: "user.name", "user.tags[0]", "user.tags[1]"'),
        ("at > 1", "'at' is a list", 'use its parts: "at[0]", "at[1]"'),
    ],
)
def test_an_object_in_a_condition(condition: str, message: str, hint: str) -> None:
    with pytest.raises(LanguageError) as caught:
        ft.run(f"SUBSCRIBE m FROM s MATCH a DEFINE a AS {condition};", {"s": ROWS}, time={"s": "time"})
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_path_of_a_declared_stream_needs_quotes() -> None:
    text = 'STREAM s ("user.name" STRING) TIME time; SUBSCRIBE m FROM s MATCH a DEFINE a AS user.name = 1;'
    with pytest.raises(LanguageError) as caught:
        ft.run(text, {"s": ROWS})
    assert caught.value.message == "unknown step 'user'"
    assert caught.value.hint == 'write the parts of an object in double quotes: "user.name"'


def test_messages_have_nested_fields() -> None:
    messages = [(0, SpooledMessage("t", b'{"user": {"name": "ann"}}', 0))]
    table = message_table(messages, {"user.name": Type.STRING})
    assert table["user.name"].to_pylist() == ["ann"]


def test_rows_and_names_of_a_part_of_a_file() -> None:
    raw = read_json_lines([("a.jsonl", b"odd\n")], None, whole=False)
    assert (raw.rows, len(raw.rejected)) == (0, 1)
