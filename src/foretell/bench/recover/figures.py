"""The figures of `foretell bench calibration`: how reliable estimates are, and what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretell.bench.figure_page import FigurePage, by_curve
from foretell.bench.growth.curves import Point
from foretell.bench.recover.measure import POLLS, slug
from foretell.bench.workloads.lossy_worlds import WORLDS
from foretell.charts.curves import Axis, Curve, LineChart
from foretell.charts.page import Chart

_ON_THE_LINE = (
    "What estimates say and the share of them that is true, in bins of equally many estimates. On the dashed line both "
    "are equal; below it estimates say too much, above it too little."
)

_FOUND = {
    "precision": "Of the pairs of an x and a z that are reported as {pattern}, the share of which that is true.",
    "recall": "Of the pairs of an x and a z of which {pattern} is true, the share that is reported.",
}

_PATTERNS = {"negated": "x ; !y ; z", "lost": "x ; y ; z"}

_INTRODUCTION = (
    "Estimates of lost events in simulated worlds, whose truth is known. Models are trained on 20,000 instances and "
    "estimates are made of others; one event in ten is lost, of readers that poll one in twenty. “both ends” is "
    "Foretell's own score, “independent” and “published” are those of AYAC with the delay from x to y as it was, and "
    "“plain detection” is a run without LOSING."
)

_FRACTION = (0.0, 1.0)


def charts(points: Sequence[Point]) -> list[Chart]:
    return [*_reliability(points), *_found(points)]


def _reliability(points: Sequence[Point]) -> Iterator[Chart]:
    x, y = (Axis(title, log=False, span=_FRACTION) for title in ("what estimates say", "share that is true"))
    for world in (*WORLDS, *POLLS):
        name = f"reliability-{slug(world)}"
        if curves := _curves(points, name):
            yield LineChart(name, f"{world}: reliability", _ON_THE_LINE, x, y, curves, reference_line=True)


def _found(points: Sequence[Point]) -> Iterator[Chart]:
    threshold = Axis("threshold", log=False, span=_FRACTION)
    for world in WORLDS:
        for name, pattern in _PATTERNS.items():
            for metric, caption in _FOUND.items():
                figure = f"{metric}-{slug(world)}-{name}"
                if curves := _curves(points, figure):
                    axis = Axis(metric, log=False, span=_FRACTION)
                    title = f"{world}: {metric} of {pattern}"
                    yield LineChart(figure, title, caption.format(pattern=pattern), threshold, axis, curves)


def _curves(points: Sequence[Point], figure: str) -> tuple[Curve, ...]:
    return tuple(
        Curve(name, tuple((p.x, p.y) for p in measured if p.x is not None and p.y is not None))
        for name, measured in by_curve(points, figure).items()
    )


PAGE = FigurePage("calibration", "Estimates of lost events", _INTRODUCTION, charts)
