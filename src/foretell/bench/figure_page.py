"""The page of a benchmark's figures: measured points are passed on and, when all are there, drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from foretell.bench.growth.curves import Point
from foretell.bench.result import BenchResult
from foretell.charts.page import Chart, save

Result = TypeVar("Result", bound=BenchResult)


@dataclass(frozen=True)
class FigurePage:
    """`name` is that of the files; `charts` makes the charts of the points."""

    name: str
    title: str
    introduction: str
    charts: Callable[[Sequence[Point]], list[Chart]]

    def drawn(self, results: Iterator[Result], folder: Path) -> Iterator[Result]:
        """Passes the results on, then writes the page, with charts of the points among them, to `folder`."""
        folder.mkdir(parents=True, exist_ok=True)  # fails before hours of measuring, not after
        measured: list[Point] = []
        for result in results:
            if isinstance(result, Point):
                measured.append(result)
            yield result
        save(folder, self.name, self.title, self.introduction, self.charts(measured))


def by_curve(points: Sequence[Point], figure: str) -> dict[str, list[Point]]:
    """The measured points of a figure, grouped by curve."""
    curves: dict[str, list[Point]] = {}
    for point in points:
        if point.figure == figure and point.y is not None:
            curves.setdefault(point.curve, []).append(point)
    return curves
