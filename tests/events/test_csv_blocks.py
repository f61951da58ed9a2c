"""CSV that Arrow parses, compared with Python's own parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.errors import InputError
from foretell.events.ingest import csv_reader
from foretell.events.ingest.csv_blocks import CsvLayout, next_block
from foretell.events.ingest.csv_reader import read_csv
from foretell.events.ingest.raw_columns import RawTable, is_valid_unicode
from foretell.events.ingest.read_options import ReadOptions
from tests.events.csv_oracle import parse

_TOKENS = [b"a", b"1", b"2.5", b"x y", b" ", b'"', b'""', b",", b",", b",", b";", b"\n", b"\n", b"\r\n", b"\r", b"\0"]
_TOKENS += ["é".encode(), b"\xe9", b'"a"', b'"b,c"', b'"d\ne"', b'"f""g"', b"2024-01-01", b"\n\n"]

contents = st.lists(st.sampled_from(_TOKENS), max_size=60).map(b"".join)
#: Files that are mostly as they should be, so that rows come before and after what is not.
rows = st.lists(
    st.one_of(
        st.sampled_from([b"1,a,x\n", b'2,"b,c",y\r\n', b'3,"d\ne",\n', b'4,"f""g",z\n', b"\n", b'5,"",w\n', b",,\n"]),
        st.sampled_from([b"6,a\n", b"7,a,b,c\r\n", b'8,"a" b,c\n', b'9,"a,b\n', b"10,\xe9,a\n", b"11,a\rb,c\n", b"12"]),
    ),
    max_size=30,
).map(b"".join)


def notified(raw: RawTable) -> object:
    texts = {name: column.texts.to_pylist() for name, column in raw.columns.items()}  # type: ignore[attr-defined]
    (origin,) = raw.origins
    numbers = list(origin.numbers)
    assert all(type(number) is int for number in numbers)
    rejected = [(row.before, row.row, row.reason, row.raw) for row in raw.rejected]
    return list(raw.names), texts, numbers, [origin.raw(i) for i in range(raw.rows)], rejected


def expected(content: bytes, delimiter: str = ",") -> object:
    file = parse(content, delimiter)
    last = len(file.header) - 1
    called = [name or (f"column_{n + 1}" if n < last else "") for n, name in enumerate(file.header)]
    named = [(n, name) for n, name in enumerate(called) if name]
    texts = {name: [fields[n] or None for _, fields, _ in file.rows] for n, name in named}
    lines, raws = [row[0] for row in file.rows], [row[2] for row in file.rows]
    return [name for _, name in named], texts, lines, raws, file.rejected


def has_header(content: bytes) -> bool:
    file = parse(content)
    names = [name for name in file.header if name]
    if not file.header:
        return not content.strip(b"\r\n")
    proper = all(is_valid_unicode(name) and "\0" not in name for name in names)
    return proper and len(set(names)) == len(names)


@pytest.fixture(params=[(8, 4), (64, 16), (1 << 20, 1 << 10)], ids=str)
def block_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    most, least = request.param
    monkeypatch.setattr(csv_reader, "_MOST_BYTES", most)
    monkeypatch.setattr(csv_reader, "_LEAST_BYTES", least)


@pytest.mark.usefixtures("block_sizes")
class TestAgainstTheOracle:
    @settings(max_examples=400, deadline=None)
    @given(content=contents)
    def test_any_content(self, content: bytes) -> None:
        options = ReadOptions(delimiter=",")
        if has_header(content):
            assert notified(read_csv([("a.csv", content)], options=options)) == expected(content)
        else:
            with pytest.raises(InputError):
                read_csv([("a.csv", content)], options=options)

    @settings(max_examples=400, deadline=None)
    @given(content=rows, end=st.sampled_from([b"", b"1,2,3", b"\r\n", b'"']), mark=st.sampled_from([",", ";", "\t"]))
    def test_rows_and_bad_records(self, content: bytes, end: bytes, mark: str) -> None:
        content = (b"time,note,\n" + content + end).replace(b",", mark.encode())
        assert notified(read_csv([("a.csv", content)], options=ReadOptions(delimiter=mark))) == expected(content, mark)


@pytest.mark.parametrize(
    ("content", "by_arrow"),
    [
        (b"1,2\n3,4\n", True),
        (b"1,2\r\n3,4", True),
        (b'1,"2\r\n3",4\n', True),
        (b'"",""""\n', True),
        (b"1,2\n3\n4,5,6\n", True),
        ("1,é\n".encode(), True),
        (b'1,"2" \n', False),
        (b'1,2"3\n', False),
        (b'1,"2\n', False),
        (b"1,2\r3,4\n", False),
        (b"1,\xe9\n", False),
    ],
)
def test_the_blocks_that_arrow_parses(content: bytes, by_arrow: bool) -> None:
    assert (next_block(content, 0, 1 << 20, CsvLayout(",", 2, (0, 1))) is not None) == by_arrow


def test_a_bad_record_does_not_slow_down_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the neighbourhood of a record that Arrow cannot parse is parsed record by record."""
    content = b"time,a\n" + b"1,x\n" * 300_000 + b'2,"y" z\n' + b"3,w\n" * 300_000
    exact = csv_reader._exact_part
    parsed: list[int] = []

    def counted(content: bytes, start: int, line: int, layout: CsvLayout) -> object:
        part, end, after = exact(content, start, line, layout)
        parsed.append(end - start)
        return part, end, after

    monkeypatch.setattr(csv_reader, "_exact_part", counted)
    raw = read_csv([("a.csv", content)])
    assert (raw.rows, len(raw.rejected)) == (600_000, 1)
    assert (raw.rejected[0].before, raw.rejected[0].row) == (300_000, 300_002)
    assert sum(parsed) <= 4 * csv_reader._LEAST_BYTES


def test_fields_of_any_length() -> None:
    long = "x" * 9_000_000
    raw = read_csv([("a.csv", f'time,a\n1,{long}\n2,"{long}\n{long}"\n3,"{long}" y\n'.encode())])
    texts = raw.columns["a"].texts.to_pylist()  # type: ignore[attr-defined]
    assert [len(text) for text in texts] == [9_000_000, 18_000_001]
    assert [(row.row, row.reason) for row in raw.rejected] == [(5, "not CSV: ',' expected after '\"'")]


def test_only_wanted_columns_are_read() -> None:
    raw = read_csv([("a.csv", b"time,a,b\n1,2,3\n4,5\n")], frozenset({"b", "time", "nowhere"}))
    assert list(raw.names) == ["time", "a", "b"]
    assert list(raw.columns) == ["time", "b"]
    assert (raw.rows, raw.rejected[0].raw) == (1, "4,5")
    raw = read_csv([("a.csv", b"time,a\n1,2\n")], frozenset({"nowhere"}))
    assert (raw.rows, list(raw.columns)) == (1, [])
