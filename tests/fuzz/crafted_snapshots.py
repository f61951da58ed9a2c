"""Snapshots with a right checksum and wrong contents: `Engine.restore` refuses them, or the engine runs on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import foretell as ft
from foretell.errors import ForetellError
from foretell.storage.blob import pack, unpack
from tests.engine.snapshot_fixtures import LIMITS, PROGRAM, STREAMS, engine_with_history, pushes
from tests.fuzz.crafted_values import changed

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
)


@dataclass(frozen=True)
class Original:
    """A snapshot, decoded, and the batches that come after it."""

    header: Any
    state: Any
    after: Pushes


def _batches(count: int, first: int, seed: int) -> Pushes:
    """Batches of some events of both streams, in the order of time."""
    chance = Random(seed)
    made: Pushes = []
    for number in range(first, first + count):
        rows = [
            {
                "kind": chance.choice("aabbc"),
                "g": chance.choice(["p", "q", None, f"g{chance.randrange(9)}"]),
                "v": chance.choice([0, 1, 2, 3, None]),
                "w": chance.choice([0.5, 1.5, None]),
                "nr": 4 * number + i,
                "time": 2 * number + i // 2,
            }
            for i in range(4)
        ]
        stream = "u" if chance.random() < 0.3 else "s"
        shared = ("kind", "g", "v", "time")
        made.append((stream, rows if stream == "s" else [{name: row[name] for name in shared} for row in rows]))
    return made


def _original(text: str, after: Pushes, engine: ft.Engine | None = None) -> Original:
    if engine is None:
        engine = ft.Engine(
            STREAMS + text, tables={"limits": LIMITS} if "limits" in text else {}, learning=ft.Learning(enough=1)
        )
        for stream, rows in _batches(25, 0, len(text)):
            engine.push(stream, rows)
    header, state = unpack(engine.snapshot(), "engine")
    return Original(header, state, after)


@cache
def prepare() -> tuple[Original, ...]:
    """Snapshots of all statements. Each is restored and run once, so that all kernels are compiled."""
    after = _batches(10, 25, 0)
    single = [
        f"SUBSCRIBE {text.strip()};"
        for text in PROGRAM.split("SUBSCRIBE ")[1:]
        for text in text.split(";\n")
        if text.strip()
    ]
    run = next(text for text in single if " run " in text)
    texts = [run + text if "FROM run" in text else text for text in single]
    originals = [_original(text, after) for text in [*texts, *STATEMENTS]]
    originals.append(_original(PROGRAM, pushes(90)[60:70], engine_with_history(pushes(90)[:60])))
    for original in originals:
        restored = ft.Engine.restore(None, pack("engine", original.header, original.state))
        _run(restored, original.after)
        # Times between whole numbers are another type.
        restored.advance(1e6 + 0.5)
        restored.end()
    return tuple(originals)


def run(number: int, prepared: tuple[Original, ...]) -> str:
    chance = Random(number)
    original = chance.choice(prepared)
    header, state = original.header, original.state
    if chance.random() < 0.02:
        header = changed(header, chance)
    else:
        state = changed(state, chance)
    try:
        crafted = pack("engine", header, state)
    except (TypeError, AttributeError, ValueError):
        return "cannot be written"
    try:
        engine = ft.Engine.restore(None, crafted)
    except ForetellError:
        return "refused"
    try:
        _run(engine, original.after)
        engine.end()
        ft.Engine.restore(None, engine.snapshot())
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
    for notification in notifications:
        str(notification)
