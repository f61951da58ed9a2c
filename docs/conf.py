"""How Sphinx builds the site: MyST pages, the furo theme."""

from __future__ import annotations

import re
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Foretell"
author = "the Foretell authors"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = installed("foretell")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "Foretell"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# The language has no lexer; blocks that name none are plain text rather than guessed at.
highlight_language = "text"

# Docstrings: the signatures of `docs/api.md` show names and defaults, the texts say what they take.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"undoc-members": False}
add_module_names = False


def _as_rst(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Docstrings have Markdown's backticks and tables; autodoc reads reStructuredText."""
    text = re.sub(r"(?m)(?:^\|.*\|$\n?)+", lambda table: _list_table(table[0]), "\n".join(lines) + "\n")
    text = re.sub(r"(?<!`)`([^`\n]+)`(?![`_])", r"``\1``", text)
    lines[:] = text.split("\n")


def _list_table(table: str) -> str:
    rows = [re.split(r"(?<!\\) \| ", row.strip("| \n")) for row in table.splitlines() if not row.startswith("| ---")]
    width = max(map(len, rows))
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    cells = [f"   {'*' if place == 0 else ' '} - {_cell(cell)}" for row in padded for place, cell in enumerate(row)]
    return "\n".join([".. list-table::", "   :header-rows: 1", "", *cells, "", ""])


def _cell(text: str) -> str:
    return re.sub(r"<code>(.+?)</code>", r"`\1`", text).replace("&#124;", "|")


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", _as_rst)
