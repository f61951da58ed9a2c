"""The composite forecaster: a chain for each part of a pattern, and their waiting times combined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints, Words
from foretell.errors import InputError
from foretell.events.types import Type
from foretell.forecast.chain.match_interval import IntervalRequest, LookupKeys, WaitingTimeEstimator
from foretell.forecast.chain.part_configurations import (
    part_configurations,
    previous_by_process,
    whole_waiting_time,
)
from foretell.forecast.evaluation.forecast_log import ForecastLog
from foretell.forecast.online.forecaster import Forecaster
from foretell.forecast.online.interfaces import CurrentForecasts, ForecasterOptions
from foretell.learn.model import SubscriptionModel
from foretell.machine.observe.observer import ObservedRuns
from foretell.plan.nfa.decomposition import Decomposition
from foretell.storage.recorded_values import array, require

#: A threshold that no probability reaches: parts make no notifications.
_NO_NOTIFICATIONS = 2.0


class CompositeForecaster:
    """Forecasts a pattern from its parts, which learn by themselves. A backtest's `log` receives the forecasts."""

    def __init__(
        self,
        options: ForecasterOptions,
        time: Type,
        model: SubscriptionModel,
        parts: Decomposition | None,
        log: ForecastLog | None = None,
    ) -> None:
        if parts is None or len(parts) != len(model.parts):
            raise InputError(
                "bad-model", "the parts of the pattern differ from those in the model", hint="train it again"
            )
        self.options, self._log = options, log
        self._reach = 1.0 if log is None else log.request.reach
        self._parts = parts
        self._listeners = [_PartListener(self._reach, entry) for entry in parts.entries]
        part_options = replace(options, threshold=_NO_NOTIFICATIONS)
        self._forecasters = [
            Forecaster(part_options, time, SubscriptionModel(model.fingerprint, statistics), listener=listener)
            for statistics, listener in zip(model.parts, self._listeners, strict=True)
        ]
        self._calibration = model.calibration
        self._words = np.zeros((0, len(parts)), np.uint64)  # of each process
        self._above = np.zeros(0, np.bool_)
        self._keyed = False
        self._combined: dict[bytes, Floats] = {}

    def observe(self, runs: ObservedRuns) -> tuple[Ints, Floats]:
        """The rows at which the probability rose to the threshold, and the probabilities."""
        parts = runs.parts
        assert parts is not None
        self._keyed = runs.by_value
        more = max(0, int(runs.process.max(initial=-1)) + 1 - len(self._above))
        self._words = np.pad(self._words, ((0, more), (0, 0)))
        self._above = np.pad(self._above, (0, more))
        configuration, matched = part_configurations(parts, runs.process, self._words)
        none_completed = np.zeros(0, np.int64)
        for part, forecaster in enumerate(self._forecasters):
            forecaster.observe(
                replace(
                    runs,
                    configuration=np.ascontiguousarray(configuration[:, part]),
                    matched=np.ascontiguousarray(matched[:, part]),
                    completed=none_completed,
                )
            )
        cdf, which = self._waiting_times(parts.words)
        estimator = self._listeners[0].estimator
        probability = self._calibration(estimator.at_horizon(cdf, self._reach))[which]
        if self._keyed:
            probability[runs.configuration == 0] = np.nan  # no forecasts for bindings without partial matches
        if self._log is not None:
            start, end = estimator.shortest_intervals(cdf, self._log.request)
            self._log.begin_batch(len(probability))
            rows = np.flatnonzero(~np.isnan(probability))
            self._log.log(rows, probability[rows], start[which][rows], end[which][rows])
        return self._rises(runs.process, probability)

    def _waiting_times(self, words: Words) -> tuple[Floats, Ints]:
        """Distinct waiting times of the whole, and the index of the one after each event."""
        now = np.stack([listener.now for listener in self._listeners], axis=1)
        entered = np.stack([listener.entered for listener in self._listeners], axis=1)
        keys = np.hstack([words.view(np.int64), now, entered])
        distinct, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        if any(listener.is_new for listener in self._listeners):
            self._combined.clear()
        cdfs = []
        for key, row in zip(distinct, first.tolist(), strict=True):
            if key.tobytes() not in self._combined:
                by_part = [self._part_cdfs(numbers[row]) for numbers in (now, entered)]
                self._combined[key.tobytes()] = whole_waiting_time(self._parts, words[row], *by_part)
            cdfs.append(self._combined[key.tobytes()])
        return np.array(cdfs), which.reshape(-1)

    def _part_cdfs(self, numbers: Ints) -> list[Floats]:
        return [listener.cdfs[number] for listener, number in zip(self._listeners, numbers.tolist(), strict=True)]

    def _rises(self, process: Ints, probability: Floats) -> tuple[Ints, Floats]:
        above = probability >= self.options.threshold
        rows = np.flatnonzero(above & ~previous_by_process(above, process, self._above))
        return rows, probability[rows]

    def current_forecasts(self, now: int | float, request: IntervalRequest) -> CurrentForecasts:
        lookups = [forecaster.lookup_keys(now) for forecaster in self._forecasters]
        process, *_ = lookups[0]
        if self._keyed:
            process = process[self._words[process].any(axis=1)]
        if not len(process):
            return CurrentForecasts.none()
        estimators = [forecaster.estimator() for forecaster in self._forecasters]
        present, entered = [], []
        for estimator, entry, (processes, keys) in zip(estimators, self._parts.entries, lookups, strict=True):
            rows = np.searchsorted(processes, process)
            present.append(estimator.waiting_times(keys.take(rows), request.reach))
            entered.append(entry_waiting_time(estimator, entry, request.reach))
        cdf = np.array(
            [
                whole_waiting_time(self._parts, self._words[number], [part[i] for part in present], entered)
                for i, number in enumerate(process)
            ]
        )
        probability = self._calibration(estimators[0].at_horizon(cdf, request.reach))
        return CurrentForecasts(process, probability, *estimators[0].shortest_intervals(cdf, request))

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        parts = [dict(forecaster.state()) for forecaster in self._forecasters]
        return {"parts": parts, "words": self._words, "above": self._above, "keyed": self._keyed}

    def restore(self, state: Mapping[str, Any]) -> None:
        if self.options.ignore_snapshot or len(state.get("parts", ())) != len(self._forecasters):
            return
        for forecaster, part in zip(self._forecasters, state["parts"], strict=True):
            forecaster.restore(part)
        require(isinstance(state["keyed"], bool), "the forecasts")
        self._words = array(state["words"], np.uint64, (None, len(self._parts)), "the parts of forecasts")
        self._above = array(state["above"], np.bool_, (len(self._words),), "the parts of forecasts")
        self._keyed = state["keyed"]


