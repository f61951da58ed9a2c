"""The order of notifications, by columns, against the same order of tuples; and when LAST is settled."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

from foretell.engine.planning import start_runtime
from foretell.errors import ForetellError
from foretell.events.notification import Notification
from foretell.filter.template_index import SHIFT
from foretell.machine.matches.late_choices import AT_ONCE, LATER, NEVER, settlement
from foretell.machine.matches.notification_order import notifications_of
from foretell.machine.matches.results import ResultBatch
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties.patterns import Chance, case

LIMITS = [("b", 9, "x", 2), ("a", -1, "x", 1), ("B", 10.5, "y", 1), ("10", 10, "x", 0)]
EVENTS = [{"time": t, "k": "xyx"[t % 3], "v": t % 4} for t in range(12)]
OFTEN = [{"at": t / 4, "k": "yx"[t % 2], "v": t % 3} for t in range(12)]


def _ordered(results: list[ResultBatch]) -> list[Notification]:
    """Each row of a template by itself, and all of them sorted as tuples (decision 0002, item 23)."""
    placed: list[tuple[Any, ...]] = []
    for n, result in enumerate(results):
        for i in range(len(result)):
            for row in _rows_of(result, i):
                called = result.id_of(row)
                number = (called, "") if isinstance(called, int | float) else (math.inf, str(called))
                positions, steps = _bound(result, i)
                key = json.dumps(result.keys[result.lane[i]], sort_keys=True, default=str)
                place = result.end[i].item(), result.schema.name, positions, steps, number, key
                placed.append((place, n, row, i, called))
    return [_called(results[n].notification(i), called) for _, n, _, i, called in sorted(placed, key=lambda p: p[:4])]


def _bound(result: ResultBatch, i: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    bound = result.bound_events
    events = slice(bound.starts[i], bound.starts[i + 1])
    return tuple(bound.position[events].tolist()), tuple(bound.step[events].tolist())


def _rows_of(result: ResultBatch, i: int) -> list[int]:
    if result.intervals is None:
        return [-1]
    first, count = int(result.intervals[i]) >> SHIFT, int(result.intervals[i]) & ((1 << SHIFT) - 1)
    return list(range(first, first + count))


def _called(notification: Notification, name: Any) -> Notification:
    return Notification(**{**{n: getattr(notification, n) for n in notification.__slots__}, "id": name})


def _agrees(both: EnginePair) -> int:
    results = start_runtime(both.checked, both.given).process(both.loaded, both.until)
    found = notifications_of(results)
    assert comparable_rows(found) == comparable_rows(_ordered(results))
    return len(found)


@pytest.mark.parametrize("kind", [0, 1])
def test_rows_of_templates_by_their_ids(kind: int) -> None:
    limits = [{"id": row[kind], "k": row[2], "v": row[3]} for row in LIMITS]
    text = """
    SUBSCRIBE one FOR EACH limits FROM s PER k MATCH a , b DEFINE a AS k = :k AND v > :v;
    SUBSCRIBE each FOR EACH limits FROM s MATCH a , b DEFINE b AS v > a.v - :v;
    SUBSCRIBE quiet FOR EACH limits FROM s PER k, v MATCH !a DEFINE a AS v > :v WITHIN 3;
    """
    assert _agrees(EnginePair(text, {"s": EVENTS}, time={"s": "time"}, tables={"limits": limits}, until=20)) > 50


def test_whole_times_among_others() -> None:
    text = """
    SUBSCRIBE b FROM s MATCH a+ ; c WITHIN 3;
    SUBSCRIBE a FROM r PER k MATCH a+ ; c WITHIN 1;
    """
    assert _agrees(EnginePair(text, {"s": EVENTS, "r": OFTEN}, time={"s": "time", "r": "at"})) > 50


def test_nothing_at_all() -> None:
    assert notifications_of([]) == []
    assert _agrees(EnginePair("SUBSCRIBE m FROM s MATCH a DEFINE a AS v > 9;", {"s": EVENTS}, time={"s": "time"})) == 0


def test_random_programs() -> None:
    found = 0
    for seed in range(120):
        trial = case(Chance(random.Random(seed).randint))
        try:
            both = EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
            start_runtime(both.checked, both.given)
        except ForetellError:
            continue  # not a valid program
        found += _agrees(both)
    assert found > 600


def test_when_last_is_known() -> None:
    """Step 1 is settled by step 2, step 3 by none; the same asked one by one."""
    chance = random.Random(7)
    last, settles = np.array([1, 3]), np.array([[False, False, True, False], [False] * 4])
    for _ in range(300):
        steps = [chance.sample(range(4), chance.randint(1, 4)) for _ in range(5)]
        begins = [[chance.randint(-9, 9) for _ in group] for group in steps]
        late = [chance.random() < 0.3 for _ in steps]
        starts = np.cumsum([0, *map(len, steps)])
        flat = np.array([s for group in steps for s in group]), np.array([b for group in begins for b in group])
        when, since = settlement(np.array(late), starts, *flat, last, settles)
        expected = [_known(*item) for item in zip(steps, begins, late)]
        assert [(w, s if w == LATER else 0) for w, s in zip(when.tolist(), since.tolist())] == expected


def _known(steps: list[int], begins: list[int], late: bool) -> tuple[int, float]:
    waits: list[float] = [begins[0]] if late else []
    for last, settling in ((1, {2}), (3, set[int]())):
        if last in steps and not settling & set(steps):
            waits.append(min((b for b, s in zip(begins, steps) if s != last), default=math.inf))
    if not waits:
        return AT_ONCE, 0
    return (LATER, max(waits)) if max(waits) < math.inf else (NEVER, 0)
