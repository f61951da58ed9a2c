"""The charts of the report. They are as wide as the page, and have the clock of New York."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foretell.charts.theme import COLOURS, GREY, TEXT, VegaSpec, inline_data, layered

_MATCH, _LOST, _TRUE, _, _FALSE = COLOURS
_FONT_SIZE = 12


def _wide(layers: Sequence[VegaSpec], height: int) -> VegaSpec:
    """A chart that takes the width of its element, and follows it."""
    size = {"type": "fit-x", "contains": "padding", "resize": True}
    return {**layered(layers, 0, height), "width": "container", "autosize": size}


def _moment(time: datetime) -> str:
    """A local time as Vega reads it: as if it were UTC, so that the reader's own time zone changes nothing."""
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _clock(span: Sequence[datetime] = (), form: str = "%H:%M", title: str | None = None) -> VegaSpec:
    scale: dict[str, Any] = {"type": "utc", "nice": False}
    if span:
        scale["domain"] = [_moment(min(span)), _moment(max(span))]
    axis = {"format": form, "labelFlush": True, "labelOverlap": True, "grid": False, "title": title}
    return {"field": "time", "type": "temporal", "scale": scale, "axis": axis}


def _hours(hours: Sequence[HourShare]) -> VegaSpec:
    """The axis of whole hours, the last one too."""
    return _clock([hours[0].time, hours[-1].time + timedelta(hours=1)])


def _number(field: str, title: str, **axis: object) -> VegaSpec:
    return {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 5, **axis}}


def _text(field: str = "label") -> VegaSpec:
    return {"field": field, "type": "nominal"}


@dataclass(frozen=True)
class Day:
    """A day with the share of its departures that went wrong, and its name where it has one."""

    time: datetime
    share: float
    label: str
    name: str = ""


@dataclass(frozen=True)
class YearChart:
    """A bar for each day; those before `learned_until` are of the time from which the models come."""

    slug: str
    title: str
    caption: str
    days: tuple[Day, ...]
    learned_until: datetime

    def specification(self) -> VegaSpec:
        rows = [
            {
                "time": _moment(day.time),
                "share": day.share,
                "label": day.label,
                "name": day.name,
                "learned": day.time < self.learned_until,
            }
            for day in self.days
        ]
        x = _clock([day.time for day in self.days], "%b")
        x["axis"] |= {"tickCount": "month"}
        y = _number("share", "went wrong", format=".0%")
        y["scale"] = {"domain": [0, 1]}
        colour = {"condition": {"test": "datum.learned", "value": GREY}, "value": _MATCH}
        top = max(day.share for day in self.days)
        border = {"time": _moment(self.learned_until), "share": max(0.96, top)}
        sides = [{**border, "label": "learned from", "align": "right"}, {**border, "label": "watched", "align": "left"}]
        layers: list[VegaSpec] = [
            {
                "data": inline_data(rows),
                "mark": {"type": "bar", "width": 2},
                "encoding": {"x": x, "y": y, "color": colour, "tooltip": _text()},
            },
            {
                "data": inline_data([row for row in rows if row["name"]]),
                "mark": {"type": "text", "dy": -8, "fontSize": _FONT_SIZE, "color": TEXT},
                "encoding": {"x": x, "y": y, "text": _text("name")},
            },
            {
                "data": inline_data([border]),
                "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
                "encoding": {"x": x},
            },
        ]
        for side in sides:
            dx = 6 if side["align"] == "left" else -6
            mark = {"type": "text", "align": side["align"], "dx": dx, "fontSize": _FONT_SIZE, "color": GREY}
            layers.append({"data": inline_data([side]), "mark": mark, "encoding": {"x": x, "y": y, "text": _text()}})
        return _wide(layers, 220)


@dataclass(frozen=True)
class DepartureDot:
    """A departure at its time: how late it was in minutes, None where it was cancelled."""

    time: datetime
    delay: int | None
    label: str
    matched: bool


