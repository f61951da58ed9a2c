"""The forecast curves of lanes: the probability after each event, with forecasts, how they turned out, and matches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.charts.chart import Chart, nothing_to_draw
from foretell.charts.clock_axis import clock_axis
from foretell.charts.point_sample import spread_out, thinned, thinning_note
from foretell.charts.theme import COLOURS, GREY, TEXT, VegaSpec, inline_data, layered
from foretell.display import counted
from foretell.events.notification import pairs_text
from foretell.events.types import Type
from foretell.forecast.evaluation.backtest import BacktestObserver
from foretell.learn.horizon import Horizon
from foretell.records import record

#: The size of a curve, which is wider than other charts: time is long.
_WIDTH, _HEIGHT = 720, 170

#: The highest probability on the axis is more than the highest one drawn by this factor.
_HEADROOM = 1.15

#: With more forecasts at equal distances their marks would cover each other, and the last kind all others.
_MOST_FORECASTS = 90

_CAME_TRUE, _FAILED, _OPEN = "came true", "did not come true", "not known"

_LEGEND = (
    "The line is the probability of a match within the horizon, after each event of the lane. Where it rises to the "
    "dashed threshold there is a forecast: a disc if a match came within the horizon, a cross if none did, a ring if "
    "the data end before that. Triangles above are matches."
)


@record
class LaneForecasts:
    """The points of one lane or value of a variable, in their order: `time` in seconds since 1970 where it is a
    TIMESTAMP, `probability` (NaN where nothing was forecast), whether an event completed a match, whether one came
    within the horizon, and whether the data reach that far. `above` is the threshold, None without one."""

    name: str
    horizon: Horizon
    above: float | None
    time: Floats
    probability: Floats
    matched: Flags
    happened: Flags
    known: Flags
    has_moments: bool

    @property
    def rises(self) -> Ints:
        """The points at which the probability rises to the threshold: one forecast each."""
        if self.above is None:
            return np.zeros(0, np.int64)
        above = self.probability >= self.above
        return np.flatnonzero(above & ~np.append(False, above[:-1])[: len(above)])


@dataclass(frozen=True, repr=False)
class ForecastCurve(Chart):
    """The probability of one lane over time."""

    lane: LaneForecasts

    @property
    def note(self) -> str:
        drawn, total = len(self._line()), int((~np.isnan(self.lane.probability)).sum())
        texts = [thinning_note(drawn, total, "of each stretch the lowest and the highest")]
        if (forecasts := len(self.lane.rises)) > _MOST_FORECASTS:
            drawn = -(-forecasts // _stride(forecasts))
            texts.append(f"Of {forecasts:,} forecasts {drawn:,} are drawn: choose a shorter time to see all.")
        return " ".join(filter(None, texts))

    def _line(self) -> tuple[tuple[float, float], ...]:
        made = ~np.isnan(self.lane.probability)
        return thinned(list(zip(self.lane.time[made].tolist(), self.lane.probability[made].tolist())))

    def specification(self) -> VegaSpec:
        line = self._line()
        if not line:
            reason = "the model has seen too little of its states for a forecast"
            raise nothing_to_draw(self.title, reason, "train on more events, or set Learning.enough")
        layers = [*self._threshold(), *self._curve(line), self._matches(), *self._forecasts()]
        return layered(layers, _WIDTH, _HEIGHT)

    # ── layers ──

    def _x(self) -> VegaSpec:
        if not self.lane.has_moments:
            axis = {"tickCount": 8, "labelExpr": "format(datum.value, ',~r')"}
            scale = {"zero": False, "nice": False}
            return {"field": "time", "type": "quantitative", "title": "time", "scale": scale, "axis": axis}
        return clock_axis("time", float(self.lane.time.min()), float(self.lane.time.max()))

    def _y(self) -> VegaSpec:
        highest = max([*self.lane.probability[~np.isnan(self.lane.probability)].tolist(), self.lane.above or 0.0])
        scale = {"domain": [0, min(1.0, highest * _HEADROOM) or 1.0], "nice": False}
        return {
            "field": "probability",
            "type": "quantitative",
            "title": "probability",
            "scale": scale,
            "axis": {"tickCount": 5, "labelExpr": "format(datum.value, '~g')"},
        }

    def _moment(self, time: float) -> float:
        """A time as Vega has it: in milliseconds."""
        return time * 1000 if self.lane.has_moments else time

    def _curve(self, line: Sequence[tuple[float, float]]) -> Iterator[VegaSpec]:
        """The line, and what is below it: of a dense curve that is easier to see."""
        rows = [{"time": self._moment(time), "probability": probability} for time, probability in line]
        shape = {"interpolate": "step-after", "color": COLOURS[0]}
        for mark in ({"type": "area", **shape, "opacity": 0.18}, {"type": "line", **shape, "strokeWidth": 1.2}):
            yield {"data": inline_data(rows), "mark": mark, "encoding": {"x": self._x(), "y": self._y()}}

    def _threshold(self) -> Iterator[VegaSpec]:
        if self.lane.above is None:
            return
        data = inline_data([{"probability": self.lane.above, "label": f"ABOVE {self.lane.above:g}"}])
        rule = {"type": "rule", "strokeDash": [4, 4], "strokeWidth": 1.5, "color": GREY}
        yield {"data": data, "mark": rule, "encoding": {"y": self._y()}}
        text = {"type": "text", "align": "left", "dx": 6, "fontSize": 12, "color": TEXT}
        encoding = {"y": self._y(), "x": {"value": _WIDTH}, "text": {"field": "label"}}
        yield {"data": data, "mark": text, "encoding": encoding}

    def _matches(self) -> VegaSpec:
        times = self.lane.time[self.lane.matched].tolist()
        low, high = float(self.lane.time.min()), float(self.lane.time.max())
        rows = [{"time": self._moment(time), "event": "match"} for time in spread_out(times, low, high, _WIDTH)]
        mark = {
            "type": "point",
            "shape": "triangle-up",
            "filled": True,
            "size": 46,
            "opacity": 0.9,
            "color": COLOURS[2],
        }
        return {"data": inline_data(rows), "mark": mark, "encoding": {"x": self._x(), "y": {"value": -8}}}

    def _forecasts(self) -> Iterator[VegaSpec]:
        """A mark for each rise to the threshold, by its outcome."""
        rises = self.lane.rises[:: _stride(len(self.lane.rises))]
        outcome = np.where(self.lane.happened[rises], 0, np.where(self.lane.known[rises], 1, 2))
        marks: tuple[dict[str, Any], ...] = (
            {"shape": "circle", "filled": True, "size": 60, "color": COLOURS[2], "opacity": 1},
            {"shape": "M-1,-1L1,1M-1,1L1,-1", "filled": False, "size": 40, "strokeWidth": 2, "color": COLOURS[4]},
            {"shape": "circle", "filled": False, "size": 60, "strokeWidth": 1.5, "color": GREY, "opacity": 1},
        )
        for number, (name, mark) in enumerate(zip((_CAME_TRUE, _FAILED, _OPEN), marks)):
            places = rises[outcome == number]
            rows = [
                {
                    "time": self._moment(float(self.lane.time[at])),
                    "probability": float(self.lane.probability[at]),
                    "forecast": name,
                }
                for at in places.tolist()
            ]
            encoding = {"x": self._x(), "y": self._y(), "tooltip": {"field": "forecast"}}
            if rows:
                yield {"data": inline_data(rows), "mark": {"type": "point", **mark}, "encoding": encoding}


def _stride(forecasts: int) -> int:
    """Of so many forecasts each of this number is drawn."""
    return max(1, -(-forecasts // _MOST_FORECASTS))


# ── from a backtest ──


def lanes_of(observers: Sequence[BacktestObserver]) -> list[LaneForecasts]:
    """The lanes that observers have seen, those with most events first."""
    found = [lane for member in observers for horizon in member.forecasters for lane in _lanes(member, horizon)]
    return sorted(found, key=lambda lane: -len(lane.time))


def _lanes(member: BacktestObserver, horizon: Horizon) -> Iterator[LaneForecasts]:
    trace, points = member.recorder.record().trace, member.points(horizon)
    happened, known = points.times.happened(horizon), points.times.known(horizon)
    forecast = member.checked.tree.forecast
    order = np.argsort(trace.process, kind="stable")
    owners, first = np.unique(trace.process[order], return_index=True)
    names = _names([trace.keys[owner] for owner in owners.tolist()])
    for name, rows in zip(names, np.split(order, first[1:]), strict=True):
        yield LaneForecasts(
            name=name,
            horizon=horizon,
            above=None if forecast is None else forecast.above,
            time=trace.time[rows],
            probability=points.probability[rows],
            matched=trace.matched[rows],
            happened=happened[rows],
            known=known[rows],
            has_moments=member.checked.time is Type.TIMESTAMP,
        )


def _names(keys: Sequence[str]) -> list[str]:
    """The names of lanes; where a value separates the partial matches of a lane, they are numbered.

    >>> _names(['{"k":"a"}', '{"k":"b"}', '{"k":"b"}', "null"])
    ['k=a', 'k=b', 'k=b, value 2', '']
    """
    seen: dict[str, int] = {}
    names = []
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        name = pairs_text(json.loads(key) or {})
        again = f"value {seen[key]}" if seen[key] > 1 else ""
        names.append(", ".join(filter(None, [name, again])))
    return names


def curve_charts(name: str, lanes: Sequence[LaneForecasts], most: int, slug: str) -> list[ForecastCurve]:
    """The charts of the lanes of a statement with most events, of which there is a forecast."""
    shown = [lane for lane in lanes if not np.isnan(lane.probability).all()][:most]
    return [
        ForecastCurve(f"{slug}-lane{number}", _title(name, lane), _caption(lane), lane)
        for number, lane in enumerate(shown)
    ]


def _title(name: str, lane: LaneForecasts) -> str:
    return f"{name}{', ' if lane.name else ''}{lane.name}: a match within {lane.horizon}"


def _caption(lane: LaneForecasts) -> str:
    matches, forecasts = int(lane.matched.sum()), lane.rises
    texts = [counted(len(lane.time), "event"), counted(matches, "match", "matches")]
    if lane.above is not None:
        true = int((lane.happened[forecasts]).sum())
        texts.append(f"{counted(len(forecasts), 'forecast')}, {true:,} of which came true")
    return f"{', '.join(texts)}."


def curve_legend(shown: int, lanes: int) -> str:
    """The introduction of a page of so many curves."""
    which = f" Shown are {shown:,} of {counted(lanes, 'lane')}: those with most events." if shown < lanes else ""
    return f"{_LEGEND}{which}"
