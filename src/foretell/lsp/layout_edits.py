"""Layout edits: the change that brings a text into the usual layout."""

from __future__ import annotations

from lsprotocol import types

from foretell.errors import LanguageError
from foretell.language.layout.formatter import format_text
from foretell.language.layout.line_ends import with_line_ends_of
from foretell.lsp.documents import Document


def layout_edits(document: Document) -> list[types.TextEdit]:
    """One edit of all that changes, from the first character that differs to the last; none where the text has errors,
    which the editor shows already."""
    if document.is_too_large:
        return []
    text = document.text
    mark = int(text.startswith("\ufeff"))
    try:
        formatted = text[:mark] + with_line_ends_of(text, format_text(text))
    except LanguageError:
        return []
    if formatted == text:
        return []
    start = _common(text, formatted)
    end = _common(text[start:][::-1], formatted[start:][::-1])
    start -= text[start - 1 : start] == "\r"  # a position between a carriage return and its line feed has no line
    replaced = document.positions.range(start, len(text) - end)
    return [types.TextEdit(replaced, formatted[start : len(formatted) - end])]


def _common(text: str, other: str) -> int:
    """The number of characters with which both texts begin."""
    least = min(len(text), len(other))
    return next((n for n in range(least) if text[n] != other[n]), least)
