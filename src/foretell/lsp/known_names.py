"""Known names: those that a statement may use, from the statement itself and from those around it."""

from __future__ import annotations

from functools import cached_property

from foretell.events.types import Type
from foretell.language import tree
from foretell.lsp.documents import Document
from foretell.lsp.mentions import MentionRole, mentions_of
from foretell.lsp.outlines import Outline, outline_of
from foretell.lsp.words import StatementWords

_ID = "id"


class KnownNames:
    """The names that one statement of a document may use."""

    def __init__(self, document: Document, statement: StatementWords) -> None:
        self._document = document
        self.outline = outline_of(statement)
        name = statement.name
        self._own = "" if name is None else name.name

    @cached_property
    def _others(self) -> list[Outline]:
        return [outline_of(statement) for statement in self._document.statements]

    def streams(self) -> list[str]:
        """Streams and statements, the declared first; not the statement itself."""
        declared = [s.name.name for s in self._document.statements if s.name is not None]
        read = [name for outline in self._others for name in outline.streams]
        return [name for name in dict.fromkeys((*declared, *read)) if name != self._own]

    def tables(self) -> list[str]:
        return list(dict.fromkeys(name for outline in self._others for name in outline.tables))

    def columns(self) -> list[str]:
        """The columns of the statement's table that statements name; every table has ids."""
        same = [outline for outline in self._others if set(outline.tables) & set(self.outline.tables)]
        return list(dict.fromkeys((*(name for outline in same for name in outline.parameters), _ID)))

    def unused_first(self) -> list[str]:
        """Steps for a pattern: those that DEFINE has and the pattern does not, and then the others."""
        outline = self.outline
        return sorted(dict.fromkeys((*outline.defined, *outline.steps)), key=lambda name: name in outline.steps)

    def undefined_first(self) -> list[str]:
        """Steps for DEFINE: those that it does not have yet, and then the others."""
        outline = self.outline
        return sorted(dict.fromkeys((*outline.steps, *outline.defined)), key=lambda name: name in outline.defined)

    def attributes(self, step: str) -> dict[str, str]:
        """The attributes of an event with their types. Where there are no declarations, those that statements name.

        All streams of a FROM have attributes in common, so those of a step are those of the statement.
        """
        streams = [self._own] if self.outline.keyword == "STREAM" else self.outline.streams
        found: dict[str, str] = {}
        for stream in streams:
            schema = self._document.analysis.streams.get(stream)
            if schema is not None:
                found |= {str(name): _type_text(kind) for name, kind in schema.attributes.items()}
            if schema is None or schema.open:
                found = {**dict.fromkeys(self._named_attributes(stream), ""), **found}
        if step and self.outline.keyword == "SUBSCRIBE":
            found.setdefault("stream", Type.STRING.value)
        return found

    def _named_attributes(self, stream: str) -> list[str]:
        """The attributes that the statements on a stream name."""
        readers = [
            statement
            for statement in self._document.analysis.program.statements
            if isinstance(statement, tree.Subscription | tree.Correlator) and stream in statement.streams
        ]
        return [mention.name for mention in mentions_of(readers) if mention.role is MentionRole.ATTRIBUTE]


def _type_text(kind: Type) -> str:
    return "" if kind is Type.UNKNOWN else kind.value
