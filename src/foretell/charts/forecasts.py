"""The charts of a backtest: the curves of P-ToPSS, Figs. 10 and 11, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart, page
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import Metrics, Scorecard

_FRACTION = (0.0, 1.0)
_THRESHOLD = Axis("threshold", log=False, span=_FRACTION)


@dataclass(frozen=True)
class _ThresholdChart:
    """A metric against the threshold; `values` reads it from the metrics, one for each threshold."""

    slug: str
    title: str
    caption: str
    axis: Axis
    values: Callable[[Metrics], Any]


_THRESHOLD_CHARTS = (
    _ThresholdChart(
        "precision",
        "precision",
        "The fraction of points at or above the threshold after which a match came within the horizon. If forecasts "
        "are well calibrated, precision is above the dashed line.",
        Axis("precision", log=False, span=_FRACTION),
        lambda metrics: metrics.confusion.precision,
    ),
    _ThresholdChart(
        "recall",
        "recall",
        "The fraction of points with a match within the horizon that are at or above the threshold.",
        Axis("recall", log=False, span=_FRACTION),
        lambda metrics: metrics.confusion.recall,
    ),
    _ThresholdChart(
        "true",
        "true positives",
        "The number of points at or above the threshold after which a match came within the horizon.",
        Axis("points", log=False),
        lambda metrics: metrics.confusion.true_positives,
    ),
    _ThresholdChart(
        "false",
        "false positives",
        "The number of points at or above the threshold after which no match came within the horizon.",
        Axis("points", log=False),
        lambda metrics: metrics.confusion.false_positives,
    ),
    _ThresholdChart(
        "notified",
        "notifications that came true",
        "A notification is made each time the probability rises to the threshold. The fraction of notifications after "
        "which a match came within the horizon.",
        Axis("fraction of notifications", log=False, span=_FRACTION),
        lambda metrics: metrics.notifications.precision,
    ),
    _ThresholdChart(
        "foreseen",
        "matches foreseen",
        "The fraction of matches with a notification within the horizon before them.",
        Axis("fraction of matches", log=False, span=_FRACTION),
        lambda metrics: metrics.notifications.recall,
    ),
)


#: The number of subscriptions on a page: those with most points that came true.
MAX_SUBSCRIPTIONS = 20


def report_charts(report: Report) -> list[Chart]:
    """The charts of each subscription, with a curve for each horizon."""
    positives: dict[str, int] = {}
    for card in report.scorecards:
        positives[card.subscription] = max(positives.get(card.subscription, 0), card.overall.positives)
    shown = set(sorted(positives, key=lambda name: -positives[name])[:MAX_SUBSCRIPTIONS])
    return [
        chart
        for number, name in enumerate(name for name in positives if name in shown)
        for chart in _charts(f"s{number}", name, [card for card in report.scorecards if card.subscription == name])
    ]


def forecast_page(report: Report, title: str = "Forecasts evaluated on later data") -> str:
    """The page of `foretell backtest`: warnings, tables, charts."""
    introduction = (
        "Each event is a point: a forecast of the probability that a match follows within the horizon. The forecast "
        "came true if a match was completed within the horizon. Points whose horizon reaches beyond the data are left "
        "out."
    )
    more = len({card.subscription for card in report.scorecards}) - MAX_SUBSCRIPTIONS
    if more > 0:
        introduction += (
            f" Charts show the {MAX_SUBSCRIPTIONS} subscriptions with most forecasts that came true; {more:,} more "
            "are left out."
        )
    return page(title, introduction, report_charts(report), table=report.tables(), warnings=report.warnings)


def _charts(slug: str, name: str, scorecards: Sequence[Scorecard]) -> Iterator[Chart]:
    cards = [card for card in scorecards if card.overall.points]
    if not cards:
        return
    yield _reliability_diagram(slug, name, cards)
    for chart in _THRESHOLD_CHARTS:
        curves = tuple(_curve(card, card.overall.confusion.thresholds, chart.values(card.overall)) for card in cards)
        if any(curve.points for curve in curves):
            title, diagonal = f"{name}: {chart.title}", chart.slug == "precision"
            yield LineChart(f"{slug}-{chart.slug}", title, chart.caption, _THRESHOLD, chart.axis, curves, diagonal)


def _reliability_diagram(slug: str, name: str, cards: Sequence[Scorecard]) -> LineChart:
    caption = (
        "The forecast probability and the observed frequency of a match, in bins of equally many points. On the dashed "
        "line both are equal; below it forecasts are too high, above it too low."
    )
    curves = tuple(
        _curve(card, curve.forecast, curve.observed, f"error {curve.error:.3f}")
        for card in cards
        for curve in [card.overall.reliability]
    )
    x = Axis("forecast probability", log=False, span=_FRACTION)
    y = Axis("observed frequency", log=False, span=_FRACTION)
    return LineChart(f"{slug}-reliability", f"{name}: calibration", caption, x, y, curves, reference_line=True)


def _curve(card: Scorecard, xs: Any, ys: Any, note: str = "") -> Curve:
    points = tuple((float(x), float(y)) for x, y in zip(xs, ys, strict=True) if not isnan(y))
    return Curve(f"within {card.horizon}", points, note)
