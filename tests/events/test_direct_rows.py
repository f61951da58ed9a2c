"""Dicts that are read as they are: the same events as the general reader gives, or none at all."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.events.ingest.direct_rows import DirectRowReader
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.types import LAST_TIME, Type

TYPES = {"k": Type.STRING, "v": Type.INT, "w": Type.FLOAT, "b": Type.BOOL, "t": Type.INT}
DECLARED = StreamDeclaration("s", TYPES, "t")
RARE: dict[str, list[Any]] = {
    "k": [1, "\ud800", b"x", True, np.str_("a")],
    "v": [1.5, "2", True, 2**64, np.int64(3)],
    "w": ["dear", float("inf"), 10**400, np.float64(1.5)],
    "b": [1, "true", np.bool_(True)],
    "t": [None, LAST_TIME + 1, -LAST_TIME - 1, 1.5, "3", 2**70],
}
USUAL: dict[str, list[Any]] = {
    "k": ["a", "é", "", "NA", None],
    "v": [1, -(2**63), 2**63 - 1, None],
    "w": [1.5, 2, -0.0, float("nan"), None, 2**53 + 1],
    "b": [True, False, None],
    "t": [*range(9)],
}


class OtherDict(dict[str, Any]):
    pass


def events(chance: random.Random) -> list[Any]:
    """Random dicts; some have values that must be read with care, or are no dicts."""
    wrong = chance.random() < 0.4
    rows: list[Any] = []
    for _ in range(chance.randrange(6)):
        row: dict[Any, Any] = {
            name: chance.choice(values) for name, values in USUAL.items() if name == "t" or chance.random() < 0.9
        }
        if wrong and chance.random() < 0.5:
            name = chance.choice(list(RARE))
            row[name] = chance.choice(RARE[name])
        row |= {"unread": object(), 7: "no name"} if chance.random() < 0.2 else {}
        rows.append(row if not wrong or chance.random() < 0.95 else chance.choice([OtherDict(row), 5]))
    return rows


def test_the_same_as_the_general_reader() -> None:
    reader = DirectRowReader.of(DECLARED, None)
    assert reader is not None
    direct = 0
    for seed in range(500):
        rows = events(random.Random(seed))
        found = reader.read(rows)
        if found is None:
            continue
        direct += 1
        wanted = read(rows, DECLARED, whole=False)
        assert found.table.equals(wanted.table), seed
        assert (found.schema, found.total, found.time_known) == (wanted.schema, wanted.total, wanted.time_known)
        assert (wanted.quarantined, wanted.nulled, wanted.notes) == ((), (), ())
    assert direct > 200


def test_batches_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "STREAM s (k STRING, v INT, w FLOAT, b BOOL, t INT) TIME t LATE BY 3;"
        "SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 3 DEFINE b AS w >= a.w OR v = a.v RETURN a.k AS k, b.b AS yes;"
    )
    for seed in range(12):
        chance = random.Random(seed)
        batches = [events(chance) for _ in range(5)]
        found = []
        for of in (DirectRowReader.of, lambda *_: None):
            monkeypatch.setattr(DirectRowReader, "of", of)
            engine, said = ft.Engine(text), []
            for batch in batches:
                answer = engine.push("s", batch)
                said += [*map(str, answer), *map(repr, answer.bad), *map(repr, answer.unreadable)]
                said += [f"{late.row} {late.event['t']}" for late in answer.late]
            found.append([*said, *map(str, engine.end())])
        assert found[0] == found[1], seed


@pytest.mark.parametrize(
    "declared",
    [
        StreamDeclaration("s", TYPES, "t", open=True),
        StreamDeclaration("s", {**TYPES, "at": Type.TIMESTAMP}, "t"),
        StreamDeclaration("s", {**TYPES, "a.b": Type.INT}, "t"),
        StreamDeclaration("s", {"k": Type.STRING}, "t"),
        StreamDeclaration("s", TYPES, "t", read=ReadOptions(nulls=("NA",))),
    ],
    ids=["open", "times to parse", "a path", "a time without type", "markers of NULL"],
)
def test_streams_whose_values_need_reading(declared: StreamDeclaration) -> None:
    assert DirectRowReader.of(declared, None) is None
