"""The NFA of a statement is made once, and again where something is different."""

from __future__ import annotations

from collections.abc import Callable

import foretell as ft
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import Codes
from foretell.plan.single_nfa import single_nfa

STREAM = "STREAM s (t INT, k STRING, v INT) TIME t;\n"
TEXT = f"{STREAM}SUBSCRIBE p FROM s PER k MATCH a ; b DEFINE b AS v > a.v WITHIN 5;"
NAMED = f"{STREAM}SUBSCRIBE p FROM s MATCH a ; b DEFINE b AS CASE WHEN v > a.v THEN 'x' ELSE 'y' END = k WITHIN 5;"


def checked(subscriptions: ft.Subscriptions) -> CheckedSubscription:
    (statement,) = subscriptions.checked().statements
    assert isinstance(statement, CheckedSubscription)
    return statement


def from_code(first: int) -> Callable[[str], int]:
    """Codes of strings as a runtime gives them that has others already."""
    codes: dict[str, int] = {}
    return lambda text: codes.setdefault(text, first + len(codes))


def test_a_tree_is_checked_once() -> None:
    parsed = ft.parse(TEXT)
    first = checked(parsed)
    assert checked(parsed) is first
    assert checked(ft.parse(TEXT)) is not first
    assert checked(ft.parse(TEXT)) == first


def test_other_types_are_checked_anew() -> None:
    """Of a stream that nobody declared, the first events show the types."""
    parsed = ft.parse("SUBSCRIBE p FROM s MATCH a ; b DEFINE b AS v > a.v WITHIN 5;")
    for values, matches in (([9, 10], 1), (["9", "10"], 0), ([9, 10], 1)):
        assert len(ft.Engine(parsed).push("s", [{"time": i, "v": v} for i, v in enumerate(values)])) == matches


def test_an_nfa_is_made_once() -> None:
    statement = checked(ft.parse(TEXT))
    first = single_nfa(statement, Codes())
    assert single_nfa(statement, Codes()) is first
    assert single_nfa(statement, Codes(), edges=5_000) is not first
    assert single_nfa(checked(ft.parse(TEXT)), Codes()) is not first


def test_an_nfa_with_other_codes_is_another() -> None:
    statement = checked(ft.parse(NAMED))
    first = single_nfa(statement, from_code(0))
    assert list(first.symbols.texts) == ["x", "y"]
    assert single_nfa(statement, from_code(0)) is first
    other = single_nfa(statement, from_code(7))
    assert other is not first
    assert other.symbols.texts == {"x": 7, "y": 8}


def found(statements: ft.Subscriptions, texts: int) -> list[tuple[str, object]]:
    """What an engine finds that has seen so many strings before one more statement joins."""
    more = "SUBSCRIBE q FROM s MATCH a ; b DEFINE b AS CASE WHEN v > a.v THEN 'z' ELSE 'x' END = k WITHIN 5;"
    engine = ft.Engine(statements)
    engine.push("s", [{"t": -100, "k": f"text {i}", "v": 1} for i in range(texts)])
    engine.subscribe(more)
    after = [{"t": t, "k": text[0], "v": int(text[1])} for t, text in enumerate(("z1", "z2", "x3", "y1", "x0", "z5"))]
    return [(n.subscription, n.end) for n in engine.push("s", after)]


def test_engines_that_share_a_plan_do_not_share_strings() -> None:
    parsed = ft.parse(NAMED)
    shared = [found(parsed, texts) for texts in (1, 5, 0)]
    assert shared == [found(ft.parse(NAMED), texts) for texts in (1, 5, 0)]
    assert {name for name, _ in shared[0]} == {"p", "q"}
