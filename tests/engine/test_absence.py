"""Absences (`!b` alone) in arrays against a plain evaluation, and the cost of time that completes none."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import foretell as ft
from foretell.machine.exec.absence_clocks import Silences

#: More silences than these tests have.
MOST = 10**9


class Plain:
    def __init__(self) -> None:
        self.since: dict[int, Any] = {}

    def process(self, events: list[tuple[int, Any, bool]], within: Any, now: Any) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        for lane, time, breaks in events:
            self.since.setdefault(lane, time)
            found += self._quiet(lane, within, time)
            if breaks:
                self.since[lane] = max(time, self.since[lane])
        for lane in self.since:
            found += self._quiet(lane, within, now)
        return found

    def _quiet(self, lane: int, within: Any, now: Any) -> list[tuple[int, Any]]:
        found = []
        while self.since[lane] + within < now:
            found.append((lane, self.since[lane]))
            self.since[lane] += within
        return found


def test_silences() -> None:
    for seed in range(200):
        _agrees(random.Random(seed))


def _agrees(chance: random.Random) -> None:
    kind, unit = chance.choice([(np.int64, 1), (np.float64, 0.1)])
    within, lanes, time = unit * chance.randint(1, 20), chance.randint(1, 12), unit * chance.randint(-50, 50)
    plain, silences = Plain(), Silences()
    for _ in range(chance.randint(1, 12)):
        events = []
        for _ in range(chance.randint(0, 12)):
            time += unit * chance.choice([0, 1, 1, 3, 30])
            events.append((chance.randrange(lanes), time, chance.random() < 0.4))
        time += unit * chance.choice([0, 5, 4000])
        if chance.random() < 0.3:
            before, silences = silences.state(), Silences()
            silences.restore(before, lanes)
        lane, at, breaks = (list(c) for c in zip(*events)) if events else ([], [], [])
        columns = np.array(lane, np.int64), np.array(at, kind), np.array(breaks, np.bool_)
        found = [c.tolist() for c in silences.process(*columns, within, time, MOST)[:2]]
        assert sorted(zip(*found)) == sorted(plain.process(events, within, time))


def test_time_costs_nothing_for_those_it_does_not_complete() -> None:
    """Of a hundred lanes that are due at different times each is looked at once in a window."""
    silences, lanes = Silences(), np.arange(100)
    silences.process(lanes, lanes, np.zeros(100, np.bool_), 1000, 99, MOST)
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    for now in range(100, 1100):
        due = set(silences.lanes.timers.due[:100].tolist())
        found, since, _ = silences.process(*nothing, 1000, now, MOST)
        assert since.tolist() == ([now - 1001] if now > 1000 else [])
        assert len(due - set(silences.lanes.timers.due[:100].tolist())) == len(found)


def test_time_may_go_on_to_between_two_whole_times() -> None:
    nothing = np.zeros(1, np.bool_)
    for now, found in ((5, []), (5.5, [0]), (6, [0])):
        zero = np.zeros(1, np.int64)
        assert Silences().process(zero, zero, nothing, 5, now, MOST)[1].tolist() == found


def test_a_lane_that_floods_is_stopped() -> None:
    """Time jumps by a million million windows. The other lanes go on, also after the state is restored."""
    text = "STREAM s (k STRING, t INT) TIME t; SUBSCRIBE q FROM s PER k MATCH !b DEFINE b AS k = 'z' WITHIN 1;"
    limits = ft.Limits(memory="64 MiB")
    engine = ft.Engine(text, limits=limits)
    found = engine.push("s", [{"k": "a", "t": 0}, {"k": "b", "t": 10**12}])
    assert 1_000 < len(found) < 1_000_000
    assert engine.refused == (("q", {"k": "a"}),)
    assert found.notes == ("'q' stopped in lane {'k': 'a'}: over 64 MiB of memory; add WITHIN or raise Limits.memory",)
    for running in (engine, ft.Engine.restore(None, engine.snapshot(), limits=limits)):
        found = running.push("s", [{"k": "a", "t": 10**12 + 50}])
        assert [n.key for n in found] == [{"k": "b"}] * 49
        assert running.refused == (("q", {"k": "a"}),)


def test_many_lanes_that_flood_have_room_for_little_more() -> None:
    """Each lane that floods after the first is stopped at once: together they stay near the limit."""
    lanes = np.arange(1000)
    found, _, stopped = Silences().process(lanes, lanes, np.zeros(1000, np.bool_), 1, 10**12, 10_000)
    assert sorted(stopped) == lanes.tolist()
    assert 10_000 <= len(found) <= 10_000 + 16 * 1000
