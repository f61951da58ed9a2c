"""Charts on one HTML page that opens offline, and each one as SVG."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from foretell.arguments.validation import bad_argument
from foretell.charts.chart import Chart
from foretell.charts.notebook_view import notebook_html, with_code
from foretell.charts.theme import dark_styles
from foretell.display import counted
from foretell.errors import InputError, suggestion
from foretell.events.atomic_files import atomic_write, path_of

__all__ = ["Chart", "ChartPage", "PageTable", "Section", "chart_page", "page", "save", "sections_page", "svg"]


@dataclass(frozen=True)
class Section:
    """A title, a caption, and charts side by side. `details` are texts that a reader may unfold, with their titles."""

    slug: str
    title: str
    caption: str
    charts: tuple[Chart, ...]
    details: tuple[tuple[str, str], ...] = ()


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


# The policy of contents permits the page's own scripts, no other, and no address, whatever the texts of events are.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; {script_policy}style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: #22262e;
       max-width: 56rem; margin: 3rem auto; padding: 0 1.5rem; }}
@media (max-width: 40rem) {{ body {{ margin: 1rem auto; padding: 0 1rem; }} }}
body:has(figure + figure), body:has(.drawing) {{ max-width: 76rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.15rem; margin: 2.5rem 0 .25rem; overflow-wrap: anywhere; }}
p {{ max-width: 44rem; margin: .25rem 0 .75rem; color: #444a54; overflow-wrap: anywhere; }}
.charts {{ display: flex; flex-wrap: wrap; gap: 1rem 2rem; }}
figure {{ margin: 0; max-width: 100%; overflow-x: auto; }}
figure:focus-visible {{ outline: 2px solid #1f6fb2; outline-offset: 2px; }}
details {{ display: inline-block; margin: .5rem 1.5rem 0 0; }} details[open] {{ display: block; }}
code {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .9em; }}
.note {{ font-size: .875rem; }}
summary {{ cursor: pointer; color: #444a54; font-size: .875rem; }}
table {{ border-collapse: collapse; font-size: .875rem; display: block; overflow-x: auto; }}
th, td {{ text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #c4c8cf; white-space: nowrap;
         max-width: 20rem; overflow: hidden; text-overflow: ellipsis; }}
pre {{ font-size: .75rem; line-height: 1.35; overflow-x: auto; }} .warning {{ color: #a8321e; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #e6e9ee; background: #14171c; }} p {{ color: #c9ced6; }} a {{ color: #8ab8e8; }}
  th, td {{ border-color: #3a404a; }} .warning {{ color: #f0907c; }} summary {{ color: #c9ced6; }}
{dark_styles}
}}
</style>
{library}</head>
<body>
<h1>{title}</h1>
<p>{introduction}</p>
{preface}{sections}
{drawing}</body>
</html>
"""

_DRAWING = """
for (const [slug, spec] of Object.entries(%s))
  vegaEmbed("#" + slug, spec, { renderer: "svg", actions: false });
"""

_SECTION = (
    """<section id="{slug}"><h2>{title}</h2><p>{caption}</p><div class="charts">{figures}</div>{details}</section>"""
)

_DETAILS = "<details><summary>{title}</summary><pre>{text}</pre></details>"


