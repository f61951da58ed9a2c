"""Row changes of a micro-batch are applied together, with the rows and the refusals of one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import foretell as ft
from foretell.engine import Engine
from foretell.events.types import Type
from foretell.spark.streaming.control_stream import ChangeApplier, StatementChange, StatementDirectory
from foretell.spark.streaming.row_changes import NetChanges
from tests.spark.test_local_stream import LocalStream

STREAM = "STREAM s (k INT, t INT) TIME t;"
TEXT = STREAM + "".join(
    f"SUBSCRIBE {name} FOR EACH {name}s FROM s MATCH a DEFINE a AS k = :k;" for name in ("mark", "other")
)
TABLES = {f"{name}s": pa.table({"id": list(range(6)), "k": [1] * 6}) for name in ("mark", "other")}


def changes(chance: Random) -> list[StatementChange]:
    found = []
    for number in range(chance.randint(1, 20)):
        table = chance.choice(["marks", "marks", "marks", "others", "unknown" if chance.random() < 0.1 else "marks"])
        ids: list[Any] = [chance.randint(0, 12) for _ in range(chance.choice([1, 1, 2]))]
        if chance.random() < 0.5:
            rows: Any = ids
            action = "remove rows"
        else:
            rows = [{"id": row_id, "k": chance.choice([1, 1, 1, None, "x"])} for row_id in ids]
            action = "add rows"
        if chance.random() < 0.05:
            rows = chance.choice(["no list", {"id": 1}, [[1]], [{}], [None]])
        found.append(StatementChange(number, action, table, None, json.dumps(rows)))
        if chance.random() < 0.1:
            found.append(StatementChange(number, "unsubscribe", "mark"))
    return found


def outcome(given: list[StatementChange], *, together: bool) -> tuple[list[str], list[tuple[Any, ...]]]:
    stream = LocalStream(ft.parse(TEXT), {"s": {"k": Type.INT, "t": Type.INT}}, TABLES, 1)
    groups = stream.topology.processor.groups
    engine = Engine(TEXT, tables=TABLES)
    engine.push("s", [{"k": 0, "t": 0}])
    applier = ChangeApplier(groups, groups[0], True, StatementDirectory())
    if together:
        applier.apply_all(engine, given)
    else:
        for change in given:
            applier.apply(engine, change)
    rows = [(n.subscription, n.id) for n in engine.push("s", [{"k": 1, "t": 1}])]
    return [f"{change.number}: {reason}" for change, reason in applier.refused], rows


@pytest.mark.parametrize("seed", range(40))
def test_changes_together(seed: int) -> None:
    given = changes(Random(seed))
    assert outcome(given, together=True) == outcome(given, together=False)


def change(action: str, *rows: Any) -> StatementChange:
    return StatementChange(1, f"{action} rows", "marks", None, json.dumps(rows))


def test_what_changes_come_to() -> None:
    first, second = {"id": 1, "k": 1}, {"id": 2, "k": 1}
    net = NetChanges.of([change("remove", 1), change("add", second), change("add", first)])
    assert net is not None
    assert (net.removed, net.added) == ([1], [second, first])
    for several in (
        [change("add", first), change("remove", 1)],
        [change("add", first), change("add", first)],
        [change("remove", 1), change("remove", True)],
        [change("remove", 1), change("add", "no row")],
    ):
        assert NetChanges.of(several) is None


def counted(plain: Callable[..., None], calls: list[str]) -> Callable[..., None]:
    def call(*given: Any) -> None:
        calls.append(plain.__name__)
        plain(*given)

    return call


def test_a_hundred_thousand_changes_cost_two_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("add_rows", "remove_rows"):
        monkeypatch.setattr(Engine, name, counted(getattr(Engine, name), calls))
    given = [change("add", {"id": 100 + number, "k": 1}) for number in range(50_000)]
    given += [change("remove", number) for number in range(6)]
    given += [change("add", {"id": number, "k": 1}) for number in range(6)]
    refused, rows = outcome(given, together=True)
    assert (refused, len(calls)) == ([], 2)
    assert sum(name == "mark" for name, _ in rows) == 50_006
