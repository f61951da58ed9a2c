"""The order in which lowering numbers slots and counters. Snapshots refer to these numbers: a change breaks them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foretell import parse
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import Codes
from foretell.plan.expressions import Disjunction, EveryNth
from foretell.plan.lower.registers import Register, SlotKey
from foretell.plan.prefix_sharing import SharedNfa

STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts{ties};\n"

PATTERNS = {
    "repetition": (
        """MATCH a ; b+ ; c DEFINE b AS price > a.price AND price > prev.price, c AS volume < avg(b.volume)
        RETURN count(b) AS n, max(b.price) AS m""",
        "position 0, position 2, count 1, max 1 price, last 0 price, previous price, sum 1 volume, "
        "count present 1 volume",
    ),
    "index of runs": (
        "MATCH a ;{name = a.name} b DEFINE b AS price > 2 * a.price",
        "position 0, position 1, last 0 2 * price, last 0 name, index key of last 0 name",
    ),
    "counts and deferred negations": (
        "MATCH a ; b[2] ; !x ; c DEFINE a AS name = $n, b AS name = $n, x AS price > c.price WITHIN 5",
        "position 0, position 1, position 3, variable 0, occurrences 1, gap start 2",
    ),
    "leading negation": (
        "MATCH !x ; a , b DEFINE b AS t(b) - t(a) < 3 WITHIN 5",
        "position 1, position 2, leading 0",
    ),
    "conjunction": (
        "MATCH (a ;{price > $p AND duration < 5} b) & (c ; d) DEFINE a AS price = $p, c AS price = $p WITHIN 9",
        "position 0, position 1, position 2, position 3, variable 0, scope variable 0 in 0 at 1, previous 1 t, "
        "scope start 0 at 1, index key of variable 0",
    ),
    "repetition in a side of a conjunction": (
        "MATCH (a+ & b) ;{price > b.price} c",
        "position 1, position 2, last 1 price, before scope of last 1 price in 0 at 1",
    ),
}


def compiled(text: str, ties: str = "") -> SharedNfa:
    (statement,) = parse(STREAM.format(ties=ties) + f"SUBSCRIBE m FROM ticks PER name {text};").checked().statements
    assert isinstance(statement, CheckedSubscription)
    nfa, _ = SharedNfa.empty(Codes(), statement.simultaneous, statement.time).joined_by(statement)
    return nfa


def slots(text: str, ties: str = "") -> str:
    table = compiled(text, ties).symbols.slot_table
    assert list(table.slots.values()) == list(range(10, 10 + len(table.slots)))
    return ", ".join(map(described, table.slots))


def described(key: SlotKey) -> str:
    register: Register = key.register
    kind = register.kind.value if register.source is None else f"{register.kind.value} of {register.source.value}"
    scope = f"in {register.scope}" if register.scope >= 0 else ""
    depth = f"at {register.depth}" if register.depth else ""
    number = str(key.number) if key.number >= 0 else ""
    return " ".join(filter(None, (kind, number, written(register.expression), scope, depth)))


def written(expression: tree.Expression | None) -> str:
    match expression:
        case None:
            return ""
        case tree.Attribute(name=name):
            return str(name)
        case tree.TimeOf():
            return "t"
        case tree.Literal(value=value):
            return str(value)
        case tree.Binary(operator=operator, left=left, right=right):
            return f"{written(left)} {operator} {written(right)}"
    raise AssertionError(expression)


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("a[2] & b[3]", "ba"),
        ("a[2] | b[3]", "ab"),
        ("(a[2] ; c) & b[3] & d[4]", "adb"),
        ("(a[2] ; c) & (b[3] | d[4])", "abd"),
    ],
)
def test_counters_of_lanes(pattern: str, steps: str) -> None:
    """Snapshots number the counters of each a[i] in the order of the predicates."""
    nfa = compiled(f"MATCH {pattern} WITHIN 9")
    counters = dict.fromkeys(c for predicate in nfa.compiled.predicates for c in counted(predicate))
    assert "".join(counter.step for counter in counters) == steps


def counted(predicate: tuple[tree.Expression, ...]) -> Iterator[EveryNth]:
    for condition in predicate:
        match condition:
            case EveryNth():
                yield condition
            case Disjunction(predicates=predicates):
                for option in predicates:
                    yield from counted(option)


@pytest.mark.parametrize("name", PATTERNS)
def test_slots(name: str) -> None:
    text, expected = PATTERNS[name]
    assert slots(text) == expected


def test_marks_of_simultaneous_threads() -> None:
    assert slots("MATCH a ; b", " TIES SIMULTANEOUS") == "position 0, position 1, thread mark 1"


def test_steps_go_by_number_not_by_name() -> None:
    text = "MATCH {0} , {1} ; {2} DEFINE {2} AS price > {0}.price"
    assert slots(text.format("a", "b", "c")) == slots(text.format("x", "y", "z"))
