"""How Sphinx builds the site: MyST pages, the furo theme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from pygments.lexer import RegexLexer
from pygments.token import Comment, Generic, Keyword, Number, Operator, String, Text, _TokenType

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
# Blocks that name no language are statements, commands with their output, or plain text.
highlight_language = "foretell"

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


class StatementLexer(RegexLexer):  # type: ignore[misc]
    """Statements, whose keywords these pages write in capitals, and commands with their output; all else is plain."""

    tokens = {  # noqa: RUF012 - as Pygments wants it
        "root": [
            (r"--.*", Comment.Single),
            (r"'(?:[^']|'')*'", String),
            (r"\b[A-Z]{2,}\b", Keyword),
            (r"\b\d+(?:\.\d+)?\b", Number),
            (r"[;,&|!@]|<;|<,>", Operator),
            (r"[\w\s]+?|.", Text),
        ]
    }

    def get_tokens_unprocessed(
        self, text: str, stack: tuple[str, ...] = ("root",)
    ) -> Iterator[tuple[int, _TokenType, str]]:
        if text.startswith("$ "):
            place = 0
            for line in text.splitlines(keepends=True):
                kind = Generic.Prompt if line.startswith("$ ") else Generic.Output
                yield place, kind, line
                place += len(line)
        elif re.search(r"^(?:SUBSCRIBE|STREAM|CORRELATE) \w", text, re.MULTILINE):
            yield from super().get_tokens_unprocessed(text, stack)
        else:
            yield 0, Text, text


def setup(app: Sphinx) -> None:
    app.add_lexer("foretell", StatementLexer)
    app.connect("autodoc-process-docstring", _as_rst)
