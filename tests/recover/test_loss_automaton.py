"""What `foretell explain` shows of statements with LOSING: AYAC's Fig. 1(b), with scores and what was pruned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foretell.arguments.model import as_model, delay_models
from foretell.bench.workloads.rfid_reads import HOUR, MODEL, RecoverCase
from foretell.cli.explain import show
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import parse
from foretell.recover.loss_automaton import LossAutomaton, automaton_text, loss_automaton

DELAYS = delay_models(as_model(MODEL), ["theft"])["theft"]


def automaton(text: str, *, scored: bool = True) -> LossAutomaton:
    (statement,) = parse(text).checked({}, {}).statements
    assert isinstance(statement, CheckedSubscription)
    return loss_automaton(statement, DELAYS if scored else None)


def test_the_paper_s_automaton() -> None:
    assert automaton_text(automaton(RecoverCase(True, 0.05, 12 * HOUR, 0.8).statement())).splitlines() == [
        "  begin -> x at best 1",
        "  begin -> z with x lost, no y, S(PN) at best 0.526, pruned: "
        "no match is more probable than 0.526, which is below ABOVE 0.8",
        "  x -> z with no y, S(N) at best 1",
        "  x -> end with z lost, no y, S(NP) at best 0.0457, pruned: "
        "no match is more probable than 0.0457, which is below ABOVE 0.8",
        "  z -> end at best 1",
        "  with all steps: 1 pattern within 153.369 s, at best 1",
        "  without x: pruned, no match is more probable than 0.526, which is below ABOVE 0.8",
        "  without z: pruned, no match is more probable than 0.0457, which is below ABOVE 0.8",
        "  estimates that may be withdrawn are forgotten after 1 day; Limits.memory counts them",
    ]


def test_what_runs_and_what_is_kept() -> None:
    found = automaton(RecoverCase(True, 0.05, 12 * HOUR, 0.0).statement())
    assert found.patterns is not None
    hours = [[(window or 0) / 1e6 / HOUR for window in patterns.windows] for patterns in found.patterns]
    assert [patterns.lost for patterns in found.patterns] == [(), ("x",), ("z",)]
    assert hours == [[12], [12, 24], [12, 24]]
    assert [patterns.candidate_bytes > 0 for patterns in found.patterns] == [False, True, True]


def test_without_a_window() -> None:
    statement = RecoverCase(True, 0.05, HOUR, 0.0).statement().replace("WITHIN 3600 s LOSING 0.05", "LOSING 0.05 OF y")
    text = automaton_text(automaton(statement.replace("!y", "y")))
    assert "x -> z with y lost, S(P)" in text
    assert "without y: 2 patterns without a window" in text
    assert "forgotten never (add WITHIN); Limits.memory counts them" in text


def test_without_a_model() -> None:
    text = automaton_text(automaton(RecoverCase(True, 0.05, HOUR, 0.5).statement(), scored=False))
    assert "x -> z with no y, S(N)\n" in text
    assert "scores: not known; give a model with --model" in text


@pytest.mark.parametrize("form", ["text", "json", "mermaid"])
def test_the_command_shows_it(form: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file, model = tmp_path / "theft.ftl", tmp_path / "model.json"
    file.write_text(RecoverCase(True, 0.05, 12 * HOUR, 0.8).statement())
    model.write_text(json.dumps(MODEL))
    show(file, form, {}, model=model)
    shown = capfdbinary.readouterr().out.decode()
    match form:
        case "json":
            edges = json.loads(shown.splitlines()[0])["losing"]["edges"]
            assert [edge["best"] for edge in edges] == pytest.approx([1, 0.526, 1, 0.0457, 1], abs=1e-3)
        case "mermaid":
            assert "    [*] --> z : x lost, no y, at best 0.526, pruned" in shown
        case _:
            assert "executor: hidden patterns" in shown
            assert "  without x: pruned" in shown
