"""The page of a benchmark's figures: measured points are passed on and, when all are there, drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from foretell.bench.growth.curves import Point
from foretell.charts.page import Chart, save


@dataclass(frozen=True)
class FigurePage:
    """`name` is that of the files; `charts` makes the charts of the points."""

    name: str
    title: str
    introduction: str
    charts: Callable[[Sequence[Point]], list[Chart]]

    def drawn(self, points: Iterator[Point], folder: Path) -> Iterator[Point]:
        """Passes the points on, then writes the page and its charts to `folder`."""
        folder.mkdir(parents=True, exist_ok=True)  # fails before hours of measuring, not after
        measured = []
        for point in points:
            measured.append(point)
            yield point
        save(folder, self.name, self.title, self.introduction, self.charts(measured))


def by_curve(points: Sequence[Point], figure: str) -> dict[str, list[Point]]:
    """The measured points of a figure, grouped by curve."""
    curves: dict[str, list[Point]] = {}
    for point in points:
        if point.figure == figure and point.y is not None:
            curves.setdefault(point.curve, []).append(point)
    return curves
