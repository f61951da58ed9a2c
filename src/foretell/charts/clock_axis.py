"""The axis of clock times of a chart, in UTC, with the labels that its length asks for."""

from __future__ import annotations

from typing import Any

_MINUTE, _DAY = 60.0, 86_400.0

#: Midnight has a date; other labels of a day have none.
_HOURS = "utcFormat(datum.value, utchours(datum.value) + utcminutes(datum.value) ? '%H:%M' : '%b %d')"


def clock_axis(field: str, low: float, high: float) -> dict[str, Any]:
    """The channel of times in milliseconds since 1970, for an axis between two times in seconds.

    >>> clock_axis("time", 0, 30)["axis"]["labelExpr"], clock_axis("time", 0, 9 * 86_400)["axis"]["labelExpr"]
    ("utcFormat(datum.value, '%H:%M:%S')", "utcFormat(datum.value, '%b %d')")
    """
    span = high - low
    if span < 10 * _MINUTE:
        labels = "utcFormat(datum.value, '%H:%M:%S')" if span > 2 else "utcFormat(datum.value, '%S.%L')"
    else:
        labels = _HOURS if span < 5 * _DAY else "utcFormat(datum.value, '%b %d')"
    return {
        "field": field,
        "type": "temporal",
        "title": "time (UTC)",
        "scale": {"type": "utc"},
        "axis": {"tickCount": 8, "labelOverlap": True, "labelExpr": labels},
    }
