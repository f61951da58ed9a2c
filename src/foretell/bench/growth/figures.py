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
        "a ; b ; c WITHIN d finds matches with the square of d. Whoever wants them must pay for each, but no more: the "
        "time per event and match should stay level.",
        "window (ms; an event every 10)",
        "time",
    ),
    _GrowthFigure(
        "window-kept",
        "A longer window, few matches",
        "The same pattern with a last step that hardly ever comes. Only what the window keeps grows: at most linear.",
        "window (ms; an event every 10)",
        reference_line=True,
    ),
    _GrowthFigure(
        "age",
        "A stream that goes on",
        "Batches of a stream that gets longer. What has left a window costs nothing any more, and lanes that wait for "
        "their next event cost the others nothing: both lines should be level.",
        "events so far",
    ),
    _GrowthFigure(
        "age-memory",
        "Memory of a stream that goes on",
        "What the engines in the picture before have grown by: level.",
        "events so far",
        "memory",
        reference_line=True,
    ),
    _GrowthFigure(
        "lanes",
        "More lanes",
        "Events of a random one of so many lanes, all of them open, in batches of up to a million. The line rises "
        "where lanes no longer fit the processor's caches and should be level on both sides of that.",
        "lanes (PER k)",
        reference_line=True,
    ),
    _GrowthFigure(
        "lanes-opening",
        "The first event of a lane",
        "The time that an event takes which opens a lane. Level, apart from what an engine costs that has hardly any.",
        "lanes (PER k)",
        "time per lane",
    ),
    _GrowthFigure(
        "lanes-memory",
        "Memory of a lane",
        "What the process grew by while lanes opened, for each lane. Level, and small.",
        "lanes (PER k)",
        "memory per lane",
    ),
    _GrowthFigure(
        "lanes-push",
        "One event among many lanes",
        "A batch of one event in an engine with so many lanes. It touches one lane, so the line should be level.",
        "lanes (PER k)",
        "time per batch of one",
        reference_line=True,
    ),
    _GrowthFigure(
        "template",
        "More rows of a template",
        "FOR EACH row: with the threshold in the first step one look-up serves all rows, and the line should be level "
        "or nearly so; elsewhere at most linear.",
        "rows",
        reference_line=True,
    ),
    _GrowthFigure(
        "template-start",
        "Starting with more rows",
        "The time until the engine is ready for its first event: at most linear.",
        "rows",
        "time",
        reference_line=True,
    ),
    _GrowthFigure(
        "statements",
        "More statements",
        "Separate statements in one engine: at most linear, and less where they share a step.",
        "statements",
        reference_line=True,
    ),
    _GrowthFigure(
        "statements-each",
        "More statements, the time for each",
        "The same for one event and one statement: level or falling.",
        "statements",
        "time per event and statement",
    ),
    _GrowthFigure(
        "statements-start",
        "Starting with more statements",
        "Reading, checking and planning them: at most linear.",
        "statements",
        "time",
        reference_line=True,
    ),
    _GrowthFigure(
        "partial",
        "More partial matches alive",
        "a ; b with so many a waiting in one lane. An event that concerns none of them should cost the same however "
        "many there are; one that must be compared with all is linear.",
        "partial matches",
        reference_line=True,
    ),
    _GrowthFigure(
        "partial-push",
        "One event among many partial matches",
        "A batch of one event that concerns none of them: level.",
        "partial matches",
        "time per batch of one",
        reference_line=True,
    ),
    _GrowthFigure(
        "batch",
        "Larger batches",
        "Engine.push with batches of so many events: falls until the cost of a batch no longer counts.",
        "events in a batch",
    ),
    _GrowthFigure(
        "push",
        "How long a push takes",
        "The same, for one push: level as long as the cost of a batch rules, then linear.",
        "events in a batch",
        "time per push",
        reference_line=True,
    ),
    _GrowthFigure(
        "subscribe",
        "One more subscription",
        "Adding a subscription to an engine at work: level, however many there are.",
        "subscriptions at work",
        "time",
        reference_line=True,
    ),
    _GrowthFigure(
        "start",
        "From nothing to the first notification",
        "A new process that finds its kernels compiled. It should be ready in under a second.",
    ),
    _GrowthFigure(
        "imports", "What it loads", "Of this the time that each package takes to load, without what it loads."
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
