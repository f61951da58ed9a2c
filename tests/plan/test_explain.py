"""The text of `explain`: every choice with its reason, the structure, warnings and hints."""

from __future__ import annotations

import pytest

from foretell import parse
from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import Explained, as_mermaid, as_text, explain, explain_all

STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;\n"


def subscriptions(text: str) -> list[CheckedSubscription]:
    return [s for s in parse(STREAM + text).checked().statements if isinstance(s, CheckedSubscription)]


def explained(text: str) -> Explained:
    (subscription,) = subscriptions(text)
    return explain(subscription)


def choices(text: str) -> dict[str, tuple[str, str]]:
    return {choice.subject: (choice.value, choice.why) for choice in explained(text).choices}


def test_states_edges_and_conditions() -> None:
    text = """SUBSCRIBE w FROM ticks PER name MATCH a ;{volume > 9 AND price > a.price} b , c
    DEFINE a AS volume > 9 AND price < c.price WITHIN 99;"""
    assert as_text(explained(text)) == (
        "w\n"
        "  executor: NFA (`;{θ}` takes only the first event for which θ holds)\n"
        "  kernel: general (runs may wait for later events)\n"
        "  key index: no (no equality with a bound value holds for all events that a state waits for)\n"
        "  detection: whole columns (whole columns are quicker than finding where partial matches wait)\n"
        "  sharing: shared (equal prefixes of patterns with the same FROM and PER are one)\n"
        "  lanes: by name\n"
        "  window: 99\n"
        "  size: 3 states, 3 edges, 1 predicate, 1 compared column, 4 registers\n"
        "  begin -a-> 0 if volume > 9\n"
        "  0 -b-> 1\n"
        "  1 -c-> match if price < c.price (of a)\n"
        "  0 waits for the first event with volume > 9 AND price > a.price\n"
        "  1 waits for the very next event\n"
        "  hint: compare with a bound event by an equality, as in `b.key = a.key`: "
        "a key would index the partial matches at state 0"
    )


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("a{3000} ; b", ["0 -a-> 0 if count of a < 3,000 AND count of a := it + 1"]),
        (
            "(a ; b){2,9000} ; c{5}",
            ["begin -a-> 0 if rounds of (a ; b) := 1", "1 -c-> 2 if rounds of (a ; b) >= 2 AND count of c := 1"],
        ),
        (
            " & ".join(f"s{number}" for number in range(20)),
            ["0 -s3-> match if no s3 so far AND steps of (s0 & … & s19) >= 19 AND steps of (s0 & … & s19) := it + 1"],
        ),
    ],
)
def test_counters_are_named_by_what_they_count(pattern: str, lines: list[str]) -> None:
    shown = as_text(explained(f"SUBSCRIBE w FROM ticks MATCH {pattern}")).splitlines()
    assert {f"  {line}" for line in lines} <= set(shown)


@pytest.mark.parametrize("columns", ["k INT, at TIMESTAMP", "k INT"], ids=["declared", "undeclared"])
def test_windows_are_durations(columns: str) -> None:
    text = f"STREAM s ({columns}) TIME at; SUBSCRIBE w FROM s MATCH a , b WITHIN 90 min;"
    (subscription,) = (s for s in parse(text).checked().statements if isinstance(s, CheckedSubscription))
    assert "\n  window: 1.5 hours\n" in as_text(explain(subscription))
    assert (explain(subscription).window, explain(subscription).unit) == (5_400_000_000, "microseconds")


def test_states_indexed_by_a_key() -> None:
    text = as_text(explained("SUBSCRIBE w FROM ticks MATCH a ; b+ ; c DEFINE b AS name = a.name, c AS name = a.name;"))
    assert "  key index: yes (all events that the state waits for must equal a bound value)\n" in text
    assert "  0 waits for any later event, indexed by name\n" in text


