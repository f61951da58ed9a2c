"""The figures of `foretell bench filter`, as in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretell.bench.figure_page import FigurePage, by_curve
from foretell.bench.growth.curves import Point
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart


@dataclass(frozen=True)
class _FilterFigure:
    slug: str
    title: str
    caption: str
    x: Axis


_SUBSCRIPTIONS = Axis("subscriptions")
_RATE = Axis("events a second", "/s")

_FIGURES = (
    _FilterFigure(
        "f1",
        "Two equalities and two ranges",
        "Cayuga's eight attributes; matches grow with the subscriptions (5 an event at 100,000).",
        _SUBSCRIPTIONS,
    ),
    _FilterFigure(
        "f2",
        "Conjunctions of five",
        "Equalities over 35 to 1,000 values, and ranges, as in Le Subscribe.",
        _SUBSCRIPTIONS,
    ),
    _FilterFigure("f3", "A name and a threshold", "Matches grow with the subscriptions.", _SUBSCRIPTIONS),
    _FilterFigure(
        "cayuga-number",
        "Throughput against subscriptions (Cayuga, Fig. 6a)",
        "The paper: 100,000 to 400,000 subscriptions, well above 1,000 events a second; LinearStat and LinearDyn are "
        "nearly the same, more complex templates slower.",
        _SUBSCRIPTIONS,
    ),
    _FilterFigure(
        "cayuga-skew",
        "Throughput against the Zipf skew (Fig. 6b)",
        "The paper: rises with the skew, since more states are merged.",
        Axis("zipf of the first step", log=False),
    ),
    _FilterFigure(
        "cayuga-selectivity",
        "Throughput against the selectivity of ranges (Fig. 6c)",
        "The paper: falls with the square of the selectivity.",
        Axis("selectivity", log=False),
    ),
    _FilterFigure(
        "cayuga-optimisations",
        "Each optimisation switched off (Fig. 7)",
        "Template Filter. The paper: most is gained by the indexes of predicates and of instances, little by merging.",
        Axis("subscriptions", log=False),
    ),
    _FilterFigure(
        "feeds",
        "Subscriptions on feed items (Fig. 8)",
        "The paper: more than 100 events a second with 40,000 subscriptions of Iteration.",
        Axis("subscriptions", log=False),
    ),
)

_INTRODUCTION = "Events a second of processor time on one core, by the public calls. Rates are on a logarithmic axis."


def charts(points: Sequence[Point]) -> list[Chart]:
    """A chart for each figure that has measured points."""
    made: list[Chart] = []
    for figure in _FIGURES:
        curves = tuple(
            Curve(name, tuple((p.x, p.y) for p in measured if p.x is not None and p.y is not None))
            for name, measured in by_curve(points, figure.slug).items()
        )
        if curves:
            made.append(LineChart(figure.slug, figure.title, figure.caption, figure.x, _RATE, curves))
    return made


PAGE = FigurePage("filter", "The filter with many subscriptions", _INTRODUCTION, charts)
