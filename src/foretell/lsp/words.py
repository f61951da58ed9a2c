"""The words of a text, whether or not it is a program: names, keywords, numbers, signs, strings and comments.

The grammar's own tokens end at the first mistake, and a text that is being typed nearly always has one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from foretell.language.syntax_hints.vocabulary import STATEMENTS


class WordKind(Enum):
    COMMENT = "comment"
    STRING = "string"
    QUOTED = "quoted"
    VARIABLE = "variable"
    PARAMETER = "parameter"
    NUMBER = "number"
    NAME = "name"
    SIGN = "sign"


#: As in the grammar, but that a quote without its end ends with the line.
_WORD = re.compile(
    r"""(?P<comment>--[^\n]*)
    |(?P<string>'(?:[^']|'')*'|'[^\n]*)
    |(?P<quoted>"(?:[^"]|"")*"|"[^\n]*)
    |(?P<variable>\$\w*)
    |(?P<parameter>:\w*)
    |(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign><=|>=|<>|!=|\S)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Word:
    kind: WordKind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def upper(self) -> str:
        """The word as keywords are written; a string or a quoted name is none."""
        return self.text.upper() if self.kind in (WordKind.NAME, WordKind.SIGN) else ""

    @property
    def name(self) -> str:
        """The name that it is, without its quotes; empty where it is none."""
        if self.kind is WordKind.QUOTED:
            return self.text.removeprefix('"').removesuffix('"').replace('""', '"')
        return self.text if self.kind is WordKind.NAME else ""


def words_of(text: str) -> list[Word]:
    """All words of a text, comments too."""
    found = _WORD.finditer(text, int(text.startswith("\ufeff")))
    return [Word(WordKind(match.lastgroup), match[0], match.start()) for match in found]


@dataclass(frozen=True)
class StatementWords:
    """The words of a statement, without comments, its `;` included."""

    words: tuple[Word, ...]

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def end(self) -> int:
        return self.words[-1].end

    @property
    def keyword(self) -> str:
        """SUBSCRIBE, STREAM or CORRELATE; empty where it begins with something else."""
        return self.words[0].upper if self.words[0].upper in STATEMENTS else ""

    @property
    def name(self) -> Word | None:
        second = self.words[1] if len(self.words) > 1 else None
        return second if self.keyword and second is not None and second.name else None

    @property
    def is_ended(self) -> bool:
        return self.words[-1].text == ";"


def statements_of(words: Sequence[Word]) -> list[StatementWords]:
    """The words by statement: as in the grammar, `;` ends one where nothing or another statement follows."""
    statements: list[StatementWords] = []
    current: list[Word] = []
    code = [word for word in words if word.kind is not WordKind.COMMENT]
    for number, word in enumerate(code):
        current.append(word)
        if word.text == ";" and _begins_statement(code[number + 1 : number + 3]):
            statements.append(StatementWords(tuple(current)))
            current = []
    if current:
        statements.append(StatementWords(tuple(current)))
    return statements


def _begins_statement(following: Sequence[Word]) -> bool:
    if not following:
        return True
    return following[0].upper in STATEMENTS and (len(following) == 1 or bool(following[1].name))


def word_at(words: Sequence[Word], offset: int) -> Word | None:
    """The word that a position is in, or behind whose end it is."""
    number = bisect_right(words, offset, key=lambda word: word.start) - 1
    if number < 0:
        return None
    word = words[number]
    if offset == word.start and number and words[number - 1].end == offset and word.kind is WordKind.SIGN:
        before = words[number - 1]
        return before if before.kind is not WordKind.SIGN else word
    return word if offset <= word.end else None
