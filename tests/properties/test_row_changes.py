"""Rows that come and go in bulk and one by one: each has the matches that it alone has of the events while it is there.

The reference evaluator says which; notifications are looked at when all is over, after later changes.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import foretell as ft
from foretell.engine import Engine
from foretell.events.ingest.typed_table import arrow_schema
from foretell.events.types import Type
from foretell.machine import selected_rows
from tests.engine_pair import comparable_rows

STREAM = "STREAM s (k STRING, n INT, x FLOAT, t INT, nr INT) TIME t ID nr;"

#: Templates by how rows are found: texts, numbers of two types, several equalities, bounds in both directions, ids; by
#: the profiles of partial matches.
TEMPLATES = (
    "MATCH a DEFINE a AS k = :k AND x > :x",
    "MATCH a , b DEFINE a AS k = :k AND n = :n, b AS n > a.n",
    "MATCH a ; b DEFINE a AS n <= :x, b AS k = a.k WITHIN 9",
    "MATCH a ; b ; c DEFINE a AS x = :n AND n = :n AND k = :k, b AS n > 1, c AS k = b.k WITHIN 20",
    "MATCH a ;{k = a.k} b{1,2} DEFINE a AS :x <= x WITHIN 6 RETURN count(b) AS many",
    "MATCH a ; !b ; c DEFINE a AS n = :id, b AS k = 'c', c AS k = 'a' WITHIN 12",
    "MATCH a ;{k = :k} b ; c DEFINE a AS n = :n, b AS x > :x, c AS n = :n WITHIN 9",
    "MATCH a ; b DEFINE a AS k = :k, b AS n = :n AND x >= :x AND n > a.n WITHIN 7",
)

TYPES = arrow_schema({"id": Type.INT, "k": Type.STRING, "n": Type.INT, "x": Type.FLOAT})

Rows = list[dict[str, Any]]


def table(rows: Rows, *, texts: bool) -> pa.Table:
    found = pa.Table.from_pylist(rows, TYPES)
    return found.set_column(0, "id", found.column("id").cast(pa.string())) if texts else found


class Script:
    """Changes and events at random, and what each row is expected to have."""

    def __init__(self, seed: int, template: str) -> None:
        self.chance = Random(seed)
        self.texts = ":id" not in template and self.chance.random() < 0.5
        self.text = f"{STREAM} SUBSCRIBE m FOR EACH people FROM s {template};"
        self.events: Rows = []
        self.living: dict[int, tuple[int, dict[str, Any]]] = {}
        self.lives: list[tuple[int, int, dict[str, Any]]] = []
        self.engine = Engine(self.text, tables={"people": table(self.new_rows(40), texts=self.texts)})
        self.found: list[ft.Notifications] = []

    def new_rows(self, count: int) -> Rows:
        """Rows with ids that are new, or those of rows that have been removed."""
        chance, rows = self.chance, Rows()
        for row_id in chance.sample([n for n in range(150) if n not in self.living], count):
            rows.append(
                {
                    "id": row_id,
                    "k": chance.choice(["a", "b", "c", None]),
                    "n": chance.choice([0, 1, 2, 3, None]),
                    "x": chance.choice([0.0, -0.0, 1.0, 1.5, 3.0, None]),
                }
            )
        self.living |= {row["id"]: (len(self.events), row) for row in rows}
        return rows

    def push(self) -> None:
        chance, first = self.chance, len(self.events)
        time = self.events[-1]["t"] if self.events else 0
        for number in range(first, first + chance.choice([1, 1, 2, 8])):
            time += chance.choice([1, 1, 2])
            values = {"k": chance.choice("abc"), "n": chance.randint(0, 3), "x": chance.choice([0.0, -0.0, 1.0, 2.5])}
            self.events.append({**values, "t": time, "nr": number})
        self.found.append(self.engine.push("s", self.events[first:]))

    def add(self) -> None:
        rows = self.new_rows(min(self.chance.choice([1, 1, 3, 25]), 150 - len(self.living)))
        given = table(rows, texts=self.texts)
        self.engine.add_rows("people", given if self.chance.random() < 0.5 else given.to_pylist())

    def remove(self) -> None:
        chance = self.chance
        ids = chance.sample(list(self.living), min(len(self.living), chance.choice([1, 1, 4, 60])))
        self.engine.remove_rows("people", list(map(str, ids)) if self.texts else ids)
        for row_id in ids:
            since, row = self.living.pop(row_id)
            self.lives.append((since, len(self.events), row))

    def run(self) -> None:
        for _ in range(40):
            self.chance.choice([self.push, self.push, self.add, self.remove])()
            if self.chance.random() < 0.1:
                self.engine = Engine.restore(None, self.engine.snapshot())
        self.lives += [(since, len(self.events), row) for since, row in self.living.values()]

    def expected(self) -> Counter[Any]:
        together: dict[tuple[int, int], Rows] = {}
        for since, until, row in self.lives:
            together.setdefault((since, until), []).append(row)
        found: Counter[Any] = Counter()
        for (since, until), rows in together.items():
            if since < until:
                tables = {"people": table(rows, texts=self.texts)}
                alone = ft.run(self.text, {"s": self.events[since:until]}, tables=tables, engine="reference")
                found.update(comparable_rows(alone))
        return found


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("growth", [1, 4])
def test_rows_come_and_go(template: str, growth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected_rows, "_GROWTH", growth)
    monkeypatch.setattr(selected_rows, "MOST_LISTED", 30)
    several = agree(template, range(3))
    assert several > 0


def agree(template: str, seeds: range) -> int:
    count = 0
    for seed in seeds:
        script = Script(seed, template)
        script.run()
        found = Counter(row for each in script.found for row in comparable_rows(each))
        assert found == script.expected(), (seed, template)
        count += found.total()
    return count


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("template", TEMPLATES)
def test_rows_come_and_go_for_long(template: str) -> None:
    assert agree(template, range(1_000, 1_150)) > 1_000
