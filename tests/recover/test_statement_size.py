"""How much a statement with LOSING needs: counted before it is planned, and refused beyond the limits."""

from __future__ import annotations

from itertools import combinations
from time import process_time
from typing import Any

import pytest

import foretell as ft
from foretell.arguments.model import as_model, delay_models
from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import parse
from foretell.recover.estimate_stage import EstimateStage
from foretell.recover.hidden_patterns import all_lost_sets, variant_of
from foretell.recover.loss_automaton import loss_automaton
from foretell.recover.statement_size import pattern_count
from tests.recover.estimate_programs import exponential

STREAM = "STREAM s (k STRING) TIME t;"
POINTS = [[n / 100, n / 1_000] for n in range(1_001)]


def sequence(count: int, above: float = 0.0, negated: str = "", rest: str = "WITHIN 100 LOSING 0.05") -> str:
    """`a0 ; a1 ; …`; the steps with the numbers `negated` may not come."""
    names = [f"a{n}" for n in range(count)]
    pattern = " ; ".join(f"!{name}" if name[1:] in negated else name for name in names)
    defined = ", ".join(f"{name} AS k = '{name}'" for name in names)
    return f"{STREAM} SUBSCRIBE q FROM s MATCH {pattern} DEFINE {defined} {rest} ABOVE {above};"


def model(count: int, delay: dict[str, object] | None = None) -> dict[str, Any]:
    """Delays from each step to each later one."""
    names = [f"a{n}" for n in range(count)]
    known = delay or exponential(10.0, 0.8)
    after: dict[str, dict[str, object]] = {name: {} for name in names[1:]}
    before: dict[str, dict[str, object]] = {name: {} for name in names[:-1]}
    for first, second in combinations(names, 2):
        after[second][first] = before[first][second] = known
    return {"subscriptions": {"q": {"after": after, "before": before}}}


def checked(text: str) -> CheckedSubscription:
    (statement,) = parse(text).checked({}, {}).statements
    assert isinstance(statement, CheckedSubscription)
    return statement


def delays(count: int) -> DelayModel:
    return delay_models(as_model(model(count)), ["q"])["q"]


@pytest.mark.parametrize(
    ("count", "negated", "rest"),
    [
        (1, "", "WITHIN 100 LOSING 0.05"),
        (4, "", "WITHIN 100 LOSING 0.05"),
        (4, "", "LOSING 0.05"),
        (5, "24", "WITHIN 100 LOSING 0.05"),
        (5, "0", "WITHIN 100 LOSING 0.05 OF a2, a4"),
    ],
)
def test_patterns_are_counted_before_they_are_made(count: int, negated: str, rest: str) -> None:
    statement = checked(sequence(count, negated=negated, rest=rest))
    for lost in all_lost_sets(statement):
        assert pattern_count(statement, lost) == len(variant_of(statement, lost, DelayModel()).patterns)


def test_a_pattern_of_many_steps_counts_as_several() -> None:
    rest = "WITHIN 100 LOSING 0.05 OF a1"
    assert pattern_count(checked(sequence(10, rest=rest)), frozenset({"a1"})) == 16
    assert pattern_count(checked(sequence(11, rest=rest)), frozenset({"a1"})) == 2 * 18


def test_too_many_patterns() -> None:
    with pytest.raises(InputError) as caught:
        EstimateStage(checked(sequence(4)), delays(4), most=ft.Limits(patterns=40).losing)
    assert caught.value.code == "losing-many"
    assert caught.value.message == (
        "subscription 'q': LOSING of 4 steps needs more than 40 patterns: each set of steps that may be lost together "
        "has patterns of its own"
    )
    assert caught.value.hint == (
        "name the steps that are lost most often: LOSING 0.05 OF a0, a1; or raise ABOVE, or Limits.patterns, "
        "which is 40"
    )
    assert len(EstimateStage(checked(sequence(4)), delays(4), most=ft.Limits(patterns=41).losing).statements) == 41


def test_too_many_tables() -> None:
    start = process_time()
    with pytest.raises(InputError) as caught:
        loss_automaton(checked(sequence(8)), delays(8))
    assert process_time() - start < 0.5
    assert caught.value.code == "losing-many"
    assert caught.value.message == (
        "subscription 'q': LOSING needs more than 120 tables of delays: "
        "a gap may hide 'a1', 'a2', 'a3', 'a4' and 3 more"
    )
    assert caught.value.hint == (
        "name the steps that are lost most often: LOSING 0.05 OF a0; or raise Limits.tables, which is 120"
    )


def test_a_delay_of_many_points() -> None:
    learned = model(3, {"distribution": "points", "points": POINTS})
    with pytest.raises(InputError) as caught:
        ft.run(sequence(3), {"s": [{"k": "a0", "t": 1.0}]}, model=learned)
    assert caught.value.message.endswith("and a delay has 1,001 points")
    assert "give fewer points, or a distribution such as gamma or lognormal" in str(caught.value.hint)


def test_many_negated_steps_in_a_gap() -> None:
    names = [f"!n{n}" for n in range(98)]
    text = f"{STREAM} SUBSCRIBE q FROM s MATCH {' ; '.join(['a', *names, 'b'])} WITHIN 9 LOSING 0.05 ABOVE 0;"
    order = [name.strip("!") for name in ["a", *names, "b"]]
    after = {step: dict.fromkeys(order[:n], exponential(3.0, 0.5)) for n, step in enumerate(order) if n}
    before = {step: dict.fromkeys(order[n + 1 :], exponential(3.0, 0.5)) for n, step in enumerate(order[:-1])}
    known = {"subscriptions": {"q": {"after": after, "before": before}}}
    with pytest.raises(InputError, match="a gap may hide 'n0', 'n1', 'n2', 'n3' and 94 more"):
        ft.run(text, {"s": [{"k": "", "t": 1.0}]}, model=known)


def test_every_way_to_set_a_limit() -> None:
    events = {"s": [{"k": "a0", "t": 1.0}]}
    with pytest.raises(InputError, match="more than 30 tables of delays"):
        ft.run(sequence(4), events, model=model(4), limits=ft.Limits(tables=30))
    with pytest.raises(InputError, match="tables must be a whole number from 1 on, not 0"):
        ft.Limits(tables=0)
    plain = f"{STREAM} SUBSCRIBE p FROM s MATCH a ; b DEFINE a AS k = 'a', b AS k = 'b';"
    engine = ft.Engine(plain, limits=ft.Limits(tables=30), model=model(4))
    engine.push("s", events["s"])
    with pytest.raises(InputError, match="more than 30 tables of delays"):
        engine.subscribe(sequence(4).removeprefix(STREAM))
    assert not ft.run(sequence(4), events, model=model(4))


def test_five_steps_are_planned_soon() -> None:
    """Each set of lost steps had tables of its own: it took nine seconds and more."""
    start = process_time()
    stage = EstimateStage(checked(sequence(5, above=0.5)), delays(5))
    assert process_time() - start < 5
    assert [sorted(variant.scorer.lost) for variant in stage.running] == [[], ["a1"], ["a2"], ["a3"]]
    assert len(stage.pruned) == 27
