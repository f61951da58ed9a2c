"""The figures of `foretell bench forecast`, with linear axes as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretell.bench.figure_page import FigurePage, by_curve
from foretell.bench.growth.curves import Point
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart


@dataclass(frozen=True)
class _PaperFigure:
    """`caption` is what the paper says of the figure."""

    slug: str
    title: str
    caption: str
    x: Axis
    y: Axis


def _linear(title: str, unit: str = "", span: tuple[float, float] | None = None) -> Axis:
    return Axis(title, unit, log=False, span=span)


_THRESHOLD, _PRECISION = _linear("threshold", span=(0.0, 1.0)), _linear("precision", span=(0.0, 1.0))
_STATES, _TIME, _POINTS = _linear("states"), _linear("time per event", "s"), _linear("points")
_POOL = _linear("distinct events in the pool")

_FIGURES = (
    _PaperFigure(
        "fig9a",
        "States against subscriptions (Fig. 9a)",
        "The paper: linear, less steep for a small pool and for gaussian_cs. Without merging each subscription has ten "
        "states.",
        _linear("subscriptions"),
        _STATES,
    ),
    _PaperFigure(
        "fig9b",
        "Time against subscriptions (Fig. 9b)",
        "The paper: grows, more for a small pool and for gaussian_cs.",
        _linear("subscriptions"),
        _TIME,
    ),
    _PaperFigure(
        "fig9c",
        "Time against non-contiguous operators (Fig. 9c)",
        "The paper: grows, because more partial matches wait.",
        _linear("non-contiguous operators, of nine"),
        _TIME,
    ),
    _PaperFigure(
        "fig9d",
        "Commonality of subscriptions (Fig. 9d)",
        "States shared by several subscriptions, as a fraction of all states without merging. The paper: falls with "
        "the length. Also shown: the fraction of states that merging saves.",
        _linear("steps of a subscription"),
        _linear("commonality", "%"),
    ),
    _PaperFigure(
        "fig9e",
        "States against the pool (Fig. 9e)",
        "The paper: grows with the pool; fewer states for gaussian_cs.",
        _POOL,
        _STATES,
    ),
    _PaperFigure(
        "fig9f",
        "Transitions against the pool (Fig. 9f)",
        "The paper: falls with the pool; fewer for gaussian_pub.",
        _POOL,
        _linear("transitions"),
    ),
    _PaperFigure(
        "fig10a",
        "More partial matches than in training (Fig. 10a)",
        "The paper: precision rises with the threshold, falls with the look-ahead and with more partial matches.",
        _THRESHOLD,
        _PRECISION,
    ),
    _PaperFigure(
        "fig10b",
        "Trained and tested on the same distribution (Fig. 10b)",
        "The paper: at high thresholds precision does not depend on the look-ahead.",
        _THRESHOLD,
        _PRECISION,
    ),
    _PaperFigure(
        "fig10c",
        "Trained on gaussian_pub, tested on uniform_pub (Fig. 10c)",
        "The paper: less precise than with the same distribution.",
        _THRESHOLD,
        _PRECISION,
    ),
    *(
        _PaperFigure(
            f"fig11-{model}{slug}",
            f"Heat waves, the {model} model: {subject} (Fig. 11{letter})",
            caption,
            _THRESHOLD,
            axis,
        )
        for model, letters, caption in (
            ("generated", "abc", "Five states, those of the subscription alone."),
            ("full", "def", "1,365 contexts: the last five days in four classes."),
        )
        for slug, subject, axis, letter in (
            ("-false", "false positives", _POINTS, letters[0]),
            ("-true", "true positives", _POINTS, letters[1]),
            ("", "precision", _PRECISION, letters[2]),
        )
    ),
    _PaperFigure(
        "fig11-auc",
        "Heat waves: AUC of both models",
        "The area under the ROC curve; 0.5 is chance.",
        _linear("days ahead"),
        _linear("AUC", span=(0.5, 1.0)),
    ),
    _PaperFigure(
        "fig11-error",
        "Heat waves: calibration of both models",
        "The expected calibration error; 0 is perfect.",
        _linear("days ahead"),
        _linear("expected calibration error"),
    ),
)

_INTRODUCTION = (
    "Section 6 of “Predictive Publish/Subscribe Matching” (Muthusamy, Liu, Jacobsen, DEBS 2010) on its own synthetic "
    "workloads: composite subscriptions of ten steps over a pool of fifty events, with two operators `;` among the `,`."
)


def charts(points: Sequence[Point]) -> list[Chart]:
    """A chart for each figure that has measured points."""
    made: list[Chart] = []
    for figure in _FIGURES:
        curves = tuple(
            Curve(name, tuple((p.x, p.y) for p in measured if p.x is not None and p.y is not None))
            for name, measured in by_curve(points, figure.slug).items()
        )
        if curves:
            made.append(LineChart(figure.slug, figure.title, figure.caption, figure.x, figure.y, curves))
    return made


PAGE = FigurePage("forecast", "The experiments of P-ToPSS", _INTRODUCTION, charts)
