"""Charts on one HTML page that opens offline, and each one as SVG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Protocol

import vl_convert

from foretell.charts.theme import VegaSpec


class Chart(Protocol):
    @property
    def slug(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def caption(self) -> str: ...
    def specification(self) -> VegaSpec: ...


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: #22262e;
       max-width: 56rem; margin: 3rem auto; padding: 0 1.5rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.15rem; margin: 2.5rem 0 .25rem; }}
p {{ max-width: 44rem; margin: .25rem 0 .75rem; color: #444a54; }}
figure {{ margin: 0; overflow-x: auto; }}
pre {{ font-size: .75rem; line-height: 1.35; overflow-x: auto; }} .warning {{ color: #a8321e; }}
</style>
<script>{library}</script>
</head>
<body>
<h1>{title}</h1>
<p>{introduction}</p>
{preface}{sections}
<script>
for (const [slug, spec] of Object.entries({specifications}))
  vegaEmbed("#" + slug, spec, {{ renderer: "svg", actions: false }});
</script>
</body>
</html>
"""

_SECTION = '<section><h2>{title}</h2><p>{caption}</p><figure id="{slug}"></figure></section>'


def page(
    title: str, introduction: str, charts: Sequence[Chart], *, table: str = "", warnings: Sequence[str] = ()
) -> str:
    """An HTML page with warnings, tables as text, and charts.

    It includes the JavaScript that draws the charts, so it needs no network.
    """
    preface = "".join(f'<p class="warning">{escape(warning)}</p>\n' for warning in warnings)
    preface += f"<pre>{escape(table)}</pre>\n" if table else ""
    return _PAGE.format(
        title=escape(title),
        introduction=escape(introduction),
        preface=preface,
        library=vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
        sections="\n".join(
            _SECTION.format(slug=c.slug, title=escape(c.title), caption=escape(c.caption)) for c in charts
        ),
        # Escaped, so that no text ends the script element.
        specifications=json.dumps({c.slug: c.specification() for c in charts}).replace("<", "\\u003c"),
    )


def svg(chart: Chart) -> str:
    """A chart with its title."""
    return vl_convert.vegalite_to_svg({**chart.specification(), "title": chart.title})


def save(folder: Path, name: str, title: str, introduction: str, charts: Sequence[Chart]) -> None:
    """Writes `name`.html with all charts, and `name`-slug.svg for each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_text(page(title, introduction, charts), encoding="utf-8")
    for chart in charts:
        (folder / f"{name}-{chart.slug}.svg").write_text(svg(chart), encoding="utf-8")
