"""How Sphinx builds the site: MyST pages, the furo theme."""

from __future__ import annotations

from importlib.metadata import version as installed

project = "Foretell"
author = "the Foretell authors"
copyright = author  # noqa: A001 - Sphinx's name for it
version = release = installed("foretell")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = "Foretell"
# The language has no lexer; blocks that name none are plain text rather than guessed at.
highlight_language = "text"
