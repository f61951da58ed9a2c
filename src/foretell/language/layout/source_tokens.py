"""The tokens of a program with its comments and line ends, divided into statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lark import Token

from foretell.language.rules.tokens import QUOTED_OR_COMMENT


@dataclass
class SourceToken:
    """A token of the grammar, with the comments before it on lines of their own and the one that ends its line.

    `lines_before` counts the line ends between this token, or the first of its comments, and what comes before.
    """

    text: str
    type: str
    lines_before: int = 0
    comments: list[str] = field(default_factory=list)
    comment: str = ""
    #: Whether a line end stands directly before the token, behind its comments.
    starts_line: bool = False


@dataclass
class SourceStatement:
    tokens: list[SourceToken]


@dataclass
class SourceText:
    """The statements of a text, and the comments after the last of them; `gap` counts the line ends before those."""

    statements: list[SourceStatement]
    comments: list[str]
    gap: int


def source_text(text: str, tokens: Sequence[Token]) -> SourceText:
    """Divides the tokens of a valid text into statements; every statement ends with its `;`."""
    read = _SourceReader(text)
    for part in _parts(text, tokens):
        read.add(part)
    if read.tokens and read.tokens[-1].type != "END":
        read.add_end()
    statements: list[SourceStatement] = []
    for token in read.tokens:
        if not statements or statements[-1].tokens[-1].type == "END":
            statements.append(SourceStatement([]))
        statements[-1].tokens.append(token)
    return SourceText(statements, read.waiting, read.waiting_gap)


@dataclass(frozen=True)
class _SourcePart:
    """A token, or a comment, which has no type."""

    start: int
    end: int
    type: str


def _parts(text: str, tokens: Sequence[Token]) -> Iterator[_SourcePart]:
    parts = [_SourcePart(token.start_pos or 0, token.end_pos or 0, token.type) for token in tokens]
    comments = (found for found in QUOTED_OR_COMMENT.finditer(text) if found[1] is None)
    parts += [_SourcePart(found.start(), found.end(), "") for found in comments]
    return iter(sorted(parts, key=lambda part: part.start))


class _SourceReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self.tokens: list[SourceToken] = []
        self.waiting: list[str] = []
        self.waiting_gap = 0

    def add(self, part: _SourcePart) -> None:
        lines = self._text.count("\n", self._end, part.start)
        text = self._text[part.start : part.end]
        self._end = part.end
        if part.type:
            gap = self.waiting_gap if self.waiting else lines
            if self.waiting and lines > 1:
                self.waiting.append("")
            self.tokens.append(SourceToken(text, part.type, gap, self.waiting, starts_line=lines > 0))
            self.waiting, self.waiting_gap = [], 0
        elif lines == 0 and self.tokens and not self.waiting:
            self.tokens[-1].comment = text.rstrip()
        else:
            self._wait(text.rstrip(), lines)

    def _wait(self, comment: str, lines: int) -> None:
        """A comment on a line of its own belongs to the token after it. One blank line between comments is kept."""
        if not self.waiting:
            self.waiting_gap = lines
        elif lines > 1:
            self.waiting.append("")
        self.waiting.append(comment)

    def add_end(self) -> None:
        """The `;` after the last statement, which may be left out; before a comment that ends its line."""
        last = self.tokens[-1]
        self.tokens.append(SourceToken(";", "END", comment=last.comment))
        last.comment = ""
