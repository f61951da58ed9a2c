"""The charts of a backtest: the curves of P-ToPSS, Figs. 10 and 11, and the reliability diagram."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, isnan, log10, sqrt
from typing import Any

from foretell.arguments.validation import bad_argument
from foretell.charts.chart import Chart
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import ChartPage, chart_page
from foretell.forecast.evaluation.metrics import CalibrationBins, ReliabilityCurve
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import Metrics, Scorecard

_FRACTION = (0.0, 1.0)

#: Below this share of points at which a match came, forecasts are near 0: axes of probabilities are then logarithmic.
RARE = 0.05
#: The lower end of such an axis, at most and at least.
_FLOORS = (1e-2, 1e-6)

#: The quantile of the normal distribution for intervals of 95%.
_Z = 1.96


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


def forecast_page(
    report: Report, path: str | os.PathLike[str] | None = None, title: str = "Forecasts evaluated on later data"
) -> ChartPage:
    """The charts of a backtest, as `foretell backtest --html` writes them: calibration with its intervals, precision
    and recall against the threshold and against each other, notifications. With a `path` the page is written there,
    too."""
    if not isinstance(report, Report):
        raise bad_argument("report", "the result of ft.backtest", report)
    introduction = (
        "Each event is a point: a forecast of the probability that a match follows within the horizon. The forecast "
        "came true if a match was completed within the horizon. Points whose horizon reaches beyond the data are left "
        "out. A dotted vertical line is the threshold of the statement."
    )
    more = len({card.subscription for card in report.scorecards}) - MAX_SUBSCRIPTIONS
    if more > 0:
        introduction += (
            f" Charts show the {MAX_SUBSCRIPTIONS} subscriptions with most forecasts that came true; {more:,} more "
            "are left out."
        )
    found = chart_page(title, introduction, report_charts(report), table=report.tables(), warnings=report.warnings)
    if path is not None:
        found.save(path)
    return found


def _charts(slug: str, name: str, scorecards: Sequence[Scorecard]) -> Iterator[Chart]:
    cards = [card for card in scorecards if card.overall.points]
    if not cards:
        return
    rare = all(card.overall.base_rate < RARE for card in cards)
    yield _rare_reliability_diagram(slug, name, cards) if rare else _reliability_diagram(slug, name, cards)
    lowest = min(float(card.overall.confusion.thresholds[0]) for card in cards)
    threshold = Axis("threshold", log=rare, span=(_floor([lowest]), 1.0) if rare else _FRACTION)
    for chart in _THRESHOLD_CHARTS:
        title, diagonal, axis = f"{name}: {chart.title}", chart.slug == "precision", chart.axis
        values = [chart.values(card.overall) for card in cards]
        if rare and diagonal and threshold.span:  # a diagonal needs two axes of one kind
            axis = replace(threshold, title=axis.title)
            values = [found.clip(threshold.span[0]) for found in values]
        curves = tuple(
            _curve(card, card.overall.confusion.thresholds, y) for card, y in zip(cards, values, strict=True)
        )
        if any(curve.points for curve in curves):
            yield LineChart(
                f"{slug}-{chart.slug}", title, chart.caption, threshold, axis, curves, diagonal, _thresholds(cards)
            )
    yield from _precision_by_recall(slug, name, cards)


def _thresholds(cards: Sequence[Scorecard]) -> tuple[tuple[float, str], ...]:
    """The statement's own threshold, as a mark."""
    return tuple(
        {card.above: (card.above, f"ABOVE {card.above:g}") for card in cards if card.above is not None}.values()
    )


def _precision_by_recall(slug: str, name: str, cards: Sequence[Scorecard]) -> Iterator[LineChart]:
    """The trade between false alarms and missed matches. Unlike true and false positives it does not depend on how many
    points there are without a match."""
    caption = (
        "Each point is a threshold: the fraction of forecasts at or above it that came true, against the fraction of "
        "points with a match that reach it. The further to the top right, the better."
    )
    curves = tuple(_recall_curve(card) for card in cards)
    if any(curve.points for curve in curves):
        x, y = (Axis(title, log=False, span=_FRACTION) for title in ("recall", "precision"))
        yield LineChart(f"{slug}-trade", f"{name}: precision against recall", caption, x, y, curves)