@pytest.mark.parametrize(
    ("statement", "kernel", "why"),
    [
        ("MATCH a , b DEFINE a AS volume > 9", "lockstep", "all runs at a state take the same way"),
        (
            "MATCH a , b WITHIN 9",
            "strict",
            "only the very next event counts, and WITHIN ends runs one by one",
        ),
        (
            "MATCH a , b+ , c DEFINE b AS price > avg(b.price)",
            "strict",
            "only the very next event counts, and a condition compares with a bound event",
        ),
        ("MATCH a ; b+", "general", "runs may wait for later events"),
        ("MATCH a ; b WITHIN 9", "arrival walk", "the one kernel of arrival lists, from the last step backwards"),
        ("MATCH !a WITHIN 9", "absence", "the one kernel of absence clocks"),
    ],
)
def test_the_kernel_and_its_reason(statement: str, kernel: str, why: str) -> None:
    assert choices(f"SUBSCRIBE w FROM ticks {statement};")["kernel"] == (kernel, why)


def test_the_reverse_scan_depends_on_the_batch() -> None:
    value, why = choices("SUBSCRIBE w FROM ticks MATCH a , b;")["reverse scan"]
    assert (value, why[:32]) == ("for some batches", "every event begins a match; used")
    chosen = choices("SUBSCRIBE w FROM ticks MATCH a , b DEFINE a AS volume > 9;")["reverse scan"]
    assert chosen == ("no", "not every event begins a match")


def test_others_in_the_same_nfa_change_the_kernel() -> None:
    text = "SUBSCRIBE w FROM ticks MATCH a , b; SUBSCRIBE x FROM ticks MATCH a , b , c WITHIN 9;"
    alone = [explain(learned) for learned in subscriptions(text)]
    together = list(explain_all(subscriptions(text), {}))
    assert [learned.choices[1].value for learned in alone] == ["lockstep", "strict"]
    assert [learned.choices[1].value for learned in together] == ["strict", "strict"]
    assert "  sharing: with `x` (every operator is `,`: equal prefixes of such patterns are one)\n" in as_text(
        together[0]
    )


def test_templates() -> None:
    plan = explained("SUBSCRIBE w FOR EACH t FROM ticks MATCH a , b DEFINE a AS name = :n AND volume > :v;")
    assert plan.strategy == "NFA, one executor for all rows"
    statement = "SUBSCRIBE w FOR EACH t FROM ticks MATCH a , b DEFINE a AS name = :n, b AS volume > :v"
    together = as_text(explained(f"{statement};"))
    assert (
        "  template: one executor for all rows, by their profiles (rows have a partial match in common until they "
        "differ)\n"
        "  states: not known (its states depend on the types of its parameters: give its table with --table)"
    ) in together
    each = as_text(explained(f"{statement} AFTER MATCH CONSUME;"))
    assert (
        "  template: an executor for each row (AFTER MATCH CONSUME chooses among the matches of each row apart)\n"
        in each
    )
    assert (
        "  hint: do without AFTER MATCH, FIRST, LAST, a[i], and a negation before the first event: "
        "then one executor serves all rows"
    ) in each
    single = as_text(explained("SUBSCRIBE w FOR EACH t FROM ticks MATCH a DEFINE a AS name = :n AND volume + :v > 3;"))
    assert "  executor: profile index (a match is one event, so there are no partial matches)\n" in single
    assert "  template: one index of the rows' profiles (all conditions are about one event)" in single


def test_partial_matches_of_templates_are_found_by_profiles() -> None:
    text = """STREAM s (n STRING, v INT, t INT) TIME t; SUBSCRIBE w FOR EACH people FROM s
    MATCH a ;{n = :name} b ; c , d DEFINE a AS v > :low, c AS n = :name AND v < :low;"""
    (subscription,) = (s for s in parse(text).checked().statements if isinstance(s, CheckedSubscription))
    plan = explain(subscription, {"id": Type.INT, "name": Type.STRING, "low": Type.INT})
    shown = as_text(plan)
    assert "  profile lists: at 2 states (the very next event concerns all of them)\n" in shown
    assert "  0 waits for the first event with n = :name, indexed by the profile of :name\n" in shown
    assert "  1 waits for any later event, indexed by the profile of :name, :low\n" in shown
    assert "  2 waits for the very next event\n" in shown
    assert not plan.hints


