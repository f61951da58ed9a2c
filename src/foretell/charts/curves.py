"""Line charts, with the name of each curve at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from foretell.charts.chart import Chart, nothing_to_draw
from foretell.charts.point_sample import XY, thinned, thinning_note
from foretell.charts.theme import COLOURS, GREY, HEIGHT, TEXT, WIDTH, VegaSpec, inline_data, themed


@dataclass(frozen=True)
class Axis:
    """`unit` follows every number: with `s`, 0.000001 is shown as 1µs. `span` fixes the ends of the axis; its numbers
    are then shown as they are: 0.001 and not 1m."""

    title: str
    unit: str = ""
    log: bool = True
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """`note` follows the name in the label, such as the exponent of the growth. `intervals` has for each point, or for
    none, the ends of the interval in which its true value lies."""

    name: str
    points: tuple[XY, ...]
    note: str = ""
    intervals: tuple[XY, ...] = ()

    @property
    def thinned(self) -> tuple[XY, ...]:
        """The points that are drawn; those with intervals are few."""
        return self.points if self.intervals else thinned(self.points)


@dataclass(frozen=True, repr=False)
class LineChart(Chart):
    """A line chart. With `reference_line`, a dashed line shows the diagonal, or linear growth on logarithmic axes
    without a fixed span. `marks` are values of x with a label, each a vertical line."""

    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    reference_line: bool = False
    marks: tuple[tuple[float, str], ...] = ()

    @property
    def note(self) -> str:
        drawn, total = (sum(map(len, points)) for points in zip(*((c.thinned, c.points) for c in self.curves)))
        return thinning_note(drawn, total, "of each stretch the lowest and the highest")

    def specification(self) -> VegaSpec:
        drawn = [replace(c, points=c.thinned) for c in self.curves if c.points]
        if not drawn:
            raise nothing_to_draw(self.title, "no curve has a point")
        xs, ys = ([point[k] for c in drawn for point in c.points] for k in (0, 1))
        span = self.y.span or (_decades(ys) if self.y.log else (min(0.0, *ys), max(ys)))
        colour = alt.Color("curve:N", legend=None, scale=alt.Scale(domain=[c.name for c in drawn], range=list(COLOURS)))
        base = alt.Chart(inline_data(_rows(drawn, self.x, self.y, span))).encode(
            x=alt.X("x:Q", title=self.x.title, scale=_scale(self.x, (min(xs), max(xs))), axis=_axis(self.x, xs)),
            y=alt.Y("y:Q", title=self.y.title, scale=_scale(self.y, span), axis=_axis(self.y, span)),
            color=colour,
        )
        lines = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=36, filled=True))
        names = base.mark_text(align="left", dx=9, fontSize=12).encode(x="label_x:Q", y="label_y:Q", text="label:N")
        names = names.transform_filter("isValid(datum.label)")
        reference = []
        if self.reference_line:
            grows = self.y.log and self.y.span is None
            reference = [_linear_growth(drawn, span[1]) if grows else _dashed(*_diagonal(self.x.span or span, span))]
        if self.marks:
            reference.append(_marks(self.marks))
        if any(c.intervals for c in drawn):
            reference.append(_intervals(drawn, span, colour))
        return themed(alt.layer(*reference, lines, names).properties(width=WIDTH, height=HEIGHT))


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole decades around the values, at least two, so that level curves look level.

    >>> _decades([20, 30]), _decades([70, 80]), _decades([50, 3_000])
    ((1.0, 100.0), (10.0, 1000.0), (10.0, 10000.0))
    """
    low, high = math.log10(min(values)), math.log10(max(values))
    first, last = math.floor(low + 1e-9), math.ceil(high - 1e-9)
    while last - first < 2:
        if low - first < last - high:  # less room below
            first -= 1
        else:
            last += 1
    return 10.0**first, 10.0**last


def _scale(axis: Axis, span: tuple[float, float]) -> alt.Scale:
    if not axis.log:
        return alt.Scale(domain=list(axis.span or span), nice=axis.span is None)
    return alt.Scale(type="log", nice=False, domain=list(axis.span or span))