@dataclass(frozen=True)
class DepartureChart:
    """Departures by time and delay; those of a match are coloured. Cancelled ones are crosses at the top."""

    slug: str
    title: str
    caption: str
    departures: tuple[DepartureDot, ...]

    def specification(self) -> VegaSpec:
        most = max([60, *(dot.delay for dot in self.departures if dot.delay is not None)])
        step = next(step for step in (30, 60, 120, 240, 480) if most / step <= 6)
        top = (most // step + 2) * step
        rows = [
            {
                "time": _moment(dot.time),
                "delay": top if dot.delay is None else dot.delay,
                "label": dot.label,
                "matched": dot.matched,
                "cancelled": dot.delay is None,
            }
            for dot in self.departures
        ]
        values = [*range(0, top, step), top]
        names = f"datum.value == {top} ? 'cancelled' : format(datum.value, 'd')"
        y = _number("delay", "minutes late", values=values, labelExpr=names)
        lowest = min([0, *(dot.delay for dot in self.departures if dot.delay is not None)])
        y["scale"] = {"domain": [lowest, top], "nice": False}
        x = _clock([dot.time for dot in self.departures])
        colour = {"condition": {"test": "datum.matched", "value": _MATCH}, "value": GREY}
        opacity = {"condition": {"test": "datum.matched", "value": 1}, "value": 0.55}
        limit = {"data": inline_data([{"delay": 60}]), "encoding": {"y": y}}
        return _wide(
            [
                {**limit, "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY}},
                {
                    "data": inline_data([row for row in rows if not row["cancelled"]]),
                    "mark": {"type": "point", "filled": True, "size": 55},
                    "encoding": {"x": x, "y": y, "color": colour, "opacity": opacity, "tooltip": _text()},
                },
                {
                    "data": inline_data([row for row in rows if row["cancelled"]]),
                    "mark": {"type": "point", "shape": "cross", "filled": True, "size": 70, "angle": 45},
                    "encoding": {"x": x, "y": y, "color": colour, "opacity": opacity, "tooltip": _text()},
                },
            ],
            260,
        )


@dataclass(frozen=True)
class ChainLink:
    """A departure of an aircraft: its name on the axis, and how late it was in minutes."""

    name: str
    delay: int
    label: str


@dataclass(frozen=True)
class ChainChart:
    """The delays of an aircraft from departure to departure."""

    slug: str
    title: str
    caption: str
    links: tuple[ChainLink, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {"name": link.name, "delay": link.delay, "label": link.label, "number": f"{link.delay} min"}
            for link in self.links
        ]
        axis = {"labelAngle": 0, "grid": False, "title": None}
        x = {"field": "name", "type": "nominal", "sort": None, "axis": axis, "scale": {"padding": 0.45}}
        y = _number("delay", "minutes late")
        number = {"type": "text", "dy": -8, "fontSize": _FONT_SIZE, "color": TEXT}
        return _wide(
            [
                {
                    "data": inline_data(rows),
                    "mark": {"type": "bar", "color": _MATCH},
                    "encoding": {"x": x, "y": y, "tooltip": _text()},
                },
                {"data": inline_data(rows), "mark": number, "encoding": {"x": x, "y": y, "text": _text("number")}},
            ],
            200,
        )


@dataclass(frozen=True)
class ForecastPoint:
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


@dataclass(frozen=True)
class ForecastChart:
    """The probability over a day, the notified forecasts on it, and as bands the times of the matches that came."""

    slug: str
    title: str
    caption: str
    points: tuple[ForecastPoint, ...]
    forecasts: tuple[ForecastMark, ...]
    matches: tuple[tuple[datetime, datetime, str], ...]
    threshold: float

    def specification(self) -> VegaSpec:
        times = [point.time for point in self.points]
        x = _clock(times)
        y = _number("probability", "probability", format=".0%")
        y["scale"] = {"domain": [0, 1]}
        bands = [{"time": _moment(a), "until": _moment(b), "label": label} for a, b, label in self.matches]
        curve = [{"time": _moment(p.time), "probability": p.probability, "label": p.label} for p in self.points]
        marks = [
            {"time": _moment(m.time), "probability": m.probability, "label": m.label, "true": m.came_true}
            for m in self.forecasts
        ]
        colour = {"condition": {"test": "datum.true", "value": _TRUE}, "value": _FALSE}
        limit = [{"probability": self.threshold, "time": _moment(min(times)), "label": f"ABOVE {self.threshold:g}"}]
        return _wide(
            [
                {
                    "data": inline_data(bands),
                    "mark": {"type": "rect", "color": _LOST, "opacity": 0.28},
                    "encoding": {"x": x, "x2": {"field": "until"}, "tooltip": _text()},
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
                                "fontSize": _FONT_SIZE, "color": GREY,
                            },
                            "encoding": {"x": x, "y": y, "text": _text()},
                        },
                    ],
                },
                {
                    "data": inline_data(curve),
                    "mark": {"type": "line", "interpolate": "step-after", "color": _MATCH, "strokeWidth": 2},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": inline_data(curve),
                    "mark": {"type": "point", "size": 60, "opacity": 0},
                    "encoding": {"x": x, "y": y, "tooltip": _text()},
                },
                {
                    "data": inline_data(marks),
                    "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": colour, "tooltip": _text()},
                },
            ],
            260,
        )  # fmt: skip


