"""Long inputs in slices: the same rows as at once, in the same order."""

from __future__ import annotations

import random
from typing import Any

import pytest

import foretell as ft
from foretell.machine import runtime

PROGRAMS = {
    "two streams": "SUBSCRIBE m FROM a, b PER k MATCH x , y DEFINE x AS v > 3, y AS v < 3;",
    "an absence": "SUBSCRIBE m FROM a, b PER k MATCH x ; !y WITHIN 4 DEFINE x AS v > 7, y AS v < 1;",
    "statements that read one another": (
        "SUBSCRIBE m FROM a, b MATCH x , y DEFINE y AS v > x.v RETURN y.v AS v;"
        "SUBSCRIBE n FROM m MATCH p , q DEFINE q AS v > p.v;"
    ),
    "statements with different inputs": (
        "SUBSCRIBE m FROM a MATCH x ; !y WITHIN 4 DEFINE x AS v > 7, y AS v < 1; SUBSCRIBE n FROM b MATCH x;"
        "SUBSCRIBE o FROM a, b MATCH x , y DEFINE x AS v > 8;"
    ),
    "the longest matches": (
        "SUBSCRIBE m FROM a, b PER k MATCH x+ DEFINE x AS v > 3 HAVING count(x) > 1 AFTER MATCH LONGEST;"
        "SUBSCRIBE n FROM m MATCH p , q;"
    ),
    "a tie-breaker": (
        "STREAM a (k STRING, v INT, t INT) TIME t ORDER BY v; STREAM b (k STRING, v INT, t INT) TIME t;"
        "SUBSCRIBE m FROM a, b PER k MATCH x , y DEFINE y AS v >= x.v;"
    ),
    "ties": (
        "STREAM a (k STRING, v INT, t INT) TIME t TIES SIMULTANEOUS; STREAM b (k STRING, v INT, t INT) TIME t "
        "TIES SIMULTANEOUS; SUBSCRIBE m FROM a, b PER k MATCH x , y DEFINE y AS v > x.v;"
    ),
}


def events(seed: int, ordered: bool) -> dict[str, list[dict[str, Any]]]:
    chance = random.Random(seed)

    def stream(count: int) -> list[dict[str, Any]]:
        times = [chance.randrange(60) for _ in range(count)]
        rows = sorted(times) if ordered else times
        return [{"t": t, "k": chance.choice("pq"), "v": chance.randrange(10)} for t in rows]

    return {"a": stream(90), "b": stream(50)}


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_rows(name: str, ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
        inputs = events(seed, ordered)
        whole = ft.run(PROGRAMS[name], inputs, time={} if "STREAM" in PROGRAMS[name] else {"a": "t", "b": "t"})
        assert len(whole)
        for size in (1, 7, 40):
            monkeypatch.setattr(runtime, "SLICE", size)
            sliced = ft.run(PROGRAMS[name], inputs, time={} if "STREAM" in PROGRAMS[name] else {"a": "t", "b": "t"})
            assert list(map(repr, sliced)) == list(map(repr, whole))
            monkeypatch.undo()


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_one_stream(ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = "SUBSCRIBE m FROM a PER k MATCH x , y+ DEFINE y AS v > x.v WITHIN 9;"
    inputs = {"a": events(3, ordered)["a"]}
    whole = ft.run(statement, inputs, time={"a": "t"})
    monkeypatch.setattr(runtime, "SLICE", 8)
    assert list(map(repr, ft.run(statement, inputs, time={"a": "t"}))) == list(map(repr, whole))
