"""Small statements with conditions that may contradict each other, and all short streams over few values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, product

from foretell.events.notification import Notification
from tests.engine_pair import EnginePair
from tests.exhaustive.small import Small

VALUES = (0, 1, 2)
LONGEST = 4
#: Later than every deadline.
UNTIL = 100

OWN = ("v = 0", "v = 1", "v > 0", "v < 2", "v = 0 AND v = 1", "v = 1 AND v > 0", "v IN (0, 2)", "TRUE")
BETWEEN = (
    "v = prev.v",
    "v > prev.v",
    "v < prev.v",
    "v = $x",
    "v = $x AND v > 0",
    "v = $x AND v = 0",
    "v <> {other}.v",
    "v = {other}.v + 1",
    "t({own}) - t({other}) > 1",
    "duration < 1",
    "v > {other}.v AND v < 2",
)
HAVING = ("duration > 1", "{other}.v > 0", "count({other}) > 1", "count({other}) = 0", "max({other}.v) < 1")
STREAM = "STREAM s (v INT, lane INT, time INT) TIME time;"
SIMULTANEOUS = "STREAM s (v INT, lane INT, time INT) TIME time TIES SIMULTANEOUS;"
#: The times of the events of a lane where events may be simultaneous.
TIMES = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 1, 1, 2))


def small_statement(pattern: Small, name: str, chance: random.Random) -> str:
    """A statement of a pattern with conditions drawn by chance."""
    match = pattern.text(count(1), flat=False)
    match = match.replace("kind <> 'x'", chance.choice(("v > 0", "v <> 1", "v = prev.v")))
    steps = [f"{kind}{number}" for number, kind in enumerate(pattern.kinds(), 1)]
    negated = {step for step in steps if f"!{step}" in match}
    positive = [step for step in steps if step not in negated]
    if chance.random() < 0.2:
        step = chance.choice(positive)
        match = match.replace(step, chance.choice((f"{step}[2]", f"FIRST {step}", f"LAST {step}")))
    defined = ", ".join(f"{step} AS {_condition(step, positive, chance)}" for step in steps)
    having = ""
    if chance.random() < 0.15:
        having = f" HAVING {chance.choice(HAVING).format(other=chance.choice(positive))}"
    within = f" WITHIN {chance.choice((1, 2, 2))}" if pattern.needs_window or chance.random() < 0.3 else ""
    return f"SUBSCRIBE {name} FROM s PER lane MATCH {match} DEFINE {defined}{within}{having};"


def _condition(step: str, positive: list[str], chance: random.Random) -> str:
    others = [other for other in positive if other != step]
    if others and chance.random() < 0.55:
        condition = chance.choice(BETWEEN).format(own=step, other=chance.choice(others))
        return condition if step in positive else condition.replace(f"t({step})", "t(prev)")
    return chance.choice(OWN)


def short_streams() -> Iterator[tuple[int | None, ...]]:
    for length in range(1, LONGEST + 1):
        yield from product(VALUES, repeat=length)


def all_notifications(text: str, declared: str = STREAM) -> list[Notification]:
    """The notifications of statements on all short streams, which are lanes of one input."""
    times = TIMES if declared == SIMULTANEOUS else TIMES[:1]
    streams = list(product(times, short_streams()))
    rows = [
        {"time": at[place], "v": stream[place], "lane": lane}
        for place in range(LONGEST)
        for lane, (at, stream) in enumerate(streams)
        if place < len(stream)
    ]
    rows.sort(key=lambda row: row["time"] or 0)
    return EnginePair(f"{declared}\n{text}", {"s": rows}, until=UNTIL).embedded()