class _PartListener:
    """The waiting time of a part after each event of a batch (`now`), and when its segment begins (`entered`), as
    indexes of `cdfs`. These stay valid while the tables do; `is_new` says that they differ from the batch before."""

    def __init__(self, reach: float, entry: int) -> None:
        self.reach, self.entry = reach, entry
        self.estimator: WaitingTimeEstimator
        self.cdfs: list[Floats] = []
        self.now = self.entered = np.zeros(0, np.int64)
        self.is_new = True
        self._numbers: dict[tuple[int, int, float], int] = {}
        self._estimator_id = self._entry_number = -1
        self._has_old = False

    def begin_batch(self, rows: int) -> None:
        self.now, self.entered = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.is_new = self._has_old
        if self._has_old:
            self.cdfs, self._numbers, self._estimator_id, self._has_old = [], {}, -1, False

    def on_forecasts(self, rows: Ints, _: Floats, estimator: WaitingTimeEstimator, keys: LookupKeys) -> None:
        if self._estimator_id != id(estimator):
            self._has_old = bool(self.cdfs)
            self.estimator, self._numbers, self._estimator_id = estimator, {}, id(estimator)
            self._entry_number = self._add(entry_waiting_time(estimator, self.entry, self.reach))
        columns = np.stack([keys.lane, keys.state, keys.age], axis=1)
        distinct, which = np.unique(columns, axis=0, return_inverse=True)
        numbers = [self._number(int(lane), int(state), float(age)) for lane, state, age in distinct]
        self.now[rows] = np.array(numbers, np.int64)[which.reshape(-1)]
        self.entered[rows] = self._entry_number

    def _number(self, lane: int, state: int, age: float) -> int:
        key = lane, state, age
        if key not in self._numbers:
            known = state < len(self.estimator.statistics.states)
            keys = LookupKeys(np.array([lane]), np.array([state if known else 0]), np.array([age]))
            (cdf,) = self.estimator.waiting_times(keys, self.reach)
            self._numbers[key] = self._add(cdf if known else np.full_like(cdf, np.nan))
        return self._numbers[key]

    def _add(self, cdf: Floats) -> int:
        self.cdfs.append(cdf)
        return len(self.cdfs) - 1


def entry_waiting_time(estimator: WaitingTimeEstimator, entry: int, reach: float) -> Floats:
    """The waiting time of a part when its segment begins, with the word `entry`; NaN where that is unknown."""
    states = np.flatnonzero(estimator.statistics.states == np.uint64(entry))
    known = states[:1] if len(states) else np.zeros(1, np.int64)
    (cdf,) = estimator.waiting_times(LookupKeys(np.array([-1]), known, np.zeros(1)), reach)
    return cdf if len(states) else np.full_like(cdf, np.nan)
