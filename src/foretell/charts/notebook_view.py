"""Charts in a notebook: a fragment of HTML with SVG, which needs no script and follows the theme of the notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import count

from foretell.charts.chart import Chart
from foretell.charts.theme import PAPER, dark_rules

#: Charts that a notebook shows; a page has all.
MOST_CHARTS = 12

#: The dark themes of JupyterLab, Visual Studio Code and Colab.
_DARK_HOSTS = ':is(body[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"])'

_CODE = re.compile(r"`([^`]+)`")

#: A title, a caption, and the charts below them.
Part = tuple[str, str, Sequence[Chart]]


def notebook_html(title: str, introduction: str, parts: Sequence[Part], most: int = MOST_CHARTS) -> str:
    """A fragment with the first charts; their titles are within them."""
    left = count()
    total = sum(len(charts) for *_, charts in parts)
    heading = f"<p><b>{escape(title)}</b></p>" if title else ""
    heading += f"<p>{with_code(introduction)}</p>" if introduction else ""
    body = ""
    for name, caption, charts in parts:
        shown = [chart for chart in charts if next(left) < most]
        if shown or not charts:
            body += _part(name, caption, shown)
    more = f"<p>{total - most:,} more charts: .save('page.html') writes a page of all.</p>" if total > most else ""
    return f'<div class="foretell-charts"><style>{_styles()}</style>{heading}{body}{more}</div>'


def with_code(text: str) -> str:
    """A text as HTML; what is between backticks is code.

    >>> with_code("a `;` < b")
    'a <code>;</code> &lt; b'
    """
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _part(name: str, caption: str, charts: Sequence[Chart]) -> str:
    """A title is left out where it is that of the chart."""
    drawn = "".join(f"<div>{_figure(chart)}</div>" for chart in charts)
    heading = f"<p><b>{escape(name)}</b></p>" if [chart.title for chart in charts] != [name] else ""
    text = f"<p>{with_code(caption)}</p>" if caption else ""
    figures = f'<div style="display: flex; flex-wrap: wrap; gap: 1em; overflow-x: auto">{drawn}</div>' if drawn else ""
    return f"{heading}{text}{figures}"


def _figure(chart: Chart) -> str:
    title = "" if chart.drawing() is None else f"<div><b>{escape(chart.title)}</b></div>"
    figure = f"{title}{chart.bare_svg()}"
    return f"{figure}<div><small>{escape(chart.note)}</small></div>" if chart.note else figure


def _styles() -> str:
    scope = f"{_DARK_HOSTS} .foretell-charts"
    return "\n".join(
        [
            f".foretell-charts svg {{ background: {PAPER}; }}",
            f"{scope} svg {{ background: none; }}",
            f"{scope} svg.marks {{ background: none !important; }}",
            *dark_rules(f"{scope} svg"),
        ]
    )