@dataclass(frozen=True)
class SaidAndTrue:
    """Forecasts or estimates of about one probability: the mean of what they say, and the share that is true."""

    said: float
    true: float
    count: int


@dataclass(frozen=True)
class CalibrationChart:
    """What was said against what was true; the larger a point, the more it stands for."""

    slug: str
    title: str
    caption: str
    said: str
    true: str
    points: tuple[SaidAndTrue, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "said": point.said,
                "true": point.true,
                "count": point.count,
                "label": f"said {point.said:.0%}, true {point.true:.0%}, {point.count:,} times",
            }
            for point in self.points
        ]
        share = {"domain": [0, 1]}
        x, y = _number("said", self.said, format=".0%"), _number("true", self.true, format=".0%")
        x["scale"] = y["scale"] = share
        size = {"field": "count", "type": "quantitative", "legend": None, "scale": {"type": "sqrt", "range": [40, 600]}}
        diagonal = [{"said": 0, "true": 0, "to": 1}]
        return _wide(
            [
                {
                    "data": inline_data(diagonal),
                    "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
                    "encoding": {"x": x, "y": y, "x2": {"field": "to"}, "y2": {"field": "to"}},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "line", "color": _MATCH, "strokeWidth": 1.5, "opacity": 0.6},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "point", "filled": True, "color": _MATCH, "opacity": 0.85},
                    "encoding": {"x": x, "y": y, "size": size, "tooltip": _text()},
                },
            ],
            260,
        )


@dataclass(frozen=True)
class PauseChart:
    """Estimates by the length of the pause, as a line, and what was true, as points."""

    slug: str
    title: str
    caption: str
    pauses: tuple[tuple[float, float, float, int], ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "hours": hours,
                "said": said,
                "true": true,
                "count": count,
                "label": f"{hours:g} hours: said {said:.0%}, true {true:.0%}, {count:,} times",
            }
            for hours, said, true, count in self.pauses
        ]
        x = _number("hours", "hours between the two departures", tickCount=8, grid=False)
        x["scale"] = {"zero": False, "nice": False, "padding": 8}
        said, true = (_number(name, "a departure in between", format=".0%") for name in ("said", "true"))
        said["scale"] = true["scale"] = {"domain": [0, 1]}
        size = {"field": "count", "type": "quantitative", "legend": None, "scale": {"type": "sqrt", "range": [40, 400]}}
        return _wide(
            [
                {
                    "data": inline_data(rows),
                    "mark": {"type": "line", "color": _LOST, "strokeWidth": 2.5, "interpolate": "monotone"},
                    "encoding": {"x": x, "y": said},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "point", "filled": True, "color": _TRUE, "opacity": 0.85},
                    "encoding": {"x": x, "y": true, "size": size, "tooltip": _text()},
                },
            ],
            240,
        )


