"""Models that somebody made up: they are refused, or used for forecasts and estimates as any other."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import foretell as ft
from foretell.errors import ForetellError
from tests.fuzz.crafted_values import Tree
from tests.fuzz.work_folder import work_folder

STREAM = "STREAM s (k STRING, l INT, t INT) TIME t;"
TEXTS = (
    f"{STREAM} SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
    f"{STREAM} SUBSCRIBE m FROM s PER l MATCH a ; b DEFINE a AS k = 'a', b AS k = 'b' WITHIN 9 "
    "FORECAST WITHIN 3 ABOVE 0.1;",
)
LOSING = (
    f"{STREAM} SUBSCRIBE m FROM s MATCH a ; !b ; c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' WITHIN 9 "
    "LOSING 0.2 ABOVE 0.1;"
)
DELAYS = {
    "after": {
        "b": {"distribution": "exponential", "mean": 3.0, "share": 0.5},
        "c": {
            "a": {"distribution": "uniform", "low": 1.0, "high": 6.0},
            "b": {"distribution": "exponential", "mean": 2.0},
        },
    },
    "before": {"a": {"c": {"distribution": "points", "points": [[1.0, 0.25], [4.0, 1.0]]}}},
}
LEARNING = (ft.Learning(order=1, enough=1, half_life=math.inf), ft.Learning(enough=1))


def _events(count: int, first: int, seed: int) -> list[dict[str, Any]]:
    chance = Random(seed)
    return [{"k": chance.choice("abc"), "l": chance.randrange(3), "t": first + i} for i in range(count)]


@dataclass(frozen=True)
class Original:
    """A model as its file has it, its statements, the file that each case writes, and, where there are forecasts, an
    engine that ran: those of the cases share its plan, which does not depend on the model."""

    statements: ft.Subscriptions
    document: Tree
    path: Path
    engine: ft.Engine | None


#: What comes after it; engines do not change the rows that they are given. The second batch goes on with what the first
#: has left; more batches would cost time and show nothing else.
BATCHES = [_events(20, 0, 0), _events(180, 20, 1)]


def prepare(numbers: range) -> list[Original]:
    folder = work_folder()
    originals = []
    for text, learning in zip(TEXTS, LEARNING, strict=True):
        statements = ft.parse(text)
        model = ft.train(statements, {"s": _events(400, 0, 1)}, learning=learning)
        document = json.loads(json.dumps(model.document()))
        path = folder / "model.json"
        engine = _run(statements, path, json.dumps(document))
        originals.append(Original(statements, Tree(document), path, engine))
    statements = ft.parse(LOSING)
    document = {**ft.train(statements, {"s": _events(100, 0, 1)}).document()}
    learned: list[Any] = document["subscriptions"]["m"]["gaps"]
    for gaps in (learned[:0], learned):
        document = {**document, "subscriptions": {"m": {"gaps": gaps, **DELAYS}}}
        _estimate(statements, path, json.dumps(document))
        originals.append(Original(statements, Tree(json.loads(json.dumps(document))), path, None))
    return originals


def run(number: int, prepared: list[Original]) -> str:
    chance = Random(number)
    original = chance.choice(prepared)
    try:
        content = json.dumps(original.document.changed(chance))
    except TypeError:
        return "cannot be written"
    if chance.random() < 0.1:
        at = chance.randrange(len(content))
        content = (
            content[:at]
            + chance.choice(["", "[" * 10_000, "9" * 400, "9" * 5_000, "\x00", "\ud800"])
            + content[at + 1 :]
        )
    try:
        use = _run if original.engine else _estimate
        use(original.statements, original.path, content)
    except ForetellError:
        return "refused"
    return "ran"


def _run(statements: ft.Subscriptions, path: Path, content: str) -> ft.Engine:
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    engine = ft.Engine(statements, model=str(path))
    str(engine)
    for rows in BATCHES:
        list(engine.push("s", rows))
    engine.outlook("m")
    return engine


def _estimate(statements: ft.Subscriptions, path: Path, content: str) -> None:
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    list(ft.run(statements, {"s": BATCHES[0]}, model=str(path)))
