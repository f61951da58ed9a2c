"""The timeline of a match: a row for each step, with its events or the interval in which it was lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from foretell.charts.chart import Chart, nothing_to_draw
from foretell.charts.point_sample import MOST_POINTS, spread_out
from foretell.charts.theme import COLOURS, GREY, TEXT, WIDTH, VegaSpec, inline_data, layered
from foretell.charts.time_scale import TimeScale
from foretell.display import listed, shortened

#: The height of a row: its mark, and its label above that.
ROW_HEIGHT = 44

#: The longest name of a step in pixels; the rest is cut off.
NAME_WIDTH = 150

#: Labels are above the middle of their rows by so many pixels.
LABEL_RISE = 15

#: The font size of labels, and the width of a wide character in pixels.
FONT_SIZE, _CHARACTER = 12, 7.0


class RowKind(Enum):
    """The mark of a row."""

    EVENTS = "events"
    #: Events whose times are not known lie between two times.
    UNTIMED = "untimed"
    LOST = "lost"
    #: No event of a negated step was seen.
    ABSENT = "absent"
    WINDOW = "window"
    #: The other events of the lane.
    AROUND = "around"


_STYLES: Mapping[RowKind, VegaSpec] = {
    RowKind.UNTIMED: {"size": 2, "color": COLOURS[0], "strokeDash": [2, 4]},
    # The outline shows an interval that is shorter than a pixel.
    RowKind.LOST: {"size": 12, "color": COLOURS[1], "strokeCap": "butt", "opacity": 0.7},
    RowKind.ABSENT: {"size": 2, "color": GREY, "strokeDash": [6, 4]},
    RowKind.WINDOW: {"size": 5, "color": GREY, "opacity": 0.5},
}


#: Rows with a mark for each of their times.
_MARKED = (RowKind.EVENTS, RowKind.AROUND)


@dataclass(frozen=True)
class TimelineRow:
    """The times are those of events, or the two ends of an interval; without any the row has no mark."""

    name: str
    kind: RowKind
    label: str
    times: tuple[int | float, ...]


@dataclass(frozen=True, repr=False)
class Timeline(Chart):
    """Rows with different names, from top to bottom."""

    scale: TimeScale
    rows: tuple[TimelineRow, ...]

    @property
    def note(self) -> str:
        crowded = [row.name for row in self.rows if len(row.times) > MOST_POINTS and row.kind in _MARKED]
        return (
            f"Of the events of {listed(crowded)}, marks that would cover each other are drawn once." if crowded else ""
        )

    def specification(self) -> VegaSpec:
        if not self.rows:
            raise nothing_to_draw(self.title, "the match has no steps")
        layers = [self._labels(), *self._around(), *self._intervals(), *self._events()]
        return layered(layers, WIDTH, ROW_HEIGHT * len(self.rows))

    def _layer(self, mark: VegaSpec, rows: Sequence[VegaSpec], **channels: VegaSpec) -> VegaSpec:
        """Marks at the `time` and in the row `name` of each of these."""
        x = {
            "field": "time",
            "type": "quantitative",
            "title": self.scale.title,
            "scale": {"domain": self.scale.domain, "nice": False, "zero": False},
            "axis": {"tickCount": 6, "labelExpr": "format(datum.value, ',~r')"},
        }
        y = row_channel([row.name for row in self.rows])
        return {"data": inline_data(rows), "mark": mark, "encoding": {"x": x, "y": y, **channels}}

    def _events(self) -> Iterator[VegaSpec]:
        marks = self._marks(RowKind.EVENTS)
        yield self._layer({"type": "point", "filled": True, "size": 90, "opacity": 1, "color": COLOURS[0]}, marks)

    def _around(self) -> Iterator[VegaSpec]:
        if marks := self._marks(RowKind.AROUND):
            yield self._layer({"type": "tick", "size": 14, "thickness": 1.5, "opacity": 0.55, "color": GREY}, marks)

    def _marks(self, kind: RowKind) -> list[VegaSpec]:
        low, high = self.scale.low, self.scale.high
        return [
            {"name": row.name, "time": self.scale.place(time)}
            for row in self.rows
            if row.kind is kind
            for time in spread_out([time for time in row.times if low <= time <= high], low, high)
        ]

    def _intervals(self) -> Iterator[VegaSpec]:
        for kind, style in _STYLES.items():
            places = [
                {"name": row.name, "time": self._placed(min(row.times)), "until": self._placed(max(row.times))}
                for row in self.rows
                if row.kind is kind and row.times
            ]
            yield self._layer({"type": "rule", **style}, places, x2={"field": "until"})
        lost = [row for row in self.rows if row.kind is RowKind.LOST]
        ends = [{"name": row.name, "time": self._placed(time)} for row in lost for time in row.times]
        yield self._layer({"type": "tick", "color": COLOURS[1], "size": 16, "thickness": 2}, ends)

    def _placed(self, time: int | float) -> float:
        """The number of a time on the axis, or of the end of the axis."""
        return self.scale.place(min(max(time, self.scale.low), self.scale.high))

    def _labels(self) -> VegaSpec:
        """Each above the middle of its mark, as far as it fits into the chart."""
        low, high = self.scale.domain
        places = []
        for row in self.rows:
            text = shortened(row.label, int(WIDTH / _CHARACTER))
            half = len(text) * _CHARACTER / 2 / WIDTH
            shares = [self.scale.share(time) for time in row.times] or [0.5]
            share = min(1 - half, max(half, (min(shares) + max(shares)) / 2))
            places.append({"name": row.name, "time": low + share * (high - low), "label": text, "whole": row.label})
        return self._layer(
            {"type": "text", "dy": -LABEL_RISE, "fontSize": FONT_SIZE, "color": TEXT},
            places,
            text={"field": "label"},
            tooltip={"field": "whole"},
        )


def row_channel(names: Sequence[str], **axis: object) -> VegaSpec:
    """The rows of a chart, with their names beside them."""
    bare = {"grid": False, "labelLimit": NAME_WIDTH, "labelPadding": 10, "domain": False, "ticks": False}
    return {
        "field": "name",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(names)},
        "axis": {**bare, **axis},
    }
