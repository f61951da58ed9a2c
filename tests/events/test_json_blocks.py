"""JSON lines that are decoded in blocks, compared with the same lines decoded one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.errors import InputError
from foretell.events.ingest import json_lines
from foretell.events.ingest.formats import FetchedFiles
from foretell.events.ingest.input_files import JSON_LINES, InputFile, InputFiles
from foretell.events.ingest.json_blocks import BlockDecoder, JsonRows
from foretell.events.ingest.json_columns import JsonColumn
from foretell.events.ingest.json_lines import read_json_lines
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.raw_columns import RawColumn, RawTable
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import StreamDeclaration, read, reading_notes
from foretell.events.ingest.type_evidence import evidence_of
from foretell.events.types import Type

#: What one line may have for each attribute: mostly values of one type, so that blocks are decoded at once.
_ORDINARY = {
    "t": ["1", "2", "3", "1700000000", "1700000001"],
    "i": ["0", "7", "-5", "null", "9223372036854775807"],
    "f": ["0.5", "-1e5", "2", "null", "1e-7", "9007199254740993"],
    "s": ['"a"', '"é"', '"NA"', '""', "null", '"7"', '"\\u00e9\\n"', '"2024-01-01T00:00:00Z"', '"01/02/2024 10:00"'],
    "b": ["true", "false", "null"],
    "n": ['{"x":1,"y":["a"]}', '{"x":2}', "{}", "[]", "null"],
    "n.x": ["5", "null"],
}
#: Values that belong nowhere.
_STRAY = ['"x"', "1.5", "12", "true", "[1]", "99999999999999999999", "1e999", "NaN", "-Infinity", '"\\ud800"', "007"]
_STRAY += ["1" + "0" * 400, '"a\tb"', '"a\\u0000"', "-0", "1.0", '{"x":{"y":1}}', '"-"', "tru", ""]
_BROKEN = [b"", b"  ", b"[]", b"5", b"null", b"{", b"}", b'{"t":1}{"t":2}', b'{"t":\n1}', b"{}", b"\xff", b'{"t":1} x']
_BROKEN += [b'{"t":1,}', b'{"t":1,"t":2}', b'\t{"t":1}', b'{"t":1} ', b'{"new":1}', b'{"a\\"b":1}', b'{"\\ud800":1}']
_BROKEN += [
    b"\0",
    b'{"t":"\xff"}',
    b'{"\xff":1}',
    b'{"t":[}\n{]}',
    b'{"i":{}',
    b'"}',
    b'{"s":"}',
    b"[1,2",
    b'{"t":1}\r',
]


@st.composite
def _lines(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 19)) == 0:
        return draw(st.sampled_from(_BROKEN))
    names = draw(st.lists(st.sampled_from(list(_ORDINARY)), max_size=5, unique=True))
    stray = draw(st.integers(0, 14)) == 0
    fields = [(name, draw(st.sampled_from(_STRAY if stray else _ORDINARY[name]))) for name in names]
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}").encode()


files = st.lists(_lines(), min_size=1, max_size=60).flatmap(
    lambda found: st.sampled_from([b"\n", b"\n", b"\r\n"]).map(lambda end: end.join(found) + end)
)
wanted = st.none() | st.frozensets(st.sampled_from([*_ORDINARY, "n.y[0]", "missing", "i.x"]), max_size=4)


@contextmanager
def block_bytes(most: int, least: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "_MOST_BYTES", most)
        patch.setattr(json_lines, "_LEAST_BYTES", least)
        yield


@contextmanager
def line_by_line() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BlockDecoder, "decode", lambda *_: None)
        yield


def comparable(value: object) -> object:
    """A value that differs from every other: 1 is not 1.0, NaN is NaN."""
    if isinstance(value, float):
        return "float", "nan" if math.isnan(value) else repr(value)
    return type(value).__name__, repr(value)


def outcome(ask: Callable[[], object]) -> object:
    """What a call gives, also an error."""
    try:
        return comparable(ask())
    except (InputError, UnicodeEncodeError) as error:
        return "error", str(error)


def cast_answer(column: RawColumn, kind: Type) -> object:
    cast = column.cast(kind)
    values = cast.values.cast(pa.int64()) if kind is Type.TIMESTAMP else cast.values
    return [comparable(value) for value in values.to_pylist()], dict(cast.misfits), cast.notes


def column_answers(column: RawColumn, rows: int) -> list[object]:
    """All that a column says of itself."""
    answers = [outcome(column.infer_type), outcome(column.infer_time_type), outcome(column.time_texts)]
    answers += [column.number_bounds(), column.as_texts().to_pylist()]
    answers += [comparable(column.value(position)) for position in range(rows)]
    kinds = (Type.BOOL, Type.INT, Type.FLOAT, Type.STRING, Type.TIMESTAMP)
    return [*answers, *(outcome(partial(cast_answer, column, kind)) for kind in kinds)]


def answers_of(raw: RawTable) -> object:
    origins = [(o.source, list(o.numbers), [o.raw(row) for row in range(len(o.numbers))]) for o in raw.origins]
    rejected = [(row.before, row.source, row.row, row.reason, row.raw) for row in raw.rejected]
    columns = {name: column_answers(column, raw.rows) for name, column in raw.columns.items()}
    evidence = comparable(evidence_of("a", raw, texts=False))
    return list(raw.names), list(columns.items()), origins, rejected, raw.notes, raw.total, evidence


@settings(max_examples=300, deadline=None)
@given(st.lists(files, min_size=1, max_size=2), wanted, st.sampled_from([(64, 16), (400, 100), (1 << 20, 8)]))
def test_blocks_give_the_same_columns(
    contents: list[bytes], names: frozenset[str] | None, sizes: tuple[int, int]
) -> None:
    def ask() -> object:
        named = [(f"{number}.jsonl", content) for number, content in enumerate(contents)]
        return answers_of(read_json_lines(named, names, whole=False))

    with line_by_line():
        expected = ask()
    with block_bytes(*sizes):
        assert ask() == expected


@settings(max_examples=150, deadline=None)
@given(files, st.sampled_from(["t", "s", "f"]), st.sampled_from([(), ("NA", 7)]), st.booleans())
def test_blocks_give_the_same_events(content: bytes, time: str, nulls: tuple[Any, ...], is_open: bool) -> None:
    declared = {} if is_open else {"i": Type.INT, "f": Type.STRING, "n.x": Type.INT, "b": Type.UNKNOWN}
    declaration = StreamDeclaration("s", declared, time, open=is_open, read=ReadOptions(nulls=nulls))
    source = FetchedFiles(InputFiles("a.jsonl", JSON_LINES, [InputFile("a.jsonl")]), {"a.jsonl": content})

    def ask() -> object:
        try:
            batch = read(source, declaration)
        except InputError as error:
            return str(error)
        rows = [[comparable(value) for value in column.to_pylist()] for column in batch.table.columns]
        return batch.schema, rows, batch.quarantined, batch.nulled, batch.total, reading_notes(batch), batch.times

    with line_by_line():
        expected = ask()
    with block_bytes(64, 16):
        assert ask() == expected


def numbered(count: int, value: Callable[[int], str]) -> bytes:
    return "".join(f'{{"t":{n},"v":{value(n)}}}\n' for n in range(count)).encode()


def column_of(content: bytes, name: str = "v") -> RawColumn:
    return read_json_lines([("a.jsonl", content)], None).columns[name]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (str, Type.INT),
        (lambda n: f"{n}.5", Type.FLOAT),
        (lambda n: str(n) if n % 7 else "0.5", Type.FLOAT),
        (lambda n: f'"{n}"', Type.STRING),
        (lambda n: "true", Type.BOOL),
        (lambda n: "null" if n % 3 else str(n), Type.INT),
        (lambda n: str(n) if n < 9_000 else "0.5", Type.FLOAT),
    ],
)
def test_long_files_have_typed_columns(value: Callable[[int], str], kind: Type) -> None:
    column = column_of(numbered(10_000, value))
    assert isinstance(column, JsonColumn)
    assert column.infer_type() is kind


def test_one_malformed_line_leaves_the_columns_typed() -> None:
    content = numbered(20_000, str).replace(b'"t":15000,', b'"t":15000;')
    raw = read_json_lines([("a.jsonl", content)], None)
    assert all(isinstance(column, JsonColumn) for column in raw.columns.values())
    assert [(row.before, row.row, row.reason) for row in raw.rejected] == [(15_000, 15_001, "not JSON")]
    assert raw.place(15_000) == ("a.jsonl", 15_002)


def test_one_stray_value_makes_a_column_of_python_values() -> None:
    column = column_of(numbered(20_000, lambda n: '"dear"' if n == 15_000 else str(n)))
    assert isinstance(column, PythonColumn)
    assert column.values == [*range(15_000), "dear", *range(15_001, 20_000)]


def test_a_float_that_is_written_as_a_whole_number_stays_one() -> None:
    column = column_of(numbered(10_000, lambda n: str(n) if n % 2 else f"{n}.5"))
    assert isinstance(column, JsonColumn)
    assert column.value(9_999) == 9_999
    assert type(column.value(9_999)) is int
    assert len(column.cast(Type.INT).misfits) == 5_000


def test_hundreds_of_attributes() -> None:
    content = b"".join(b'{"t":%d,"v%d":1}\n' % (n, n % 400) for n in range(5_000))
    raw = read_json_lines([("a.jsonl", content)], None)
    assert len(raw.names) == 401
    assert raw.columns["v7"].cast(Type.INT).values.null_count == 5_000 - 13


@pytest.mark.parametrize(
    ("content", "at_once"),
    [
        (b'{"t":1}\n{"t":2}\n', True),
        (b'{"t":1}\r\n{"t":2}', True),
        (b'{"n":{"x":1}}\n', True),
        (b'{"n":\n{"x":1}}\n', False),  # two lines that are one object
        (b'{"n":\n{"x":1}}\n{"t":1}{"t":2}\n{"t":3}\n', False),  # as many objects as lines
        (b'{"t":1}{"t":2}\n', False),
        (b'{"t":1}\n\n', False),
        (b'\n{"t":1}\n', False),
        (b'{"t":1} \n', False),
        (b'{"t":1}\n5\n', False),
        (b'{"t":1.5}\n', False),
        (b'{"t":1,"u":1}\n', False),
        (b'{"s":"}\n{"}\n', False),
        (b'{"s":"\xff"}\n', False),
        (b'{"s":"\\ud800"}\n', False),
        (b'{"f":1e999}\n', False),
        (b'{"f":NaN}\n', False),
    ],
)
def test_blocks_that_are_decoded_at_once(content: bytes, at_once: bool) -> None:
    decoder = BlockDecoder(None)
    rows: list[Any] = [{"t": 1, "f": 0.5, "s": "a", "n": {}}]
    decoder.learn(JsonRows(rows, [1], {}, str))
    block = decoder.decode(content, 0, len(content), 1)
    assert (block is not None) == at_once
    if block is not None:
        assert list(block.rows) == [json.loads(line) for line in content.splitlines()]
        assert len(block.numbers) == len(block.rows)
