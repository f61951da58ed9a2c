"""The charts of what was forecast and estimated, beside what came and what was true."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from foretell.charts.chart import Chart
from foretell.charts.theme import GREY, TEXT, VegaSpec, inline_data
from foretell.demonstration.calibration_point import CalibrationPoint, PauseShare
from foretell.demonstration.wide_specifications import (
    FALSE,
    FONT_SIZE,
    LOST,
    MATCH,
    SHARES,
    TRUE,
    clock,
    moment,
    number_axis,
    wide,
    words,
)


@dataclass(frozen=True)
class ForecastDot:
    """The probability after an event, and whether the pattern came within the horizon."""

    time: datetime
    probability: float
    label: str


@dataclass(frozen=True)
class ForecastMark:
    """A forecast that was notified, and whether it came true."""

    time: datetime
    probability: float
    label: str
    came_true: bool


@dataclass(frozen=True, repr=False)
class LaneDayChart(Chart):
    """The probability over a day, the notified forecasts on it, and as bands the times of the matches that came."""

    points: tuple[ForecastDot, ...]
    forecasts: tuple[ForecastMark, ...]
    matches: tuple[tuple[datetime, datetime, str], ...]
    threshold: float

    def specification(self) -> VegaSpec:
        times = [point.time for point in self.points]
        x = clock(times)
        y = number_axis("probability", "probability", **SHARES)
        y["scale"] = {"domain": [0, 1]}
        bands = [{"time": moment(a), "until": moment(b), "label": label} for a, b, label in self.matches]
        curve = [{"time": moment(p.time), "probability": p.probability, "label": p.label} for p in self.points]
        marks = [
            {"time": moment(m.time), "probability": m.probability, "label": m.label, "true": m.came_true}
            for m in self.forecasts
        ]
        colour = {"condition": {"test": "datum.true", "value": TRUE}, "value": FALSE}
        label = f"it warns from {self.threshold:.0%} on"
        limit = [{"probability": self.threshold, "time": moment(min(times)), "label": label}]
        return wide(
            [
                {
                    "data": inline_data(bands),
                    "mark": {"type": "rect", "color": LOST, "opacity": 0.28},
                    "encoding": {"x": x, "x2": {"field": "until"}, "tooltip": words()},
                },
                {
                    "data": inline_data(limit),
                    "layer": [
                        {
                            "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
                            "encoding": {"y": y},
                        },
                        {
                            "mark": {
                                "type": "text", "align": "left", "baseline": "bottom", "dx": 4, "dy": -3,
                                "fontSize": FONT_SIZE, "color": GREY,
                            },
                            "encoding": {"x": x, "y": y, "text": words()},
                        },
                    ],
                },
                {
                    "data": inline_data(curve),
                    "mark": {"type": "line", "interpolate": "step-after", "color": MATCH, "strokeWidth": 2},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": inline_data(curve),
                    "mark": {"type": "point", "size": 60, "opacity": 0},
                    "encoding": {"x": x, "y": y, "tooltip": words()},
                },
                {
                    "data": inline_data(marks),
                    "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": colour, "tooltip": words()},
                },
            ],
            260,
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class CalibrationChart(Chart):
    """Stated probabilities against observed shares; the larger a point, the more it stands for."""

    stated: str
    observed: str
    points: tuple[CalibrationPoint, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "said": point.stated,
                "true": point.observed,
                "count": point.count,
                "label": f"said {point.stated:.0%}, true {point.observed:.0%}, {point.count:,} times",
            }
            for point in self.points
        ]
        share = {"domain": [0, 1]}
        x, y = number_axis("said", self.stated, **SHARES), number_axis("true", self.observed, **SHARES)
        x["scale"] = y["scale"] = share
        size = {"field": "count", "type": "quantitative", "legend": None, "scale": {"type": "sqrt", "range": [40, 600]}}
        diagonal = [{"said": 0, "true": 0, "to": 1}]
        return wide(
            [
                {
                    "data": inline_data(diagonal),
                    "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
                    "encoding": {"x": x, "y": y, "x2": {"field": "to"}, "y2": {"field": "to"}},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "line", "color": MATCH, "strokeWidth": 1.5, "opacity": 0.6},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "point", "filled": True, "color": MATCH, "opacity": 0.85},
                    "encoding": {"x": x, "y": y, "size": size, "tooltip": words()},
                },
            ],
            260,
        )


@dataclass(frozen=True, repr=False)
class PauseChart(Chart):
    """Estimates by the length of the pause, as a line, and what was true, as points."""

    pauses: tuple[PauseShare, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "hours": pause.hours,
                "said": pause.stated,
                "true": pause.observed,
                "count": pause.count,
                "label": f"{pause.hours:g} hours: said {pause.stated:.0%}, true {pause.observed:.0%}, "
                f"{pause.count:,} times",
            }
            for pause in self.pauses
        ]
        x = number_axis("hours", "hours between the two departures", tickCount=8, grid=False)
        x["scale"] = {"zero": False, "nice": False, "padding": 8}
        stated, observed = (number_axis(name, "a departure in between", **SHARES) for name in ("said", "true"))
        stated["scale"] = observed["scale"] = {"domain": [0, 1]}
        size = {"field": "count", "type": "quantitative", "legend": None, "scale": {"type": "sqrt", "range": [40, 400]}}
        return wide(
            [
                {
                    "data": inline_data(rows),
                    "mark": {"type": "line", "color": LOST, "strokeWidth": 2.5, "interpolate": "monotone"},
                    "encoding": {"x": x, "y": stated},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "point", "filled": True, "color": TRUE, "opacity": 0.85},
                    "encoding": {"x": x, "y": observed, "size": size, "tooltip": words()},
                },
            ],
            240,
        )


@dataclass(frozen=True, repr=False)
class RuleChart(Chart):
    """How often different rules are right, as bars with their numbers; the last one is ours."""

    rules: tuple[tuple[str, float, str], ...]

    def specification(self) -> VegaSpec:
        last = len(self.rules) - 1
        rows = [
            {"name": name, "share": share, "label": f"{share:.0%}", "note": note, "ours": number == last}
            for number, (name, share, note) in enumerate(self.rules)
        ]
        x = number_axis("share", "came true", **SHARES)
        x["scale"] = {"domain": [0, 1]}
        y = {
            "field": "name",
            "type": "nominal",
            "sort": None,
            "title": None,
            "axis": {"grid": False, "domain": False, "ticks": False, "labelLimit": 150, "labelPadding": 8},
        }
        colour = {"condition": {"test": "datum.ours", "value": MATCH}, "value": GREY}
        return wide(
            [
                {
                    "data": inline_data(rows),
                    "mark": {"type": "bar", "height": 18},
                    "encoding": {"x": x, "y": y, "color": colour, "tooltip": words("note")},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 13, "color": TEXT},
                    "encoding": {"x": x, "y": y, "text": words()},
                },
            ],
            44 * len(rows),
        )
