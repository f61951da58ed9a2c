"""What subscriptions share, and that sharing changes nothing."""

from __future__ import annotations

from foretell import parse
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import Codes
from foretell.plan.sharing_report import SharingReport, sharing_report

STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;\n"


def shared(*patterns: str) -> SharingReport:
    text = "".join(f"SUBSCRIBE s{i} FROM ticks {pattern};" for i, pattern in enumerate(patterns))
    statements = [s for s in parse(STREAM + text).checked().statements if isinstance(s, CheckedSubscription)]
    return sharing_report(statements, Codes())


def test_equal_beginnings_are_one() -> None:
    item = "PER name MATCH a , b , {} DEFINE a AS price < 60, b AS price > a.price, {}"
    found = shared(item.format("c", "c AS price > 9"), item.format("d", "d AS volume > 5"))
    assert (found.states, found.states_together, found.serving) == (6, 4, 2)
    assert (found.predicates, found.predicates_together) == (6, 4)


def test_names_of_steps_do_not_matter_but_conditions_do() -> None:
    found = shared("MATCH a , b DEFINE a AS price < 60", "MATCH x , y DEFINE x AS price < 60, y AS volume > 3")
    assert found.serving == 1
    assert shared("MATCH a , b DEFINE a AS price < 60", "MATCH a , b DEFINE a AS price < 61").serving == 0


def test_what_something_else_leads_to_is_not_shared() -> None:
    """After b+ one may be at the same place as after b, but not by the same way."""
    found = shared("MATCH a , b+ , c DEFINE c AS volume > 3", "MATCH a , b , c DEFINE c AS volume > 4")
    assert found.serving == 1


def test_other_lanes_or_operators_are_other_machines() -> None:
    found = shared("MATCH a , b", "PER name MATCH a , b", "MATCH a ;{price > 1} b")
    assert (found.machines, found.serving) == (3, 0)


def test_as_text() -> None:
    assert shared("MATCH a , b DEFINE a AS price < 60", "MATCH a , b DEFINE a AS price < 60").as_text() == (
        "sharing: 2 subscriptions in 1 NFA\n  4 states merged into 3 (1 shared)\n  2 predicates merged into 1"
    )
