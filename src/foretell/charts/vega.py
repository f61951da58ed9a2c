"""Vega, which draws specifications: as SVG here, or in a browser by a script that a page includes."""

from __future__ import annotations

from functools import cache

import vl_convert

from foretell.charts.theme import VegaSpec


@cache
def vega_library() -> str:
    """The JavaScript that draws charts: putting it together takes seconds."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def vega_svg(specification: VegaSpec) -> str:
    return vl_convert.vegalite_to_svg(specification)
