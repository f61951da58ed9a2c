"""Symbols: the statements of a text with their steps or attributes, for an editor's outline."""

from __future__ import annotations

from bisect import bisect_right

from lsprotocol import types

from foretell.lsp.documents import Document
from foretell.lsp.mentions import MentionRole
from foretell.lsp.words import StatementWords

_KINDS = {
    "STREAM": types.SymbolKind.Struct,
    "SUBSCRIBE": types.SymbolKind.Class,
    "CORRELATE": types.SymbolKind.Module,
}
_INNER = {
    MentionRole.STEP: types.SymbolKind.Event,
    MentionRole.ATTRIBUTE: types.SymbolKind.Field,
    MentionRole.COLUMN: types.SymbolKind.Property,
}


def symbols(document: Document) -> list[types.DocumentSymbol]:
    """A symbol for each statement that has a name, also where it has errors; those without errors have parts."""
    starts = [statement.start for statement in document.statements]
    parts: dict[int, list[types.DocumentSymbol]] = {}
    for mention in document.mentions:
        if mention.defines and mention.role in _INNER:
            start, end = document.positions.span(mention.place)
            shown = document.positions.range(start, end)
            symbol = types.DocumentSymbol(mention.name, _INNER[mention.role], shown, shown)
            parts.setdefault(bisect_right(starts, start) - 1, []).append(symbol)
    found = [_symbol(document, s, parts.get(number, [])) for number, s in enumerate(document.statements)]
    return [symbol for symbol in found if symbol is not None]


def _symbol(
    document: Document, statement: StatementWords, parts: list[types.DocumentSymbol]
) -> types.DocumentSymbol | None:
    name = statement.name
    if name is None:
        return None
    positions = document.positions
    return types.DocumentSymbol(
        name=name.name or name.text,
        kind=_KINDS[statement.keyword],
        range=positions.range(statement.start, statement.end),
        selection_range=positions.range(name.start, name.end),
        detail=statement.keyword,
        children=parts,
    )
