"""FOR EACH tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from foretell.errors import InputError
from foretell.events.ingest.template_tables import read_table
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
