"""Backtests: forecasts on later data, each compared with its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.match_interval import IntervalRequest
from foretell.forecast.evaluation.forecast_log import ForecastLog
from foretell.forecast.evaluation.model_warnings import (
    DataSpan,
    drift_warnings,
    overlap_warnings,
    staleness_warnings,
)
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import THRESHOLDS, ForecastPoints, Scorecard, scorecard
from foretell.forecast.online.factory import ForecasterFactory, horizon_of
from foretell.forecast.training.isotonic import fit_isotonic
from foretell.forecast.training.trace_recorder import TraceRecorder
from foretell.language.checked import CheckedSubscription
from foretell.learn.horizon import Horizon
from foretell.learn.model import Model, SubscriptionModel
from foretell.learn.outcomes import TimesToMatch, times_to_match
from foretell.learn.statistics import Statistics
from foretell.machine.observe.observer import ObservedRuns, Observer
from foretell.plan.match_plan import StatementPlan


@dataclass
class BacktestObserver:
    """Runs a forecaster for each horizon, logs its forecasts, and records the trace for their outcomes."""

    checked: CheckedSubscription
    forecasters: Mapping[Horizon, Observer]
    logs: Mapping[Horizon, ForecastLog]
    recorder: TraceRecorder

    def observe(self, seen: ObservedRuns) -> tuple[Ints, Floats]:
        self.recorder.observe(seen)
        for forecaster in self.forecasters.values():
            forecaster.observe(seen)
        return np.zeros(0, np.int64), np.zeros(0)

    def points(self, horizon: Horizon) -> ForecastPoints:
        """Each event with its forecast for the horizon and its outcome."""
        trace, log = self.recorder.record().trace, self.logs[horizon]
        times = times_to_match(
            trace.process, trace.ordinal, trace.time, trace.matched, last_ordinal=self.recorder.lane_ends
        )
        probability = np.concatenate([np.zeros(0), *log.probabilities])
        interval = _joined_intervals([(np.zeros(0), np.zeros(0)), *log.intervals])
        return ForecastPoints(trace.process, trace.matched, times, probability, interval)


@dataclass
class BacktestObserverFactory:
    """Observers for the subscriptions with FORECAST or, where `horizons` are given, for all.

    `observers` has those made so far by statement: several for a template, one for each of its rows.
    """

    forecasters: ForecasterFactory
    horizons: Sequence[Horizon] = ()
    request: IntervalRequest = field(default_factory=IntervalRequest)
    observers: dict[str, list[BacktestObserver]] = field(default_factory=dict)

    def observes(self, checked: CheckedSubscription) -> bool:
        if checked.correlator is not None:  # without FORECAST it does not know what to forecast
            return checked.tree.forecast is not None
        return bool(self.horizons) or checked.tree.forecast is not None

    def observer(self, statement: StatementPlan) -> Observer | None:
        checked = statement.subscription
        if not self.observes(checked):
            return None
        logs = {horizon: ForecastLog(self.request) for horizon in self.horizons or [horizon_of(checked)]}
        forecasters = {horizon: self.forecasters.forecaster(checked, horizon, log) for horizon, log in logs.items()}
        observer = BacktestObserver(checked, forecasters, logs, self.forecasters.recorder(checked))
        self.observers.setdefault(checked.name, []).append(observer)
        return observer

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return self.forecasters.attributes(checked)


# ── the report ──


def report(
    observers: Mapping[str, Sequence[BacktestObserver]], model: Model, thresholds: Sequence[float] | None = None
) -> Report:
    levels = THRESHOLDS if thresholds is None else np.asarray(thresholds, np.float64)
    scorecards: list[Scorecard] = []
    warnings: list[str] = []
    notes: list[str] = []
    for name, members in observers.items():
        scorecards += [_scorecard(name, members, horizon, levels) for horizon in members[0].forecasters]
        trained = model.subscriptions.get(name)
        if trained is not None:
            warnings += _model_warnings(name, trained, members)
            if trained.parts:
                notes.append(f"'{name}' is forecast from its {len(trained.parts)} parts")
    return replace(Report.of(scorecards, warnings), notes=tuple(notes))


def _scorecard(name: str, members: Sequence[BacktestObserver], horizon: Horizon, thresholds: Floats) -> Scorecard:
    forecast = members[0].checked.tree.forecast
    return scorecard(
        name,
        horizon,
        _joined([member.points(horizon) for member in members]),
        keys=[key for member in members for key in member.recorder.record().trace.keys],
        above=None if forecast is None else forecast.above,
        thresholds=thresholds,
    )


def _joined(several: Sequence[ForecastPoints]) -> ForecastPoints:
    """The points of the rows of a template as one, their processes renumbered."""
    if len(several) == 1:
        return several[0]
    first = np.cumsum([0, *(int(points.process.max(initial=-1)) + 1 for points in several)])
    columns = zip(*(points.times.columns for points in several), strict=True)
    return ForecastPoints(
        np.concatenate([points.process + offset for points, offset in zip(several, first)]),
        np.concatenate([points.matched for points in several]),
        TimesToMatch(*(np.concatenate(column) for column in columns)),
        np.concatenate([points.probability for points in several]),
        _joined_intervals([points.interval for points in several if points.interval is not None]),
    )


def _joined_intervals(intervals: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    start, end = np.concatenate(intervals, axis=1)
    return start, end


def _model_warnings(name: str, model: SubscriptionModel, members: Sequence[BacktestObserver]) -> list[str]:
    """Compares the statistics of training with those of the backtest's data."""
    trained = model.statistics.without_contexts()
    records = [member.recorder.record() for member in members]
    later = [Statistics.of(record.trace) for record in records]
    hashes = np.concatenate([record.sequence_hash for record in records])
    before = DataSpan(trained.events, trained.matches, trained.since, trained.to)
    now = DataSpan(
        sum(statistics.events for statistics in later),
        sum(statistics.matches for statistics in later),
        min(statistics.since for statistics in later),
        max(statistics.to for statistics in later),
    )
    counts = np.hstack([trained.counts, trained.matched[:, None]])
    later_counts = sum((_counts_over(trained, statistics) for statistics in later), np.zeros_like(counts))
    known = None if model.sample is None else model.sample.share_of(hashes)
    return [
        *overlap_warnings(name, known),
        *staleness_warnings(name, before, now),
        *drift_warnings(name, counts, later_counts),
    ]


