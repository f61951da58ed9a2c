"""The waterfall of a probability: it falls from 1 by the factor of each gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

from foretell.charts.chart import Chart
from foretell.charts.theme import COLOURS, GREY, PAPER, TEXT, VegaSpec, inline_data, layered
from foretell.charts.timeline import FONT_SIZE, LABEL_RISE, ROW_HEIGHT, row_channel

#: Numbers are beside the bars, which leaves less room for these than on a page of their own.
_WIDTH = 220

_TOTAL = "probability"

#: As an expression of Vega has it in a text.
_LINE_END = r"\n"


@dataclass(frozen=True)
class Factor:
    """`name` says between which steps a gap lies, in one line or two, `label` what it hides."""

    name: str
    label: str
    factor: float


@dataclass(frozen=True, repr=False)
class Waterfall(Chart):
    """A bar for each factor, then the probability. A dashed line shows the threshold."""

    factors: tuple[Factor, ...]
    probability: float
    threshold: float | None = None

    def specification(self) -> VegaSpec:
        names = [*(factor.name for factor in self.factors), _TOTAL]
        bars = {"data": inline_data(self._rows(names)), "layer": list(self._bars(names))}
        return layered([*self._threshold(), bars], _WIDTH, ROW_HEIGHT * len(names))

    def _bars(self, names: list[str]) -> Iterator[VegaSpec]:
        y = row_channel(names, labelExpr=f"split(datum.label, '{_LINE_END}')")
        x = {
            "field": "high",
            "type": "quantitative",
            "title": "probability",
            "scale": {"domain": [0, 1]},
            "axis": {"values": [0, 0.25, 0.5, 0.75, 1], "labelExpr": "datum.value"},
        }
        colour = {"condition": {"test": "datum.total", "value": COLOURS[0]}, "value": COLOURS[1]}
        texts = {"type": "text", "align": "left", "fontSize": FONT_SIZE, "color": TEXT}
        yield {
            "mark": {"type": "bar", "height": 12},
            "encoding": {"x": x, "x2": {"field": "low"}, "y": y, "color": colour},
        }
        # A factor of 1 has no bar, but a place.
        yield {
            "transform": [{"filter": "!datum.total"}],
            "mark": {"type": "tick", "size": 16, "thickness": 2, "color": COLOURS[1]},
            "encoding": {"x": {**x, "field": "low"}, "y": y},
        }
        yield {
            "mark": {**texts, "baseline": "middle"},
            "encoding": {"x": {"value": _WIDTH + 8}, "y": y, "text": {"field": "number"}},
        }
        label = {**texts, "dx": 4, "dy": -LABEL_RISE, "limit": _WIDTH}
        # On a halo: the line of a low threshold would go through the letters.
        for look in ({"stroke": PAPER, "strokeWidth": 5}, {}):
            yield {
                "mark": {**label, **look},
                "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "label"}, "tooltip": {"field": "label"}},
            }

    def _rows(self, names: list[str]) -> list[dict[str, Any]]:
        left = list(accumulate((factor.factor for factor in self.factors), mul, initial=1.0))
        rows: list[dict[str, Any]] = [
            {"name": f.name, "label": f.label, "low": low, "high": high, "number": f"× {f.factor:.3g}", "total": False}
            for f, high, low in zip(self.factors, left, left[1:], strict=False)
        ]
        number = f"{self.probability:.3g}"
        total = {"name": _TOTAL, "label": "", "low": 0.0, "high": self.probability, "number": number, "total": True}
        return [*rows, total]

    def _threshold(self) -> Iterator[VegaSpec]:
        if self.threshold is None:
            return
        x = {"field": "at", "type": "quantitative"}
        align = "right" if self.threshold > 1 / 2 else "left"
        label = {"type": "text", "align": align, "baseline": "bottom", "dy": -4, "fontSize": FONT_SIZE, "color": TEXT}
        yield {
            "data": inline_data([{"at": self.threshold, "label": f"ABOVE {self.threshold:g}"}]),
            "layer": [
                {
                    "mark": {"type": "rule", "strokeDash": [4, 4], "strokeWidth": 1.5, "color": GREY},
                    "encoding": {"x": x},
                },
                {"mark": label, "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "label"}}},
            ],
        }
