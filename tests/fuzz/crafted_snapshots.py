"""Snapshots with a right checksum and wrong contents: `Engine.restore` refuses them, or the engine runs on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import foretell as ft
from foretell.errors import ForetellError
from foretell.storage.blob import pack, unpack
from tests.engine.snapshot_fixtures import LIMITS, PROGRAM, STREAMS, engine_with_history, pushes
from tests.fuzz.crafted_values import Tree
from tests.recover.estimate_programs import exponential

Pushes = list[tuple[str, list[dict[str, Any]]]]

A = "DEFINE a AS kind = 'a'"
AB = f"{A}, b AS kind = 'b'"
ABC = f"{AB}, c AS kind = 'c'"

#: Statements that have each kind of state to themselves, besides those of the fixtures; FORECAST, LONGEST, derived
#: streams that wait, earlier events of the lane, texts in registers.
STATEMENTS = (
    f"SUBSCRIBE m FROM u MATCH a ; b , c {ABC} WITHIN 9;",
    f"SUBSCRIBE m FROM u PER g, v MATCH a ; b+ ; c {ABC} WITHIN 9 RETURN min(b.kind) AS least, count(b) AS n;",
    f"SUBSCRIBE m FROM s PER g MATCH a ;{{v >= a.v}} b+ , c {ABC} RETURN max(b.g) AS most, sum(b.w) AS total;",
    "SUBSCRIBE m FROM s MATCH a , b , c DEFINE a AS kind = 'a', b AS upper(kind) > a.kind, c AS kind >= b.kind;",
    "SUBSCRIBE m FROM s PER g MATCH a , b DEFINE a AS kind = 'a', b AS kind >= prev.kind;",
    "SUBSCRIBE m FROM s PER g MATCH a , b+ DEFINE a AS kind = 'a', b AS v >= 1 AFTER MATCH LONGEST;",
    f"SUBSCRIBE m FROM s MATCH a ;{{kind = 'b'}} b+ {AB} WITHIN 9 AFTER MATCH LONGEST RETURN count(b) AS n;"
    f"SUBSCRIBE r FROM m, s MATCH x ; y DEFINE x AS stream = 'm', y AS kind = 'c' WITHIN 9;",
    f"SUBSCRIBE m FROM s PER g MATCH a ; !c ; LAST b {ABC} WITHIN 6;",
    f"SUBSCRIBE m FROM s PER g MATCH a & (b ; c) {ABC} WITHIN 8 AFTER MATCH CONSUME;",
    f"SUBSCRIBE m FROM s MATCH a , b {AB} FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
    f"SUBSCRIBE m FROM s PER g MATCH a ; b ; c {ABC} WITHIN 9 FORECAST WITHIN 4 EVENTS ABOVE 0.1;",
    f"SUBSCRIBE m FROM s PER g MATCH a , b+ {AB} FORECAST WITHIN 3 ABOVE 0.1;",
    "SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS kind = 'a' AND g = $x, b AS kind = 'b' AND g = $x WITHIN 9 "
    "FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
    f"SUBSCRIBE m FROM s PER g MATCH a , b {AB} AFTER MATCH SKIP PAST LAST FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
    f"SUBSCRIBE m FROM s PER g MATCH a ; !b {AB} WITHIN 4 FORECAST WITHIN 3 ABOVE 0.1;",
    f"SUBSCRIBE m FROM s PER g MATCH !a {A} WITHIN 3 FORECAST WITHIN 3 ABOVE 0.1;",
    f"SUBSCRIBE m FROM s PER g MATCH a ; !b ; c {ABC} WITHIN 9 LOSING 0.2 ABOVE 0.05;",
    f"SUBSCRIBE m FROM s MATCH a ; b ; c {ABC} WITHIN 9 LOSING 0.2 OF b ABOVE 0.05;",
    f"CORRELATE m FROM s PER g DO repeat{{push('x'){{sequential{{repeat(2){{a}}, accumulate{{b, c}}}}}}}} {ABC};",
    f"CORRELATE m FROM s PER g DO repeat{{push('x'){{sequential{{repeat(999){{a}}, b}}}}}} {AB};",
    f"SUBSCRIBE m FROM s PER g MATCH a ; b ; c {ABC} WITHIN 9 LOSING 0.2 OF a, b ABOVE 0;",
    "CORRELATE m FOR EACH limits FROM s PER g DO repeat{push('x'){sequential{repeat(2){a}, b}}} "
    "DEFINE a AS v >= :least, b AS kind = 'b';",
    "CORRELATE m FOR EACH limits FROM s DO repeat{push('x'){persist(400){a}}} DEFINE a AS v >= :least AND g = :g;",
    "SUBSCRIBE m FOR EACH limits FROM s MATCH a ;{g = :g} b+ ;{g = :g} c "
    "DEFINE a AS v >= :least, b AS v > prev.v, c AS v < :least WITHIN 9;",
    "SUBSCRIBE m FOR EACH limits FROM s PER g MATCH a ; !b ; c "
    "DEFINE a AS v <= :least, b AS g = :g, c AS g = :g AND w > a.w * :least WITHIN 12;",
    "SUBSCRIBE m FOR EACH limits FROM s MATCH a DEFINE a AS g = :g AND (v >= :least OR v < 1);",
    f"SUBSCRIBE m FROM s PER g MATCH a ; b ; c {ABC} WITHIN 9 AFTER MATCH SKIP PAST LAST LOSING 0.2 OF b ABOVE 0;",
    f"CORRELATE m FROM s PER g DO repeat{{push('x'){{sequential{{repeat(2){{a}}, accumulate{{b, c}}}}}}}} {ABC} "
    "FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
    f"CORRELATE m FROM s PER g DO repeat{{push('x'){{accumulate{{a, b}}}}}} {AB} FORECAST WITHIN 3 ABOVE 0.1;",
    "CORRELATE m FOR EACH limits FROM s PER g DO repeat{push('x'){sequential{a, b}}} "
    "DEFINE a AS kind = 'a' AND v >= :least, b AS kind = 'b' FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
)

#: The delays of the statements with LOSING.
DELAYS = {
    "after": {"b": {"a": exponential(3.0, 0.5)}, "c": {"a": exponential(4.0, 0.9), "b": exponential(2.0, 0.9)}},
    "before": {"b": {"c": exponential(3.0, 0.5)}, "a": {"b": exponential(4.0, 0.9), "c": exponential(4.0, 0.9)}},
}


#: The statements of the fixtures, one by one, then those above; and last all of the fixtures in one engine.
FIXTURES = tuple(
    f"SUBSCRIBE {text.strip()};"
    for text in PROGRAM.split("SUBSCRIBE ")[1:]
    for text in text.split(";\n")
    if text.strip()
)
RUN = next(text for text in FIXTURES if " run " in text)
TEXTS = (*(RUN + text if "FROM run" in text else text for text in FIXTURES), *STATEMENTS, PROGRAM)

#: So many cases in a row have the same original, and so a few cases need only few of them.
IN_A_ROW = 10

#: With these limits no crafted state gives more than the memory and time of a case.
BUDGET = ft.Limits(memory="128 MiB")

#: Of so many notifications of a batch somebody looks at each. (There may be very many: one for every window without an
#: event, and a snapshot says when the last window was.)
LOOKED_AT = 1000


@dataclass(frozen=True)
class Original:
    """A snapshot, decoded, with its statements, and the batches that come after it."""

    statements: ft.Subscriptions
    header: Tree
    state: Tree
    after: Pushes


def _batches(count: int, first: int, seed: int, rows: int = 4) -> Pushes:
    """Batches of some events of both streams, in the order of time."""
    chance = Random(seed)
    made: Pushes = []
    for number in range(first, first + count):
        events = [
            {
                "kind": chance.choice("aabbc"),
                "g": chance.choice(["p", "q", None, f"g{chance.randrange(9)}"]),
                "v": chance.choice([0, 1, 2, 3, None]),
                "w": chance.choice([0.5, 1.5, None]),
                "nr": rows * number + i,
                "time": (rows * number + i) // 2,
            }
            for i in range(rows)
        ]
        stream = "u" if chance.random() < 0.3 else "s"
        shared = ("kind", "g", "v", "time")
        made.append((stream, events if stream == "s" else [{name: row[name] for name in shared} for row in events]))
    return made


def _single(kind: str, time: int) -> Pushes:
    """An event in a lane of its own."""
    return [("s", [{"kind": kind, "g": "alone", "v": 1, "w": 0.5, "nr": -time, "time": time}])]


def _delays(text: str) -> dict[str, object]:
    """Delays and counts of gaps, which the engine goes on learning."""
    history = [row for stream, rows in _batches(25, 0, 1) for row in rows if stream == "s"]
    return {**DELAYS, **ft.train(STREAMS + text, {"s": history}).delays["m"]}


@cache
def _original(which: int) -> Original:
    """A snapshot of statements. It is restored and run once, so that all kernels are compiled."""
    text = TEXTS[which]
    if text is PROGRAM:
        engine, after = engine_with_history(pushes(90)[:60]), pushes(90)[60:70]
    else:
        after = _batches(4, 25, 0, rows=10)
        equal = {"id": "three", "least": 1, "g": "p"}
        tables = {"limits": [*LIMITS, equal]} if "limits" in text else {}
        model = {"subscriptions": {"m": _delays(text)}} if "LOSING" in text else None
        engine = ft.Engine(STREAMS + text, tables=tables, learning=ft.Learning(enough=1), model=model)
        before = _batches(25, 0, len(text))
        if "LOSING" in text:  # a late event, of which another one is awaited where two were lost
            before += [*_single("c", 52), *_single("x", 60), *_single("b", 50)]
            after = [*_single("a", 49), *after]
        for stream, rows in before:
            engine.push(stream, rows)
    snapshot = engine.snapshot()
    restored = ft.Engine.restore(None, snapshot)
    _run(restored, after)
    # Times between whole numbers are another type.
    restored.advance(1e6 + 0.5)
    restored.end()
    header, state = unpack(snapshot, "engine")
    return Original(ft.parse(state["statements"]), Tree(header), Tree(state), after)


def _which(number: int) -> int:
    return number // IN_A_ROW % len(TEXTS)


def prepare(numbers: range) -> dict[int, Original]:
    return {which: _original(which) for which in sorted({_which(number) for number in numbers})}


def run(number: int, prepared: dict[int, Original]) -> str:
    chance = Random(number)
    original = prepared[_which(number)]
    header, state = original.header.value, original.state.value
    if chance.random() < 0.02:
        header = original.header.changed(chance)
    else:
        state = original.state.changed(chance)
    try:
        crafted = pack("engine", header, state)
    except (TypeError, AttributeError, ValueError):
        return "cannot be written"
    # Most of the time the statements are at hand and need not be parsed again.
    statements = None if chance.random() < 0.1 else original.statements
    try:
        engine = ft.Engine.restore(statements, crafted, limits=BUDGET)
    except ForetellError:
        return "refused"
    try:
        _run(engine, original.after)
        engine.end()
        ft.Engine.restore(statements, engine.snapshot(), limits=BUDGET)
    except ForetellError:
        return "ran, then refused"
    return "ran"


def _run(engine: ft.Engine, after: Pushes) -> None:
    for stream, rows in after:
        _look(engine.push(stream, rows))
    for name in [
        str(s.name) for s in engine.subscriptions.program.statements if getattr(s, "forecast", None) is not None
    ]:
        engine.outlook(name)


def _look(notifications: ft.Notifications) -> None:
    for notification in islice(notifications, LOOKED_AT):
        str(notification)