@pytest.mark.parametrize(
    ("pattern", "value", "why"),
    [
        ("a ;{n = :name} b", "at 1 state", "an event visits those whose profile it satisfies"),
        ("a ;{v > a.v} b", "no", "conditions without parameters, or on bound events, decide alone"),
        ("a ; (b | c)", "no", "profiles of several steps decide"),
        ("a ; b ; !c", "at 1 state", "they wait for time to pass, or count events"),
    ],
)
def test_why_partial_matches_are_not_found_by_profiles(pattern: str, value: str, why: str) -> None:
    text = f"""STREAM s (n STRING, v INT, t INT) TIME t; SUBSCRIBE w FOR EACH people FROM s
    MATCH {pattern} DEFINE a AS v = :low, b AS n = :name{", c AS v > :low" if "c" in pattern else ""} WITHIN 9;"""
    (subscription,) = (s for s in parse(text).checked().statements if isinstance(s, CheckedSubscription))
    found = explain(subscription, {"id": Type.INT, "name": Type.STRING, "low": Type.INT}).choices
    assert [(c.value, c.why) for c in found if c.subject == "profile lists"] == [(value, why)]


def test_forecasts_have_an_executor_of_their_own() -> None:
    found = choices("SUBSCRIBE w FROM ticks MATCH a , b AFTER MATCH CONSUME FORECAST WITHIN 5 EVENTS ABOVE 0.8;")
    assert found["sharing"] == ("its own", "forecasts observe its runs apart from those of others")
    assert found["observed by"] == (
        "a second executor with a probe",
        "AFTER MATCH CONSUME excludes runs, which is known only after the batch",
    )


def test_statements_without_states() -> None:
    assert explained("SUBSCRIBE w FROM ticks MATCH a ; b LOSING 0.1 ABOVE 0.5;").strategy == "hidden patterns"
    assert as_text(explained("SUBSCRIBE w FROM ticks MATCH !a WITHIN 5;")) == (
        "w\n"
        "  executor: absence clock (a negated step alone binds no events, so a clock in each lane is enough)\n"
        "  kernel: absence (the one kernel of absence clocks)\n"
        "  sharing: its own (it has no states)\n"
        "  window: 5"
    )


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("MATCH !a WITHIN 5", "each absence goes on"),
        ("MATCH a[2] ; b WITHIN 5", "an `a[i]` counts in the whole lane"),
        ("MATCH a ; b WITHIN 5 FORECAST WITHIN 5 ABOVE 0.5", "forecasts know the history of each"),
        ("MATCH a ; b WITHIN 5", None),
    ],
)
def test_lanes_that_are_never_freed(statement: str, why: str | None) -> None:
    found = explained(f"SUBSCRIBE w FROM ticks PER name {statement};")
    assert found.kept_lanes == why
    assert f"  lanes: by name{'' if why is None else f', kept for good ({why})'}\n" in as_text(found)


def test_conditions_on_the_finished_match() -> None:
    found = explained("SUBSCRIBE w FROM ticks MATCH a , b+ DEFINE a AS price < avg(b.price);")
    assert found.finally_judged == ("a: price < avg(b.price)",)


# ── warnings and hints ──


