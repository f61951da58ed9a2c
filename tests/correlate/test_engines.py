"""Correlators in the compiled engine and the reference evaluator: whole, in batches, and stopped and restored."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.language import tree
from foretell.language.printer import correlation_text
from tests.correlate.expressions import expression

STREAM = "STREAM s (k STRING, n INT, g INT, t INT) TIME t;"

CONDITIONS = {"a": "k = 'a'", "b": "k IN ('b', 'a')", "c": "n > 2", "d": "n % 2 = 0 AND k <> 'c'"}

Events = list[dict[str, Any]]


def correlator(name: str, source: str, whole: tree.Correlation) -> str:
    used = {n.step for n in whole.walk() if isinstance(n, tree.On)}
    used |= {n.guard for n in whole.walk() if isinstance(n, tree.Mode)}
    define = ", ".join(f"{step} AS {CONDITIONS[step]}" for step in sorted(used))
    return f"CORRELATE {name} FROM {source} DO {correlation_text(whole)} DEFINE {define};"


def program(random: Random) -> str:
    """Tokens that a subscription reads, and sometimes matches that a correlator reads."""
    whole = tree.Again("repeat", tree.Push("w", expression(random, random.randint(1, 4))))
    per = random.choice(["", " PER g"])
    read = f"MATCH u ;{{stream = 's'}} v DEFINE u AS stream = 'm'{' WITHIN 5' if random.random() < 0.5 else ''}"
    text = f"{STREAM} {correlator('m', f's{per}', whole)} SUBSCRIBE p FROM m, s {read};"
    if random.random() < 0.5:
        pairs = "SUBSCRIBE q FROM s PER g MATCH x , y DEFINE y AS n > x.n RETURN y.n AS n, y.k AS k;"
        body = expression(random, random.randint(1, 3))
        text += f"{pairs} {correlator('z', 'q', tree.Again('repeat', tree.Push('v', body)))}"
    return text


def events(random: Random) -> Events:
    found: Events = []
    time = 0
    for _ in range(random.randint(5, 40)):
        time += random.choice([0, 1, 1, 2])
        found.append({"k": random.choice(["a", "b", "c", None]), "n": random.choice([0, 1, 2, 3, 4, None]),
                      "g": random.randint(0, 2), "t": time})  # fmt: skip
    return found


def lines(found: ft.Notifications) -> list[bytes]:
    """One for each notification; many come in pieces of several lines."""
    return b"".join(found.lines()).splitlines()


def pushed(text: str, given: Events, random: Random) -> list[bytes]:
    """In batches that do not divide an instant, some of them after a snapshot was restored."""
    engine = ft.Engine(text)
    found: list[bytes] = []
    first = 0
    while first < len(given):
        end = first + random.randint(1, 6)
        while end < len(given) and given[end]["t"] == given[end - 1]["t"]:
            end += 1
        found += lines(engine.push("s", given[first:end]))
        first = end
        if random.random() < 0.4:
            engine = ft.Engine.restore(None, engine.snapshot())
    return found


def agree(seeds: range) -> int:
    tokens = 0
    for seed in seeds:
        random = Random(seed)
        text, given = program(random), events(random)
        expected = lines(ft.run(text, {"s": given}, engine="reference"))
        assert lines(ft.run(text, {"s": given}, engine="embedded")) == expected, (seed, text)
        assert sorted(pushed(text, given, random)) == sorted(expected), (seed, text)
        tokens += sum(b'"kind":"token"' in line for line in expected)
    return tokens


def test_random_programs() -> None:
    assert agree(range(25)) > 50


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_programs_for_long() -> None:
    assert agree(range(1_000, 3_000)) > 4_000


PAIR = "CORRELATE m FROM s PER g DO repeat{push('x'){sequential{a, b}}} DEFINE a AS k = 'a', b AS k = 'b';"


def row(kind: str, time: int) -> dict[str, Any]:
    return {"k": kind, "n": 1, "g": 1, "t": time}


def test_it_comes_and_goes_while_the_engine_runs() -> None:
    engine = ft.Engine(STREAM + "SUBSCRIBE other FROM s MATCH e DEFINE e AS n > 99;")
    engine.push("s", [row("a", 1)])
    engine.subscribe(PAIR)
    # The a at 1 came before the statement.
    assert [n.end for n in engine.push("s", [row("b", 2), row("a", 3), row("b", 4)])] == [4]
    engine.unsubscribe("m")
    assert not engine.push("s", [row("a", 5), row("b", 6)])


def test_the_reference_evaluator_refuses_many_rounds() -> None:
    """It has a copy of the body for each round, and nested ones for each of these."""
    text = f"{STREAM} CORRELATE m FROM s DO {'repeat(2){' * 140}push('w'){{a}}{'}' * 140};"
    given = [{"k": "a", "n": 1, "g": 1, "t": 1}]
    with pytest.raises(ft.ForetellError, match="more than 100,000 parts in the reference evaluator"):
        ft.run(text, {"s": given}, engine="reference")
    assert len(ft.run(text, {"s": given}, engine="embedded")) == 1
