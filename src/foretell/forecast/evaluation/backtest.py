"""Forecasts on later data, each with what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.forecast.chain.match_interval import Asked
from foretell.forecast.evaluation.forecast_log import Said
from foretell.forecast.evaluation.model_warnings import Seen as Span
from foretell.forecast.evaluation.model_warnings import doubts_of_age, doubts_of_drift
from foretell.forecast.evaluation.outcomes import Horizon, Waits, waits
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import THRESHOLDS, Judged, judged
from foretell.forecast.evaluation.scorecard import Forecasts as Forecast
from foretell.forecast.online.factory import Forecasts, horizon_of
from foretell.forecast.training.isotonic import recalibrated
from foretell.forecast.training.trace_recorder import Recorder
from foretell.language.checked import CheckedSubscription
from foretell.learn.calibration import Calibration
from foretell.learn.model import Learned, Model
from foretell.learn.statistics import Statistics
from foretell.machine.observe.observer import ObservedRuns, Observer


@dataclass
class Judge:
    """Watches with a forecaster for each horizon, and keeps what they said and what came."""

    forecasters: Mapping[Horizon, Observer]
    said: Mapping[Horizon, Said]
    recorder: Recorder

    def see(self, seen: ObservedRuns) -> tuple[Ints, Floats]:
        self.recorder.see(seen)
        for forecaster in self.forecasters.values():
            forecaster.see(seen)
        return np.zeros(0, np.int64), np.zeros(0)


@dataclass
class Judges:
    """Judges for the subscriptions that ask for forecasts or, where horizons are given, for all."""

    forecasts: Forecasts
    horizons: Sequence[Horizon] = ()
    asked: Asked = field(default_factory=Asked)
    made: dict[str, list[tuple[CheckedSubscription, Judge]]] = field(default_factory=dict)

    def watches(self, checked: CheckedSubscription) -> bool:
        return bool(self.horizons) or checked.tree.forecast is not None

    def watcher(self, checked: CheckedSubscription) -> Observer | None:
        horizons = list(self.horizons) or ([] if checked.tree.forecast is None else [horizon_of(checked)])
        if not horizons:
            return None
        said = {horizon: Said(self.asked) for horizon in horizons}
        forecasters = {horizon: self.forecasts.forecaster(checked, horizon, one) for horizon, one in said.items()}
        judge = Judge(forecasters, said, self.forecasts.recorder(checked))
        self.made.setdefault(checked.name, []).append((checked, judge))
        return judge

    def attributes(self, checked: CheckedSubscription) -> set[str]:
        return self.forecasts.attributes(checked)

    # ── what they found ──

    def report(self, model: Model, thresholds: Sequence[float] | None = None) -> Report:
        some = THRESHOLDS if thresholds is None else np.asarray(thresholds, np.float64)
        found, doubts = [], []
        for name, judges in self.made.items():
            found += [self._judged(name, judges, horizon, some) for horizon in judges[0][1].forecasters]
            learned = model.learned.get(name)
            if learned is not None:
                doubts += _doubts(name, learned, [judge for _, judge in judges])
        by_parts = {name: len(model.learned[name].parts) for name in self.made if name in model.learned}
        notes = tuple(f"'{name}' is forecast by its {parts} parts" for name, parts in by_parts.items() if parts)
        return replace(Report.of(found, doubts), notes=notes)

    def _judged(
        self, name: str, judges: list[tuple[CheckedSubscription, Judge]], horizon: Horizon, thresholds: Floats
    ) -> Judged:
        forecast = judges[0][0].tree.forecast
        parts = [_points(judge, horizon) for _, judge in judges]
        keys = [key for part in parts for key in part[1]]
        return judged(
            name,
            horizon,
            _joined([part[0] for part in parts]),
            keys=keys,
            above=None if forecast is None else forecast.above,
            thresholds=thresholds,
        )

    def recalibrated(self, model: Model) -> Model:
        """The model with each subscription's probabilities set right by what came of them here."""
        learned = dict(model.learned)
        for name, judges in self.made.items():
            if name not in learned:
                continue
            horizon = next(iter(judges[0][1].forecasters))
            points = _joined([_points(judge, horizon)[0] for _, judge in judges])
            known = points.waits.known(horizon)
            # What was said has been set right already, so that the new curve comes on top of the old one.
            curve = recalibrated(points.probability[known], points.waits.happened(horizon)[known])
            learned[name] = replace(learned[name], calibration=_after(learned[name].calibration, curve))
        return replace(model, learned=learned)


def _after(first: Calibration, second: Calibration) -> Calibration:
    """One curve after another."""
    if not first.points:
        return second
    return Calibration(tuple((said, float(second([came])[0])) for said, came in first.points))


def _points(judge: Judge, horizon: Horizon) -> tuple[Forecast, tuple[str, ...]]:
    trace = judge.recorder.record().trace
    said = judge.said[horizon]
    probability = np.concatenate([np.zeros(0), *said.chances])
    seen = waits(trace.process, trace.ordinal, trace.time, trace.matched, last_ordinal=judge.recorder.lane_ends)
    interval = _both([(np.zeros(0), np.zeros(0)), *said.intervals])
    return Forecast(trace.process, trace.matched, seen, probability, interval), trace.keys


def _joined(parts: Sequence[Forecast]) -> Forecast:
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(int(part.process.max(initial=-1)) + 1 for part in parts)])
    return Forecast(
        np.concatenate([part.process + at for part, at in zip(parts, first)]),
        np.concatenate([part.matched for part in parts]),
        Waits(*(np.concatenate(columns) for columns in zip(*(part.waits.columns for part in parts), strict=True))),
        np.concatenate([part.probability for part in parts]),
        _both([part.interval for part in parts if part.interval is not None]),
    )


def _both(ends: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    start, end = np.concatenate(ends, axis=1)
    return start, end


def _doubts(name: str, learned: Learned, judges: Sequence[Judge]) -> list[str]:
    """Whether what was learned is still so."""
    trained = learned.statistics.without_contexts()
    later = [Statistics.of(judge.recorder.record().trace) for judge in judges]
    events, matches = sum(one.events for one in later), sum(one.matches for one in later)
    since, to = min(one.since for one in later), max(one.to for one in later)
    found = list(
        doubts_of_age(
            name,
            Span(trained.events, trained.matches, trained.since, trained.to),
            Span(events, matches, since, to),
        )
    )
    place = {int(mask): number for number, mask in enumerate(trained.states)}
    size = len(place)
    counts = np.zeros((size, size + 1))
    for one in later:
        known = [(i, place[int(mask)]) for i, mask in enumerate(one.states) if int(mask) in place]
        mine, theirs = np.array(known, np.int64).reshape(-1, 2).T
        counts[np.ix_(theirs, theirs)] += one.counts[np.ix_(mine, mine)]
        counts[theirs, size] += one.matched[mine]
    return [*found, *doubts_of_drift(name, np.hstack([trained.counts, trained.matched[:, None]]), counts)]
