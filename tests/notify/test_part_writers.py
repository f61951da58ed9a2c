"""Files written in parts: the same as written at once, however late columns and types show."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify import part_writers, to_table, write
from foretell.notify.files import FileOutput
from foretell.notify.flat_rows import flat_table
from foretell.notify.lazy_notifications import LazyNotifications

WHOLE = Notification("s", "match", None, 1, 2, 1.0, None, None, {}, {"a": 0}, Type.INT)
KEYED = Notification("k", "match", {"user": 'ann, or\n"bob"'}, 3, 4, 1.0, None, 7, {"n": 1}, {"a": [0, 1]}, Type.INT)
NULL = Notification("k", "match", {"user": None}, 3, 4, 1.0, None, None, {"n": None}, {"a": [2]}, Type.INT)
FLOAT = Notification("f", "forecast", {"z": True}, 4.5, 5.5, 0.5, "10", "x", {"n": 2.5}, {"b": None}, Type.FLOAT)
TEXT = Notification("t", "match", {"z": "é"}, 6, 7, 1.0, None, None, {"n": "much"}, {"a": 4}, Type.INT)
TIMED = Notification("d", "match", None, 10**15, 10**15, 1.0, None, None, {}, {}, Type.TIMESTAMP)
NAMES = ["out.jsonl", "out.csv", "out.csv.gz", "out.parquet"]


def contents(path: Path) -> object:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def in_parts(path: Path, parts: Sequence[Sequence[Notification]], *, flat: bool) -> object:
    with FileOutput(path, flat=flat) as output:
        for part in parts:
            output.write(part)
    return contents(path)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_as_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, flat: bool) -> None:
    monkeypatch.setattr(part_writers, "GROUP_ROWS", 3)
    chance = random.Random(name)
    for _ in range(40):
        rows = [chance.choice([WHOLE, KEYED, NULL, FLOAT, TEXT]) for _ in range(chance.randint(0, 12))]
        write(rows, tmp_path / name, flat=flat)
        whole = contents(tmp_path / name)
        cuts = sorted(chance.randint(0, len(rows)) for _ in range(chance.randint(0, 5)))
        parts = [tuple(rows[a:b]) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        assert in_parts(tmp_path / name, parts, flat=flat) == whole
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_columns_as_objects(tmp_path: Path, name: str, flat: bool) -> None:
    text = "SUBSCRIBE m FROM s PER k MATCH a ; b RETURN b.v AS v; SUBSCRIBE n FROM s MATCH a , b;"
    found = ft.run(text, {"s": [{"time": i, "k": i % 3, "v": i / 2} for i in range(40)]}, time="time")
    assert isinstance(found.rows, LazyNotifications)
    parts = [found.rows.part(first, 50) for first in range(0, len(found), 50)]
    write(list(found), tmp_path / name, flat=flat)
    assert in_parts(tmp_path / f"parts.{name}", parts, flat=flat) == contents(tmp_path / name)


def test_parquet_has_the_columns_of_all_rows(tmp_path: Path) -> None:
    rows = [KEYED, NULL, WHOLE, FLOAT, TEXT]
    assert in_parts(tmp_path / "out.parquet", [rows[:2], rows[2:]], flat=False) == to_table(rows)
    assert in_parts(tmp_path / "out.parquet", [rows[:2], rows[2:]], flat=True) == flat_table(rows)


def test_times_that_one_table_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        in_parts(tmp_path / "out.parquet", [[WHOLE], [TIMED]], flat=False)
    assert caught.value.code == "mixed-times"
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_engine_is_not_one_of_the_file(tmp_path: Path) -> None:
    def failing() -> None:
        with FileOutput(tmp_path / "out.csv") as output:
            output.write([WHOLE])
            raise OSError(5, "the engine")

    with pytest.raises(OSError, match="the engine"):
        failing()
    assert list(tmp_path.iterdir()) == []