def _axis(axis: Axis, values: Sequence[float]) -> alt.Axis:
    """A logarithmic axis has a line and a number for each power of ten, no more."""
    with_unit = f"format(datum.value, '~s') + '{axis.unit}'"
    if not axis.log:
        plain = f"abs(datum.value) < 1e6 ? format(datum.value, ',~g') : {with_unit}"
        return alt.Axis(labelExpr=with_unit if axis.unit else plain, tickCount=6)
    values = axis.span or values
    first, last = math.ceil(math.log10(min(values)) - 1e-9), math.floor(math.log10(max(values)) + 1e-9)
    labels = "format(datum.value, '~g')" if axis.span else with_unit
    return alt.Axis(labelExpr=labels, values=[10.0**power for power in range(first, last + 1)])


def _rows(curves: Sequence[Curve], x: Axis, y: Axis, span: tuple[float, float]) -> list[dict[str, Any]]:
    """A row for each point; the last one of a curve has its label.

    Labels are at the ends of their curves or, where the x axis has a fixed span, at its end.
    """
    ends = [c.points[-1][1] for c in curves]
    if y.log:
        logs = _spread([math.log(end) for end in ends], (math.log(span[0]), math.log(span[1])))
        places = [math.exp(place) for place in logs]
    else:
        places = _spread(ends, span)
    rows: list[dict[str, Any]] = []
    for curve, place in zip(curves, places, strict=True):
        rows += [{"curve": curve.name, "x": point_x, "y": point_y} for point_x, point_y in curve.points]
        beside = curve.points[-1][0] if x.span is None else x.span[1]
        rows[-1] |= {"label": f"{curve.name}  {curve.note}".rstrip(), "label_x": beside, "label_y": place}
    return rows


def _spread(ends: Sequence[float], span: tuple[float, float]) -> list[float]:
    """The positions of labels beside the ends of their curves, moved apart where they would overlap.

    >>> _spread([1.0, 1.0, 9.0], (0.0, 17.5)), _spread([17.5, 17.5], (0.0, 17.5))
    ([1.0, 2.0, 9.0], [16.5, 17.5])
    """
    gap = 16 / HEIGHT * (span[1] - span[0])  # the height of a line of text
    places = list(ends)
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    lowest, highest = -math.inf, span[1]
    for i in order:
        lowest = places[i] = max(ends[i], lowest + gap)
    for i in reversed(order):
        highest = places[i] = min(places[i], highest)
        highest -= gap
    return places


def _linear_growth(curves: Sequence[Curve], highest: float) -> Any:
    """A line of slope one from the lowest first point, as far as there is room."""
    x, y = min((c.points[0] for c in curves), key=lambda point: point[1])
    times = min(max(c.points[-1][0] for c in curves) / x, highest / y)
    return _dashed(x, y, x * times, y * times)


def _diagonal(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float, float, float]:
    """The line of equal values, as far as both axes go."""
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return low, low, high, high


def _marks(marks: Sequence[tuple[float, str]]) -> Any:
    """Vertical lines with their labels at the top."""
    base = alt.Chart(inline_data([{"x": x, "mark": label} for x, label in marks])).encode(x="x:Q")
    rules = base.mark_rule(strokeWidth=1, strokeDash=[2, 3], color=TEXT)
    texts = base.mark_text(align="left", baseline="bottom", dx=2, dy=-3, fontSize=11, color=TEXT)
    return alt.layer(rules, texts.encode(y=alt.value(0), text="mark:N"))


def _intervals(curves: Sequence[Curve], span: tuple[float, float], colour: Any) -> Any:
    """A vertical line for the interval of each point."""
    rows = [
        {"curve": curve.name, "x": x, "low": max(low, span[0]), "high": min(high, span[1])}
        for curve in curves
        for (x, _), (low, high) in zip(curve.points, curve.intervals)
    ]
    rules = alt.Chart(inline_data(rows)).mark_rule(strokeWidth=5, opacity=0.3)
    return rules.encode(x="x:Q", y="low:Q", y2="high:Q", color=colour)


def _dashed(x: float, y: float, to_x: float, to_y: float) -> Any:
    rows = [{"x": x, "y": y}, {"x": to_x, "y": to_y}]
    return alt.Chart(inline_data(rows)).mark_line(strokeWidth=1, strokeDash=[4, 4], color=GREY).encode(x="x:Q", y="y:Q")
