"""The waterfall of a probability: it falls from 1 by the factor of each gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any, Literal

import altair as alt

from foretell.charts.theme import COLOURS, GREY, TEXT, VegaSpec, inline_data, themed
from foretell.charts.timeline import FONT_SIZE, LABEL_RISE, NAME_WIDTH, ROW_HEIGHT

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


@dataclass(frozen=True)
class Waterfall:
    """A bar for each factor, then the probability. A dashed line shows the threshold."""

    slug: str
    title: str
    caption: str
    factors: tuple[Factor, ...]
    probability: float
    threshold: float | None = None

    def specification(self) -> VegaSpec:
        names = [*(factor.name for factor in self.factors), _TOTAL]
        layers = [*self._bars(names), *self._threshold()]
        return themed(alt.layer(*layers).properties(width=_WIDTH, height=ROW_HEIGHT * len(names)))

    def _bars(self, names: list[str]) -> Iterator[Any]:
        y = alt.Y(
            "name:N",
            title=None,
            scale=alt.Scale(domain=names),
            axis=alt.Axis(
                grid=False,
                labelExpr=f"split(datum.label, '{_LINE_END}')",
                labelLimit=NAME_WIDTH,
                labelPadding=10,
                domain=False,
                ticks=False,
            ),
        )
        x = alt.X(
            "high:Q",
            title="probability",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], labelExpr="datum.value"),
        )
        base = alt.Chart(inline_data(self._rows(names))).encode(y=y, tooltip=["name:N", "label:N", "number:N"])
        colour = alt.condition("datum.total", alt.value(COLOURS[0]), alt.value(COLOURS[1]))
        yield base.mark_bar(height=12).encode(x=x, x2="low:Q", color=colour)
        # A factor of 1 has no bar, but a place.
        factors = base.transform_filter("!datum.total")
        yield factors.mark_tick(size=16, thickness=2, color=COLOURS[1]).encode(x=alt.X("low:Q"))
        texts = base.mark_text(align="left", baseline="middle", fontSize=FONT_SIZE, color=TEXT)
        yield texts.encode(x=alt.value(_WIDTH + 8), text="number:N")
        above = base.mark_text(align="left", dx=4, dy=-LABEL_RISE, limit=_WIDTH, fontSize=FONT_SIZE, color=TEXT)
        yield above.encode(x=alt.value(0), text="label:N")

    def _rows(self, names: list[str]) -> list[dict[str, Any]]:
        left = list(accumulate((factor.factor for factor in self.factors), mul, initial=1.0))
        rows: list[dict[str, Any]] = [
            {"name": f.name, "label": f.label, "low": low, "high": high, "number": f"× {f.factor:.3g}", "total": False}
            for f, high, low in zip(self.factors, left, left[1:], strict=False)
        ]
        number = f"{self.probability:.3g}"
        total = {"name": _TOTAL, "label": "", "low": 0.0, "high": self.probability, "number": number, "total": True}
        return [*rows, total]

    def _threshold(self) -> Iterator[Any]:
        if self.threshold is None:
            return
        base = alt.Chart(inline_data([{"at": self.threshold, "label": f"ABOVE {self.threshold:g}"}]))
        at = alt.X("at:Q")
        yield base.mark_rule(strokeDash=[4, 4], strokeWidth=1.5, color=GREY).encode(x=at)
        align: Literal["left", "right"] = "right" if self.threshold > 1 / 2 else "left"
        label = base.mark_text(align=align, baseline="bottom", dy=-4, fontSize=FONT_SIZE, color=TEXT)
        yield label.encode(x=at, y=alt.value(0), text="label:N")
