"""Random conditions, and random events whose columns have the edge cases of numbers and texts."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import foretell as ft
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.types import Schema
from foretell.language.checked import CheckedSubscription
from foretell.spark.pushdown.quenching import may_matter

INTS = [0, 1, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), None]
FLOATS = [0.0, -0.0, 1.0, 1.5, -1.5, 7.0, 2.0**53, 2.0**63, 1e300, math.inf, -math.inf, math.nan, None]
TEXTS = ["", "a", "A", "ab", "a\0", "é", "z\U0001f600", "\uffff", None]
TIMES = [0, 1, -1, 1_700_000_000_000_000, None]

TYPES: dict[str, Any] = {
    "i": pa.int64(), "n": pa.int32(), "f": pa.float64(), "h": pa.float32(), "s": pa.string(), "b": pa.bool_(),
    "w": pa.timestamp("us", "UTC"), "g": pa.int64(), "time": pa.int64(), "id": pa.int64(),
}  # fmt: skip
STREAM = (
    "STREAM s (i INT, n INT, f FLOAT, h FLOAT, s STRING, b BOOL, w TIMESTAMP, g FLOAT, time INT, id INT) "
    "TIME time ID id;"
)
_OF: dict[str, list[Any]] = {
    "i": INTS, "n": [0, 1, -1, 7, None], "f": FLOATS, "h": [0.0, -0.0, 1.5, math.nan, None], "s": TEXTS,
    "b": [True, False, None], "w": TIMES, "g": INTS,
}  # fmt: skip
_NUMBERS = ["0", "1", "-1", "7", "1.5", "0.0", "-1.5", "9007199254740992", "9007199254740993", "9007199254740992.0",
            "9223372036854775807", "1e300"]  # fmt: skip


def table(dice: random.Random, count: int, like: dict[str, list[Any]] | None = None) -> pa.Table:
    columns: dict[str, list[Any]] = {
        name: [dice.choice((like or {}).get(name, group)) for _ in range(count)] for name, group in _OF.items()
    }
    columns |= {"time": list(range(count)), "id": list(range(count))}
    return pa.table({name: pa.array(values, TYPES[name]) for name, values in columns.items()})


def predicate(dice: random.Random, depth: int = 2) -> str:
    if depth and dice.random() < 0.6:
        left, other = predicate(dice, depth - 1), predicate(dice, depth - 1)
        return dice.choice([f"({left} AND {other})", f"({left} OR {other})", f"NOT ({left})"])
    sign = dice.choice(["=", "<>", "<", "<=", ">", ">="])
    number, value = dice.choice("infhg"), dice.choice(_NUMBERS)
    text = dice.choice(["'a'", "'A'", "'é'", "''", "'ab'"])
    return dice.choice([
        f"{number} {sign} {value}", f"{value} {sign} {number}", f"{number} {sign} {dice.choice('infhg')}",
        f"s {sign} {text}", f"{number} IN ({value}, 1.5, 7)", f"s NOT IN ({text}, 'a')", f"s IN ({text}, NULL)",
        f"{number} BETWEEN -1 AND {value}", f"{number} NOT BETWEEN 1 AND {value}", "b",
        f"{dice.choice('infhsbwg')} IS NULL", f"{dice.choice('infhsbwg')} IS NOT NULL",
        f"w {sign} TIMESTAMP '1970-01-01T00:00:00Z'", f"stream {sign} 's'",
        f"{number} + 1 > 2",
    ])  # fmt: skip


def checked(condition: str) -> CheckedSubscription:
    text = f"{STREAM} SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS {condition}, b AS {condition} WITHIN 5;"
    [statement] = ft.parse(text).checked().statements
    assert isinstance(statement, CheckedSubscription)
    return statement


def loaded(rows: pa.Table) -> EventBatch:
    schema = schema_of()
    found = read(rows, StreamDeclaration("s", schema.attributes, "time", "id"))
    assert not found.quarantined
    return found


def schema_of() -> Schema:
    return ft.parse(STREAM + "SUBSCRIBE m FROM s MATCH a ; b;").checked().streams["s"]


def ours(events: EventBatch, statement: CheckedSubscription) -> NDArray[np.bool_]:
    """Return which events may matter, by our own rules."""
    found = may_matter(events, [statement], {"s"})
    assert found is not None
    return found
