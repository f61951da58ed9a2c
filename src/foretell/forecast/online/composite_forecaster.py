"""Forecasts of a whole by its parts: a chain for each of them, learned as they go, and their waiting times combined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.errors import InputError
from foretell.events.types import Type
from foretell.forecast.chain.match_interval import Asked, Expectation
from foretell.forecast.chain.part_configurations import before_it, followed, whole
from foretell.forecast.evaluation.forecast_log import Said
from foretell.forecast.online.forecaster import Forecaster
from foretell.forecast.online.interfaces import Prospects, Watch
from foretell.learn.model import Learned
from foretell.machine.observe.observer import ObservedRuns
from foretell.plan.nfa.decomposition import Decomposition

#: Nobody is told of a part by itself.
_NEVER = 2.0


class ByParts:
    """`learned` has what is known of each part. `said` keeps what is forecast, for judges."""

    def __init__(
        self, watch: Watch, time: Type, learned: Learned, parts: Decomposition | None, said: Said | None = None
    ) -> None:
        if parts is None or len(parts) != len(learned.parts):
            raise InputError("bad-model", "the model knows other parts of the pattern", hint="train it again")
        self.watch, self._said = watch, said
        self._reach = 1.0 if said is None else said.asked.reach
        self._parts = parts
        self._heard = [_Heard(self._reach, entry) for entry in parts.entries]
        self._forecasters = [
            Forecaster(replace(watch, above=_NEVER), time, Learned(learned.fingerprint, statistics), listener=heard)
            for statistics, heard in zip(learned.parts, self._heard, strict=True)
        ]
        self._calibration = learned.calibration
        self._words = np.zeros((0, len(self._heard)), np.uint64)  # of each process
        self._above = np.zeros(0, np.bool_)
        self._keyed = False
        self._combined: dict[bytes, Floats] = {}

    def see(self, seen: ObservedRuns) -> tuple[Ints, Floats]:
        """At which events a match has become likely, and how likely."""
        sides = seen.sides
        assert sides is not None
        self._keyed = seen.by_value
        more = max(0, int(seen.process.max(initial=-1)) + 1 - len(self._above))
        self._words = np.pad(self._words, ((0, more), (0, 0)))
        self._above = np.pad(self._above, (0, more))
        configuration, matched = followed(sides, seen.process, self._words)
        nothing = np.zeros(0, np.int64)
        for part, forecaster in enumerate(self._forecasters):
            mine = np.ascontiguousarray(configuration[:, part]), np.ascontiguousarray(matched[:, part])
            forecaster.see(replace(seen, configuration=mine[0], matched=mine[1], completed=nothing))
        waits, which = self._waits(sides.words)
        chance = self._calibration(self._heard[0].expectation.at_horizon(waits, self._reach))[which]
        if self._keyed:
            chance[seen.configuration == 0] = np.nan  # of a binding without partial matches nobody speaks
        if self._said is not None:
            start, end = self._heard[0].expectation.interval(waits, self._said.asked)
            self._said.begin(len(chance))
            rows = np.flatnonzero(~np.isnan(chance))
            self._said.say(rows, chance[rows], start[which][rows], end[which][rows])
        return self._risen(seen.process, chance)

    def _waits(self, words: Words) -> tuple[Floats, Ints]:
        """Distinct waiting times of the whole, and which of them each event has."""
        now, begun = (np.stack([getattr(h, name) for h in self._heard], axis=1) for name in ("now", "entered"))
        every = np.hstack([words.view(np.int64), now, begun])
        found, first, which = np.unique(every, axis=0, return_index=True, return_inverse=True)
        if any(heard.is_new for heard in self._heard):
            self._combined.clear()
        waits = []
        for key, row in zip(found, first.tolist(), strict=True):
            if key.tobytes() not in self._combined:
                cdfs = [[h.cdfs[i] for h, i in zip(self._heard, some[row].tolist())] for some in (now, begun)]
                self._combined[key.tobytes()] = whole(self._parts, words[row], *cdfs)
            waits.append(self._combined[key.tobytes()])
        return np.array(waits), which.reshape(-1)

    def _risen(self, process: Ints, chance: Floats) -> tuple[Ints, Floats]:
        """Where it has come to the threshold from below."""
        above = chance >= self.watch.above
        rows = np.flatnonzero(above & ~before_it(above, process, self._above))
        return rows, chance[rows]

    def prospects(self, now: int | float, asked: Asked) -> Prospects:
        places = [forecaster.whereabouts(now) for forecaster in self._forecasters]
        process = places[0][0]
        if self._keyed:
            process = process[self._words[process].any(axis=1)]
        if not len(process):
            nothing = np.zeros(0)
            return Prospects(np.zeros(0, np.int64), nothing, nothing, nothing)
        expected = [forecaster.expectation() for forecaster in self._forecasters]
        standing, entering = [], []
        for part, (one, (every, place)) in enumerate(zip(expected, places, strict=True)):
            lane, state, age = place
            at = np.searchsorted(every, process)
            standing.append(one.waiting(lane[at], state[at], age[at], asked.reach))
            entering.append(entered(one, self._parts.entries[part], asked.reach))
        waits = np.array(
            [whole(self._parts, self._words[p], [w[i] for w in standing], entering) for i, p in enumerate(process)]
        )
        start, end = expected[0].interval(waits, asked)
        return Prospects(process, self._calibration(expected[0].at_horizon(waits, asked.reach)), start, end)

    # ── state ──

    def state(self) -> Mapping[str, Any]:
        parts = [dict(forecaster.state()) for forecaster in self._forecasters]
        return {"parts": parts, "words": self._words, "above": self._above, "keyed": self._keyed}

    def restore(self, state: Mapping[str, Any]) -> None:
        if self.watch.anew or len(state.get("parts", ())) != len(self._forecasters):
            return
        for forecaster, one in zip(self._forecasters, state["parts"], strict=True):
            forecaster.restore(one)
        self._words, self._above, self._keyed = state["words"], state["above"], state["keyed"]


class _Heard:
    """Of each event of a batch the waiting time of a part as it stood, and as when its segment begins: numbers of
    `cdfs`. These stay as long as the tables do; `is_new` tells that they are others than in the batch before."""

    def __init__(self, reach: float, entry: int) -> None:
        self.reach, self.entry = reach, entry
        self.cdfs: list[Floats] = []
        self.now = self.entered = np.zeros(0, np.int64)
        self.is_new = True
        self._places: dict[Any, int] = {}
        self._has_old = False

    def begin(self, rows: int) -> None:
        self.now, self.entered = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.is_new = self._has_old
        if self._has_old:
            self.cdfs, self._places, self._has_old = [], {}, False

    def hear(self, rows: Ints, _: Floats, expectation: Expectation, places: tuple[Ints, Ints, Floats]) -> None:
        if self._places.get("of") != id(expectation):
            self._has_old = bool(self.cdfs)
            self.expectation, self._places = expectation, {"of": id(expectation)}
            self._places["entry"] = self._add(entered(expectation, self.entry, self.reach))
        found, which = np.unique(np.stack(places, axis=1), axis=0, return_inverse=True)
        numbers = [self._number((int(lane), int(state), float(age))) for lane, state, age in found]
        self.now[rows] = np.array(numbers, np.int64)[which.reshape(-1)]
        self.entered[rows] = self._places["entry"]

    def _number(self, place: tuple[int, int, float]) -> int:
        if place not in self._places:
            lane, state, age = place
            known = state < len(self.expectation.statistics.states)
            at = np.array([lane]), np.array([state]) if known else np.array([0]), np.array([age])
            (cdf,) = self.expectation.waiting(*at, self.reach)
            self._places[place] = self._add(cdf if known else np.full_like(cdf, np.nan))
        return self._places[place]

    def _add(self, cdf: Floats) -> int:
        self.cdfs.append(cdf)
        return len(self.cdfs) - 1


def entered(expectation: Expectation, entry: int, reach: float) -> Floats:
    """The waiting time of a part when its segment begins: with this word."""
    at = np.flatnonzero(expectation.statistics.states == np.uint64(entry))
    (cdf,) = expectation.waiting(np.array([-1]), at[:1] if len(at) else np.zeros(1, np.int64), np.zeros(1), reach)
    return cdf if len(at) else np.full_like(cdf, np.nan)
