"""The charts of what has happened: the year, a run of departures, an aircraft, a day at an airport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foretell.charts.chart import Chart
from foretell.charts.theme import GREY, TEXT, VegaSpec, inline_data
from foretell.demonstration.wide_specifications import (
    FALSE,
    FONT_SIZE,
    LOST,
    MATCH,
    SHARES,
    clock,
    moment,
    number_axis,
    wide,
    words,
)


@dataclass(frozen=True)
class Day:
    """A day with the share of its departures that went wrong, and its name where it has one."""

    time: datetime
    share: float
    label: str
    name: str = ""


@dataclass(frozen=True, repr=False)
class YearChart(Chart):
    """A bar for each day; those before `learned_until` are of the time from which the models come."""

    days: tuple[Day, ...]
    learned_until: datetime

    def specification(self) -> VegaSpec:
        rows = [
            {
                "time": moment(day.time),
                "share": day.share,
                "label": day.label,
                "name": day.name,
                "learned": day.time < self.learned_until,
            }
            for day in self.days
        ]
        x = clock([day.time for day in self.days], "%b")
        x["axis"] |= {"tickCount": "month"}
        y = number_axis("share", "went wrong", **SHARES)
        y["scale"] = {"domain": [0, 1]}
        colour = {"condition": {"test": "datum.learned", "value": GREY}, "value": MATCH}
        top = max(day.share for day in self.days)
        border = {"time": moment(self.learned_until), "share": max(0.96, top)}
        sides = [{**border, "label": "learned from", "align": "right"}, {**border, "label": "watched", "align": "left"}]
        layers: list[VegaSpec] = [
            {
                "data": inline_data(rows),
                "mark": {"type": "bar", "width": 2},
                "encoding": {"x": x, "y": y, "color": colour, "tooltip": words()},
            },
            {
                "data": inline_data([row for row in rows if row["name"]]),
                "mark": {"type": "text", "dy": -8, "fontSize": FONT_SIZE, "color": TEXT},
                "encoding": {"x": x, "y": y, "text": words("name")},
            },
            {
                "data": inline_data([border]),
                "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
                "encoding": {"x": x},
            },
        ]
        for side in sides:
            dx = 6 if side["align"] == "left" else -6
            mark = {"type": "text", "align": side["align"], "dx": dx, "fontSize": FONT_SIZE, "color": GREY}
            layers.append({"data": inline_data([side]), "mark": mark, "encoding": {"x": x, "y": y, "text": words()}})
        return wide(layers, 220)


@dataclass(frozen=True)
class DepartureDot:
    """A departure at its time: how late it was in minutes, None where it was cancelled."""

    time: datetime
    delay: int | None
    label: str
    matched: bool


@dataclass(frozen=True, repr=False)
class DepartureChart(Chart):
    """Departures by time and delay; those of a match are coloured. Cancelled ones are crosses at the top."""

    departures: tuple[DepartureDot, ...]

    def specification(self) -> VegaSpec:
        most = max([60, *(dot.delay for dot in self.departures if dot.delay is not None)])
        step = next(step for step in (30, 60, 120, 240, 480) if most / step <= 6)
        top = (most // step + 2) * step
        rows = [
            {
                "time": moment(dot.time),
                "delay": top if dot.delay is None else dot.delay,
                "label": dot.label,
                "matched": dot.matched,
                "cancelled": dot.delay is None,
            }
            for dot in self.departures
        ]
        values = [*range(0, top, step), top]
        names = f"datum.value == {top} ? 'cancelled' : format(datum.value, 'd')"
        y = number_axis("delay", "minutes late", values=values, labelExpr=names)
        lowest = min([0, *(dot.delay for dot in self.departures if dot.delay is not None)])
        y["scale"] = {"domain": [lowest, top], "nice": False}
        x = clock([dot.time for dot in self.departures])
        colour = {"condition": {"test": "datum.matched", "value": MATCH}, "value": GREY}
        opacity = {"condition": {"test": "datum.matched", "value": 1}, "value": 0.55}
        limit = {"data": inline_data([{"delay": 60}]), "encoding": {"y": y}}
        return wide(
            [
                {**limit, "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY}},
                {
                    "data": inline_data([row for row in rows if not row["cancelled"]]),
                    "mark": {"type": "point", "filled": True, "size": 55},
                    "encoding": {"x": x, "y": y, "color": colour, "opacity": opacity, "tooltip": words()},
                },
                {
                    "data": inline_data([row for row in rows if row["cancelled"]]),
                    "mark": {"type": "point", "shape": "cross", "filled": True, "size": 70, "angle": 45},
                    "encoding": {"x": x, "y": y, "color": colour, "opacity": opacity, "tooltip": words()},
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


@dataclass(frozen=True, repr=False)
class ChainChart(Chart):
    """The delays of an aircraft from departure to departure."""

    links: tuple[ChainLink, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {"name": link.name, "delay": link.delay, "label": link.label, "number": f"{link.delay} min"}
            for link in self.links
        ]
        axis = {"labelAngle": 0, "grid": False, "title": None}
        x = {"field": "name", "type": "nominal", "sort": None, "axis": axis, "scale": {"padding": 0.45}}
        y = number_axis("delay", "minutes late")
        number = {"type": "text", "dy": -8, "fontSize": FONT_SIZE, "color": TEXT}
        return wide(
            [
                {
                    "data": inline_data(rows),
                    "mark": {"type": "bar", "color": MATCH},
                    "encoding": {"x": x, "y": y, "tooltip": words()},
                },
                {"data": inline_data(rows), "mark": number, "encoding": {"x": x, "y": y, "text": words("number")}},
            ],
            200,
        )


@dataclass(frozen=True)
class HourShare:
    """An hour at an airport: how far one could see in miles, and its departures."""

    time: datetime
    visibility: float | None
    left: int
    cancelled: int


@dataclass(frozen=True, repr=False)
class VisibilityChart(Chart):
    """How far one can see, hour by hour."""

    hours: tuple[HourShare, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "time": moment(hour.time),
                "miles": hour.visibility,
                "label": f"{hour.time:%H:%M}, {hour.visibility:g} miles",
            }
            for hour in self.hours
            if hour.visibility is not None
        ]
        if rows:  # until the end of the last hour
            rows.append({**rows[-1], "time": moment(self.hours[-1].time + timedelta(hours=1))})
        x = _hour_axis(self.hours)
        y = number_axis("miles", "miles one can see")
        y["scale"] = {"domain": [0, 10]}
        line = {"type": "area", "line": {"color": LOST}, "color": LOST, "opacity": 0.25, "interpolate": "step-after"}
        return wide(
            [
                {"data": inline_data(rows), "mark": line, "encoding": {"x": x, "y": y}},
                {
                    "data": inline_data(rows),
                    "mark": {"type": "point", "size": 60, "opacity": 0},
                    "encoding": {"x": x, "y": y, "tooltip": words()},
                },
            ],
            140,
        )


@dataclass(frozen=True, repr=False)
class HourChart(Chart):
    """Departures of each hour: those that took place, and above them those that were cancelled."""

    hours: tuple[HourShare, ...]

    def specification(self) -> VegaSpec:
        rows = [
            {
                "time": moment(hour.time),
                "until": moment(hour.time + timedelta(minutes=54)),
                "low": low,
                "departures": low + count,
                "cancelled": cancelled,
                "label": f"{hour.time:%H:%M}: {hour.left} left, {hour.cancelled} cancelled",
            }
            for hour in self.hours
            for low, count, cancelled in ((0, hour.left, False), (hour.left, hour.cancelled, True))
        ]
        x = _hour_axis(self.hours)
        y = number_axis("departures", "departures")
        colour = {"condition": {"test": "datum.cancelled", "value": FALSE}, "value": GREY}
        encoding = {"x": x, "x2": {"field": "until"}, "y": y, "y2": {"field": "low"}, "color": colour}
        return wide([{"data": inline_data(rows), "mark": "rect", "encoding": {**encoding, "tooltip": words()}}], 160)


def _hour_axis(hours: Sequence[HourShare]) -> VegaSpec:
    """The axis of whole hours, the last one too."""
    return clock([hours[0].time, hours[-1].time + timedelta(hours=1)])
