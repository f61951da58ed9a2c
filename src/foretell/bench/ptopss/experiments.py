"""The forecasts of P-ToPSS, Figs. 10 and 11: trained on one stream, judged on a later one.

The sizes are smaller than in the matching experiments: each event is a point of each subscription, and with the paper's
thousand subscriptions a stream of 2.3 million events would be 2.3 billion points. The paper does not say how far ahead
it looked; here 2 to 40 events, where a sequence has 10.
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
from foretell.bench.workloads.planted import composites, planted
from foretell.bench.workloads.temperatures import CLASSES, HEAT, temperatures
from foretell.forecast.evaluation.metrics import Predictions
from foretell.forecast.evaluation.outcomes import Horizon
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import Judged
from foretell.language import tree
from foretell.language.parser import parse
from foretell.language.printer import program_text
from foretell.learn.settings import Learning

THRESHOLDS = tuple(round(0.1 * k, 1) for k in range(1, 10))
AHEAD = (2, 5, 10, 40)
DAYS_AHEAD = (1, 3, 5, 10)


class Backtest(Protocol):
    """Trains on a stream's history and judges on what came later.

    With an `order` the last so many symbols are the context of a forecast; `features` are conditions on an event that
    make symbols besides those of the subscription.
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


def trained(
    statements: str,
    train: Mapping[str, pa.Table],
    test: Mapping[str, pa.Table],
    horizons: Sequence[int],
    thresholds: Sequence[float],
    *,
    order: int = 0,
    features: Sequence[str] = (),
) -> Report:
    """By what everybody calls: `train` and `backtest`. Nothing is forgotten, and nothing learned while it is judged.
    As in the paper, all lanes have one chain."""
    learning = Learning(half_life=math.inf, enough=1, order=order, features=tuple(features), online=False, lanes=0)
    asking = _asking(statements)
    model = forecasting.train(asking, train, learning=learning)
    return forecasting.backtest(asking, test, model=model, horizons=horizons, thresholds=thresholds)


def _asking(statements: str) -> str:
    """The statements with forecasts, of which training learns; how far they look is said later."""
    program = parse(statements)
    forecast = tree.Forecast(0.5, events=1)
    every = (replace(s, forecast=forecast) if isinstance(s, tree.Subscription) else s for s in program.statements)
    return program_text(replace(program, statements=tuple(every)))


def synthetic(quick: bool, backtest: Backtest) -> Iterator[Point]:
    """Fig. 10: (a) more partial matches than in training, (b) the same law, (c) trained on gaussian_pub instead."""
    some = composites(5 if quick else 50, seed=10)
    ahead = AHEAD[1:3] if quick else AHEAD
    each = 5 if quick else 20
    same = {"events": planted(some, partial=each, full=each, seed=11).events}
    shorter = {"events": planted(some, partial=each, full=each, gaussian=True, seed=11).events}
    later = {"events": planted(some, partial=each, full=each, seed=12).events}
    more = {"events": planted(some, partial=4 * each, full=each, seed=12).events}
    usual = backtest(some.text(), same, later, ahead, THRESHOLDS)
    few = AHEAD[1:3]  # two look-aheads, so that the curves can be told apart
    yield from _curves("fig10a", usual, "precision", ", 1 full to 1 partial", few)
    yield from _curves("fig10a", backtest(some.text(), same, more, few, THRESHOLDS), "precision", ", 1 full to 4", few)
    yield from _curves("fig10b", usual, "precision")
    yield from _curves("fig10c", backtest(some.text(), shorter, later, ahead, THRESHOLDS), "precision")


def heat_waves(quick: bool, backtest: Backtest) -> Iterator[Point]:
    """Fig. 11: the model of the subscription alone, and the full one that knows the last five days in four classes."""
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
        for one in report.judged:
            yield _at("fig11-auc", f"{model} model", one.horizon.amount, one.overall.auc)
            yield _at("fig11-error", f"{model} model", one.horizon.amount, one.overall.reliability.error)


def pooled(every: Iterable[Judged]) -> Predictions:
    """The predictions of several subscriptions for one horizon and the same thresholds, counted together."""
    several = [one.overall.predictions for one in every]
    names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    return Predictions(
        several[0].thresholds, *(np.sum([getattr(one, name) for one in several], axis=0) for name in names)
    )


def _curves(
    figure: str, report: Report, column: str, note: str = "", horizons: Sequence[int] | None = None
) -> Iterator[Point]:
    """A column of the predictions against the threshold, for each horizon, of all subscriptions together."""
    by_horizon: dict[Horizon, list[Judged]] = {}
    for one in report.judged:
        if horizons is None or one.horizon.events in horizons:
            by_horizon.setdefault(one.horizon, []).append(one)
    for horizon, every in by_horizon.items():
        found = pooled(every)
        for threshold, value in zip(found.thresholds.tolist(), getattr(found, column).tolist(), strict=True):
            if not np.isnan(value):  # nothing was predicted
                yield _at(figure, f"{horizon} ahead{note}", threshold, value)


def _at(figure: str, curve: str, x: float, y: float) -> Point:
    return Point("forecast", f"{figure}: {curve}, {x:g}", 0, 0.0, 0.0, figure=figure, curve=curve, x=x, y=y, unit="")
