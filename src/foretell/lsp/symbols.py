"""Symbols: the statements of a text with their steps or attributes, for an editor's outline."""

from __future__ import annotations

from lsprotocol import types

from foretell.lsp.documents import Document
from foretell.lsp.mentions import Mention, Role
from foretell.lsp.words import StatementWords

_KINDS = {
    "STREAM": types.SymbolKind.Struct,
    "SUBSCRIBE": types.SymbolKind.Class,
    "CORRELATE": types.SymbolKind.Module,
}
_INNER = {Role.STEP: types.SymbolKind.Event, Role.ATTRIBUTE: types.SymbolKind.Field, Role.COLUMN: types.SymbolKind.Property}


def symbols(document: Document) -> list[types.DocumentSymbol]:
    """A symbol for each statement that has a name, also where it has errors; those without errors have parts."""
    parts: dict[str, list[Mention]] = {}
    for mention in document.mentions:
        if mention.defines and mention.role in _INNER:
            parts.setdefault(mention.statement, []).append(mention)
    return [found for s in document.statements if (found := _symbol(document, s, parts)) is not None]


def _symbol(
    document: Document, statement: StatementWords, parts: dict[str, list[Mention]]
) -> types.DocumentSymbol | None:
    name = statement.name
    if name is None:
        return None
    positions = document.positions
    children = [
        types.DocumentSymbol(part.name, _INNER[part.role], shown, shown)
        for part in parts.get(name.name, ())
        if statement.start <= positions.span(part.place)[0] < statement.end
        for shown in [positions.range(*positions.span(part.place))]
    ]
    return types.DocumentSymbol(
        name=name.name or name.text,
        kind=_KINDS[statement.keyword],
        range=positions.range(statement.start, statement.end),
        selection_range=positions.range(name.start, name.end),
        detail=statement.keyword,
        children=children,
    )
