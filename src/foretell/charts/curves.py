"""Curves over two axes, each with its name at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from foretell.charts.theme import COLOURS, GREY, HEIGHT, WIDTH, Specification, dressed, records


@dataclass(frozen=True)
class Axis:
    """`unit` follows every number: `s` makes 0.000001 read 1µs. A plain axis may say from where to where it goes."""

    title: str
    unit: str = ""
    log: bool = True
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """`note` stands after the name, as the exponent of its growth."""

    name: str
    points: tuple[tuple[float, float], ...]
    note: str = ""


@dataclass(frozen=True)
class Curves:
    """A picture of curves. With `linear`, a dashed line shows how the steepest allowed would go.

    On plain axes that is the diagonal, on which both are equal.
    """

    slug: str
    title: str
    sentence: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    linear: bool = False

    def specification(self) -> Specification:
        shown = [c for c in self.curves if c.points]
        xs, ys = ([point[k] for c in shown for point in c.points] for k in (0, 1))
        span = _decades(ys) if self.y.log else self.y.span or (min(0.0, *ys), max(ys))
        colour = alt.Color("curve:N", legend=None, scale=alt.Scale(domain=[c.name for c in shown], range=list(COLOURS)))
        base = alt.Chart(records(_rows(shown, self.x, self.y, span))).encode(
            x=alt.X("x:Q", title=self.x.title, scale=_scale(self.x, (min(xs), max(xs))), axis=_axis(self.x, xs)),
            y=alt.Y("y:Q", title=self.y.title, scale=_scale(self.y, span), axis=_axis(self.y, span)),
            color=colour,
        )
        lines = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=36, filled=True))
        names = base.mark_text(align="left", dx=9, fontSize=12).encode(x="label_x:Q", y="label_y:Q", text="label:N")
        names = names.transform_filter("isValid(datum.label)")
        guide = [_linear(shown, span[1]) if self.y.log else _dashed(span[0], span[0], span[1], span[1])]
        guide = guide if self.linear else []
        return dressed(alt.layer(*guide, lines, names).properties(width=WIDTH, height=HEIGHT))


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole decades around values, at least two, so that what is level looks level.

    >>> _decades([20, 30]), _decades([70, 80]), _decades([50, 3_000])
    ((1.0, 100.0), (10.0, 1000.0), (10.0, 10000.0))
    """
    low, high = math.log10(min(values)), math.log10(max(values))
    first, last = math.floor(low + 1e-9), math.ceil(high - 1e-9)
    while last - first < 2:
        if low - first < last - high:  # there is less room below
            first -= 1
        else:
            last += 1
    return 10.0**first, 10.0**last


def _scale(axis: Axis, span: tuple[float, float]) -> alt.Scale:
    if not axis.log:
        return alt.Scale(domain=list(axis.span or span), nice=axis.span is None)
    return alt.Scale(type="log", nice=False, domain=list(span))


def _axis(axis: Axis, values: Sequence[float]) -> alt.Axis:
    """On a log axis a line and a number for each power of ten, no more."""
    shown = f"format(datum.value, '~s') + '{axis.unit}'"
    if not axis.log:
        plain = f"abs(datum.value) < 1e6 ? format(datum.value, ',~g') : {shown}"
        return alt.Axis(labelExpr=shown if axis.unit else plain, tickCount=6)
    first, last = math.ceil(math.log10(min(values)) - 1e-9), math.floor(math.log10(max(values)) + 1e-9)
    return alt.Axis(labelExpr=shown, values=[10.0**power for power in range(first, last + 1)])


def _rows(curves: Sequence[Curve], x: Axis, y: Axis, span: tuple[float, float]) -> list[dict[str, Any]]:
    """A row for each point; the last of a curve carries its name.

    Names stand at the ends of their curves or, on a plain axis that says where it ends, there: curves may stop earlier.
    """
    ends = [c.points[-1][1] for c in curves]
    if y.log:
        logs = _apart([math.log(end) for end in ends], (math.log(span[0]), math.log(span[1])))
        places = [math.exp(place) for place in logs]
    else:
        places = _apart(ends, span)
    rows: list[dict[str, Any]] = []
    for curve, place in zip(curves, places, strict=True):
        rows += [{"curve": curve.name, "x": at, "y": value} for at, value in curve.points]
        beside = curve.points[-1][0] if x.span is None else x.span[1]
        rows[-1] |= {"label": f"{curve.name}  {curve.note}".rstrip(), "label_x": beside, "label_y": place}
    return rows


def _apart(ends: Sequence[float], span: tuple[float, float]) -> list[float]:
    """Where names stand beside the ends of their curves without lying on each other, if there is room for them.

    >>> _apart([1.0, 1.0, 9.0], (0.0, 17.5)), _apart([17.5, 17.5], (0.0, 17.5))
    ([1.0, 2.0, 9.0], [16.5, 17.5])
    """
    gap = 16 / HEIGHT * (span[1] - span[0])  # a line of text
    places = list(ends)
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    lowest, highest = -math.inf, span[1]
    for i in order:
        lowest = places[i] = max(ends[i], lowest + gap)
    for i in reversed(order):
        highest = places[i] = min(places[i], highest)
        highest -= gap
    return places


def _linear(curves: Sequence[Curve], highest: float) -> Any:
    """A line of slope one through the lowest first point, as far as there is room."""
    x, y = min((c.points[0] for c in curves), key=lambda point: point[1])
    times = min(max(c.points[-1][0] for c in curves) / x, highest / y)
    return _dashed(x, y, x * times, y * times)


def _dashed(x: float, y: float, to_x: float, to_y: float) -> Any:
    rows = [{"x": x, "y": y}, {"x": to_x, "y": to_y}]
    return alt.Chart(records(rows)).mark_line(strokeWidth=1, strokeDash=[4, 4], color=GREY).encode(x="x:Q", y="y:Q")
