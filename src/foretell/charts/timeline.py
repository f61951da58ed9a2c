"""The timeline of a match: a row for each step, with its events or the interval in which it was lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import altair as alt

from foretell.charts.theme import COLOURS, GREY, TEXT, WIDTH, VegaSpec, inline_data, themed
from foretell.charts.time_scale import TimeScale
from foretell.display import shortened

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


_STYLES: Mapping[RowKind, Mapping[str, Any]] = {
    RowKind.UNTIMED: {"size": 2, "color": COLOURS[0], "strokeDash": [2, 4]},
    # The outline shows an interval that is shorter than a pixel.
    RowKind.LOST: {"size": 12, "color": COLOURS[1], "strokeCap": "butt", "opacity": 0.7},
    RowKind.ABSENT: {"size": 2, "color": GREY, "strokeDash": [6, 4]},
    RowKind.WINDOW: {"size": 5, "color": GREY, "opacity": 0.5},
}


@dataclass(frozen=True)
class TimelineRow:
    """The times are those of events, or the two ends of an interval; without any the row has no mark."""

    name: str
    kind: RowKind
    label: str
    times: tuple[int | float, ...]


@dataclass(frozen=True)
class Timeline:
    """Rows with different names, from top to bottom."""

    slug: str
    title: str
    caption: str
    scale: TimeScale
    rows: tuple[TimelineRow, ...]

    def specification(self) -> VegaSpec:
        layers = [self._labels(), *self._intervals(), *self._events()]
        return themed(alt.layer(*layers).properties(width=WIDTH, height=ROW_HEIGHT * len(self.rows)))

    def _encoded(self, rows: Sequence[Mapping[str, Any]], **more: Any) -> Any:
        x = alt.X(
            "time:Q",
            title=self.scale.title,
            scale=alt.Scale(domain=self.scale.domain, nice=False, zero=False),
            axis=alt.Axis(tickCount=6, labelExpr="format(datum.value, ',~r')"),
        )
        y = alt.Y(
            "name:N",
            title=None,
            scale=alt.Scale(domain=[row.name for row in self.rows]),
            axis=alt.Axis(grid=False, labelLimit=NAME_WIDTH, labelPadding=10, domain=False, ticks=False),
        )
        return alt.Chart(inline_data([dict(row) for row in rows])).encode(x=x, y=y, **more)

    def _events(self) -> Iterator[Any]:
        places = [
            {"name": row.name, "time": self.scale.place(time)}
            for row in self.rows
            if row.kind is RowKind.EVENTS
            for time in row.times
        ]
        if places:
            yield self._encoded(places).mark_point(filled=True, size=90, opacity=1, color=COLOURS[0])

    def _intervals(self) -> Iterator[Any]:
        for kind, style in _STYLES.items():
            places = [
                {"name": row.name, "time": self._placed(min(row.times)), "until": self._placed(max(row.times))}
                for row in self.rows
                if row.kind is kind and row.times
            ]
            if places:
                yield self._encoded(places, x2=alt.X2("until:Q")).mark_rule(**style)
        lost = [row for row in self.rows if row.kind is RowKind.LOST and row.times]
        ends = [{"name": row.name, "time": self._placed(time)} for row in lost for time in row.times]
        if ends:
            yield self._encoded(ends).mark_tick(color=COLOURS[1], size=16, thickness=2)

    def _placed(self, time: int | float) -> float:
        """The number of a time on the axis, or of the end of the axis."""
        return self.scale.place(min(max(time, self.scale.low), self.scale.high))

    def _labels(self) -> Any:
        """Each above the middle of its mark, as far as it fits into the chart."""
        low, high = self.scale.domain
        places = []
        for row in self.rows:
            text = shortened(row.label, int(WIDTH / _CHARACTER))
            half = len(text) * _CHARACTER / 2 / WIDTH
            shares = [self.scale.share(time) for time in row.times] or [0.5]
            share = min(1 - half, max(half, (min(shares) + max(shares)) / 2))
            places.append({"name": row.name, "time": low + share * (high - low), "label": text})
        return self._encoded(places, text="label:N").mark_text(dy=-LABEL_RISE, fontSize=FONT_SIZE, color=TEXT)