@dataclass(frozen=True, repr=False)
class ChartPage:
    """A page of charts. It shows itself in notebooks; `save` writes it as HTML that needs no network.

    `page["slug"]` is a chart, whose `specification()`, `records()` and `svg()` are for charts of one's own.
    """

    title: str
    introduction: str
    sections: tuple[Section, ...]
    preface: PageTable | None = None
    table: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def charts(self) -> tuple[Chart, ...]:
        return tuple(chart for section in self.sections for chart in section.charts)

    def __getitem__(self, slug: str) -> Chart:
        charts = {chart.slug: chart for chart in self.charts}
        if slug not in charts:
            hint = suggestion(str(slug), charts)
            raise InputError("unknown-chart", f"the page has no chart {slug!r}", hint=hint)
        return charts[slug]

    def _ipython_key_completions_(self) -> list[str]:
        return [chart.slug for chart in self.charts]

    def html(self) -> str:
        """The page as HTML. It includes the JavaScript that draws the charts, where there are any to draw."""
        drawn = [chart for chart in self.charts if chart.drawing() is None]
        library, drawing = "", ""
        if drawn:
            from foretell.charts.vega import vega_library

            library, drawing = vega_library(), drawing_script(drawn)
        scripts = [script for script in (library, drawing) if script]
        policy = f"script-src {script_hashes(*scripts)} 'unsafe-eval'; " if scripts else ""
        return _PAGE.format(
            script_policy=policy,
            title=escape(self.title),
            introduction=with_code(self.introduction),
            preface=self._preface(),
            dark_styles=dark_styles(),
            library=_script(library),
            sections="\n".join(map(_section, self.sections)),
            drawing=_script(drawing),
        )

    def _preface(self) -> str:
        warnings = "".join(f'<p class="warning">{escape(warning)}</p>\n' for warning in self.warnings)
        table = f'<pre tabindex="0">{escape(self.table)}</pre>\n' if self.table else ""
        return (self.preface.html() if self.preface is not None else "") + warnings + table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, or leave the file as it was."""
        if not isinstance(path, str | os.PathLike):
            raise bad_argument("path", "the path of a file", path)
        text = self.html()
        with atomic_write(path_of(path)) as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        names = ", ".join(chart.slug for chart in self.charts[:5]) + (", …" if len(self.charts) > 5 else "")
        return f"ChartPage({self.title}: {counted(len(self.charts), 'chart')}{': ' if names else ''}{names})"

    def _repr_html_(self) -> str:
        parts = [(section.title, section.caption, section.charts) for section in self.sections]
        return notebook_html(self.title, " ".join([*self.warnings, self.introduction]), parts)


def page(
    title: str, introduction: str, charts: Sequence[Chart], *, table: str = "", warnings: Sequence[str] = ()
) -> str:
    """The HTML of a page with warnings, tables as text, and charts."""
    return chart_page(title, introduction, charts, table=table, warnings=warnings).html()


def chart_page(
    title: str, introduction: str, charts: Sequence[Chart], *, table: str = "", warnings: Sequence[str] = ()
) -> ChartPage:
    """A page with a section for each chart."""
    sections = tuple(Section(f"{chart.slug}-section", chart.title, chart.caption, (chart,)) for chart in charts)
    return ChartPage(title, introduction, sections, table=table, warnings=tuple(warnings))


def sections_page(title: str, introduction: str, table: PageTable, sections: Iterable[Section]) -> str:
    """The HTML of a page with a table of its sections."""
    return ChartPage(title, introduction, tuple(sections), table).html()


def _script(text: str) -> str:
    return f"<script>{text}</script>\n" if text else ""


def _section(section: Section) -> str:
    figures = "".join(map(_figure, section.charts))
    details = "".join(_DETAILS.format(title=escape(title), text=escape(text)) for title, text in section.details)
    title, caption = escape(section.title), with_code(section.caption)
    return _SECTION.format(slug=section.slug, title=title, caption=caption, figures=figures, details=details)


def _figure(chart: Chart) -> str:
    """The place of a chart, or its drawing. It can be scrolled with the keyboard where it is too wide."""
    drawing = chart.drawing()
    kind = "" if drawing is None else ' class="drawing"'
    figure = f'<figure id="{chart.slug}"{kind} tabindex="0" aria-label="{escape(chart.title)}">{drawing or ""}</figure>'
    # Vega empties the figure before it draws, so that a note is outside.
    return f'<div>{figure}<p class="note">{escape(chart.note)}</p></div>' if chart.note else figure


def drawing_script(charts: Iterable[Chart]) -> str:
    """The JavaScript by which Vega draws each chart into the element whose id is the chart's slug."""
    specifications = {chart.slug: chart.specification() for chart in charts}
    # Escaped, so that no text ends the script element.
    return _DRAWING % json.dumps(specifications).replace("<", "\\u003c")


def script_hashes(*scripts: str) -> str:
    """The sources of a policy of contents that permits these scripts and no other."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def svg(chart: Chart) -> str:
    """A chart with its title."""
    return chart.svg()


def save(folder: Path, name: str, title: str, introduction: str, charts: Sequence[Chart]) -> None:
    """Writes `name`.html with all charts, and `name`-slug.svg for each."""
    folder.mkdir(parents=True, exist_ok=True)
    chart_page(title, introduction, charts).save(folder / f"{name}.html")
    for chart in charts:
        (folder / f"{name}-{chart.slug}.svg").write_text(chart.svg(), encoding="utf-8")
