"""Absences (`!b` alone) in arrays against a plain evaluation, and the cost of time that completes none."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from foretell.machine.exec.absence_clocks import Silences


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
        found = [c.tolist() for c in silences.process(*columns, within, time)]
        assert sorted(zip(*found)) == sorted(plain.process(events, within, time))


def test_time_costs_nothing_for_those_it_does_not_complete() -> None:
    """Of a hundred lanes that are due at different times each is looked at once in a window."""
    silences, lanes = Silences(), np.arange(100)
    silences.process(lanes, lanes, np.zeros(100, np.bool_), 1000, 99)
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    for now in range(100, 1100):
        due = set(silences.lanes.timers.due[:100].tolist())
        found, since = silences.process(*nothing, 1000, now)
        assert since.tolist() == ([now - 1001] if now > 1000 else [])
        assert len(due - set(silences.lanes.timers.due[:100].tolist())) == len(found)


def test_time_may_go_on_to_between_two_whole_times() -> None:
    nothing = np.zeros(1, np.bool_)
    for now, found in ((5, []), (5.5, [0]), (6, [0])):
        assert Silences().process(np.zeros(1, np.int64), np.zeros(1, np.int64), nothing, 5, now)[1].tolist() == found
