"""A report of forecasts as pictures: the curves of P-ToPSS, Figs. 10 and 11, and the reliability curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isnan
from typing import Any

from foretell.charts.curves import Axis, Curve, Curves
from foretell.charts.page import Picture, page
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import Judged

_PART = (0.0, 1.0)
_THRESHOLD = Axis("threshold", log=False, span=_PART)

#: Slug, what is shown, a sentence, its axis, and where it is found.
_AGAINST: tuple[tuple[str, str, str, Axis, Callable[[Judged], Any]], ...] = (
    (
        "precision",
        "precision",
        "Of the points at which the probability was so high, the part at which a match came within the horizon. Where "
        "probabilities mean what they say, precision is above the threshold: above the dashed line.",
        Axis("precision", log=False, span=_PART),
        lambda one: one.overall.predictions.precision,
    ),
    (
        "recall",
        "recall",
        "Of the points at which a match came within the horizon, the part at which the probability was so high.",
        Axis("recall", log=False, span=_PART),
        lambda one: one.overall.predictions.recall,
    ),
    (
        "true",
        "true positives",
        "At how many points the probability was so high, and a match came.",
        Axis("points", log=False),
        lambda one: one.overall.predictions.true_positives,
    ),
    (
        "false",
        "false positives",
        "At how many points the probability was so high, and no match came.",
        Axis("points", log=False),
        lambda one: one.overall.predictions.false_positives,
    ),
    (
        "notified",
        "notifications that came true",
        "One notification when the probability rises to the threshold: the part of them after which a match came.",
        Axis("part of notifications", log=False, span=_PART),
        lambda one: one.overall.alarms.precision,
    ),
    (
        "foreseen",
        "matches foreseen",
        "The part of the matches with a notification within the horizon before them.",
        Axis("part of matches", log=False, span=_PART),
        lambda one: one.overall.alarms.recall,
    ),
)


#: A page has the curves of so many subscriptions: those with most points that came true.
MOST = 20


def pictures(report: Report) -> list[Picture]:
    """For each subscription its curves, one for each horizon."""
    came: dict[str, int] = {}
    for one in report.judged:
        came[one.subscription] = max(came.get(one.subscription, 0), one.overall.came)
    most = set(sorted(came, key=lambda name: -came[name])[:MOST])
    return [
        picture
        for number, name in enumerate(name for name in came if name in most)
        for picture in _of(f"s{number}", name, [one for one in report.judged if one.subscription == name])
    ]


def forecast_page(report: Report, title: str = "Forecasts, judged on later data") -> str:
    """The page of `foretell backtest`: warnings, tables, curves."""
    introduction = (
        "Each event is a point at which the probability of a match within a horizon was forecast. It came true if a "
        "match was completed within that horizon. Points whose horizon reaches beyond the data are left out."
    )
    more = len({one.subscription for one in report.judged}) - MOST
    if more > 0:
        introduction += f" Curves are shown of the {MOST} subscriptions with most such points; there are {more:,} more."
    return page(title, introduction, pictures(report), table=report.tables(), warnings=report.warnings)


def _of(slug: str, name: str, every: Sequence[Judged]) -> Iterator[Picture]:
    every = [one for one in every if one.overall.points]
    if not every:
        return
    yield _reliability(slug, name, every)
    for part, what, sentence, axis, values in _AGAINST:
        curves = tuple(_curve(one, one.overall.predictions.thresholds, values(one)) for one in every)
        if any(curve.points for curve in curves):
            diagonal = part == "precision"
            yield Curves(f"{slug}-{part}", f"{name}: {what}", sentence, _THRESHOLD, axis, curves, diagonal)


def _reliability(slug: str, name: str, every: Sequence[Judged]) -> Curves:
    sentence = (
        "What was forecast, and how much of it came, in bins of equally many points. On the dashed line they are "
        "equal; below it the forecasts are too high, above it too low."
    )
    curves = tuple(
        _curve(one, curve.said, curve.came, f"error {curve.error:.3f}")
        for one in every
        for curve in [one.overall.reliability]
    )
    axes = Axis("forecast", log=False, span=_PART), Axis("came true", log=False, span=_PART)
    return Curves(f"{slug}-reliability", f"{name}: calibration", sentence, *axes, curves, linear=True)


def _curve(one: Judged, xs: Any, ys: Any, note: str = "") -> Curve:
    points = tuple((float(x), float(y)) for x, y in zip(xs, ys, strict=True) if not isnan(y))
    return Curve(f"within {one.horizon}", points, note)
