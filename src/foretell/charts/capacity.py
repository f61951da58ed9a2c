"""The page of a capacity report: the curves of A-MEDIAS, Figs. 7.4 to 7.7, or of a single point its parts as bars."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from foretell.arguments.validation import bad_argument
from foretell.capacity.report import CapacityPoint, CapacityReport
from foretell.charts.bars import BarChart
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart, ChartPage, chart_page

#: An axis whose ends differ by this factor is logarithmic.
_DECADES = 30.0

#: Curves of a chart of utilisation, and charts of variants.
_STATIONS, _VARIANTS = 5, 6

_INTRODUCTION = (
    "How long it takes from an event to its notification, by simulation of a stochastic Petri net. A curve ends where "
    "more events come than the service carries: it has no steady state there."
)


def capacity_page(report: CapacityReport, path: str | os.PathLike[str] | None = None) -> ChartPage:
    """The charts of a capacity report, as `foretell capacity --html` writes them. With a `path` the page is written
    there, too."""
    if not isinstance(report, CapacityReport):
        raise bad_argument("report", "the result of ft.capacity", report)
    charts, table = capacity_charts(report), report.text(200)
    found = chart_page(report.title, _INTRODUCTION, charts, table=table, warnings=report.findings())
    if path is not None:
        found.save(path)
    return found


def capacity_charts(report: CapacityReport) -> list[Chart]:
    if not report.key:
        return [chart for k, point in enumerate(report.points) for chart in _bars(report, point, k)]
    return [*_latencies(report), *_utilisations(report)]


def _latencies(report: CapacityReport) -> Iterator[Chart]:
    """The mean time of each variant; of a single one also its quantiles, and equation 7.1."""
    variants = _by_variant(report)
    if len(variants) == 1:
        ((_, points),) = variants.items()
        curves = [_curve("mean", points, _mean)]
        curves += [_curve(f"{q:.0%}", points, partial(_quantile, q)) for q in (0.95, 0.99)]
        curves.append(_curve("equation 7.1", points, _by_equation))
        caption = "The mean time from an event to its notification, and the time that 95% and 99% of them take at most."
    else:
        curves = [_curve(name, points, _mean) for name, points in variants.items()]
        caption = "The mean time from an event to its notification, for each variant."
    shown = tuple(curve for curve in curves if curve.points)
    if shown:
        x, y = _axis(report.key, "", shown, 0), _axis("time to notification", "s", shown, 1)
        yield LineChart("latency", "time from event to notification", caption, x, y, shown)


def _utilisations(report: CapacityReport) -> Iterator[Chart]:
    for k, (name, points) in enumerate([*_by_variant(report).items()][:_VARIANTS]):
        highest = {
            station: max(point.utilisation.get(station, 0.0) for point in points) for station in points[0].utilisation
        }
        stations = sorted(highest, key=lambda station: -highest[station])[:_STATIONS]
        curves = tuple(_curve(s, points, partial(_utilisation, s)) for s in stations if highest[s] > 0.01)
        if curves:
            title = f"utilisation, {name}" if name else "utilisation"
            caption = "The share of the time that each station is busy. The first one at 1 is the bottleneck."
            y = Axis("busy", log=False, span=(0.0, 1.0))
            yield LineChart(f"utilisation-{k}", title, caption, _axis(report.key, "", curves, 0), y, curves)


def _bars(report: CapacityReport, point: CapacityPoint, number: int) -> Iterator[Chart]:
    label = report.label(point).removesuffix(": ")
    suffix = f", {label}" if label else ""
    if point.utilisation:
        caption = "The share of the time that each station is busy."
        stations = tuple(point.utilisation.items())
        yield BarChart(f"stations-{number}", f"utilisation{suffix}", caption, "busy", "", stations)
    if point.is_stable and point.times:
        caption = "The mean time of an event in each place, by Little's law, for the events that come there."
        yield BarChart(f"times-{number}", f"times{suffix}", caption, "mean time", "s", tuple(point.times.items()))


def _by_variant(report: CapacityReport) -> dict[str, list[CapacityPoint]]:
    variants: dict[str, list[CapacityPoint]] = {}
    for point in report.points:
        variants.setdefault(point.variant, []).append(point)
    return variants


def _mean(point: CapacityPoint) -> float | None:
    return point.latency.mean if point.latency else None


def _by_equation(point: CapacityPoint) -> float | None:
    return point.equation.notified if point.equation else None


def _utilisation(station: str, point: CapacityPoint) -> float | None:
    return point.utilisation.get(station)


def _quantile(quantile: float, point: CapacityPoint) -> float | None:
    return point.measures.quantiles.get(quantile) if point.latency else None


def _curve(name: str, points: Sequence[CapacityPoint], of: Callable[[CapacityPoint], float | None]) -> Curve:
    """A curve over the varied values; values that are not known or infinite are left out."""
    read = [(point.value, of(point)) for point in points]
    return Curve(name, tuple((x, y) for x, y in read if x is not None and y and math.isfinite(y)))


def _axis(title: str, unit: str, curves: Sequence[Curve], coordinate: int) -> Axis:
    values = [point[coordinate] for curve in curves for point in curve.points]
    return Axis(title, unit, log=max(values) >= _DECADES * min(values) > 0)
