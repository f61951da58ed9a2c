"""`curve_page` draws the forecasts of lanes over time, as a backtest makes them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from foretell.api.forecasting import run_observed
from foretell.arguments.model import ModelLike, as_learning, as_model
from foretell.arguments.period import PeriodRequest
from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.until import TimeLike
from foretell.arguments.validation import bad_argument
from foretell.charts.forecast_curves import ForecastCurve, curve_charts, curve_legend, lanes_of
from foretell.charts.page import ChartPage, chart_page
from foretell.errors import InputError
from foretell.events.ingest.read_options import ReadOptions
from foretell.forecast.evaluation.backtest import BacktestObserverFactory
from foretell.forecast.online.factory import ForecasterFactory, untrained_notes
from foretell.learn.settings import Learning

_TITLE = "Forecasts over time"


def curve_page(
    subscriptions: SubscriptionsLike,
    inputs: Mapping[str, object],
    path: str | os.PathLike[str] | None = None,
    *,
    model: ModelLike | None = None,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    learning: Learning | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    split: float | None = None,
    lanes: int = 6,
    strict: bool = False,
) -> ChartPage:
    """The probability of a match after each event of the `lanes` with most events, for each statement with FORECAST: a
    curve with the threshold, the forecasts and how they turned out, and the matches.

    The other arguments are those of `backtest`. With a `path` the page is written there, too.

    >>> import random, foretell as ft
    >>> coins = [{"time": i, "side": side} for i, side in enumerate(random.Random(1).choices("ht", k=1000))]
    >>> twice = "SUBSCRIBE twice FROM coins MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.4"
    >>> data = {"inputs": {"coins": coins}, "time": {"coins": "time"}, "split": 0.8}
    >>> curve_page(twice, model=ft.train(twice, **data), **data)
    ChartPage(Forecasts over time: 1 chart: s0-lane0)
    """
    if type(lanes) is not int or lanes < 1:
        raise bad_argument("lanes", "a whole number from 1 on", lanes)
    program, trained = as_subscriptions(subscriptions), as_model(model)
    notes = untrained_notes(trained, program)
    observers = BacktestObserverFactory(ForecasterFactory(trained.subscriptions, as_learning(learning)))
    period = PeriodRequest(since, until, split)
    checked, _, misfits = run_observed(
        program, inputs, observers, time=time, read=read, tables=tables, strict=strict, period=period, later=True
    )
    if not observers.observers:
        hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to a subscription"
        raise InputError("no-forecasts", "no subscription has a FORECAST clause", hint=hint)
    charts, total = list[ForecastCurve](), 0
    names = [statement.name for statement in checked.statements if statement.name in observers.observers]
    for number, name in enumerate(names):
        found = lanes_of(observers.observers[name])
        total += len(found)
        charts += curve_charts(name, found, lanes, f"s{number}")
    if not charts:
        hint = "give more events, a model, or learning=ft.Learning(enough=...)"
        raise InputError("nothing-to-draw", "there is no forecast: too few events have been seen", hint=hint)
    found_page = chart_page(_TITLE, curve_legend(len(charts), total), charts, warnings=(*notes, *misfits))
    if path is not None:
        found_page.save(path)
    return found_page
