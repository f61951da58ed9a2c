"""CORRELATE … FOR EACH in the compiled engine against the reference evaluator: random expressions, conditions and
tables, whole, in batches, stopped and restored, and with rows that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import foretell as ft
from foretell.language import tree
from foretell.language.printer import correlation_text
from tests.correlate.expressions import STEPS, expression
from tests.correlate.test_engines import STREAM, Events, events, lines
from tests.engine.test_freed_lanes import group

Rows = list[dict[str, Any]]

#: With and without parameters, with comparisons that an index serves, and others.
CONDITIONS = (
    "k = :k", "n > :low", "n <= :high", "g = :g", "k = 'a'", "n % 2 = 0", "k IN (:k, 'c')", "n + g > :low AND k <> 'c'",
    "n > :low AND n < :high", "k = :k OR n = :high", "n * 1.5 > :x", "NOT k = :k", "n > 2", ":low < g",
    "n > :x AND k = :k",
)  # fmt: skip

#: What all steps may have in common: with it an index selects the rows.
COMMON = ("", "", "g = :g AND ", "k = :k AND ", ":low < n AND ", "g = :g AND n >= :x AND ", "k = 'a' AND k = :k AND ")


def correlator(random: Random, name: str, source: str, per: str) -> str:
    whole = tree.Again("repeat", tree.Push("w", expression(random, random.randint(1, 3))))
    common = random.choice(COMMON)
    define = ", ".join(f"{step} AS {common}({random.choice(CONDITIONS)})" for step in STEPS if step in steps_of(whole))
    return f"CORRELATE {name} FOR EACH rows FROM {source}{per} DO {correlation_text(whole)} DEFINE {define};"


def steps_of(whole: tree.Correlation) -> set[str]:
    return {n.step for n in whole.walk() if isinstance(n, tree.On)} | {
        n.guard for n in whole.walk() if isinstance(n, tree.Mode)
    }


def template(random: Random) -> str:
    """A template, and sometimes statements that read its tokens."""
    text = STREAM + correlator(random, "m", "s", random.choice(["", " PER g"]))
    if random.random() < 0.4:
        text += "SUBSCRIBE p FROM m, s MATCH u ;{stream = 's'} v DEFINE u AS stream = 'm' WITHIN 5;"
    if random.random() < 0.3:
        text += "CORRELATE z FOR EACH more FROM m DO repeat{push('v'){repeat(2){a}}} DEFINE a AS token = :token;"
    return text


def row(random: Random, row_id: object) -> dict[str, Any]:
    return {
        "id": row_id,
        "k": random.choice(["a", "b", "c", None]),
        "low": random.choice([0, 1, 2, None]),
        "high": random.choice([2, 3, 4]),
        "g": random.randint(0, 2),
        "x": random.choice([0.5, 1.5, 3.0, None]),
    }


def table(random: Random, count: int) -> Rows:
    """Few distinct rows, some of them several times."""
    ids = random.sample([*range(20)], count) if random.random() < 0.5 else random.sample([*"abcdefgh"], min(count, 8))
    distinct = [row(random, 0) for _ in range(max(1, count // 2))]
    return [{**random.choice(distinct), "id": row_id} for row_id in ids]


def typed(rows: Rows) -> pa.Table:
    """The rows with types that do not depend on what is NULL."""
    types = {"k": pa.string(), "low": pa.int64(), "high": pa.int64(), "g": pa.int64(), "x": pa.float64()}
    ids = pa.array([each["id"] for each in rows])
    return pa.table({"id": ids} | {name: pa.array([each[name] for each in rows], kind) for name, kind in types.items()})


MORE: Rows = [{"id": token, "token": token} for token in "wxyz"]


def tables_of(text: str, rows: Rows) -> dict[str, object]:
    return {"rows": typed(rows), "more": MORE} if "more" in text else {"rows": typed(rows)}


def batches(given: Events, random: Random) -> list[Events]:
    """Batches that do not divide an instant."""
    found: list[Events] = []
    first = 0
    while first < len(given):
        end = first + random.randint(1, 6)
        while end < len(given) and given[end]["t"] == given[end - 1]["t"]:
            end += 1
        found.append(given[first:end])
        first = end
    return found


def pushed(text: str, given: Events, rows: Rows, random: Random) -> list[bytes]:
    engine = ft.Engine(text, tables=tables_of(text, rows))
    found: list[bytes] = []
    for part in batches(given, random):
        found += lines(engine.push("s", part))
        if random.random() < 0.4:
            engine = ft.Engine.restore(None, engine.snapshot())
    return found


def agree(seeds: range) -> int:
    tokens = 0
    for seed in seeds:
        random = Random(seed)
        text, given, rows = template(random), events(random), table(random, random.randint(1, 6))
        expected = lines(ft.run(text, {"s": given}, tables=tables_of(text, rows), engine="reference"))
        whole = lines(ft.run(text, {"s": given}, tables=tables_of(text, rows), engine="embedded"))
        assert whole == expected, (seed, text, rows)
        assert sorted(pushed(text, given, rows, random)) == sorted(expected), (seed, text, rows)
        tokens += sum(b'"kind":"token"' in line for line in expected)
    return tokens


def test_random_templates() -> None:
    assert agree(range(40)) > 200


def test_a_few_pairs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of an event may be evaluated one after the other."""
    monkeypatch.setattr("foretell.correlate.row_conditions.MOST_PAIRS", 3)
    assert agree(range(100, 120)) > 100


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_templates_for_long() -> None:
    assert agree(range(10_000, 12_000)) > 20_000


