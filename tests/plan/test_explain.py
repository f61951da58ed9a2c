"""What `explain` says, as a person reads it."""

from __future__ import annotations

from foretell import parse
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import Explained, as_mermaid, as_text, explain

STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;\n"


def explained(text: str) -> Explained:
    (statement,) = parse(STREAM + text).checked().statements
    assert isinstance(statement, CheckedSubscription)
    return explain(statement)


def test_states_edges_and_where_conditions_are_judged() -> None:
    text = """SUBSCRIBE w FROM ticks PER name MATCH a ;{volume > 9 AND price > a.price} b , c
    DEFINE a AS volume > 9 AND price < c.price WITHIN 99;"""
    assert as_text(explained(text)) == (
        "w: instances with registers\n"
        "  because `;{θ}` takes only the first event for which θ holds\n"
        "  lanes by name\n"
        "  window 99\n"
        "  3 states, 3 edges, 1 predicates, 1 columns compared, 4 registers\n"
        "  begin -a-> 0 if volume > 9\n"
        "  0 -b-> 1\n"
        "  1 -c-> match if price < c.price (of a)\n"
        "  0 waits for the first event with volume > 9 AND price > a.price\n"
        "  1 waits for the very next event"
    )


def test_what_waits_for_ever_is_warned_of() -> None:
    (warning,) = explained("SUBSCRIBE w FROM ticks MATCH a ; b;").warnings
    assert warning.startswith("';' without WITHIN: every partial match waits for ever.")
    assert not explained("SUBSCRIBE w FROM ticks MATCH a ; b WITHIN 5;").warnings


def test_templates() -> None:
    one = explained("SUBSCRIBE w FOR EACH t FROM ticks MATCH a , b DEFINE a AS name = :n AND volume > :v;")
    assert one.strategy == "instances with registers, one machine for all rows"


def test_what_is_not_compiled() -> None:
    assert explained("SUBSCRIBE w FROM ticks MATCH a ; b LOSING 0.1 ABOVE 0.5;").strategy == "the reference"
    assert explained("SUBSCRIBE w FROM ticks MATCH !a WITHIN 5;").strategy == "a clock for each lane"


def test_what_is_left_for_the_finished_match() -> None:
    found = explained("SUBSCRIBE w FROM ticks MATCH a , b+ DEFINE a AS price < avg(b.price);")
    assert found.finally_judged == ("a: price < avg(b.price)",)


def test_mermaid() -> None:
    assert as_mermaid(explained("SUBSCRIBE w FROM ticks MATCH a , b DEFINE a AS volume > 9;")) == (
        "stateDiagram-v2\n    [*] --> s0 : a volume > 9\n    s0 --> [*] : b\n    note right of s0 : the very next event"
    )
