"""Bar charts, with the number at the end of each bar."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from foretell.charts.chart import Chart, nothing_to_draw
from foretell.charts.theme import COLOURS, TEXT, WIDTH, VegaSpec, inline_data, themed

#: More bars are left out.
MOST_BARS = 200


@dataclass(frozen=True, repr=False)
class BarChart(Chart):
    """Horizontal bars (name, length) in the given order. `unit` follows every number."""

    axis: str
    unit: str
    bars: tuple[tuple[str, float], ...]

    @property
    def note(self) -> str:
        more = len(self.bars) - MOST_BARS
        return f"Drawn are the first {MOST_BARS:,} of {len(self.bars):,} bars." if more > 0 else ""

    def specification(self) -> VegaSpec:
        if not self.bars:
            raise nothing_to_draw(self.title, "there are no bars")
        rows = [{"name": name, "length": length} for name, length in self.bars[:MOST_BARS]]
        base = alt.Chart(inline_data(rows)).encode(
            x=alt.X("length:Q", title=self.axis, axis=alt.Axis(labelExpr=f"format(datum.value, '~s') + '{self.unit}'")),
            y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(grid=False, labelLimit=320)),
        )
        numbers = base.transform_calculate(label=f"format(datum.length, '.2~s') + '{self.unit}'")
        return themed(
            alt.layer(
                base.mark_bar(height=14, color=COLOURS[0]),
                numbers.mark_text(align="left", dx=4, fontSize=12, color=TEXT).encode(text="label:N"),
            ).properties(width=WIDTH, height=24 * len(rows))
        )
