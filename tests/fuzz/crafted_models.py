"""Models that somebody made up: they are refused, or engines forecast with them as with any other."""

from __future__ import annotations

import json
import math
import tempfile
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import foretell as ft
from foretell.errors import ForetellError
from tests.fuzz.crafted_values import changed

STREAM = "STREAM s (k STRING, l INT, t INT) TIME t;"
TEXTS = (
    f"{STREAM} SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b' FORECAST WITHIN 3 EVENTS ABOVE 0.1;",
    f"{STREAM} SUBSCRIBE m FROM s PER l MATCH a ; b DEFINE a AS k = 'a', b AS k = 'b' WITHIN 9 "
    "FORECAST WITHIN 3 ABOVE 0.1;",
)
LEARNING = (ft.Learning(order=1, enough=1, half_life=math.inf), ft.Learning(enough=1))


def _events(count: int, first: int, seed: int) -> list[dict[str, Any]]:
    chance = Random(seed)
    return [{"k": chance.choice("abc"), "l": chance.randrange(3), "t": first + i} for i in range(count)]


@cache
def prepare() -> list[tuple[str, Any]]:
    originals = []
    for text, learning in zip(TEXTS, LEARNING, strict=True):
        model = ft.train(text, {"s": _events(400, 0, 1)}, learning=learning)
        originals.append((text, json.loads(json.dumps(model.document()))))
    for number in range(2):
        _run(originals[number][0], json.dumps(originals[number][1]))
    return originals


def run(number: int, prepared: list[tuple[str, Any]]) -> str:
    chance = Random(number)
    text, document = chance.choice(prepared)
    try:
        content = json.dumps(changed(document, chance))
    except TypeError:
        return "cannot be written"
    if chance.random() < 0.1:
        at = chance.randrange(len(content))
        content = content[:at] + chance.choice(["", "[" * 10_000, "9" * 5_000, "\x00", "\ud800"]) + content[at + 1 :]
    try:
        _run(text, content)
    except ForetellError:
        return "refused"
    return "ran"


def _run(text: str, content: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        engine = ft.Engine(text, model=str(path))
    str(engine)
    for batch in range(10):
        list(engine.push("s", deepcopy(_events(20, 20 * batch, batch))))
    engine.outlook("m")
