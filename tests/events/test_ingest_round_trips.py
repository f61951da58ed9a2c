"""The same events give the same table from every format; no event is lost."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.typed_table import scalar_rows
from foretell.events.types import Type, format_timestamp, parse_timestamp

DECLARED = StreamDeclaration(
    "s",
    {"b": Type.BOOL, "i": Type.INT, "f": Type.FLOAT, "s": Type.STRING, "t": Type.TIMESTAMP},
    "time",
    read=ReadOptions(missing_columns=True),
)
MICROS = st.integers(parse_timestamp("0001-01-01"), parse_timestamp("9999-12-31T23:59:59.999999"))
EVENTS = st.fixed_dictionaries(
    {"time": MICROS.map(format_timestamp)},
    optional={
        "b": st.none() | st.booleans(),
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "s": st.none() | st.text(min_size=1),
        "t": st.none() | MICROS.map(format_timestamp),
    },
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("2024-01-01"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
Row = dict[str, object]

# The first draw of a text loads all of Unicode.
unhurried = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def load(name: str, content: str) -> EventBatch:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        return read(path, DECLARED)


def as_json_rows(loaded: EventBatch) -> list[Row]:
    """Back to what JSON had: all columns, timestamps as text."""
    times = {name for name, kind in loaded.schema.attributes.items() if kind is Type.TIMESTAMP}
    return [
        {name: format_timestamp(value) if name in times and value is not None else value for name, value in row.items()}  # type: ignore[arg-type]
        for row in scalar_rows(loaded.table)
    ]


def completed(rows: list[Row]) -> list[Row]:
    return [dict.fromkeys(DECLARED.columns) | row for row in rows]


@unhurried
@given(st.lists(EVENTS))
def test_json_to_table_to_json(rows: list[Row]) -> None:
    loaded = load("events.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    if rows:
        assert as_json_rows(loaded) == completed(rows)
    assert loaded.quarantined == ()
    again = load("events.jsonl", "".join(json.dumps(row) + "\n" for row in as_json_rows(loaded)))
    assert as_json_rows(again) == as_json_rows(loaded)


@unhurried
@example([{"time": "2024-01-01T00:00:00Z", "s": "\0"}])
@given(st.lists(EVENTS, min_size=1))
def test_every_format_gives_the_same_table(rows: list[Row]) -> None:
    expected = load("events.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert read(rows, DECLARED).table.equals(expected.table)
    assert read(expected.table, DECLARED).table.equals(expected.table)
    with TemporaryDirectory() as folder:
        pq.write_table(expected.table, Path(folder) / "events.parquet")
        assert read(folder, DECLARED).table.equals(expected.table)
    text = io.StringIO()
    writer = csv.DictWriter(text, DECLARED.columns)
    writer.writeheader()
    writer.writerows(rows)
    assert load("events.csv", text.getvalue()).table.equals(expected.table)


@settings(unhurried, max_examples=200)
@given(st.lists(st.dictionaries(st.sampled_from([*DECLARED.columns, "more"]), ANYTHING) | ANYTHING))
def test_no_event_is_fatal_and_none_is_lost(rows: list[object]) -> None:
    # A declared attribute whose values are all objects or lists is an error.
    timed = [{"time": "2024-01-01", "b": True, "i": 1, "f": 1.5, "s": "x", "t": "2024-01-01"}, *rows]
    for loaded in (
        read(timed, DECLARED),
        read(timed, StreamDeclaration("s", {}, "time", open=True)),
        load("events.jsonl", "".join(json.dumps(row) + "\n" for row in timed)),
    ):
        assert loaded.table.num_rows + len(loaded.quarantined) == loaded.total == len(timed)
        assert [bad.row for bad in loaded.quarantined] == sorted({bad.row for bad in loaded.quarantined})
        loaded.table.validate(full=True)


@unhurried
@given(st.binary())
def test_any_bytes_after_a_good_row(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        for name, head in (("e.jsonl", b'{"time": 1}\n'), ("e.csv", b"time\n1\n")):
            path = Path(folder) / name
            path.write_bytes(head + content)
            loaded = read(path, StreamDeclaration("s", {}, "time", open=True))
            assert loaded.table.num_rows + len(loaded.quarantined) == loaded.total
