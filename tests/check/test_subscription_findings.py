"""The findings about subscriptions: their codes, and the part of the text that they mark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foretell.check.answer import Truth
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.replay import replayed
from foretell.check.subscriptions.findings import subscription_findings
from foretell.check.subscriptions.match_search import MatchSearch
from foretell.errors import NOWHERE, ForetellError
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import parse
from tests.case_files import cases

ROOT = Path(__file__).parents[2]
STREAM = "STREAM s (v INT, w FLOAT, n STRING, ip STRING, at TIMESTAMP, time INT) TIME time;"
TIMED = "STREAM r (v INT, time TIMESTAMP) TIME time;"


def findings_of(program: CheckedProgram) -> list[Finding]:
    subscriptions = [s for s in program.statements if isinstance(s, CheckedSubscription)]
    return [finding for s in subscriptions for finding in subscription_findings(s, program, Deadline(10))]


def _findings(statement: str) -> list[tuple[str, str]]:
    """The codes of the findings with the text that they mark."""
    text = f"{STREAM} {TIMED} SUBSCRIBE m FROM {statement};"
    found = findings_of(parse(text).checked())
    return [(f.code, "" if f.place == NOWHERE else text[f.place.column - 1 : f.place.end_column - 1]) for f in found]


@pytest.mark.parametrize(
    ("statement", "code", "marked"),
    [
        ("s MATCH a , b DEFINE a AS v > 1 AND n = 'x' AND v < 1", "contradiction", "v < 1"),
        ("s MATCH a , b? DEFINE b AS v > 1 AND v < 1", "contradiction", "v < 1"),
        ("s MATCH a DEFINE a AS v > prev.v", "contradicting-steps", "v > prev.v"),
        ("s MATCH a ; b DEFINE a AS n = $k AND n <> 'x', b AS n = $k AND n = 'x'", "contradicting-steps", "n = 'x'"),
        ("s MATCH a , b+ DEFINE a AS v = 1, b AS v > prev.v AND v < 1", "contradicting-steps", "v < 1"),
        ("s PER ip MATCH a ; b DEFINE a AS ip = '1', b AS ip = '2'", "contradicting-steps", "ip = '2'"),
        ("s MATCH a ; b @(t(b) - t(a) > 10) WITHIN 5", "impossible-within", "5"),
        ("r MATCH a ; b ; c @(t(c) - t(b) > 3 min) @(t(b) - t(a) > 3 min) WITHIN 5 min", "impossible-within", "5 min"),
        ("s MATCH a , b+ HAVING count(b) < 1", "having-never", "count(b) < 1"),
        ("s MATCH a , b DEFINE a AS v = 1, b AS v = 2 HAVING a.v + b.v > 3", "having-never", "a.v + b.v > 3"),
        ("s MATCH a , b[2] DEFINE b AS v = 2", "vacuous", "m"),
        ("s MATCH a ;{FALSE} b", "vacuous", "FALSE"),
        ("s MATCH a ; b? DEFINE a AS v > 1, b AS v = a.v AND v < 1", "dead-branch", "b"),
        ("s MATCH (a | b) , c DEFINE a AS v = 1, b AS v = 2, c AS v > a.v", "dead-branch", "b"),
        ("s MATCH a ; !x ; b DEFINE x AS v = 1 AND v = 2", "impossible-negation", "v = 2"),
        ("s MATCH a ; !x ; b DEFINE a AS v = 1, x AS v = a.v AND v > 2", "impossible-negation", "x"),
        ("s MATCH a ; !x ; b DEFINE a, b AS v = $k, x AS v = $k AND v <> b.v", "impossible-negation", "x"),
        ("s MATCH !x DEFINE x AS v = 1 AND v = 2 WITHIN 5", "impossible-negation", "v = 2"),
        ("s MATCH a DEFINE a AS v > 1 AND v > 0", "always-true", "v > 0"),
        ("s MATCH a , b DEFINE a AS n = 'x' AND n <> 'y'", "always-true", "n <> 'y'"),
        ("s MATCH a , b DEFINE a AS v > 1 OR v <= 1 OR v IS NULL", "always-true", "v > 1 OR v <= 1 OR v IS NULL"),
        ("s MATCH a @(t(a) = time AND stream = 's')", "trivial", "t(a) = time"),
    ],
)
def test_finding(statement: str, code: str, marked: str) -> None:
    assert (code, marked) in _findings(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "s MATCH a",
        "s MATCH a , b DEFINE a AS v > 1 AND v < 3, b AS v > a.v",
        "s MATCH a , b+ DEFINE b AS v > prev.v HAVING count(b) > 3",
        "s MATCH a ; b @(t(b) - t(a) >= 5) WITHIN 5",
        "s MATCH a & b DEFINE a, b AS v > 1 RETURN a.v AS first, b.v AS second",
        "s MATCH a & b DEFINE a AS v > 1 AND t(a) < t(b), b AS v > 1",
        "s MATCH a DEFINE a AS v IS NOT NULL AND v > 1",
        "s MATCH a ; !x ; b DEFINE a AS v = 1, x AS v = a.v, b AS v > 1",
        "s MATCH a ; !x ; b+ DEFINE a, b AS v = $k, x AS v <> a.v",
        "s MATCH a ; !x ; b DEFINE a AS v = 1, x AS v > a.v, b AS v = 2",
        "s MATCH a[3] ; b[2] DEFINE a AS v = 1, b AS v = 2",
        "s MATCH FIRST a ; LAST b DEFINE a AS v = 1, b AS v = 2 WITHIN 10",
        "s MATCH a ; b? DEFINE a AS v = 1, b AS v = 2 AFTER MATCH CONSUME",
        "r MATCH a ; !b DEFINE a AS v = 1, b AS v = 1 WITHIN 5 min",
    ],
)
def test_no_finding(statement: str) -> None:
    assert _findings(statement) == []


def test_a_contradiction_names_its_causes_with_their_places() -> None:
    steps = "DEFINE a AS v = $k AND v > 5,\n       b AS v = $k AND w > 1 AND v < 5;"
    text = f"{STREAM}\nSUBSCRIBE m FROM s MATCH a ; b\n{steps}"
    (finding,) = findings_of(parse(text).checked())
    expected = (
        "'m' never matches: v > 5 of 'a' (3:24), v = $k of 'b' (4:13) and v < 5 of 'b' (4:34) contradict each other"
    )
    assert finding.message == expected


def test_a_statement_that_reads_only_what_never_matches() -> None:
    text = (
        f"{STREAM} SUBSCRIBE m FROM s MATCH a , b DEFINE a AS v = 1, b AS v < prev.v AND v > 1 RETURN a.v AS v;\n"
        "SUBSCRIBE o FROM m MATCH a , b; SUBSCRIBE p FROM m, s MATCH a ; b;"
    )
    found = [(finding.statement, finding.code) for finding in findings_of(parse(text).checked())]
    assert found == [("m", "contradicting-steps"), ("o", "vacuous")]


def test_events_after_which_a_match_waits_in_vain() -> None:
    text = "a ; (b , c | d) DEFINE a AS v > 3, b AS v = a.v, c AS v < a.v AND v > b.v, d AS v = 1 HAVING a.v > 2"
    (finding,) = findings_of(parse(f"{STREAM} SUBSCRIBE m FROM s MATCH {text};").checked())
    assert finding.code == "dead-branch"
    assert finding.witness is not None
    assert [event.attributes["v"] for event in finding.witness.events] == [4, 4]


def test_results_of_statements_take_time() -> None:
    first = f"{STREAM} SUBSCRIBE m FROM s MATCH a , b RETURN a.v AS v;\n"
    for condition, codes in (("duration >= 30", []), ("duration < 0", ["having-never"])):
        program = parse(f"{first} SUBSCRIBE o FROM m, s MATCH c ; d HAVING {condition};").checked()
        assert [finding.code for finding in findings_of(program)] == codes
    program = parse(f"{first} SUBSCRIBE o FROM m MATCH c DEFINE c AS v > 1 HAVING duration > 30;").checked()
    statement = program.statements[-1]
    assert isinstance(statement, CheckedSubscription)
    witness = MatchSearch(statement, program).match(Deadline(10), simple=True).answer.witness
    assert witness is not None
    assert witness.events[0].start is not None
    assert witness.events[0].time - witness.events[0].start > 30


def test_a_witness_is_replayed() -> None:
    program = parse(f"{STREAM} SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS v = $k, b AS v = $k AND w > 2.5;").checked()
    (statement,) = program.statements
    assert isinstance(statement, CheckedSubscription)
    answer = MatchSearch(statement, program).match(Deadline(10), simple=True).answer
    assert answer.truth is Truth.YES
    assert answer.witness is not None
    assert [event.time for event in answer.witness.events] == [0, 1]
    assert len(replayed(statement, program, answer.witness)) == 1


# ── no false alarms ──


def test_statements_of_the_cases_that_match_are_not_called_vacuous() -> None:
    """Every case of the language, without its events: a statement with an expected row can match."""
    checked = 0
    for case in cases()[::7]:
        expected = {row["subscription"] for row in case.expect}
        try:
            program = parse(case.text).checked()
        except ForetellError:
            continue
        for finding in findings_of(program):
            never = finding.certain and "never matches" in finding.message
            assert not (never and finding.statement in expected), f"{case.name}: {finding}"
        checked += len(expected)
    assert checked > 50


def _statements(path: Path) -> list[str]:
    """The programs of a page that can be checked without its data."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL) if path.suffix == ".md" else [text]
    found = [
        part for block in blocks for part in re.findall(r"^SUBSCRIBE\b[^`]*?;\s*$", block, re.DOTALL | re.MULTILINE)
    ]
    return [*found, *(block for block in blocks if block.startswith(("--", "STREAM")))]


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/language.md", "docs/getting-started.md", "examples/intrusion.ftl", "examples/shoplifting.ftl"],
)
def test_examples_have_no_findings(page: str) -> None:
    for text in _statements(ROOT / page):
        try:
            program = parse(text).checked()
        except ForetellError:
            continue
        assert [f"{finding.code}: {finding.message}" for finding in findings_of(program)] == [], text


