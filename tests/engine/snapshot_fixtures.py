"""Write a snapshot to tests/engine/state that every later version must still read, and the results that follow it.

    python -m tests.engine.snapshot_fixtures NAME

Write one for each release, under its name, and leave the existing ones alone: older versions wrote them.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from foretell.engine import Engine
from foretell.notify.notifications import Notifications
from foretell.notify.row_encoder import to_json

FOLDER = Path(__file__).parent / "state"

STREAMS = """
STREAM s (kind STRING, g STRING, v INT, w FLOAT, nr INT, time INT) TIME time ID nr LATE BY 2;
STREAM u (kind STRING, g STRING, v INT, time INT) TIME time TIES SIMULTANEOUS;
"""

#: A program with every kind of state. (`gone` is removed from a shared NFA of which it was the first.)
PROGRAM = (
    STREAMS
    + """
SUBSCRIBE gone     FROM s MATCH a , b DEFINE a AS kind = 'a', b AS v > a.v;
SUBSCRIBE strict   FROM s MATCH a , b , c DEFINE a AS kind = 'a', b AS v > a.v, c AS v > b.v;
SUBSCRIBE run      FROM s PER g MATCH a , b+ DEFINE a AS kind = 'a', b AS w >= prev.w
                   RETURN count(b) AS n, avg(b.w) AS mean, a.kind AS kind;
SUBSCRIBE shared   FROM s MATCH a ;{kind = 'b'} b ; c DEFINE a AS kind = 'a', c AS v = a.v WITHIN 9;
SUBSCRIBE hashed   FROM s MATCH a ;{kind = a.kind} b ;{kind = a.kind} c DEFINE c AS v > b.v WITHIN 12;
SUBSCRIBE lists    FROM s MATCH a ; b ; c DEFINE a AS kind = $k AND v > 1, b AS kind = $k, c AS kind = $k WITHIN 7;
SUBSCRIBE gaps     FROM s PER g MATCH a ; !x ; b DEFINE a AS kind = 'a', x AS kind = 'c', b AS kind = 'b' WITHIN 9;
SUBSCRIBE deferred FROM s MATCH a ; !x ; b DEFINE a AS kind = 'a', x AS v = b.v, b AS kind = 'b' WITHIN 6;
SUBSCRIBE trailing FROM s PER g MATCH a ; !b DEFINE a AS kind = 'a', b AS kind = 'b' WITHIN 4;
SUBSCRIBE leading  FROM s MATCH !x ; a DEFINE x AS kind = 'c', a AS kind = 'a' WITHIN 3;
SUBSCRIBE every    FROM s PER g MATCH a[3] DEFINE a AS kind = 'b';
SUBSCRIBE ticks    FROM s MATCH a ; b[2] DEFINE a AS kind = 'a', b AS kind = 'b' WITHIN 9;
SUBSCRIBE both     FROM s MATCH a & b DEFINE a AS kind = 'a' AND g = $x, b AS kind = 'c' AND g = $x WITHIN 5;
SUBSCRIBE newest   FROM s MATCH a ;{kind = 'b'} LAST b DEFINE a AS kind = 'a' WITHIN 6;
SUBSCRIBE earliest FROM s MATCH FIRST a ; b DEFINE a AS kind = 'a', b AS kind = 'b' WITHIN 9;
SUBSCRIBE consumed FROM s MATCH a ; b DEFINE a AS kind = 'a', b AS kind = 'b' AFTER MATCH CONSUME;
SUBSCRIBE skipped  FROM s PER g MATCH a ; b DEFINE a AS kind = 'a', b AS kind = 'b' WITHIN 9 AFTER MATCH SKIP PAST LAST;
SUBSCRIBE silent   FROM s PER g MATCH !a DEFINE a AS kind = 'a' WITHIN 3;
SUBSCRIBE served   FOR EACH limits FROM s MATCH a , b DEFINE a AS v >= :least AND g = :g, b AS v > a.v;
SUBSCRIBE listed   FOR EACH limits FROM s MATCH a ; b DEFINE a AS v >= :least, b AS kind = 'c' WITHIN 4;
SUBSCRIBE rows     FOR EACH limits FROM s MATCH a ; b DEFINE a AS kind = 'a', b AS v >= :least AND g = a.g WITHIN 4;
SUBSCRIBE derived  FROM run, s MATCH a ; b DEFINE a AS stream = 'run' AND n > 0, b AS kind = 'c' WITHIN 9;
SUBSCRIBE at_once  FROM u MATCH a , b DEFINE a AS kind = 'a', b AS kind = 'b';
"""
)

LIMITS = [{"id": "one", "least": 1, "g": "p"}, {"id": "two", "least": 2, "g": "q"}]


def pushes(count: int) -> list[tuple[str, list[dict[str, Any]]]]:
    chance = random.Random(7)
    made: list[tuple[str, list[dict[str, Any]]]] = []
    for number in range(count):
        now = number // 2 + chance.choice([0, 0, 1])
        row = {
            "kind": chance.choice("aabbc"),
            "g": chance.choice(["p", "q", None]),
            "v": chance.choice([0, 1, 2, 3, None]),
        }
        if chance.random() < 0.2:
            # u has no LATE BY, so its events must come in the order of time.
            made.append(("u", [{**row, "time": number // 2 + 2}]))
        else:
            made.append(("s", [{**row, "w": chance.choice([0.5, 1.5, None]), "nr": 100 + number, "time": now}]))
    return made


def engine_with_history(events: list[tuple[str, list[dict[str, Any]]]]) -> Engine:
    """An engine whose statements and rows have been added and removed."""
    engine = Engine(PROGRAM, tables={"limits": LIMITS})
    for number, (stream, rows) in enumerate(events):
        engine.push(stream, rows)
        if number == len(events) // 3:
            engine.unsubscribe("gone")
            engine.subscribe("SUBSCRIBE later FROM s MATCH a , b DEFINE a AS kind = 'a', b AS v > a.v;")
            engine.add_rows("limits", [{"id": "three", "least": 0, "g": "p"}])
        if number == len(events) // 2:
            engine.remove_rows("limits", ["one"])
    return engine


def main(name: str) -> None:
    events = pushes(90)
    engine = engine_with_history(events[:60])
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.ftlstate").write_bytes(engine.snapshot())
    (FOLDER / f"{name}.ftl").write_text(f"{engine.subscriptions}\n", encoding="utf-8")
    after = {"pushes": events[60:], "told": results_after(engine, events[60:])}
    (FOLDER / f"{name}.json").write_text(f"{json.dumps(after)}\n", encoding="utf-8")


def results_after(engine: Engine, events: list[tuple[str, list[dict[str, Any]]]]) -> list[list[dict[str, Any]]]:
    """The notifications of each push, and then of the end."""
    return [*(_rows(engine.push(stream, rows)) for stream, rows in events), _rows(engine.end())]


def _rows(found: Notifications) -> list[dict[str, Any]]:
    return [json.loads(to_json(notification)) for notification in found]


if __name__ == "__main__":
    main(*sys.argv[1:])
