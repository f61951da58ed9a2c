"""Drawings of automata: states, edges, guards, negations, and the probabilities of a model."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

import foretell as ft
from foretell.charts.automaton import MOST_SIGNS, AutomatonChart, StateKind, edge_lines
from foretell.charts.learned_automaton import NOTHING, learned_automaton
from foretell.language.checked import CheckedSubscription
from tests.charts.browser import OPTIONS, executable
from tests.command import foretell

STREAM = "STREAM s (k STRING, x FLOAT, time INT) TIME time;"
EVIL = "</text><script>alert(1)</script>"


def chart(rest: str, name: str = "m", **more: object) -> AutomatonChart:
    found = ft.automaton_page(f"{STREAM} SUBSCRIBE {name} FROM s {rest};", **more)[name]  # type: ignore[arg-type]
    assert isinstance(found, AutomatonChart)
    return found


def edges(found: AutomatonChart) -> list[tuple[str, str, str]]:
    return [(edge.source, edge.target, edge.lines[0].text if edge.lines else "") for edge in found.edges]


def texts(drawing: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(drawing).iter() if element.tag.endswith("text")]


def test_states_edges_and_guards() -> None:
    found = chart("MATCH a , b ; !c ;{x > 1} d DEFINE a AS k = 'a', c AS k = 'c' WITHIN 9")
    assert edges(found) == [("begin", "0", "a"), ("0", "1", "b"), ("1", "match", "d")]
    assert [state.kind for state in found.states] == [
        StateKind.START, StateKind.WAITING, StateKind.WAITING, StateKind.FINAL
    ]  # fmt: skip
    _, first, second, _ = found.states
    assert [line.text for line in first.lines] == ["state 0", ", next event"]
    assert [line.text for line in second.lines] == ["state 1", ";{x > 1}", "no c"]
    assert "ends with c: k = 'c'" in second.hover
    assert {"a", "k = 'a'", "no c", ";{x > 1}"} <= set(texts(found.drawing()))


def test_a_repetition_is_a_loop_and_a_group_leads_back() -> None:
    assert ("1", "1", "b") in edges(chart("MATCH a , b+ , c"))
    back = chart("MATCH (a , b)+ , c")
    assert ("2", "1", "b") in edges(back)
    assert 'stroke-dasharray="6 3"' in back.drawing()


def test_a_long_guard_is_cut_off_and_whole_on_hovering() -> None:
    condition = " AND ".join(f"x > {number}" for number in range(20))
    found = chart(f"MATCH a , b DEFINE a AS {condition}")
    drawn = texts(found.drawing())
    assert max(map(len, drawn)) == MOST_SIGNS
    assert any(text.endswith("…") for text in drawn)
    assert f"<title>a: {condition}</title>".replace(">", "&gt;").replace("title&gt;", "title>") in found.drawing()


def test_all_final_states_are_one_match() -> None:
    found = chart("MATCH a , (b | c | d | e)")
    (arrow,) = [edge for edge in found.edges if edge.target == "match"]
    assert [line.text for line in arrow.lines] == ["b", "c", "d", "… 1 more step"]
    assert arrow.hover.splitlines() == list("bcde")


def test_a_label_has_few_steps() -> None:
    lines = edge_lines([(step, "") for step in "abcde"], "12%")
    assert [line.text for line in lines] == ["a", "b", "c", "… 2 more steps", "12%"]


def test_a_pattern_of_negations_is_a_clock() -> None:
    found = chart("PER k MATCH !beat WITHIN 60 DEFINE beat AS x > 1")
    assert edges(found) == [
        ("begin", "clock", "first event"),
        ("clock", "clock", "beat"),
        ("clock", "match", "time has passed"),
    ]
    assert [line.text for line in found.states[1].lines] == ["clock", "60", "no beat"]


def test_lost_steps_are_passed_over() -> None:
    rest = "PER k MATCH x ; !y ; z DEFINE x AS k = 'x' WITHIN 100 LOSING 0.1 OF x ABOVE 0.9"
    found = chart(rest)
    lines = {(edge.source, edge.target): [line.text for line in edge.lines] for edge in found.edges}
    assert lines[("begin", "step z")] == ["x lost", "no y"]
    assert lines[("step x", "step z")] == ["no y"]


def test_a_correlator_is_its_machine() -> None:
    text = (
        f"{STREAM} CORRELATE c FROM s DO repeat{{push('t'){{sequential{{a, b}}}}}} DEFINE a AS k = 'a', b AS k = 'b';"
    )
    found = ft.automaton_page(text)["c"]
    assert isinstance(found, AutomatonChart)
    drawn = texts(found.drawing())
    assert {"q0", "active at first", "a", "b", "emits t"} <= set(drawn)
    transitions = [state.name for state in found.states if state.kind is StateKind.TRANSITION]
    assert {name for edge in found.edges for name in (edge.source, edge.target)} >= set(transitions)


def test_learned_probabilities_are_those_of_the_counts() -> None:
    """Coins: from nothing a head leads to state 0 half of the time, and the next one completes the match."""
    import random

    coins = [{"time": n, "side": side} for n, side in enumerate(random.Random(3).choices("ht", k=4000))]
    text = (
        "STREAM coins (side STRING, time INT) TIME time;"
        "SUBSCRIBE twice FROM coins MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.4;"
    )
    model = ft.train(text, {"coins": coins}, learning=ft.Learning(half_life=float("inf")))
    (statement,) = ft.parse(text).checked().statements
    assert isinstance(statement, CheckedSubscription)
    learned = learned_automaton(statement, model.subscriptions["twice"]).states
    assert set(learned) == {NOTHING, 0}
    assert learned[NOTHING].moves[0] == pytest.approx(0.5, abs=0.03)
    assert learned[0].match == pytest.approx(0.5, abs=0.03)
    for state in learned.values():
        assert state.match + sum(state.moves.values()) == pytest.approx(1)
    assert learned[0].soon == pytest.approx(0.5 + 0.5 * 0.0, abs=0.04)
    found = ft.automaton_page(text, model=model)["twice"]
    assert isinstance(found, AutomatonChart)
    shares = [line.text for edge in found.edges for line in edge.lines if line.text.endswith("%")]
    assert len(shares) == 2
    assert all(abs(int(share[:-1]) - 50) <= 3 for share in shares)
    assert "Percentages are those of the model" in ft.automaton_page(text, model=model).html()


def test_a_model_of_other_statements_is_refused() -> None:
    other = {"subscriptions": {"n": {"forecast": {"fingerprint": "x"}}}}
    with pytest.raises(ft.InputError, match="subscription 'n'"):
        chart("MATCH a , b FORECAST WITHIN 2 EVENTS ABOVE 0.5", model=other)


def test_an_undeclared_stream_is_refused() -> None:
    with pytest.raises(ft.InputError, match="'s' is not declared"):
        ft.automaton_page("SUBSCRIBE m FROM s MATCH a , b;")


def test_a_large_automaton_is_told_and_not_drawn() -> None:
    steps = " , ".join(f"a{number}" for number in range(130))
    found = ft.automaton_page(f"{STREAM} SUBSCRIBE m FROM s MATCH {steps};")
    assert found.charts == ()
    assert "cannot be read as a drawing" in found.html()
    assert "cannot be read as a drawing" in found._repr_html_()


def test_texts_of_statements_are_texts() -> None:
    text = f"STREAM s (k STRING, time INT) TIME time; SUBSCRIBE \"{EVIL}\" FROM s MATCH a , b DEFINE a AS k = '{EVIL}';"
    page = ft.automaton_page(text)
    assert "<script" not in page.html()
    assert "<script" not in page._repr_html_()
    assert "script-src" not in page.html()  # no script may run at all
    ElementTree.fromstring(page.charts[0].svg())


def test_a_page_shows_itself_and_is_written(tmp_path: Path) -> None:
    page = ft.automaton_page(f"{STREAM} SUBSCRIBE m FROM s MATCH a , b;", tmp_path / "page.html")
    assert repr(page) == "ChartPage(How statements match: 1 chart: m)"
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html()
    assert "<svg" in page._repr_html_()
    assert "<svg" in page["m"]._repr_html_()
    assert {record["what"] for record in page["m"].records()} == {"states", "edges"}
    assert page["m"].specification()["layout"]["boxes"][0]["name"] == "begin"
    with pytest.raises(ft.InputError, match="no chart 'n'"):
        page["n"]
    with pytest.raises(ft.InputError, match="path: expected the path of a file"):
        page.save(5)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "m.ftl").write_text(f"{STREAM} SUBSCRIBE m FROM s MATCH a , b;", encoding="utf-8")
    done = foretell(tmp_path, "explain", "m.ftl", "--format", "html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ft.automaton_page(ft.load(tmp_path / "m.ftl")).html()


@pytest.mark.browser
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    ft.automaton_page(f"{STREAM} SUBSCRIBE m FROM s MATCH a , (b | c)+ , d;", tmp_path / "page.html")
    command = [executable(), *OPTIONS, "--enable-logging=stderr", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert len(re.findall(r'<path d="M', done.stdout)) >= 5
    assert "CONSOLE" not in done.stderr
