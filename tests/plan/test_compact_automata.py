"""Automata that count in registers: as small as they should be, refused where they are too large, and right."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from time import process_time
from typing import Any

import pytest

import foretell as ft
from foretell.errors import LanguageError
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import explain
from foretell.plan.nfa.automaton import Automaton, build
from foretell.plan.nfa.automaton_size import MOST_EDGES, MOST_FINE_STATES
from foretell.plan.nfa.step_sets import StepNumbers, StepSet

STREAM = "STREAM s (k STRING, v INT) TIME time;\n"


def statement(pattern: str, rest: str = "WITHIN 100") -> str:
    return f"{STREAM}SUBSCRIBE p FROM s MATCH {pattern} {rest};"


def automaton_of(pattern: str, rest: str = "WITHIN 100") -> Automaton:
    (checked,) = ft.parse(statement(pattern, rest)).checked({}, {}).statements
    assert isinstance(checked, CheckedSubscription)
    return build(checked)


def letters(count: int) -> list[str]:
    return [f"a{i}" for i in range(count)]


def defined(count: int) -> str:
    return "DEFINE " + ", ".join(f"{step} AS v = {i}" for i, step in enumerate(letters(count)))


@pytest.mark.parametrize("count", [MOST_FINE_STATES + 1, 10**5, 10**9])
@pytest.mark.parametrize(
    ("pattern", "states"),
    [("a{%d}", 2), ("a{0,%d} ; b", 3), ("a ; b{%d,} ; c", 4), ("(a ; b{%d}){2,3} ; c", 5), ("(a{%d} & b) , c", 7)],
)
def test_a_count_takes_no_states(pattern: str, states: int, count: int) -> None:
    found = automaton_of(pattern % count)
    assert found.compact
    assert len(found.states) <= states


@pytest.mark.parametrize("sides", [11, 40, 62])
def test_single_steps_beside_each_other_take_no_states(sides: int) -> None:
    found = automaton_of(" & ".join(letters(sides)))
    assert found.compact
    assert (len(found.states), len(found.edges)) == (2, 3 * sides)


def test_small_patterns_keep_their_states() -> None:
    assert not automaton_of("a{3,5} & b & c").compact
    assert len(automaton_of(f"a{{{MOST_FINE_STATES}}}").states) == MOST_FINE_STATES


@pytest.mark.parametrize("operator", [";", ","])
def test_long_sequences(operator: str) -> None:
    found = automaton_of(f" {operator} ".join(letters(3000)), defined(3000) + " WITHIN 9999")
    assert (len(found.states), len(found.edges)) == (3000, 3000)


TOO_LARGE = {
    " & ".join(f"(a{i} ;{{v > 1}} b{i})" for i in range(12)): "the events of 12 sides may come in any order",
    " & ".join(f"a{i}?" for i in range(40)): "the events of 40 sides may come in any order",
    "x ; (" + " & ".join(letters(20)) + "){2}": "the events of 20 sides may come in any order",
    " ; ".join(f"a{i}?" for i in range(300)) + " ; z": "each of 300 optional parts may be followed by each later one",
}


@pytest.mark.parametrize("pattern", TOO_LARGE)
def test_what_needs_more_is_refused_with_its_cause(pattern: str) -> None:
    with pytest.raises(LanguageError) as caught:
        automaton_of(pattern)
    assert caught.value.code == "too-large"
    assert TOO_LARGE[pattern] in caught.value.message
    assert caught.value.place.line == 2
    assert caught.value.hint


def test_conditions_that_ask_which_steps_are_bound_are_refused() -> None:
    names = letters(20)
    asking = ", ".join(f"{step} AS v > {other}.v" for step, other in zip(names[1:], names, strict=False))
    with pytest.raises(LanguageError, match="conditions depend on which of the steps are bound"):
        automaton_of(f"({' | '.join(names)})+ ; z", f"DEFINE {asking} WITHIN 9")


def test_limits_are_those_of_the_message() -> None:
    with pytest.raises(LanguageError, match=f"more than {MOST_EDGES + 2 * 24:,} edges"):
        automaton_of(next(iter(TOO_LARGE)))


def test_the_limit_is_a_setting() -> None:
    """For a run, an engine, a statement that joins it, and where a snapshot is restored."""
    text, more = statement("(a ; b) & (c ; d)"), "SUBSCRIBE q FROM s MATCH (a ; b) & (c ; d ; e) WITHIN 9;"
    few = ft.Limits(edges=3)
    engine = ft.Engine(text)
    engine.push("s", events(1, 2, 3))
    with pytest.raises(ft.ForetellError, match=r"needs more than 11 edges.*\n.*; or raise Limits\.edges, which is 3"):
        ft.Engine.restore(None, engine.snapshot(), limits=few)
    with pytest.raises(LanguageError, match="needs more than 11 edges") as caught:
        ft.run(text, {"s": events(1)}, engine="embedded", limits=few)
    assert caught.value.hint.endswith("or raise Limits.edges, which is 3")
    engine = ft.Engine(text, limits=ft.Limits(edges=5))
    engine.push("s", events(1, 2, 3))
    with pytest.raises(LanguageError, match="needs more than 15 edges"):
        engine.subscribe(more)


@pytest.mark.parametrize("side", ["a{0}?", "(a{0} ; !x{0} ; b{0})"])
def test_thousands_of_sides_are_refused_too(side: str) -> None:
    """Their number of states is beyond any float."""
    with pytest.raises(LanguageError, match="the events of 2000 sides may come in any order"):
        automaton_of(" & ".join(side.format(i) for i in range(2000)))


def test_a_template_that_is_too_large_is_refused() -> None:
    text = f"{STREAM}SUBSCRIBE p FOR EACH t FROM s MATCH {' & '.join(f'a{i}?' for i in range(40))} WITHIN 9;"
    engine = ft.Engine(text, tables={"t": [{"id": 1, "v": 1}]})
    with pytest.raises(ft.LanguageError, match="sides may come in any order"):
        engine.push("s", events(1))


# ── what they find ──


def events(*values: int) -> list[dict[str, Any]]:
    return [{"time": i, "k": "x", "v": v} for i, v in enumerate(values)]


@pytest.mark.parametrize("count", [1200, 1500])
def test_a_run_is_found_when_it_is_long_enough(count: int) -> None:
    text = statement("a{1200}", "DEFINE a AS v = 1 AFTER MATCH SKIP PAST LAST")
    found = ft.run(text, {"s": events(0, *[1] * (count - 1), 0, *[1] * count)}, engine="embedded")
    assert [n.start for n in found] == ([1201] if count == 1200 else [1, 1501])


def test_rounds_are_counted_anew() -> None:
    text = statement("(a , b{2000,}){2} , c", "DEFINE a AS v = 1, b AS v = 2, c AS v = 3")
    for rounds, matches in [((2000, 2001), 1), ((1999, 2000), 0), ((2000, 1999), 0), ((2000, 2000, 2000), 1)]:
        values = [v for twos in rounds for v in (1, *[2] * twos)]
        assert len(ft.run(text, {"s": events(*values, 3)}, engine="embedded")) == matches


def test_all_orders_of_many_steps_are_found() -> None:
    text = statement(" & ".join(letters(12)) + " ; z", defined(12) + ", z AS v = 99 WITHIN 99")
    found = ft.run(text, {"s": events(7, 3, *range(12), 99)}, engine="embedded")
    # Of the steps 3 and 7 there are two events each.
    assert len(found) == 4
    assert {(n.events["a3"], n.events["a7"]) for n in found} == {(1, 0), (1, 9), (5, 0), (5, 9)}
    assert not ft.run(text, {"s": events(*range(11), 99)}, engine="embedded")


def test_conditions_between_many_steps() -> None:
    names = letters(11)
    asking = ", ".join(f"{step} AS v = {i} AND t({step}) > t({names[i - 1]})" for i, step in enumerate(names) if i)
    text = statement(" & ".join(names), f"DEFINE a0 AS v = 0, {asking} WITHIN 99")
    assert len(ft.run(text, {"s": events(*range(11))}, engine="embedded")) == 1
    for left, right in pairwise(range(11)):
        values = list(range(11))
        values[left], values[right] = values[right], values[left]
        assert not ft.run(text, {"s": events(*values)}, engine="embedded")


@pytest.mark.parametrize("seed", range(20))
def test_conditions_that_wait_for_one_of_many_alternatives(seed: int) -> None:
    """Some name an alternative, some a variable that it binds, some only a step that must be bound before."""
    chance = Random(seed)
    ends = " | ".join(f"e{i}" for i in range(6))
    asking = "a AS v <= c.v, b AS v >= coalesce(e1.v, d.v), c AS v < $x + 2, d AS v > first(e2).v OR v > a.v"
    binding = "e3 AS v = $x AND v > 0, e4 AS $x = v AND k = 'x'"
    text = statement(f"a ; b ; c? ; d ;{{v >= 0}} ({ends})", f"DEFINE {asking}, {binding} WITHIN 100")
    rows = events(*(chance.randrange(4) for _ in range(9)))
    rows_of = [[str(n) for n in ft.run(text, {"s": rows}, engine=engine)] for engine in ("embedded", "reference")]
    assert rows_of[0] == rows_of[1]
    assert seed or rows_of[0]


# ── sets of steps ──


def test_sets_of_steps() -> None:
    numbers = StepNumbers.of("abc")
    ab, bc = StepSet(numbers, numbers.bits("ab")), StepSet(numbers, numbers.bits("bc"))
    assert [set(found) for found in (ab & bc, ab | bc, ab - bc)] == [{"b"}, {"a", "b", "c"}, {"a"}]
    assert [set(found) for found in ({"c", "x"} & bc, ab & {"a", "x"})] == [{"c"}, {"a"}]
    assert (len(ab), list(ab), bool(ab - ab)) == (2, ["a", "b"], False)
    assert [step in ab for step in "acx"] == [True, False, False]
    assert {ab: 1}[StepSet(numbers, numbers.bits("ba"))] == 1
    assert repr(bc) == "StepSet(b, c)"


def test_a_long_side_of_a_conjunction() -> None:
    """Each operator asks for the sides around it, and each side for its first step: that took cubic time."""
    steps = " ; ".join(f"b{i}" for i in range(1000))
    (checked,) = ft.parse(statement(f"a & ({steps})")).checked({}, {}).statements
    assert isinstance(checked, CheckedSubscription)
    start = process_time()
    explain(checked)
    assert process_time() - start < 4
