"""The theme of all charts: a light grid, no frame, colours for readers with red-green colour blindness too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import altair as alt

VegaSpec: TypeAlias = dict[str, Any]

WIDTH, HEIGHT = 480, 280
GREY, TEXT = "#8a8f98", "#444a54"
COLOURS = ("#1f6fb2", "#d9822b", "#2a9d6f", "#8e5ea2", "#c23b5a")
#: The background, of boxes that stand out from it, and text that does.
PAPER, PANEL, INK = "#ffffff", "#f3f6fa", "#22262e"
_GRID, DOMAIN = "#e8eaee", "#c4c8cf"
#: The colours on a page of a dark reader.
_DARK = {
    GREY: "#9aa1ac",
    TEXT: "#c9ced6",
    PAPER: "#14171c",
    PANEL: "#1f252e",
    INK: "#e6e9ee",
    _GRID: "#2c313a",
    DOMAIN: "#4a515d",
    **dict(zip(COLOURS, ("#5aa5e6", "#e69a4c", "#45b888", "#b48acb", "#e0708a"), strict=True)),
}
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def dark_styles() -> str:
    """CSS rules that give the marks of drawn charts their dark colours: attributes of SVG yield to them."""
    # The background is a style of the element, to which a rule yields otherwise.
    return "\n".join(["svg.marks { background: none !important; }", *dark_rules("svg")])


def dark_rules(scope: str) -> list[str]:
    """The rules of the colours, for the elements within those that a selector names. The background of Vega's SVG is a
    white rectangle."""
    return [
        f'{scope} rect[fill="white"] {{ fill: {_DARK[PAPER]}; }}',
        *_colour_rules(scope),
    ]


def dark_style_element() -> str:
    """A style for SVG that is a file of its own: it follows the theme of the reader."""
    return f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(dark_rules('svg'))} }}</style>"


def _colour_rules(scope: str) -> list[str]:
    return [
        f'{scope} [{part}="{light}"] {{ {part}: {dark}; }}'
        for light, dark in _DARK.items()
        for part in ("fill", "stroke")
    ]


def inline_data(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Rows as data within the chart itself, which then needs no other file."""
    return {"values": list(rows)}


def layered(layers: Sequence[VegaSpec], width: int, height: int) -> VegaSpec:
    """A themed chart of layers that are specifications already. Altair takes a tenth of a second for a chart, which is
    too much for a page of a hundred."""
    return {**_frame(), "layer": list(layers), "width": width, "height": height}


@cache
def _frame() -> VegaSpec:
    spec = themed(alt.Chart().mark_point())
    return {name: spec[name] for name in ("$schema", "config")}


def themed(chart: Any) -> VegaSpec:
    """The Vega-Lite specification of an Altair chart, with the theme applied."""
    spec: VegaSpec = (
        chart.configure(font=_FONT, background="white", padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            gridColor=_GRID,
            domainColor=DOMAIN,
            tickColor=DOMAIN,
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
    return spec