PAPERS = """
SUBSCRIBE intrusion FROM logins
MATCH  s1 ; s2 ; s3 @(t(s3) - t(s1) < 5 min) ; s4
DEFINE s1, s2, s3 AS ip = $x AND status = 'denied', s4 AS ip = $x AND status = 'success';
SUBSCRIBE compromised FROM logins
MATCH  s1 ; ((s2 ; s3 @(t(s3) - t(s1) < 10 min)) | (s4 , s5)) ; s6
DEFINE s1, s2 AS ip = $x AND status = 'denied', s3, s4 AS ip = $x AND status = 'success',
       s5 AS ip = $x AND status = 'passwd', s6 AS ip = $x AND status = 'logoff';
SUBSCRIBE general FROM p MATCH s1 ; ((s2 , s3) & (s4 , s5)) ; s6 ; (s7 | s8)
DEFINE s1 AS k = 1, s2 AS k = 2, s3 AS k = 3, s4 AS k = 4, s5 AS k = 5, s6 AS k = 6, s7 AS k = 7, s8 AS k = 8;
SUBSCRIBE timed FROM p MATCH s1 ; s2 @(t(s2) - t(s1) < 3) ; s3 @(t(s3) - t(s1) < 6) @(t(s3) - t(s2) > 3)
DEFINE s1 AS k = 1, s2 AS k = 2, s3 AS k = 3;
SUBSCRIBE S2 FROM stock MATCH a ;{name = 'MSFT'} b DEFINE a AS name = 'IBM' AND price > 100, b AS price < 25;
SUBSCRIBE S3 FROM stock MATCH a ;{name = a.name} b DEFINE b AS price > 1.05 * a.price;
SUBSCRIBE S4 FROM stock MATCH a ;{name = a.name} b+ DEFINE b AS price >= prev.price HAVING duration >= 30 min;
SUBSCRIBE S5 FROM stock MATCH a+ ;{name = 'IBM'} b
DEFINE a AS name = 'IBM', b AS price > avg(a.price) AND t(a) - t(first(a)) >= 52 weeks;
SUBSCRIBE AutQ FROM stock MATCH a ;{name = a.name} b+ ;{name = a.name} c
DEFINE a AS volume > 10000, b AS price < prev.price,
       c AS price > 1.05 * prev.price AND t(prev) - t(a) >= 10 min;
SUBSCRIBE S6 FROM feeds MATCH a ;{website IN ('x', 'y') AND contains(description, a.link)} b
DEFINE a AS website = 'military.blog.com' AND category = 'US troop morale';
SUBSCRIBE S7 FROM feeds MATCH a ;{website IN ('x', 'y') AND contains(description, prev.link)} b+
DEFINE a AS website IN ('x', 'y') AND contains(description, 'XYZ');
SUBSCRIBE break_in FROM office MATCH window ; presence
DEFINE window AS kind = 'window broken' AND room = $r, presence AS kind = 'presence' AND room = $r
WITHIN 5 min AFTER MATCH CONSUME;
SUBSCRIBE silent FROM heartbeats PER sensor MATCH !beat WITHIN 10 min;
"""


def test_the_statements_of_the_papers_have_no_findings() -> None:
    assert findings_of(parse(PAPERS).checked()) == []
