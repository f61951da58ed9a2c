"""`foretell explain` of correlators: the machine as the paper draws it, and how it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.cli.explain import show
from foretell.correlate.explanation import ExplainedCorrelator, explain_correlator
from foretell.language.check import check
from foretell.language.checked import CheckedCorrelator
from foretell.language.parser import parse

EXAMPLE_3 = """
STREAM s (k STRING, t INT) TIME t;
CORRELATE m FROM s DO repeat{do{push('x'){accumulate{a, b}}} unless{c}}
DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c';
"""


def explained(text: str) -> ExplainedCorrelator:
    (statement,) = check(parse(text)).statements
    assert isinstance(statement, CheckedCorrelator)
    return explain_correlator(statement)


def test_example_3() -> None:
    assert explained(EXAMPLE_3).as_text().splitlines() == [
        "m",
        "  correlation machine: 10 states, 9 transitions",
        "  form: determinised (its table has 3 states)",
        "  steps: a, b, c",
        "  tokens: x",
        "  active at first: q0, q3, q10",
        "  a: q0 --a--> q1, clears q0",
        "  b: q3 --b--> q4, clears q3",
        "  accumulate: q1 and q4 --ε--> q6, clears q0 to q5",
        "  push('x'): q6 --ε--> q8, clears q0 to q7, emits 'x'",
        "  c: q10 --c--> q11, clears q10",
        "  unless: q8 --ε--> q13, clears q0 to q12",
        "  unless: q11 --ε--> q14, clears q0 to q12",
        "  repeat: q13 --ε--> q0, q3, q10, clears q0 to q14",
        "  repeat: q14 --ε--> q0, q3, q10, clears q0 to q14",
    ]


def test_a_drawing_has_every_state_and_transition() -> None:
    drawn, found = explained(EXAMPLE_3).as_mermaid(), explained(EXAMPLE_3)
    assert all(f'"q{state}"' in drawn for state in found.states)
    assert drawn.count("clears") == len(found.transitions)
    assert "ε / x" in drawn
    assert '["a<br/>clears q0"]' in drawn


def test_rounds_are_counted() -> None:
    text = EXAMPLE_3.replace("accumulate{a, b}", "persist(1000){do{a} unless{b}}")
    found = explained(text)
    assert found.form == "concurrent"
    assert found.counters == 1
    assert {t.rounds for t in found.transitions} == {
        None,
        "before the last of 1000 rounds",
        "in the last of 1000 rounds",
    }
    assert ", in the last of 1000 rounds" in found.as_text()
    assert found.as_mermaid().count(" rounds") == sum(t.rounds is not None for t in found.transitions)


@pytest.mark.parametrize("form", ["text", "json", "mermaid"])
def test_the_command_shows_it(form: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = tmp_path / "m.ftl"
    file.write_text(EXAMPLE_3)
    show(file, form, {})
    assert (
        capfdbinary.readouterr()
        .out.decode()
        .startswith({"text": "m\n", "json": '{"name": "m"', "mermaid": "flow"}[form])
    )


FORECASTING = EXAMPLE_3.rstrip().removesuffix(";") + " FORECAST WITHIN 5 EVENTS ABOVE 0.5;"


def test_the_chain_of_forecasts() -> None:
    found = explained(FORECASTING)
    assert found.as_text().splitlines()[6:10] == [
        "  forecasts: of 'x' by a chain of 3 states, those of the smallest deterministic machine",
        "  state 0 (at first): a → 1; b → 2; a+b or a+b+c → 0, emits 'x'",
        "  state 1: b or b+c → 0, emits 'x'; c → 0",
        "  state 2: a or a+c → 0, emits 'x'; c → 0",
    ]
    assert found.forecast is not None
    assert [state.distance for state in found.forecast.states] == [1, 1, 1]
    assert found.as_dict()["forecast"] is not None
    large = explained(FORECASTING.replace("accumulate{a, b}", "sequential{repeat(1000){a}, b}"))
    assert "forecasts: refused (its deterministic machine would have more than 16,384" in large.as_text()
    never = explained(FORECASTING.replace("repeat{do", "sequential{a, do").replace("FORECAST", "FORECAST OF 'x'"))
    assert "none of these tokens can come any more" in never.as_text()
    each = explained(FORECASTING.replace("FROM s", "FOR EACH r FROM s").replace("k = 'a'", "k = :k"))
    assert "since forecasts know the states of each row apart" in each.as_text()
