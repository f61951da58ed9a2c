"""Charts of numbers over the time of day, with the name of each series at its end."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.charts.chart import Chart, nothing_to_draw
from foretell.charts.clock_axis import clock_axis
from foretell.charts.point_sample import XY, thinned, thinning_note
from foretell.charts.theme import COLOURS, VegaSpec, inline_data, layered

_WIDTH, _HEIGHT = 720, 150


@dataclass(frozen=True)
class Series:
    """`points` are times in seconds since 1970 and numbers."""

    name: str
    points: tuple[XY, ...]


@dataclass(frozen=True, repr=False)
class TimeSeriesChart(Chart):
    """Steps: a number holds until the next one. `unit` is that of the numbers, as on the axis."""

    axis: str
    series: tuple[Series, ...]
    unit: str = ""

    @property
    def note(self) -> str:
        total = sum(len(series.points) for series in self.series)
        drawn = sum(len(thinned(series.points)) for series in self.series)
        return thinning_note(drawn, total, "of each stretch the lowest and the highest")

    def specification(self) -> VegaSpec:
        drawn = [series for series in self.series if series.points]
        if not drawn:
            raise nothing_to_draw(self.title, "there are no records")
        names = [series.name for series in drawn]
        rows = [
            {"time": time * 1000, "value": value, "series": series.name}
            for series in drawn
            for time, value in thinned(series.points)
        ]
        colour = {
            "field": "series", "type": "nominal", "legend": None,
            "scale": {"domain": names, "range": list(COLOURS[: len(names)])},
        }  # fmt: skip
        times = [time for series in drawn for time, _ in series.points]
        x = clock_axis("time", min(times), max(times))
        labels = f"format(datum.value, '~s') + '{self.unit}'"
        y = {
            "field": "value", "type": "quantitative", "title": self.axis, "scale": {"zero": True},
            "axis": {"tickCount": 5, "labelExpr": labels},
        }  # fmt: skip
        mark = {"type": "line", "interpolate": "step-before", "strokeWidth": 1.5}
        # A single batch makes no line.
        points = {"type": "point", "filled": True, "size": 24 if len(rows) <= 60 * len(drawn) else 0}
        layers = [
            {"data": inline_data(rows), "mark": each, "encoding": {"x": x, "y": y, "color": colour}}
            for each in (mark, points)
        ]
        return layered([*layers, self._names(drawn, colour)], _WIDTH, _HEIGHT)

    def _names(self, drawn: list[Series], colour: VegaSpec) -> VegaSpec:
        """The names beside the chart, those of the highest last number first."""
        ordered = sorted(drawn, key=lambda series: -series.points[-1][1])
        rows = [{"series": series.name, "y": 12 + 18 * number} for number, series in enumerate(ordered)]
        return {
            "data": inline_data(rows),
            "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 12},
            "encoding": {
                "x": {"value": _WIDTH},
                "y": {"field": "y", "type": "quantitative", "scale": None},
                "text": {"field": "series"},
                "color": colour,
            },
        }
