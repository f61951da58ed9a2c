"""The forecast experiments of P-ToPSS, Figs. 10 and 11: trained on one stream, tested on a later one.

The sizes are smaller than in the matching experiments: each event is a point of each subscription, so that the paper's
thousand subscriptions and 2.3 million events would be 2.3 billion points. The paper does not give its look-ahead; here
it is 2 to 40 events, for sequences of 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from foretell.api import forecasting
from foretell.bench.growth.curves import Point
from foretell.bench.workloads.planted_patterns import composites, planted
from foretell.bench.workloads.temperatures import CLASSES, HEAT, temperatures
from foretell.forecast.evaluation.metrics import ConfusionCounts
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import Scorecard
from foretell.language import tree
from foretell.language.parser import parse
from foretell.language.printer import program_text
from foretell.learn.horizon import Horizon
from foretell.learn.settings import Learning

THRESHOLDS = tuple(round(0.1 * k, 1) for k in range(1, 10))
AHEAD = (2, 5, 10, 40)
DAYS_AHEAD = (1, 3, 5, 10)


class Backtest(Protocol):
    """Trains on history and evaluates forecasts on later data.

    `order` is that of the contexts; `features` are conditions that distinguish symbols, besides those of the
    subscription.
    """

    def __call__(
        self,
        statements: str,
        train: Mapping[str, pa.Table],
        test: Mapping[str, pa.Table],
        horizons: Sequence[int],
        thresholds: Sequence[float],
        *,
        order: int = 0,
        features: Sequence[str] = (),
    ) -> Report: ...


def train_and_backtest(
    statements: str,
    train: Mapping[str, pa.Table],
    test: Mapping[str, pa.Table],
    horizons: Sequence[int],
    thresholds: Sequence[float],
    *,
    order: int = 0,
    features: Sequence[str] = (),
) -> Report:
    """By `train` and `backtest`, without decay and without learning in the backtest. As in the paper, all lanes share
    one chain."""
    learning = Learning(half_life=math.inf, enough=1, order=order, features=tuple(features), online=False, lanes=0)
    forecasts = _with_forecasts(statements)
    model = forecasting.train(forecasts, train, learning=learning)
    return forecasting.backtest(forecasts, test, model=model, horizons=horizons, thresholds=thresholds)


def _with_forecasts(statements: str) -> str:
    """The statements with FORECAST, which training needs; the backtest sets the horizons."""
    program = parse(statements)
    forecast = tree.Forecast(0.5, events=1)
    changed = (replace(s, forecast=forecast) if isinstance(s, tree.Subscription) else s for s in program.statements)
    return program_text(replace(program, statements=tuple(changed)))


def synthetic(quick: bool, backtest: Backtest) -> Iterator[Point]:
    """Fig. 10: (a) more partial matches than in training, (b) the same distribution, (c) trained on gaussian_pub."""
    subscriptions = composites(5 if quick else 50, seed=10)
    ahead = AHEAD[1:3] if quick else AHEAD
    each = 5 if quick else 20
    same = {"events": planted(subscriptions, partial=each, full=each, seed=11).events}
    shorter = {"events": planted(subscriptions, partial=each, full=each, gaussian=True, seed=11).events}
    later = {"events": planted(subscriptions, partial=each, full=each, seed=12).events}
    more = {"events": planted(subscriptions, partial=4 * each, full=each, seed=12).events}
    usual = backtest(subscriptions.text(), same, later, ahead, THRESHOLDS)
    few = AHEAD[1:3]  # more curves could not be told apart
    yield from _curves("fig10a", usual, "precision", ", 1 full to 1 partial", few)
    yield from _curves(
        "fig10a", backtest(subscriptions.text(), same, more, few, THRESHOLDS), "precision", ", 1 full to 4", few
    )
    yield from _curves("fig10b", usual, "precision")
    yield from _curves("fig10c", backtest(subscriptions.text(), shorter, later, ahead, THRESHOLDS), "precision")


def heat_waves(quick: bool, backtest: Backtest) -> Iterator[Point]:
    """Fig. 11: the model of the subscription alone, and the full model of the last five days in four classes."""
    cities, years = (20, 4) if quick else (324, 10)
    split = int((years - 2) * 365.25)
    days = int(years * 365.25)
    train = {"days": temperatures(cities, split, seed=5)}
    test = {"days": temperatures(cities, days - split, first=split, seed=5)}
    statements = HEAT.format(forecast="")
    horizons = DAYS_AHEAD[1:2] if quick else DAYS_AHEAD
    for model, order in (("generated", 0), ("full", 5)):
        report = backtest(statements, train, test, horizons, THRESHOLDS, order=order, features=CLASSES if order else ())
        yield from _curves(f"fig11-{model}", report, "precision")
        yield from _curves(f"fig11-{model}-true", report, "true_positives")
        yield from _curves(f"fig11-{model}-false", report, "false_positives")
        for card in report.scorecards:
            yield _point("fig11-auc", f"{model} model", card.horizon.amount, card.overall.auc)
            yield _point("fig11-error", f"{model} model", card.horizon.amount, card.overall.reliability.error)


def pooled(scorecards: Iterable[Scorecard]) -> ConfusionCounts:
    """The confusion counts of several subscriptions together, for one horizon and the same thresholds."""
    several = [card.overall.confusion for card in scorecards]
    names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    return ConfusionCounts(
        several[0].thresholds, *(np.sum([getattr(counts, name) for counts in several], axis=0) for name in names)
    )


def _curves(
    figure: str, report: Report, metric: str, note: str = "", horizons: Sequence[int] | None = None
) -> Iterator[Point]:
    """A metric of all subscriptions together against the threshold, with a curve for each horizon."""
    by_horizon: dict[Horizon, list[Scorecard]] = {}
    for card in report.scorecards:
        if horizons is None or card.horizon.events in horizons:
            by_horizon.setdefault(card.horizon, []).append(card)
    for horizon, cards in by_horizon.items():
        counts = pooled(cards)
        for threshold, value in zip(counts.thresholds.tolist(), getattr(counts, metric).tolist(), strict=True):
            if not np.isnan(value):  # NaN: nothing was predicted
                yield _point(figure, f"{horizon} ahead{note}", threshold, value)


def _point(figure: str, curve: str, x: float, y: float) -> Point:
    return Point("forecast", f"{figure}: {curve}, {x:g}", 0, 0.0, 0.0, figure=figure, curve=curve, x=x, y=y, unit="")
