"""FOR EACH tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from foretell.errors import InputError
from foretell.events.ingest.template_tables import TemplateTable, read_more_rows, read_table
from foretell.events.types import Type


def refused(source: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, "subscribers")
    assert caught.value.code == "bad-table"
    return str(caught.value)


def test_rows_are_plain_scalars(tmp_path: Path) -> None:
    path = tmp_path / "subscribers.csv"
    path.write_text("id,limit,since\nann,5,2024-01-01T00:00:00Z\nbob,,\n")
    assert read_table(path, "subscribers").rows == [
        {"id": "ann", "limit": 5, "since": 1704067200000000},
        {"id": "bob", "limit": None, "since": None},
    ]
    assert read_table([{"id": 1, "x": 0.5, "nested": []}], "subscribers").rows == [{"id": 1, "x": 0.5}]
    assert read_table(pa.table({"id": [1, 2]}), "subscribers").rows == [{"id": 1}, {"id": 2}]


def test_every_row_has_an_id_of_its_own() -> None:
    assert refused([{"id": 1}, {"id": None}]) == "subscribers:2: no id"
    assert refused([{"id": 1}, {"x": 1}]) == "subscribers:2: no id"
    assert refused([{"id": 1}, {"id": 2}, {"id": 1}]) == "subscribers:3: duplicate id 1"
    assert refused([{"id": 1}, {"id": "x"}]) == "subscribers:2: id: expected INT, found 'x'"
    assert refused([{"ident": 1}]) == "subscribers: the table has no column 'id'\n  hint: known here: 'ident'"
    assert refused([{"id": {}}]) == "subscribers: the column 'id' holds no scalars"


def test_a_malformed_row_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "subscribers.csv"
    path.write_text("id,limit\n1,2\n3\n")
    assert refused(path) == f"{path}:3: expected 2 fields, found 1"
    assert refused([{"id": 1, "x": 1}, {"id": 2, "x": "y"}]) == "subscribers:2: x: expected INT, found 'y'"


def test_nothing_at_all_is_a_table_without_rows() -> None:
    assert read_table([], "subscribers").rows == []


def test_types_of_the_columns() -> None:
    since = pa.array([0, 1], pa.timestamp("us"))
    assert read_table(pa.table({"id": [1, 2], "since": since}), "t").types == {"id": Type.INT, "since": Type.TIMESTAMP}


def test_the_first_of_several_errors_is_reported() -> None:
    rows = [{"id": 1, "x": 1}, {"id": 2, "x": "y"}, {"id": None, "x": 2}, {"id": 1, "x": 3}]
    assert refused(rows) == "subscribers:2: x: expected INT, found 'y'"
    assert refused(rows[2:] + rows[:1]) == "subscribers:1: no id"
    assert refused([rows[0], rows[3], rows[1]]) == "subscribers:2: duplicate id 1"


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        (pa.array(["a", "b", None, "b"]), "subscribers:3: no id"),
        (pa.array(["a", "b", "b"]).dictionary_encode(), "subscribers:3: duplicate id 'b'"),
        (pa.chunked_array([[5, 3], [7, 5]]), "subscribers:4: duplicate id 5"),
        (pa.array([0.0, 1.5, -0.0]), "subscribers:3: duplicate id -0.0"),
        (pa.array([True, False, True]), "subscribers:3: duplicate id True"),
    ],
)
def test_ids_of_an_arrow_table(ids: Any, error: str) -> None:
    assert refused(pa.table({"id": ids, "x": [1] * len(ids)})) == error


def test_rows_of_a_table_by_number() -> None:
    table = read_table(pa.table({"id": ["a", "b", "c"], "x": [1, None, 3]}), "t")
    assert (len(table), table.row(1), table.scalars("x")) == (3, {"id": "b", "x": None}, [1, None, 3])
    assert table.take(np.array([2, 0])).rows == [{"id": "c", "x": 3}, {"id": "a", "x": 1}]
    assert TemplateTable.empty({"id": Type.INT}).rows == []


# ── more rows ──

TYPES = {"id": Type.INT, "x": Type.FLOAT, "name": Type.STRING, "at": Type.TIMESTAMP}


def test_more_rows_are_read_alike_one_by_one_and_together() -> None:
    """Dicts whose values fit are columns at once; others go the way of files."""
    types = {name: kind for name, kind in TYPES.items() if name != "at"}
    rows = [{"id": 1, "x": 2}, {"id": 2, "x": math.nan, "name": "é"}, {"id": 3, "name": ""}]
    expected = [{"id": 1, "x": 2.0, "name": None}, {"id": 2, "x": None, "name": "é"}, {"id": 3, "x": None, "name": ""}]
    assert read_more_rows(rows, "t", types).rows == expected
    assert read_more_rows(iter(rows), "t", types).rows == expected
    assert [read_more_rows([row], "t", types).rows[0] for row in rows] == expected
    timed = read_more_rows([{"id": 1, "at": "1970-01-01T00:00:01Z"}], "t", TYPES)
    assert timed.rows == [{"id": 1, "x": None, "name": None, "at": 1_000_000}]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([{"id": 1}, {"x": 1}], "t:2: no id"),
        ([{"id": 1}, {"id": 1}], "t:2: duplicate id 1"),
        ([{"id": 1, "x": "much"}], "t:1: x: expected FLOAT, found 'much'"),
        ([{"id": 2**63}], "t:1: id: 9223372036854775808 does not fit INT"),
        ([{"id": 1, "name": "\ud800"}], "t:1: name: not valid Unicode"),
        ([{"id": 1, "nane": "a"}], "t: the table has no column 'nane'\n  hint: did you mean 'name'?"),
    ],
)
def test_malformed_rows_that_come_later(rows: list[dict[str, object]], error: str) -> None:
    with pytest.raises(InputError) as caught:
        read_more_rows(rows, "t", TYPES)
    assert str(caught.value) == error
