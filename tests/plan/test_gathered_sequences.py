"""Sides of `&` that are sequences, gathered in registers: few states, and the same matches as the reference."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.errors import LanguageError
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import as_text, explain
from foretell.plan.nfa import automaton
from foretell.plan.nfa.automaton import Automaton, build
from foretell.plan.nfa.counters import PatternCounters

STREAM = "STREAM s (time INT, k STRING, v INT) TIME time;\n"


def gather_sequences(patch: pytest.MonkeyPatch) -> None:
    """Gather sides that are sequences, also where states of their own would do."""

    def is_too_large(subscription: CheckedSubscription, counters: PatternCounters, edges: int) -> bool:
        return not counters.sequences and not subscription.simultaneous

    patch.setattr(automaton, "is_too_large", is_too_large)


def checked(text: str) -> CheckedSubscription:
    (statement,) = ft.parse(text).checked().statements
    assert isinstance(statement, CheckedSubscription)
    return statement


def automaton_of(pattern: str, rest: str = "WITHIN 100") -> Automaton:
    return build(checked(f"{STREAM}SUBSCRIBE p FROM s MATCH {pattern} {rest};"))


def sides(count: int, form: str) -> str:
    return " & ".join(form.format(i) for i in range(count))


@pytest.mark.parametrize("count", [7, 12, 62])
@pytest.mark.parametrize("form", ["(a{0} ; b{0})", "(a{0} , b{0})", "(a{0} , b{0} ; c{0})"])
def test_states_grow_with_the_sides(count: int, form: str) -> None:
    found = automaton_of(sides(count, form))
    steps = form.count("{0}") * count
    assert len(found.states) <= 2 + count * form.count(",")
    assert len(found.edges) <= 3 * steps


def test_explain_names_the_step_before() -> None:
    found = as_text(explain(checked(f"{STREAM}SUBSCRIBE p FROM s MATCH {sides(7, '(a{0} ; b{0})')} WITHIN 9;")))
    assert "no b3 so far" in found
    assert "after a3" in found


@pytest.mark.parametrize(
    "form", ["(a{0} ;{{v > 1}} b{0})", "(a{0} ; !x{0} ; b{0})", "(a{0}+ ; b{0})", "(a{0} ; b{0}?)"]
)
def test_other_sides_are_refused(form: str) -> None:
    with pytest.raises(LanguageError, match="the events of 12 sides may come in any order"):
        automaton_of(sides(12, form))


def test_simultaneous_events_need_states() -> None:
    text = (
        f"STREAM s (time INT, v INT) TIME time TIES SIMULTANEOUS; SUBSCRIBE p FROM s MATCH {sides(8, '(a{0} ; b{0})')};"
    )
    with pytest.raises(LanguageError, match="the events of 8 sides may come in any order"):
        build(checked(text))


def test_the_limit_changes_no_automaton() -> None:
    """A snapshot that was made with one limit is restored with another."""
    text = f"{STREAM}SUBSCRIBE p FROM s MATCH {sides(7, '(a{0} ; b{0})')} WITHIN 99;"
    assert [build(checked(text), edges).edges for edges in (100, 10**6)] == [build(checked(text)).edges] * 2
    assert len(automaton_of(sides(6, "(a{0} ; b{0})")).states) == 728
    with pytest.raises(LanguageError, match="more than 124 edges"):
        build(checked(f"{STREAM}SUBSCRIBE p FROM s MATCH {sides(6, '(a{0} ; b{0})')} WITHIN 99;"), 100)


# ── what they find ──


def side(chance: Random, names: list[str]) -> str:
    """A step, or a sequence of two or three."""
    steps = [f"a{len(names) + i}" for i in range(chance.choice([1, 2, 2, 3]))]
    names += steps
    return steps[0] if len(steps) == 1 else "(" + "".join(
        step if not i else f" {chance.choice(';;,')} {step}" for i, step in enumerate(steps)
    ) + ")"  # fmt: skip


def program(chance: Random) -> str:
    names: list[str] = []
    pattern = " & ".join(side(chance, names) for _ in range(chance.choice([2, 2, 3])))
    if chance.random() < 0.15:
        pattern += f" & (a{len(names)}+ ; a{len(names) + 1})"
    before, after = chance.choice([("", ""), ("", ""), ("x ; ", ""), ("x , ", ""), ("", " ; y"), ("", " , y")])
    conditions = []
    for name in (*names, *"xy"):
        if name in names or name in before + after:
            other = chance.choice(names)
            conditions.append(f"{name} AS " + chance.choice([
                "v >= 1", "v = 1", "v <= 1", f"v >= {other}.v", "v >= prev.v", "k = $k", "duration < 4",
                "v = $v OR v > 1",
            ]))  # fmt: skip
    if any("$v" in condition for condition in conditions):
        conditions[0] += " AND $v = v"
    rest = chance.choice(["WITHIN 4", "WITHIN 7", ""]) + chance.choice(
        ["", "", " AFTER MATCH CONSUME", " AFTER MATCH SKIP PAST LAST", " AFTER MATCH LONGEST"]
    )
    per = chance.choice(["", " PER k"])
    return f"{STREAM}SUBSCRIBE p FROM s{per} MATCH {before}({pattern}){after} DEFINE {', '.join(conditions)} {rest};"


def rows(chance: Random) -> list[dict[str, Any]]:
    count = chance.choice([5, 7, 8])
    return [{"time": i, "k": chance.choice("pq"), "v": chance.randrange(3)} for i in range(count)]


def in_batches(statements: ft.Subscriptions, events: list[dict[str, Any]]) -> list[str]:
    """What an engine finds that is stored and restored after every event."""
    engine, found = ft.Engine(statements), list[str]()
    for event in events:
        found += map(str, engine.push("s", [event]))
        engine = ft.Engine.restore(statements, engine.snapshot())
    return [*found, *map(str, engine.end())]


@pytest.mark.parametrize("part", range(4))
def test_they_find_what_the_reference_finds(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gather_sequences(monkeypatch)
    monkeypatch.setattr(automaton, "MOST_FINE_STATES", 0)
    matched = compact = 0
    for seed in range(60 * part, 60 * part + 60):
        chance = Random(seed)
        text, events = program(chance), rows(chance)
        try:
            statements = ft.parse(text)
            embedded = [str(n) for n in ft.run(statements, {"s": events}, engine="embedded")]
        except ft.ForetellError:
            continue
        assert embedded == [str(n) for n in ft.run(statements, {"s": events}, engine="reference")], (seed, text, events)
        assert Counter(in_batches(statements, events)) == Counter(embedded), (seed, text, events)
        matched += bool(embedded)
        compact += build(checked(text)).compact
    assert matched > 10
    assert compact > 40
