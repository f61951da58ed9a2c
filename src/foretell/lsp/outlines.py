"""Outlines: the names in a statement by their place, also in one that is no program yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from foretell.language.layout.placed_tokens import (
    BEFORE_STREAM_CLAUSE,
    CLAUSES,
    STREAM_CLAUSES,
    PlacedToken,
    StatementScan,
)
from foretell.language.layout.source_tokens import SourceToken
from foretell.language.syntax_hints.vocabulary import STATEMENTS
from foretell.lsp.words import StatementWords, Word, WordKind

_SIGNS = {
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ";": "LATER",
    ".": "DOT",
    "@": "AT",
    "!": "BANG",
    "|": "VBAR",
    "&": "AMPERSAND",
    "+": "PLUS",
    "*": "STAR",
    "?": "QMARK",
    ">": "MORETHAN",
}
_QUANTIFIERS = ("PLUS", "STAR", "QMARK", "RBRACE")
_KEYWORDS = frozenset(
    [
        "SUBSCRIBE",
        "STREAM",
        "CORRELATE",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "IS",
        "WHEN",
        "THEN",
        "ELSE",
        "EACH",
        "BY",
        "AS",
        "ABOVE",
        "MATCH",
        "SKIP",
        "TO",
        "PAST",
        "OF",
        "UNLESS",
        "PUSH",
        "FAIL",
        "ACCUMULATE",
        "SELECT",
        "SEQUENTIAL",
        "PARALLEL",
    ]
).union(CLAUSES, STREAM_CLAUSES)
_AGAIN = ("REPEAT", "PERSIST", "LOOP")
#: Behind these stands a name, whatever the word.
_BEFORE_NAMES = frozenset(("DOT", "TIME", "ID", "BY", "STREAM", "SUBSCRIBE", "CORRELATE", "EACH"))


@dataclass
class Outline:
    """The names of a statement. `steps` are those of its pattern or expression, `defined` those that DEFINE has."""

    keyword: str
    streams: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    defined: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Surroundings:
    """Where a position is in a statement: the clause, whether in its pattern, and the words before it."""

    clause: str
    in_pattern: bool
    defines: bool
    brackets: int
    before: tuple[Word, ...]

    def word(self, back: int = 1) -> str:
        """A word before the position, as keywords are written."""
        return self.before[-back].upper if len(self.before) >= back else ""


def outline_of(statement: StatementWords) -> Outline:
    outline = Outline(statement.keyword)
    scan = StatementScan(statement.keyword)
    for word in statement.words:
        before, condition = scan.last, scan.in_condition
        placed = _placed(scan, word)
        _note(outline, word, placed, before, condition)
    return outline


def surroundings(statement: StatementWords, offset: int) -> Surroundings:
    """The surroundings of a position; the words before it are those that end there or earlier."""
    scan = StatementScan(statement.keyword)
    before = [word for word in statement.words if word.end <= offset]
    for word in before:
        _placed(scan, word)
    return Surroundings(
        scan.clause,
        scan.in_pattern,
        scan.clause == "DEFINE" and not scan.in_condition,
        scan.open_brackets,
        tuple(before),
    )


def _placed(scan: StatementScan, word: Word) -> PlacedToken:
    return scan.place(SourceToken(word.text, _terminal(word, scan)))


def _terminal(word: Word, scan: StatementScan) -> str:
    """The terminal of the grammar that a word most likely is."""
    match word.kind:
        case WordKind.NAME:
            return _keyword(word.text.upper(), scan)
        case WordKind.SIGN if word.text == "<":
            return "LESSTHAN" if scan.in_pattern and scan.last in _QUANTIFIERS else "COMPARISON"
        case WordKind.SIGN:
            return _SIGNS.get(word.text, "OTHER")
    return word.kind.name


def _keyword(upper: str, scan: StatementScan) -> str:
    """The terminal of a word that may be a keyword, or a name where none of its meanings fits."""
    if scan.last in _BEFORE_NAMES or upper not in _KEYWORDS:
        return "AGAIN" if upper in _AGAIN and scan.clause == "DO" else "NAME"
    if upper in STATEMENTS:
        return "NAME" if scan.last else upper
    if upper in STREAM_CLAUSES and upper != "NULL":
        begins = scan.statement == "STREAM" and scan.open_brackets == 0 and scan.last in BEFORE_STREAM_CLAUSE
        return upper if begins else "NAME"
    return upper


def _note(outline: Outline, word: Word, placed: PlacedToken, before: str, in_condition: bool) -> None:
    """Adds a word to the outline, by its place."""
    if word.kind is WordKind.VARIABLE:
        _add(outline.variables, word.text[1:])
    elif word.kind is WordKind.PARAMETER:
        _add(outline.parameters, word.text[1:])
    elif word.name and placed.source.type in ("NAME", "QUOTED"):
        if placed.clause == "FROM":
            _add(outline.streams, word.name)
        elif placed.clause == "FOR":
            _add(outline.tables, word.name)
        elif placed.in_pattern or (placed.clause == "DO" and before != "DOT"):
            _add(outline.steps, word.name)
        elif placed.clause == "DEFINE" and not in_condition:
            _add(outline.defined, word.name)


def _add(names: list[str], name: str) -> None:
    if name and name not in names:
        names.append(name)
