"""How all pictures look: a light grid, no frame, colours that also people who confuse red and green can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Specification: TypeAlias = dict[str, Any]

WIDTH, HEIGHT = 480, 280
GREY, TEXT = "#8a8f98", "#444a54"
COLOURS = ("#1f6fb2", "#d9822b", "#2a9d6f", "#8e5ea2", "#c23b5a")
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def records(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Rows as what a chart draws: in the chart itself, so that it needs no file beside it."""
    return {"values": list(rows)}


def dressed(chart: Any) -> Specification:
    """A chart of altair in our clothes, as the Vega-Lite specification that is drawn."""
    specification: Specification = (
        chart.configure(font=_FONT, background="white", padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            gridColor="#e8eaee",
            domainColor="#c4c8cf",
            tickColor="#c4c8cf",
            labelColor=TEXT,
            titleColor=TEXT,
            titleFontWeight="normal",
            labelFontSize=12,
            titleFontSize=12,
            titlePadding=8,
        )
        .configure_title(anchor="start", fontSize=14, fontWeight=600, color=TEXT, offset=12)
        .to_dict()
    )
    return specification
