"""How good the forecasts are: how many warnings came true, beside rules of thumb, and the probabilities of a day."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa

from foretell.api.forecasting import run_observed
from foretell.arrays import Floats, Ints
from foretell.demonstration.calibration_point import CalibrationPoint
from foretell.demonstration.course import TROUBLE_AHEAD, WATCHING, CourseOutcome
from foretell.demonstration.departure_lanes import DepartureLane, LaneKey, departure_lanes
from foretell.demonstration.flights import local
from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.forecast.evaluation.backtest import BacktestObserverFactory, report
from foretell.forecast.evaluation.metrics import auc
from foretell.forecast.evaluation.scorecard import Scorecard
from foretell.forecast.online.factory import ForecasterFactory

#: A range of probabilities with fewer forecasts says little.
_FEWEST = 50

#: From this hour on a departure is one of the new day.
_NIGHT = timedelta(hours=4)


@dataclass(frozen=True)
class LaneWarning:
    """A forecast that was notified: its place in its lane, and whether it came true; None where the data end before."""

    lane: LaneKey
    place: int
    probability: float
    came_true: bool | None


@dataclass(frozen=True)
class RuleScore:
    """A way to warn: how often it does, the share of its warnings that come true, and how many departures ahead."""

    name: str
    warnings: int
    precision: float
    lead: float


@dataclass(frozen=True)
class LaneDay:
    """A day of a lane with the probability after each departure."""

    lane: LaneKey
    day: date
    places: Ints
    probability: Floats
    warnings: tuple[LaneWarning, ...]


@dataclass(frozen=True)
class ForecastScore:
    """`base_rate` is the share of all departures that have trouble ahead; `rules` are rules of thumb. `auc` is the
    chance that a departure with trouble ahead has a higher forecast than one without; `rule_auc` that of the number of
    departures that have gone wrong in a row. `error` is the mean distance of forecasts and frequencies."""

    points: int
    base_rate: float
    warnings: RuleScore
    rules: tuple[RuleScore, ...]
    auc: float
    rule_auc: float
    error: float
    calibration: tuple[CalibrationPoint, ...]
    day: LaneDay
    lanes: Mapping[LaneKey, DepartureLane]


def forecast_score(outcome: CourseOutcome) -> ForecastScore:
    flights = outcome.watched.flights
    lanes = departure_lanes(flights)
    warned = list(_warnings(outcome.notifications, flights, lanes))
    card, probability = _backtest(outcome, lanes)
    run = np.concatenate([lane.run[lane.known] for lane in lanes.values()])
    ahead = np.concatenate([lane.ahead[lane.known] for lane in lanes.values()]) > 0
    bins = card.overall.calibration
    columns = (bins.forecast.tolist(), bins.observed.tolist(), bins.count.tolist())
    return ForecastScore(
        points=len(ahead),
        base_rate=float(ahead.mean()),
        warnings=_score("Foretell's warnings", [(lanes[w.lane], w.place) for w in warned]),
        rules=tuple(_rules(lanes)),
        auc=card.overall.auc,
        rule_auc=auc(run.astype(np.float64), ahead),
        error=card.overall.reliability.error,
        calibration=tuple(CalibrationPoint(*row) for row in zip(*columns, strict=True) if row[-1] >= _FEWEST),
        day=_day(warned, flights, lanes, probability),
        lanes=lanes,
    )


# ── warnings ──


def _warnings(
    notifications: Sequence[Notification], flights: pa.Table, lanes: Mapping[LaneKey, DepartureLane]
) -> Iterator[LaneWarning]:
    row_of = {name: row for row, name in enumerate(flights["id"].to_pylist())}
    place_of = {int(row): place for lane in lanes.values() for place, row in enumerate(lane.rows)}
    for notification in notifications:
        if (notification.subscription, notification.kind) != (TROUBLE_AHEAD, "forecast"):
            continue
        key = notification.key or {}
        names = notification.events["f"]
        assert isinstance(names, Sequence)
        assert not isinstance(names, str)
        last = [name for name in names if name is not None][-1]
        lane_key = (str(key["carrier"]), str(key["origin"]))
        lane, place = lanes[lane_key], place_of[row_of[last]]
        came_true = bool(lane.ahead[place] > 0) if lane.known[place] else None
        yield LaneWarning(lane_key, place, notification.probability, came_true)


def _rules(lanes: Mapping[LaneKey, DepartureLane]) -> Iterator[RuleScore]:
    """Warn each time so many departures in a row have gone wrong."""
    words = ("one that went wrong", "two in a row", "three in a row", "four in a row")
    for length, text in enumerate(words, 1):
        places = [(lane, place) for lane in lanes.values() for place in np.flatnonzero(lane.run == length).tolist()]
        yield _score(f"after {text}", places)


def _score(name: str, places: Sequence[tuple[DepartureLane, int]]) -> RuleScore:
    known = [lane.ahead[place] for lane, place in places if lane.known[place]]
    true = [distance for distance in known if distance]
    precision = len(true) / len(known) if known else float("nan")
    return RuleScore(name, len(places), precision, float(np.mean(true)) if true else float("nan"))


# ── probabilities ──


def _backtest(
    outcome: CourseOutcome, lanes: Mapping[LaneKey, DepartureLane]
) -> tuple[Scorecard, Mapping[LaneKey, Floats]]:
    """The scorecard of all probabilities, and those of each lane: made in this process, with the same model."""
    observers = BacktestObserverFactory(ForecasterFactory(outcome.model.subscriptions, WATCHING))
    run_observed(outcome.program[TROUBLE_AHEAD], {"flights": outcome.watched.flights}, observers)
    (card,) = report(observers.observers, outcome.model).scorecards
    (observer,) = observers.observers[TROUBLE_AHEAD]
    trace, points = observer.recorder.record().trace, observer.points(card.horizon)
    probability = {key: np.full(len(lane.rows), np.nan) for key, lane in lanes.items()}
    for process, text in enumerate(trace.keys):
        key = json.loads(text)
        own = np.flatnonzero(points.process == process)
        probability[key["carrier"], key["origin"]][trace.ordinal[own]] = points.probability[own]
    return card, probability


def _day_of(time: datetime) -> date:
    """The day of a departure: those after midnight belong to the evening before."""
    return (local(time) - _NIGHT).date()


def _day(
    warned: Sequence[LaneWarning],
    flights: pa.Table,
    lanes: Mapping[LaneKey, DepartureLane],
    probability: Mapping[LaneKey, Floats],
) -> LaneDay:
    """The day of a lane with the most warnings, of which some came true and others did not, if there is one."""
    times = flights["time"].to_pylist()
    days: dict[tuple[LaneKey, date], list[LaneWarning]] = {}
    for warning in warned:
        day = _day_of(times[lanes[warning.lane].rows[warning.place]])
        days.setdefault((warning.lane, day), []).append(warning)
    if not days:
        raise InputError("no-forecasts", "there were no forecasts to show", hint="take more events")

    def interest(item: tuple[tuple[LaneKey, date], list[LaneWarning]]) -> tuple[int, int]:
        outcomes = Counter(warning.came_true for warning in item[1])
        return min(2 * outcomes[False], outcomes[True]), len(item[1])

    (lane_key, day), own = max(days.items(), key=interest)
    rows = lanes[lane_key].rows
    on_day = [place for place, row in enumerate(rows.tolist()) if _day_of(times[row]) == day]
    places = np.array(on_day, np.int64)
    return LaneDay(lane_key, day, places, probability[lane_key][places], tuple(own))
