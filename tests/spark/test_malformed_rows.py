"""Rows of a stream that their source could not read: single values are NULL and counted, others set the event aside."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from foretell.connectors.mqtt.payloads import message_table
from foretell.connectors.mqtt.spool import SpooledMessage
from foretell.events.ingest.nulled_values import NulledValues
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.types import Type
from foretell.spark.streaming.malformed_rows import SeparatedRows, separated_rows

TYPES = {"at": Type.INT, "v": Type.FLOAT, "k": Type.STRING}
DECLARED = StreamDeclaration("s", TYPES, "at")


def of_messages(*payloads: bytes, declaration: StreamDeclaration = DECLARED, **more: Type) -> SeparatedRows:
    messages = [(number, SpooledMessage("t", payload, 0)) for number, payload in enumerate(payloads)]
    table = message_table(messages, {**TYPES, **more})
    return separated_rows(table.select([*declaration.columns, "malformed", "payload"]), declaration)


def of_rows(*rows: dict[str, Any]) -> SeparatedRows:
    types: list[tuple[str, pa.DataType]] = [("at", pa.int64()), ("v", pa.float64()), ("k", pa.string())]
    schema = pa.schema([*types, ("malformed", pa.string())])
    return separated_rows(pa.Table.from_pylist(list(rows), schema), DECLARED)


def reasons(found: SeparatedRows) -> list[tuple[int, str]]:
    return [(values.row, values.reason) for values in found.nulled]


def test_values_of_messages() -> None:
    found = of_messages(
        b'{"at": 1, "v": 1.5, "k": "a"}',
        b'{"at": 2, "v": "high", "k": 5}',
        b'{"at": 3, "v": "NA"}',
        b"off",
        b'{"at": "soon", "v": 1}',
    )
    assert found.events.to_pylist() == [
        {"at": 1, "v": 1.5, "k": "a"},
        {"at": 2, "v": None, "k": None},
        {"at": 3, "v": None, "k": None},
    ]
    assert found.nulled == [
        NulledValues("s", "v", "v: expected FLOAT", 1, "s", 2, "v: expected FLOAT, found 'high'"),
        NulledValues("s", "k", "k: expected STRING", 1, "s", 2, "k: expected STRING, found 5"),
        NulledValues("s", "v", "'NA'", 1, "s", 3, "v: expected FLOAT, found 'NA'", is_marker=True),
    ]
    assert [(event.row, event.reason, event.raw) for event in found.quarantined] == [
        (4, "not JSON", "off"),
        (5, "at: expected INT, found 'soon'", '{"at": "soon", "v": 1}'),
    ]


def test_markers_that_are_declared_are_not_counted() -> None:
    declaration = StreamDeclaration("s", TYPES, "at", read=ReadOptions(nulls=("none",)))
    found = of_messages(b'{"at": 1, "v": "none"}', declaration=declaration)
    assert (found.events.num_rows, found.nulled, found.quarantined) == (1, [], [])


def test_a_field_that_no_statement_reads_does_not_matter() -> None:
    found = of_messages(b'{"at": 1, "v": 2, "k": "a", "n": "many"}', n=Type.INT)
    assert found.events.to_pylist() == [{"at": 1, "v": 2.0, "k": "a"}]
    assert (found.nulled, found.quarantined) == ([], [])


def test_rows_of_sparks_own_readers() -> None:
    """`malformed` has the text. In a text that is no JSON object, and in one whose names are others, nothing shows the
    values."""
    found = of_rows(
        {"at": 1, "v": None, "k": "a", "malformed": '{"at": 1, "v": "high", "k": "a"}'},
        {"at": 2, "v": 0.5, "k": None, "malformed": None},
        {"at": 3, "v": None, "k": "a", "malformed": "3,high,a"},
        {"at": 4, "v": None, "k": "a", "malformed": '{"time": 4, "value": "high"}'},
        {"at": None, "v": None, "k": "a", "malformed": '{"v": 1'},
        {"at": 6, "v": None, "k": "a", "malformed": '{"v": 1.5}'},
    )
    assert [row["at"] for row in found.events.to_pylist()] == [1, 2, 6]
    assert reasons(found) == [(1, "v: expected FLOAT, found 'high'"), (6, "v: expected FLOAT, found 1.5")]
    assert [(event.row, event.reason) for event in found.quarantined] == [
        (number, "not as the stream is declared") for number in (3, 4, 5)
    ]


def test_rows_without_a_mark() -> None:
    table = pa.table({"at": [1], "v": [1.0], "k": ["a"]})
    assert separated_rows(table, DECLARED) == SeparatedRows(table, [], [])