@dataclass(frozen=True)
class RuleChart:
    """How often different rules are right, as bars with their numbers; the last one is ours."""

    slug: str
    title: str
    caption: str
    rules: tuple[tuple[str, float, str], ...]

    def specification(self) -> VegaSpec:
        last = len(self.rules) - 1
        rows = [
            {"name": name, "share": share, "label": f"{share:.0%}", "note": note, "ours": number == last}
            for number, (name, share, note) in enumerate(self.rules)
        ]
        x = _number("share", "came true", format=".0%")
        x["scale"] = {"domain": [0, 1]}
        y = {
            "field": "name",
            "type": "nominal",
            "sort": None,
            "title": None,
            "axis": {"grid": False, "domain": False, "ticks": False, "labelLimit": 150, "labelPadding": 8},
        }
        colour = {"condition": {"test": "datum.ours", "value": _MATCH}, "value": GREY}
        return _wide(
            [
                {
                    "data": inline_data(rows),
                    "mark": {"type": "bar", "height": 18},
                    "encoding": {"x": x, "y": y, "color": colour, "tooltip": _text("note")},
                },
                {
                    "data": inline_data(rows),
                    "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 13, "color": TEXT},
                    "encoding": {"x": x, "y": y, "text": _text()},
                },
            ],
            44 * len(rows),
        )


@dataclass(frozen=True)
class HourShare:
    """An hour at an airport: how far one could see in miles, and its departures."""

    time: datetime
    visibility: float | None
    left: int
    cancelled: int


@dataclass(frozen=True)
class VisibilityChart:
    """How far one can see, hour by hour."""

    slug: str
    title: str
    caption: str
    hours: tuple[HourShare, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "time": _moment(hour.time),
                "miles": hour.visibility,
                "label": f"{hour.time:%H:%M}, {hour.visibility:g} miles",
            }
            for hour in self.hours
            if hour.visibility is not None
        ]
        if rows:  # until the end of the last hour
            rows.append({**rows[-1], "time": _moment(self.hours[-1].time + timedelta(hours=1))})
        x = _hours(self.hours)
        y = _number("miles", "miles one can see")
        y["scale"] = {"domain": [0, 10]}
        line = {"type": "area", "line": {"color": _LOST}, "color": _LOST, "opacity": 0.25, "interpolate": "step-after"}
        return _wide(
            [
                {"data": inline_data(rows), "mark": line, "encoding": {"x": x, "y": y}},
                {
                    "data": inline_data(rows),
                    "mark": {"type": "point", "size": 60, "opacity": 0},
                    "encoding": {"x": x, "y": y, "tooltip": _text()},
                },
            ],
            140,
        )


@dataclass(frozen=True)
class HourChart:
    """Departures of each hour: those that took place, and above them those that were cancelled."""

    slug: str
    title: str
    caption: str
    hours: tuple[HourShare, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "time": _moment(hour.time),
                "until": _moment(hour.time + timedelta(minutes=54)),
                "low": low,
                "departures": low + count,
                "cancelled": cancelled,
                "label": f"{hour.time:%H:%M}: {hour.left} left, {hour.cancelled} cancelled",
            }
            for hour in self.hours
            for low, count, cancelled in ((0, hour.left, False), (hour.left, hour.cancelled, True))
        ]
        x = _hours(self.hours)
        y = _number("departures", "departures")
        colour = {"condition": {"test": "datum.cancelled", "value": _FALSE}, "value": GREY}
        encoding = {"x": x, "x2": {"field": "until"}, "y": y, "y2": {"field": "low"}, "color": colour}
        return _wide([{"data": inline_data(rows), "mark": "rect", "encoding": {**encoding, "tooltip": _text()}}], 160)
