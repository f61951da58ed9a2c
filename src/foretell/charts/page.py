"""Charts on one HTML page that opens offline, and each one as SVG."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Protocol

import vl_convert

from foretell.charts.theme import VegaSpec, dark_styles


class Chart(Protocol):
    @property
    def slug(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def caption(self) -> str: ...
    def specification(self) -> VegaSpec: ...


@dataclass(frozen=True)
class Section:
    """A title, a caption, and charts side by side."""

    slug: str
    title: str
    caption: str
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class PageTable:
    """A table of texts; the first cell of each row leads to the section of that slug."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    def html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "\n".join(f"<tr>{_linked_cells(slug, cells)}</tr>" for slug, cells in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>\n"


def _linked_cells(slug: str, cells: Sequence[str]) -> str:
    first, *others = map(escape, cells)
    return "".join((f'<td><a href="#{slug}">{first}</a></td>', *(f"<td>{cell}</td>" for cell in others)))


# The policy of contents permits these two scripts, no other, and no address, whatever the texts of events are.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: #22262e;
       max-width: 56rem; margin: 3rem auto; padding: 0 1.5rem; }}
body:has(figure + figure) {{ max-width: 76rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.15rem; margin: 2.5rem 0 .25rem; overflow-wrap: anywhere; }}
p {{ max-width: 44rem; margin: .25rem 0 .75rem; color: #444a54; overflow-wrap: anywhere; }}
.charts {{ display: flex; flex-wrap: wrap; gap: 1rem 2rem; }}
figure {{ margin: 0; overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .875rem; display: block; overflow-x: auto; }}
th, td {{ text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #c4c8cf; white-space: nowrap;
         max-width: 20rem; overflow: hidden; text-overflow: ellipsis; }}
pre {{ font-size: .75rem; line-height: 1.35; overflow-x: auto; }} .warning {{ color: #a8321e; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #e6e9ee; background: #14171c; }} p {{ color: #c9ced6; }} a {{ color: #8ab8e8; }}
  th, td {{ border-color: #3a404a; }} .warning {{ color: #f0907c; }}
{dark_styles}
}}
</style>
<script>{library}</script>
</head>
<body>
<h1>{title}</h1>
<p>{introduction}</p>
{preface}{sections}
<script>{drawing}</script>
</body>
</html>
"""

_DRAWING = """
for (const [slug, spec] of Object.entries(%s))
  vegaEmbed("#" + slug, spec, { renderer: "svg", actions: false });
"""

_SECTION = '<section id="{slug}"><h2>{title}</h2><p>{caption}</p><div class="charts">{figures}</div></section>'


def page(
    title: str, introduction: str, charts: Sequence[Chart], *, table: str = "", warnings: Sequence[str] = ()
) -> str:
    """An HTML page with warnings, tables as text, and charts.

    It includes the JavaScript that draws the charts, so it needs no network.
    """
    preface = "".join(f'<p class="warning">{escape(warning)}</p>\n' for warning in warnings)
    preface += f"<pre>{escape(table)}</pre>\n" if table else ""
    return _page(title, introduction, preface, [Section(f"{c.slug}-section", c.title, c.caption, (c,)) for c in charts])


def sections_page(title: str, introduction: str, table: PageTable, sections: Iterable[Section]) -> str:
    """The same with a table of its sections."""
    return _page(title, introduction, table.html(), list(sections))


def _page(title: str, introduction: str, preface: str, sections: Sequence[Section]) -> str:
    library = chart_library()
    drawing = drawing_script([chart for section in sections for chart in section.charts])
    return _PAGE.format(
        hashes=script_hashes(library, drawing),
        title=escape(title),
        introduction=escape(introduction),
        preface=preface,
        dark_styles=dark_styles(),
        library=library,
        sections="\n".join(map(_section, sections)),
        drawing=drawing,
    )


@cache
def chart_library() -> str:
    """The JavaScript that draws charts: putting it together takes seconds."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def drawing_script(charts: Iterable[Chart]) -> str:
    """The JavaScript that draws each chart into the element whose id is the chart's slug."""
    specifications = {chart.slug: chart.specification() for chart in charts}
    # Escaped, so that no text ends the script element.
    return _DRAWING % json.dumps(specifications).replace("<", "\\u003c")


def _section(section: Section) -> str:
    figures = "".join(f'<figure id="{chart.slug}"></figure>' for chart in section.charts)
    title, caption = escape(section.title), escape(section.caption)
    return _SECTION.format(slug=section.slug, title=title, caption=caption, figures=figures)


def script_hashes(*scripts: str) -> str:
    """The sources of a policy of contents that permits these scripts and no other."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def svg(chart: Chart) -> str:
    """A chart with its title."""
    return vl_convert.vegalite_to_svg({**chart.specification(), "title": chart.title})


def save(folder: Path, name: str, title: str, introduction: str, charts: Sequence[Chart]) -> None:
    """Writes `name`.html with all charts, and `name`-slug.svg for each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_text(page(title, introduction, charts), encoding="utf-8")
    for chart in charts:
        (folder / f"{name}-{chart.slug}.svg").write_text(svg(chart), encoding="utf-8")