def test_a_missing_window_is_warned_of() -> None:
    (warning,) = explained("SUBSCRIBE w FROM ticks MATCH a ; b;").warnings
    assert warning.startswith("`;` without WITHIN keeps every partial match for ever")
    assert not explained("SUBSCRIBE w FROM ticks MATCH a ; b WITHIN 5;").warnings
    (warning,) = explained("SUBSCRIBE w FROM ticks MATCH a ; b+ WITHIN 5 AFTER MATCH LONGEST;").warnings
    assert warning == (
        "a step that repeats under `;` has a partial match for every selection of its events; repeat it under `;{θ}`, "
        "where θ is its condition"
    )
    assert not explained("SUBSCRIBE w FROM ticks MATCH a ;{price > 1} b+ WITHIN 5 AFTER MATCH LONGEST;").warnings


@pytest.mark.parametrize(
    ("statement", "hints"),
    [
        (
            "MATCH a ; b ; c DEFINE a AS name = $n, b AS name = $n, c AS name = $n WITHIN 5",
            ["add PER name: all steps share `name`, and Spark runs lanes in parallel"],
        ),
        (
            "MATCH a ; b+ DEFINE a AS name = $n, b AS name = $n WITHIN 5",
            ["add PER name: all steps share `name`, and Spark runs lanes in parallel"],
        ),
        ("PER name MATCH a ; b DEFINE a AS name = $n, b AS name = $n WITHIN 5", []),
        ("MATCH a , b , c DEFINE c AS volume > 3", []),
        ("MATCH a , b{5,} AFTER MATCH LONGEST", []),
        (
            "MATCH a , b+ HAVING count(b) >= 5 AFTER MATCH LONGEST",
            [
                "write HAVING as a condition of the steps, as `b{5,}` for `HAVING count(b) >= 5`: "
                "LONGEST would then follow a run as a whole and not all its parts"
            ],
        ),
        (
            "MATCH a , b+ , c DEFINE b AS price > avg(b.price)",
            ["without the comparison with a bound event (`price > avg(b.price)`) the lockstep kernel would run it"],
        ),
        ("MATCH a , b WITHIN 9", ["without WITHIN the lockstep kernel would run it; `,` bounds memory already"]),
    ],
)
def test_hints(statement: str, hints: list[str]) -> None:
    assert list(explained(f"SUBSCRIBE w FROM ticks {statement};").hints) == hints


# ── other formats ──


def test_mermaid() -> None:
    assert as_mermaid(explained("SUBSCRIBE w FROM ticks MATCH a , b DEFINE a AS volume > 9;")) == (
        "stateDiagram-v2\n    [*] --> s0 : a volume > 9\n    s0 --> [*] : b\n    note right of s0 : the very next event"
    )


def test_keys_of_the_json_form() -> None:
    """Programs read these: keys may be added, not renamed."""
    assert list(explained("SUBSCRIBE w FROM ticks MATCH a , b;").as_dict()) == [
        *("name", "strategy", "why", "lanes", "window", "states", "edges", "finally_judged"),
        *("predicates", "columns", "registers", "warnings", "forecast", "choices", "hints", "unit", "kept_lanes"),
    ]


def test_costly_predicates_of_later_steps_wait() -> None:
    text = "SUBSCRIBE w FROM ticks MATCH a {} b DEFINE a AS volume = 9, b AS name LIKE '%x%y' WITHIN 9;"
    for operator in (";", ";{volume > 1}"):
        value, why = choices(text.format(operator))["detection"]
        assert value == "1 predicate where a partial match waits"
        assert why == "up to 150 ns an event are saved, finding where partial matches wait takes 5"
    without = "SUBSCRIBE w FROM ticks MATCH a ; b DEFINE b AS name LIKE '%x%y' WITHIN 9;"
    assert choices(without)["detection"][1] == "every event begins a match, so partial matches wait everywhere"


def test_an_or_beside_other_conditions_is_in_parentheses() -> None:
    text = as_text(explained("SUBSCRIBE m FROM ticks MATCH a DEFINE a AS (volume > 9 OR price > 9) AND name = 'x';"))
    assert "begin -a-> match if (volume > 9 OR price > 9) AND name = 'x'" in text
