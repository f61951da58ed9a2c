"""Containment of statements with all their clauses: the reference evaluator contradicts no yes on random streams.

Conditions name other events and variables, windows and lanes differ, HAVING and AFTER MATCH remove matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import pytest

import foretell as ft
from foretell.check.answer import Truth
from foretell.check.automata.containment import contained
from foretell.check.deadline import Deadline
from foretell.language.check import check
from foretell.language.checked import CheckedProgram
from foretell.language.parser import parse

STREAM = "STREAM s (id INT, lane INT, g INT, k STRING, v INT, t INT) TIME t ID id;"

PATTERNS = {
    "a ; b": "ab", "a , b": "ab", "a ; b+": "ab", "a ; !n ; b": "anb", "a ;{v > 0} b": "ab", "a & b": "ab",
    "a | b": "ab", "(a | b) ; c": "abc", "a ; b ; c": "abc", "b": "b", "a ; b[2]": "ab", "!n ; b": "nb", "a ; !n": "an",
    "a ; FIRST b ; c": "abc", "a ;{v > a.v} b": "ab",
}  # fmt: skip

CONDITIONS = {
    "a": ["k = 'a'", "k = 'a' AND v > 0", "k = 'a' AND v = $x", "v = $x"],
    "b": ["k = 'b'", "k IN ('a', 'b')", "k = 'b' AND v > a.v", "k = 'b' AND v >= a.v", "k = 'b' AND v = $x", "v = $y"],
    "c": ["k = 'a'", "v > 1", "v = $y", "v = $x"],
    "n": ["k = 'x'", "k = 'x' AND v > 0", "v > a.v"],
}  # fmt: skip

CLAUSES = ["", "", " WITHIN 3", " WITHIN 5", " HAVING duration < 4", " AFTER MATCH SKIP PAST LAST",
           " WITHIN 5 AFTER MATCH CONSUME"]  # fmt: skip
LANES = ["PER lane", "PER lane", "PER lane, g"]


def random_statement(random: Random) -> str:
    pattern, steps = random.choice([*PATTERNS.items()])
    defined = ", ".join(f"{step} AS {random.choice(CONDITIONS[step])}" for step in steps)
    clauses = random.choice(CLAUSES)
    if (pattern == "!n ; b" or pattern.endswith("!n")) and "WITHIN" not in clauses:
        clauses = " WITHIN 3"
    return f"SUBSCRIBE m FROM s {random.choice(LANES)} MATCH {pattern} DEFINE {defined}{clauses};"


def valid_programs(random: Random, count: int) -> list[tuple[str, CheckedProgram]]:
    found: list[tuple[str, CheckedProgram]] = []
    while len(found) < count:
        text = random_statement(random)
        try:
            found.append((text, check(parse(STREAM + text))))
        except ft.ForetellError:
            continue  # a condition names a step that the pattern does not have
    return found


def random_events(random: Random, lanes: int, length: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for lane in range(lanes):
        time = 0
        for _ in range(length):
            time += random.choice([0, 1, 1, 3])
            rows.append({"lane": lane, "g": random.randint(1, 2), "k": random.choice("abx"),
                         "v": random.choice([0, 1, 2, None]), "t": time})  # fmt: skip
    rows.sort(key=lambda row: row["t"])
    return [{"id": number, **row} for number, row in enumerate(rows)]


def notified(text: str, rows: Sequence[dict[str, Any]]) -> frozenset[int]:
    """The events at which the reference evaluator notifies."""
    found = set[int]()
    for notification in ft.run(STREAM + text, {"s": rows}, engine="reference"):
        names = [n for e in notification.events.values() for n in (e if isinstance(e, list) else [e]) if n is not None]
        last = max((int(str(name)) for name in names), default=-1)
        if last >= 0 and rows[last]["t"] == notification.end:
            found.add(last)
    return frozenset(found)


def compare(seed: int, statements: int, lanes: int, length: int) -> Counter[Truth]:
    random = Random(seed)
    rows = random_events(random, lanes, length)
    programs = valid_programs(random, statements)
    found = [notified(text, rows) for text, _ in programs]
    truths: Counter[Truth] = Counter()
    for (left, ours), (right, theirs) in product(zip(programs, found, strict=True), repeat=2):
        (text, program), (other, other_program) = left, right
        (statement,), (containing,) = program.statements, other_program.statements
        answer = contained(statement, containing, program, other_program, Deadline(5))
        if answer.truth is Truth.YES:
            assert ours <= theirs, f"{text}\n{other}\n{answer.reason}"
        truths[answer.truth] += 1
    return truths


def test_random_statements() -> None:
    truths = compare(1, 16, 60, 6)
    assert truths[Truth.YES] > 15
    assert truths[Truth.NO] > 60


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(2, 10))
def test_random_statements_for_long(seed: int) -> None:
    compare(seed, 60, 300, 7)
