"""Bar charts, with the number at the end of each bar."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from foretell.charts.theme import COLOURS, TEXT, WIDTH, VegaSpec, inline_data, themed


@dataclass(frozen=True)
class BarChart:
    """Horizontal bars (name, length) in the given order. `unit` follows every number."""

    slug: str
    title: str
    caption: str
    axis: str
    unit: str
    bars: tuple[tuple[str, float], ...]

    def specification(self) -> VegaSpec:
        rows = [{"name": name, "length": length} for name, length in self.bars]
        base = alt.Chart(inline_data(rows)).encode(
            x=alt.X("length:Q", title=self.axis, axis=alt.Axis(labelExpr=f"format(datum.value, '~s') + '{self.unit}'")),
            y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(grid=False, labelLimit=320)),
        )
        numbers = base.transform_calculate(label=f"format(datum.length, '.2~s') + '{self.unit}'")
        return themed(
            alt.layer(
                base.mark_bar(height=14, color=COLOURS[0]),
                numbers.mark_text(align="left", dx=4, fontSize=12, color=TEXT).encode(text="label:N"),
            ).properties(width=WIDTH, height=24 * max(1, len(rows)))
        )
