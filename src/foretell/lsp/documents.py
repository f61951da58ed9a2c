"""Documents: the texts that an editor has open, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from lsprotocol import types

from foretell.language import tree
from foretell.lsp.analysis import Analysis
from foretell.lsp.mentions import Mention
from foretell.lsp.positions import TextPositions
from foretell.lsp.words import StatementWords, Word, statements_of, word_at, words_of

#: Larger texts get no help: each version of such a text would take longer than the time between two of them.
LARGEST_TEXT = 400_000


@dataclass
class Document:
    """One version of a text. `analysis` is of the latest version that was analysed, which `analysed` names."""

    uri: str
    version: int
    text: str
    encoding: types.PositionEncodingKind | str = "utf-16"
    analysis: Analysis = field(default_factory=Analysis)
    analysed: int | None = None

    @property
    def is_too_large(self) -> bool:
        return len(self.text) > LARGEST_TEXT

    @property
    def is_current(self) -> bool:
        """Whether the analysis is of this version, so that its places are those of the text."""
        return self.analysed == self.version

    @cached_property
    def positions(self) -> TextPositions:
        return TextPositions(self.text, self.encoding)

    @cached_property
    def words(self) -> list[Word]:
        return [] if self.is_too_large else words_of(self.text)

    @cached_property
    def statements(self) -> list[StatementWords]:
        return statements_of(self.words)

    def word_at(self, offset: int) -> Word | None:
        return word_at(self.words, offset)

    def statement_at(self, offset: int) -> StatementWords | None:
        """The statement that a position is in, or that ends before it without a `;`."""
        found = None
        for statement in self.statements:
            if statement.start <= offset:
                found = statement
        if found is not None and offset >= found.end and found.is_ended:
            return None
        return found

    @property
    def mentions(self) -> list[Mention]:
        """The mentions in the statements that parse, with places in this version; none where that is not known yet."""
        return self.analysis.mentions if self.is_current else []

    def mention_at(self, offset: int) -> Mention | None:
        for mention in self.mentions:
            start, end = self.positions.span(mention.place)
            if start <= offset <= end:
                return mention
        return None

    def tree_of(self, name: str) -> tree.Statement | None:
        """The tree of the statement with this name, in the latest version that was analysed."""
        return next((s for s in self.analysis.program.statements if s.name == name), None)

    def with_text(self, version: int, text: str) -> Document:
        """The next version. Until it is analysed, the analysis of this one serves for names and types."""
        return Document(self.uri, version, text, self.encoding, self.analysis, self.analysed)
