"""The charts of what was forecast and estimated, beside what came and what was true."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import ceil

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
                    "encoding": {"x": clock(), "x2": {"field": "until"}, "tooltip": words()},
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


@dataclass(frozen=True)
class WarningRule:
    """A way to warn: how many departures ahead, and the share of its warnings that come true."""

    name: str
    ahead: float
    share: float
    label: str


@dataclass(frozen=True, repr=False)
class TradeOffChart(Chart):
    """How early and how sure warnings are: rules of thumb as named points, our thresholds as a line, of which one is
    used; and the share of all departures as a dashed line."""

    rules: tuple[WarningRule, ...]
    thresholds: tuple[WarningRule, ...]
    used: WarningRule
    base_rate: float

    def specification(self) -> VegaSpec:
        x = number_axis("ahead", "departures ahead, on average", tickCount=6)
        y = number_axis("share", "came true", **SHARES)
        y["scale"] = {"domain": [0, 1]}
        most = max([1.0, *(rule.ahead for rule in (*self.rules, *self.thresholds))])
        x["scale"] = {"domain": [0, ceil(most) + 1], "nice": False}
        place = {"x": x, "y": y, "tooltip": words()}
        name: VegaSpec = {"type": "text", "align": "left", "dx": 8, "dy": -8, "fontSize": FONT_SIZE}
        base = [{"share": self.base_rate, "ahead": 0, "name": f"any departure, {self.base_rate:.0%}"}]
        point: VegaSpec = {"type": "point", "filled": True, "opacity": 1}
        return wide(
            [
                {
                    "data": inline_data(base),
                    "layer": [
                        {"mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY}, "encoding": {"y": y}},
                        {"mark": {**name, "dx": 4, "color": TEXT}, "encoding": {"x": x, "y": y, "text": words("name")}},
                    ],
                },
                {
                    "data": inline_data([_warning_row(rule) for rule in self.thresholds]),
                    "layer": [
                        {"mark": {"type": "line", "color": MATCH, "strokeWidth": 2}, "encoding": place},
                        {"mark": {**point, "color": MATCH, "size": 45}, "encoding": place},
                    ],
                },
                {
                    "data": inline_data([_warning_row(self.used)]),
                    "layer": [
                        {"mark": {**point, "color": MATCH, "size": 160}, "encoding": place},
                        {"mark": {**name, "color": MATCH}, "encoding": {**place, "text": words("name")}},
                    ],
                },
                {
                    "data": inline_data([_warning_row(rule) for rule in self.rules]),
                    "layer": [
                        {"mark": {**point, "color": GREY, "size": 90, "shape": "diamond"}, "encoding": place},
                        {
                            "mark": {**name, "align": "right", "dx": -8, "dy": 10, "color": TEXT},
                            "encoding": {**place, "text": words("name")},
                        },
                    ],
                },
            ],
            260,
        )


def _warning_row(rule: WarningRule) -> dict[str, object]:
    return {"name": rule.name, "ahead": rule.ahead, "share": rule.share, "label": rule.label}