# ── rows that come and go ──


def alone(text: str, lifetime: Sequence[Events], own: dict[str, Any]) -> list[bytes]:
    """The tokens of one row, which sees these batches."""
    given = [event for part in lifetime for event in part]
    return lines(ft.run(text, {"s": given}, tables={"rows": typed([own])}, engine="reference"))


def changing_rows_agree(seeds: range) -> int:
    tokens = 0
    for seed in seeds:
        random = Random(seed)
        text = STREAM + correlator(random, "m", "s", random.choice(["", " PER g"]))
        parts = batches([*events(random), *later(events(random), 1_000)], random)
        rows = table(random, random.randint(1, 5))
        engine = ft.Engine(text, tables={"rows": typed(rows)})
        born = {each["id"]: (0, each) for each in rows}
        found, expected = list[bytes](), list[bytes]()
        for number, part in enumerate(parts):
            found += lines(engine.push("s", part))
            change = random.random()
            if change < 0.3 and len(born) > 1:
                gone = random.sample([*born], random.randint(1, min(3, len(born) - 1)))
                engine.remove_rows("rows", gone)
                for row_id in gone:
                    since, own = born.pop(row_id)
                    expected += alone(text, parts[since : number + 1], own)
            elif change < 0.6:
                values = random.choice([each for _, each in born.values()]) if random.random() < 0.6 else row(random, 0)
                text_ids = isinstance(next(iter(born)), str)
                ids = [f"r{number}a", f"r{number}b"] if text_ids else [100 + 2 * number, 101 + 2 * number]
                new = [{**values, "id": row_id} for row_id in ids]
                engine.add_rows("rows", typed(new))
                born |= {each["id"]: (number + 1, each) for each in new}
            if random.random() < 0.3:
                engine = ft.Engine.restore(None, engine.snapshot())
        for since, own in born.values():
            expected += alone(text, parts[since:], own)
        assert sorted(found) == sorted(expected), (seed, text, rows)
        tokens += len(expected)
    return tokens


def later(given: Events, by: int) -> Events:
    return [{**event, "t": event["t"] + by} for event in given]


def test_rows_come_and_go() -> None:
    assert changing_rows_agree(range(25)) > 200


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_rows_come_and_go_for_long() -> None:
    assert changing_rows_agree(range(10_000, 11_000)) > 10_000


def test_machines_count_as_memory() -> None:
    """Half a million pairs of a row and a lane with each batch: the error names them."""
    text = STREAM + "CORRELATE m FOR EACH rows FROM s PER n DO repeat{push('x'){sequential{a, b}}} "
    text += "DEFINE a AS n > :low, b AS k = :k;"
    rows = [{"id": number, "low": -number, "k": "b"} for number in range(500)]
    engine = ft.Engine(text, tables={"rows": rows}, limits=ft.Limits(memory="16 MiB"))
    engine.push("s", [{"k": "a", "n": n, "g": 1, "t": n} for n in range(1_000)])
    with pytest.raises(ft.ForetellError, match=r"correlators [\d.]+ MiB"):
        engine.push("s", [{"k": "a", "n": 0, "g": 1, "t": 1_000}])


def test_lanes_that_nothing_needs_are_freed() -> None:
    """Machines that are as at first need no lane, and the numbers of freed lanes go to others."""
    text = "STREAM s (k STRING, n INT, g INT, t INT) TIME t ID t;"
    text += (
        "CORRELATE m FOR EACH rows FROM s PER n DO repeat{push('x'){sequential{a, b}}} DEFINE a AS k = :k, b AS g = :g;"
    )
    rows = [{"id": "p", "k": "a", "g": 1}, {"id": "q", "k": "b", "g": 1}, {"id": "r", "k": "a", "g": 1}]
    engine = ft.Engine(text, tables={"rows": rows})
    found = []
    for first in range(0, 60_000, 2_000):
        lanes = range(first, first + 2_000)
        given = [{"k": "a" if n % 100 else "c", "n": n, "g": 0, "t": first + n} for n in lanes]
        closing = [{"k": "c", "n": n, "g": 1, "t": first + 2_000 + n} for n in lanes if n % 500]
        found += [(n.key, n.id) for n in engine.push("s", [*given, *closing])]
    expected = [({"n": n}, row_id) for n in range(60_000) if n % 100 and n % 500 for row_id in "pr"]
    assert found == expected
    assert group(engine).stream.lanes.begun == 60_000
    assert len(group(engine).stream.lanes) < 40_000