def _counts_over(trained: Statistics, later: Statistics) -> Floats:
    """The later transition counts over the configurations of training, with matches as the last column."""
    place = {int(mask): number for number, mask in enumerate(trained.states)}
    size = len(place)
    pairs = [(place[int(mask)], number) for number, mask in enumerate(later.states) if int(mask) in place]
    target, source = np.array(pairs, np.int64).reshape(-1, 2).T
    counts = np.zeros((size, size + 1))
    counts[np.ix_(target, target)] = later.counts[np.ix_(source, source)]
    counts[target, size] = later.matched[source]
    return counts


# ── recalibration ──


def recalibrated(observers: Mapping[str, Sequence[BacktestObserver]], model: Model) -> Model:
    """The model with each subscription's probabilities recalibrated on their outcomes in the backtest."""
    subscriptions = dict(model.subscriptions)
    for name, members in observers.items():
        if name not in subscriptions:
            continue
        horizon = next(iter(members[0].forecasters))
        points = _joined([member.points(horizon) for member in members])
        known = points.times.known(horizon)
        curve = fit_isotonic(points.probability[known], points.times.happened(horizon)[known])
        # The logged probabilities went through the old curve, so the new one is applied after it.
        calibration = subscriptions[name].calibration.then(curve)
        subscriptions[name] = replace(subscriptions[name], calibration=calibration)
    return replace(model, subscriptions=subscriptions)
