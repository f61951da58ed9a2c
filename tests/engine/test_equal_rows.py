"""Equal rows of a FOR EACH table run once: the notifications are as if each row ran alone."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.engine import Engine

STREAM = "STREAM s (k STRING, n INT, g INT, t INT) TIME t;"

#: Statements that run row by row, each for another reason.
STATEMENTS = (
    "SUBSCRIBE m FOR EACH rows FROM s PER g MATCH a ; b DEFINE a AS n > :low, b AS n < :low WITHIN 6",
    "SUBSCRIBE m FOR EACH rows FROM s MATCH a ; b DEFINE b AS n > a.n + :low WITHIN 6 AFTER MATCH CONSUME",
    "SUBSCRIBE m FOR EACH rows FROM s PER g MATCH a+ DEFINE a AS n > :low WITHIN 6 AFTER MATCH LONGEST",
    "SUBSCRIBE m FOR EACH rows FROM s PER g MATCH !a DEFINE a AS k = :k OR n > :low WITHIN 5",
    "SUBSCRIBE m FOR EACH rows FROM s MATCH a ; !c DEFINE a AS k = :k, c AS n = :low WITHIN 4 RETURN a.n + :low AS x",
    "SUBSCRIBE m FOR EACH rows FROM s MATCH a ; LAST b ; c DEFINE a AS k = :k, c AS n > :low WITHIN 8",
    "SUBSCRIBE m FOR EACH rows FROM s MATCH a , b DEFINE a AS n > :low OR n = :id",
)  # fmt: skip

READER = "SUBSCRIBE p FROM m MATCH u ; v WITHIN 3;"

Rows = list[dict[str, Any]]


def events(random: Random, since: int = 0) -> Rows:
    time, found = since, Rows()
    for _ in range(random.randint(5, 25)):
        time += random.choice([0, 1, 1, 2])
        found.append({"k": random.choice("abc"), "n": random.randint(0, 5), "g": random.randint(0, 1), "t": time})
    return found


def table(random: Random, ids: list[int]) -> Rows:
    return [{"id": row_id, "low": random.choice([1, 3]), "k": random.choice("ab")} for row_id in ids]


def batches(given: Rows, random: Random) -> list[Rows]:
    found, first = list[Rows](), 0
    while first < len(given):
        end = first + random.randint(1, 8)
        while end < len(given) and given[end]["t"] == given[end - 1]["t"]:
            end += 1
        found.append(given[first:end])
        first = end
    return found


def lines(found: ft.Notifications) -> list[bytes]:
    return b"".join(found.lines()).splitlines()


def agree(seeds: range) -> int:
    told = 0
    for seed in seeds:
        random = Random(seed)
        text = f"{STREAM} {random.choice(STATEMENTS)};{READER if random.random() < 0.4 else ''}"
        given, rows = events(random), table(random, random.sample(range(30), random.randint(1, 6)))
        expected = lines(ft.run(text, {"s": given}, tables={"rows": rows}, engine="reference", until=1_000))
        whole = ft.run(text, {"s": given}, tables={"rows": rows}, engine="embedded", until=1_000)
        assert lines(whole) == expected, (seed, text, rows)
        engine, found = Engine(text, tables={"rows": rows}), list[bytes]()
        for part in batches(given, random):
            found += lines(engine.push("s", part))
            if random.random() < 0.4:
                engine = Engine.restore(None, engine.snapshot())
        found += lines(engine.end())
        found += lines(engine.advance(1_000))
        assert sorted(found) == sorted(expected), (seed, text, rows)
        told += len(expected)
    return told


def test_equal_rows() -> None:
    assert agree(range(60)) > 400


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_equal_rows_for_long() -> None:
    assert agree(range(10_000, 12_000)) > 10_000


# ── rows that come and go ──


def alone(text: str, lifetime: list[Rows], own: dict[str, Any]) -> list[bytes]:
    """An engine with one row, which sees these batches of some more."""
    engine, found = Engine(text, tables={"rows": [own]}), list[bytes]()
    for part in lifetime:
        found += lines(engine.push("s", part))
    return found


def changing_rows_agree(seeds: range) -> int:
    told = 0
    for seed in seeds:
        random = Random(seed)
        # Names of events are numbers in the lane, and those count from the first event on: no PER, no names.
        text = f"STREAM s (k STRING, n INT, g INT, t INT, e INT) TIME t ID e; {random.choice(STATEMENTS)};"
        given = [{**event, "e": number} for number, event in enumerate([*events(random), *events(random, 60)])]
        if "!a" in text:  # a silence begins with the lane, which a row that comes later has not seen
            continue
        parts = batches(given, random)
        rows = table(random, [1, 2, 3, 4])
        engine = Engine(text, tables={"rows": rows})
        born = {each["id"]: (0, each) for each in rows}
        found, expected = list[bytes](), list[bytes]()
        for number, part in enumerate(parts):
            found += lines(engine.push("s", part))
            if random.random() < 0.4 and len(born) > 1:
                gone = random.choice([*born])
                engine.remove_rows("rows", [gone])
                since, own = born.pop(gone)
                expected += alone(text, parts[since : number + 1], own)
            elif random.random() < 0.6:
                values = random.choice([each for _, each in born.values()])
                new = [{**values, "id": 100 + 2 * number}, {**values, "id": 101 + 2 * number}]
                engine.add_rows("rows", new)
                born |= {each["id"]: (number + 1, each) for each in new}
            if random.random() < 0.3:
                engine = Engine.restore(None, engine.snapshot())
        for since, own in born.values():
            expected += alone(text, parts[since:], own)
        assert sorted(found) == sorted(expected), (seed, text, rows)
        told += len(expected)
    return told


def test_equal_rows_come_and_go() -> None:
    assert changing_rows_agree(range(40)) > 200


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_equal_rows_come_and_go_for_long() -> None:
    assert changing_rows_agree(range(10_000, 11_000)) > 5_000


def test_they_share_one_executor() -> None:
    """A thousand equal rows have the partial matches of one."""
    text = f"{STREAM} {STATEMENTS[0]};"
    rows = [{"id": number, "low": 3, "k": "a"} for number in range(1_000)]
    engine = Engine(text, tables={"rows": rows}, limits=ft.Limits(engine=2_000))
    given = [{"k": "a", "n": 5, "g": 1, "t": time} for time in range(5)]
    assert not engine.push("s", given)
    assert len(engine.push("s", [{"k": "a", "n": 0, "g": 1, "t": 5}])) == 5_000