def _recall_curve(card: Scorecard) -> Curve:
    """From the highest threshold to the lowest; its note is the base rate, the precision of forecasting always."""
    confusion = card.overall.confusion
    curve = _curve(card, confusion.recall, confusion.precision, f"base rate {card.overall.base_rate:.2g}")
    return replace(curve, points=tuple(dict.fromkeys(sorted(point for point in curve.points if not isnan(point[0])))))


def _reliability_diagram(slug: str, name: str, cards: Sequence[Scorecard]) -> LineChart:
    caption = (
        "The forecast probability and the observed frequency of a match, in bins of equally many points. On the dashed "
        f"line both are equal; below it forecasts are too high, above it too low. {_INTERVALS}"
    )
    curves = tuple(
        _calibration_curve(card, curve, f"error {curve.error:.3f}")
        for card in cards
        for curve in [card.overall.reliability]
    )
    x = Axis("forecast probability", log=False, span=_FRACTION)
    y = Axis("observed frequency", log=False, span=_FRACTION)
    return LineChart(f"{slug}-reliability", f"{name}: calibration", caption, x, y, curves, reference_line=True)


def _rare_reliability_diagram(slug: str, name: str, cards: Sequence[Scorecard]) -> LineChart:
    """The same on logarithmic axes, by the ranges of the report's table, which are finer towards 0."""
    caption = (
        "The forecast probability and the observed frequency of a match, by ranges of forecasts that are finer towards "
        "0; both axes are logarithmic, because matches are rare. On the dashed line both are equal; below it forecasts "
        f"are too high, above it too low. At points on the lower edge no match came. {_INTERVALS}"
    )
    bins = [card.overall.calibration for card in cards]
    low = _floor([float(value) for found in bins for value in (*found.forecast, *found.observed)])
    curves = tuple(
        _calibration_curve(card, found, f"error {card.overall.reliability.error:.3g}", low)
        for card, found in zip(cards, bins, strict=True)
    )
    x, y = (Axis(title, span=(low, 1.0)) for title in ("forecast probability", "observed frequency"))
    return LineChart(f"{slug}-reliability", f"{name}: calibration", caption, x, y, curves, reference_line=True)


_INTERVALS = (
    "The bars are intervals of 95%, as if points were independent: where those of a lane follow one another they are "
    "narrower than they should be."
)


def _calibration_curve(
    card: Scorecard, bins: ReliabilityCurve | CalibrationBins, note: str, lowest: float = 0.0
) -> Curve:
    """Bins with their intervals; what is below the lowest number of the axis is drawn there."""
    curve = _curve(card, bins.forecast.clip(lowest), bins.observed.clip(lowest), note)
    counts = zip(bins.observed.tolist(), bins.count.tolist(), strict=True)
    ends = (wilson_interval(observed, count) for observed, count in counts if not isnan(observed))
    return replace(curve, intervals=tuple((max(low, lowest), max(high, lowest)) for low, high in ends))


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """The interval of 95% for the probability of which a share of so many trials was seen (Wilson, 1927).

    >>> [round(end, 3) for end in wilson_interval(0.0, 100)], [round(end, 3) for end in wilson_interval(0.5, 100)]
    ([0.0, 0.037], [0.404, 0.596])
    """
    spread = _Z * _Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _floor(values: Sequence[float]) -> float:
    """The power of ten at or below the least value that is not 0.

    >>> _floor([0.0, 0.004, 0.3]), _floor([0.5]), _floor([0.0])
    (0.001, 0.01, 0.01)
    """
    least = min((value for value in values if value > 0), default=1.0)
    return float(min(_FLOORS[0], max(_FLOORS[1], 10.0 ** floor(log10(least) + 1e-9))))


def _curve(card: Scorecard, xs: Any, ys: Any, note: str = "") -> Curve:
    points = tuple((float(x), float(y)) for x, y in zip(xs, ys, strict=True) if not isnan(y))
    return Curve(f"within {card.horizon}", points, note)
