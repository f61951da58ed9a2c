"""Parts of specifications for charts that are as wide as the page, with the clock of New York."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from foretell.charts.theme import COLOURS, VegaSpec, layered

MATCH, LOST, TRUE, _, FALSE = COLOURS
FONT_SIZE = 12

#: The axis of shares from 0 to 1.
SHARES: VegaSpec = {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]}


def wide(layers: Sequence[VegaSpec], height: int) -> VegaSpec:
    """A chart that takes the width of its element, and follows it."""
    size = {"type": "fit-x", "contains": "padding", "resize": True}
    return {**layered(layers, 0, height), "width": "container", "autosize": size}


def moment(time: datetime) -> str:
    """A local time as Vega reads it: as if it were UTC, so that the reader's own time zone changes nothing."""
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def clock(span: Sequence[datetime] = (), form: str = "%H:%M", title: str | None = None) -> VegaSpec:
    scale: dict[str, Any] = {"type": "utc", "nice": False}
    if span:
        scale["domain"] = [moment(min(span)), moment(max(span))]
    axis = {"format": form, "labelFlush": True, "labelOverlap": True, "grid": False, "title": title}
    return {"field": "time", "type": "temporal", "scale": scale, "axis": axis}


def number_axis(field: str, title: str, **axis: object) -> VegaSpec:
    return {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 5, **axis}}


def words(field: str = "label") -> VegaSpec:
    return {"field": field, "type": "nominal"}
