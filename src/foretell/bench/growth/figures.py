"""The figures of `foretell bench growth`: their curves, and what to expect of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foretell.bench.figure_page import FigurePage, by_curve
from foretell.bench.growth.curves import Point
from foretell.charts.bars import BarChart
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart


@dataclass(frozen=True)
class _GrowthFigure:
    slug: str
    title: str
    caption: str
    x: str = ""
    y: str = "time per event"
    reference_line: bool = False


_FIGURES = (
    _GrowthFigure(
        "window",
        "A longer window, more matches",
        "a ; b ; c WITHIN d: the number of matches grows with the square of d. Expected: the time per event and match "
        "is constant.",
        "window (ms; an event every 10)",
        "time",
    ),
    _GrowthFigure(
        "window-kept",
        "A longer window, few matches",
        "The same pattern with a last step that rarely occurs: only the events within the window grow. Expected: at "
        "most linear.",
        "window (ms; an event every 10)",
        reference_line=True,
    ),
    _GrowthFigure(
        "age",
        "A longer stream",
        "The time per event as the stream grows. Events that have left the window cost nothing, nor do lanes without "
        "new events. Expected: both curves are constant.",
        "events so far",
    ),
    _GrowthFigure(
        "age-memory",
        "Memory of a longer stream",
        "The memory growth of the engines of the chart above. Expected: constant.",
        "events so far",
        "memory",
        reference_line=True,
    ),
    _GrowthFigure(
        "lanes",
        "More lanes",
        "Events of random lanes, all of them open, in batches of up to a million. Expected: constant, with a rise "
        "where the lanes no longer fit the processor's caches.",
        "lanes (PER k)",
        reference_line=True,
    ),
    _GrowthFigure(
        "lanes-opening",
        "The first event of a lane",
        "The time of an event that opens a lane. Expected: constant, except for few lanes, where the fixed costs show.",
        "lanes (PER k)",
        "time per lane",
    ),
    _GrowthFigure(
        "lanes-memory",
        "Memory of a lane",
        "The memory growth of the process per open lane. Expected: constant and small.",
        "lanes (PER k)",
        "memory per lane",
    ),
    _GrowthFigure(
        "lanes-push",
        "One event among many lanes",
        "A batch of one event, which touches one lane. Expected: constant.",
        "lanes (PER k)",
        "time per batch of one",
        reference_line=True,
    ),
    _GrowthFigure(
        "template",
        "More rows of a template",
        "FOR EACH: with the threshold in the first step one look-up serves all rows. Expected: nearly constant there, "
        "at most linear elsewhere.",
        "rows",
        reference_line=True,
    ),
    _GrowthFigure(
        "template-start",
        "Starting with more rows",
        "The time until the engine is ready for its first event. Expected: at most linear.",
        "rows",
        "time",
        reference_line=True,
    ),
    _GrowthFigure(
        "statements",
        "More statements",
        "Separate statements in one engine. Expected: at most linear, and less where they share a step.",
        "statements",
        reference_line=True,
    ),
    _GrowthFigure(
        "statements-each",
        "More statements: time for each",
        "The same per event and statement. Expected: constant or falling.",
        "statements",
        "time per event and statement",
    ),
    _GrowthFigure(
        "statements-start",
        "Starting with more statements",
        "The time to parse, check and plan the statements. Expected: at most linear.",
        "statements",
        "time",
        reference_line=True,
    ),
    _GrowthFigure(
        "partial",
        "More partial matches",
        "a ; b with many events a waiting in one lane. Expected: constant for an event that concerns none of them, "
        "linear for one that is compared with all.",
        "partial matches",
        reference_line=True,
    ),
    _GrowthFigure(
        "partial-push",
        "One event among many partial matches",
        "A batch of one event that concerns none of them. Expected: constant.",
        "partial matches",
        "time per batch of one",
        reference_line=True,
    ),
    _GrowthFigure(
        "batch",
        "Larger batches",
        "Engine.push. Expected: falls until the fixed cost of a batch no longer matters.",
        "events in a batch",
    ),
    _GrowthFigure(
        "push",
        "Time of a push",
        "The same for one push. Expected: constant while the fixed cost dominates, then linear.",
        "events in a batch",
        "time per push",
        reference_line=True,
    ),
    _GrowthFigure(
        "subscribe",
        "One more subscription",
        "The time to add a subscription to a running engine. Expected: constant.",
        "running subscriptions",
        "time",
        reference_line=True,
    ),
    _GrowthFigure(
        "start",
        "From process start to the first notification",
        "A new process with cached kernels. Expected: under a second.",
    ),
    _GrowthFigure(
        "imports", "Import times", "The part of the start that each package takes to import, without its own imports."
    ),
)


_INTRODUCTION = (
    "Both axes are logarithmic. The label of each curve shows its growth: x^0 is constant, x^1 linear; where the last "
    "decade differs, its growth follows after an arrow. The dashed line shows linear growth."
)


def charts(points: Sequence[Point]) -> list[Chart]:
    """A chart for each figure that has measured points."""
    made: list[Chart] = []
    for figure in _FIGURES:
        curves = by_curve(points, figure.slug)
        notes = [f" ({p.curve}: {p.note}.)" for p in points if p.figure == figure.slug and p.note is not None]
        if curves:
            caption = figure.caption + "".join(notes)
            made.append(_line_chart(figure, caption, curves) if figure.x else _bar_chart(figure, caption, curves))
    return made


PAGE = FigurePage("growth", "How times grow", _INTRODUCTION, charts)


def _line_chart(figure: _GrowthFigure, caption: str, by_name: Mapping[str, Sequence[Point]]) -> LineChart:
    curves = tuple(_curve(name, points) for name, points in by_name.items())
    unit = next(iter(by_name.values()))[0].unit
    x, y = Axis(figure.x), Axis(figure.y, unit)
    return LineChart(figure.slug, figure.title, caption, x, y, curves, figure.reference_line)


def _curve(name: str, points: Sequence[Point]) -> Curve:
    known = tuple((p.x, p.y) for p in points if p.x is not None and p.y is not None)
    exponents = [e for e in (points[0].exponent, points[0].exponent_last) if e is not None]
    # One number where the last decade is about the same.
    shown = exponents[:1] if not exponents or abs(exponents[0] - exponents[-1]) < 0.1 else exponents
    return Curve(name, known, " → ".join(f"x^{round(e, 1) + 0.0:.1f}" for e in shown))


def _bar_chart(figure: _GrowthFigure, caption: str, by_name: Mapping[str, Sequence[Point]]) -> BarChart:
    points = [point for points in by_name.values() for point in points]
    bars = tuple((p.curve, p.y) for p in points if p.y is not None)
    return BarChart(figure.slug, figure.title, caption, "time", points[0].unit, bars)
