"""Completion: the keywords that the grammar allows at a place, and the names that may stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lark import Token
from lsprotocol import types

from foretell.check.codes import CODES
from foretell.events.types import ATTRIBUTE_TYPES
from foretell.language.parser import token_parser, without_comments
from foretell.language.printer import name_text
from foretell.language.syntax_hints.rejection import fitting_after, read_tokens
from foretell.language.syntax_hints.vocabulary import STATEMENTS, UNITS
from foretell.lsp.documents import Document
from foretell.lsp.known_names import KnownNames
from foretell.lsp.language_help import EVENT_WORDS, FUNCTIONS, WORDS
from foretell.lsp.outlines import Surroundings, surroundings
from foretell.lsp.words import StatementWords, Word, WordKind

#: Longer statements are completed by names alone: the grammar reads all tokens before the cursor.
_LONGEST = 50_000
_ALLOWANCE = re.compile(r"--\s*check\s*:\s*allow\b[\w\s,-]*$", re.IGNORECASE)
_CASE = re.compile(r"(?:^|\W)CASE$", re.IGNORECASE)
_WRITTEN = {
    "FOR": ("FOR EACH",),
    "AFTER": ("AFTER MATCH",),
    "ORDER": ("ORDER BY",),
    "LATE": ("LATE BY",),
    "TIES": ("TIES SIMULTANEOUS",),
    "IS": ("IS NULL", "IS NOT NULL"),
    "CASE": ("CASE WHEN",),
    "CASE_END": ("END",),
    "AGAIN": ("repeat", "persist", "loop"),
    "UNIT": UNITS,
}
_SMALL = frozenset(["ACCUMULATE", "SELECT", "SEQUENTIAL", "UNLESS", "FAIL", "PUSH", "PARALLEL"])
_NO_WORDS = frozenset(("NAME", "QUOTED", "NUMBER", "STRING", "END", "LATER"))
#: A clause, and the word in it behind which a step of the pattern is named.
_STEPS_AFTER = frozenset((("AFTER", "FIRST"), ("AFTER", "LAST"), ("LOSING", "OF"), ("LOSING", ",")))
_CONDITION_CLAUSES = frozenset(("HAVING", "RETURN", "LET", "LOSS"))


def completions(document: Document, offset: int) -> list[types.CompletionItem]:
    """The items that may be written at a position, in place of the word that is being typed there."""
    typed = _typed_word(document, offset)
    if typed is not None and typed.kind is WordKind.COMMENT:
        return _codes(document.text[typed.start : offset])
    start = offset if typed is None else typed.start
    statement = document.statement_at(start)
    if typed is not None and typed.kind in (WordKind.STRING, WordKind.NUMBER):
        return []
    if statement is None or statement.start >= start:
        return [_keyword(word, "") for word in STATEMENTS]
    place = _Place(document, statement, start, typed)
    items = {item.label: item for item in (*place.names(), *place.keywords())}
    if typed is not None and typed.name in items and _is_only_here(document, typed, items[typed.name]):
        del items[typed.name]
    return list(items.values())


def _is_only_here(document: Document, typed: Word, item: types.CompletionItem) -> bool:
    """Whether a name is known only because it is being typed."""
    if item.kind in (types.CompletionItemKind.Keyword, types.CompletionItemKind.Function):
        return False
    return sum(word.name == typed.name for word in document.words) == 1


def _typed_word(document: Document, offset: int) -> Word | None:
    word = document.word_at(offset)
    if word is None or not word.start < offset <= word.end:
        return None
    return None if word.kind is WordKind.SIGN or (word.kind is WordKind.STRING and _is_closed(word, offset)) else word


def _is_closed(word: Word, offset: int) -> bool:
    return offset == word.end and len(word.text) > 1 and word.text.endswith("'")


def _codes(comment: str) -> list[types.CompletionItem]:
    """The codes of findings, in a comment that allows some."""
    if not _ALLOWANCE.match(comment):
        return []
    kind = types.CompletionItemKind.EnumMember
    known = (code for code in CODES.values() if code.can_be_allowed)
    return [types.CompletionItem(code.name, kind=kind, detail=code.meaning) for code in known]


@dataclass
class _Place:
    """A place in a statement; `start` is where the word that is being typed begins."""

    document: Document
    statement: StatementWords
    start: int
    typed: Word | None

    @cached_property
    def _around(self) -> Surroundings:
        return surroundings(self.statement, self.start)

    def keywords(self) -> Iterator[types.CompletionItem]:
        """The keywords that the grammar allows here."""
        if self._around.word() == "." or (self.typed is not None and self.typed.text[:1] in "$:"):
            return
        in_expression = self.statement.keyword == "CORRELATE" and self._around.clause == "DO"
        for terminal in sorted(_fitting(self.document.text[self.statement.start : self.start]) or ()):
            if terminal not in _WRITTEN and (terminal in _NO_WORDS or not terminal.isalpha()):
                continue
            if terminal not in _WRITTEN and terminal not in WORDS:
                continue
            for written in _WRITTEN.get(terminal, (terminal,)):
                small = terminal in _SMALL or (in_expression and terminal in ("IN", "DO"))
                yield _keyword(written.lower() if small else written, terminal)

    def names(self) -> Iterator[types.CompletionItem]:
        """The names that may stand here."""
        known, around = KnownNames(self.document, self.statement), self._around
        if around.word() == ".":
            yield from _attributes(known, _owner(around.before[:-1]))
        elif self.typed is not None and self.typed.kind is WordKind.PARAMETER:
            yield from self._named(known.columns(), "column of the table", types.CompletionItemKind.Field, ":")
        elif self.typed is not None and self.typed.kind is WordKind.VARIABLE:
            yield from self._named(known.outline.variables, "variable", types.CompletionItemKind.Variable, "$")
        elif self.statement.keyword == "STREAM":
            yield from self._in_stream(known, around)
        else:
            yield from self._in_clause(known, around)

    def _named(
        self, names: Iterable[str], detail: str, kind: types.CompletionItemKind, sign: str
    ) -> Iterator[types.CompletionItem]:
        """Names behind a sign, which some editors count as part of the word and others do not."""
        written = "" if self.typed is None else self.typed.text[1:]
        for name in names:
            if name != written:
                replaced = self.document.positions.range(self.start, self.start + len(written) + 1)
                edit = types.TextEdit(replaced, f"{sign}{name}")
                yield types.CompletionItem(f"{sign}{name}", kind=kind, detail=detail, text_edit=edit)

    def _in_stream(self, known: KnownNames, around: Surroundings) -> Iterator[types.CompletionItem]:
        if around.clause in ("LET", "LOSS") and around.word() not in ("LET", "LOSS"):
            yield from _values(known, steps=False)
        elif around.clause == "" and around.brackets and around.word() not in ("(", ","):
            for kind in ATTRIBUTE_TYPES:
                yield types.CompletionItem(kind.value, kind=types.CompletionItemKind.TypeParameter)
        elif around.word() in ("TIME", "ID", "BY"):
            yield from _attributes(known, "")

    def _in_clause(self, known: KnownNames, around: Surroundings) -> Iterator[types.CompletionItem]:
        clause, word = around.clause, around.word()
        if word == "EACH":
            yield from _items(known.tables(), "table", types.CompletionItemKind.Struct)
        elif clause == "FROM" and word in ("FROM", ","):
            yield from _items(known.streams(), "stream", types.CompletionItemKind.Struct)
        elif clause == "PER" and word in ("PER", ","):
            yield from _attributes(known, "")
        elif around.in_pattern or clause == "DO":
            wanted = known.undefined_first() if clause == "DO" else known.unused_first()
            yield from _items(wanted, "step", types.CompletionItemKind.Event)
        elif around.defines and word in ("DEFINE", ","):
            yield from _items(known.undefined_first(), "step", types.CompletionItemKind.Event)
        elif (clause, word) in _STEPS_AFTER:
            yield from _items(known.outline.steps, "step", types.CompletionItemKind.Event)
        elif self._takes_values(around):
            yield from _values(known, steps=True)

    def _takes_values(self, around: Surroundings) -> bool:
        """Whether a condition or a value stands here; not the name of a column, behind AS."""
        if around.clause == "RETURN" and around.word() == "AS":
            return False
        if around.clause in _CONDITION_CLAUSES or (around.clause == "MATCH" and around.brackets > 0):
            return True
        return around.clause == "DEFINE" and not around.defines


def _owner(before: tuple[Word, ...]) -> str:
    """The step whose attribute follows a dot: `b` of `b.` and of `first(b).`."""
    if before and before[-1].text == ")" and len(before) >= 3:
        return before[-2].name
    return before[-1].name if before else ""


def _attributes(known: KnownNames, step: str) -> Iterator[types.CompletionItem]:
    for name, kind in known.attributes(step).items():
        yield types.CompletionItem(
            name, kind=types.CompletionItemKind.Field, detail=kind, insert_text=name_text(name), sort_text=f"1{name}"
        )


def _values(known: KnownNames, *, steps: bool) -> Iterator[types.CompletionItem]:
    """The items that begin a value: attributes, steps, functions, and words that stand for events."""
    yield from _attributes(known, "")
    if steps:
        yield from _items(known.outline.steps, "step", types.CompletionItemKind.Event)
        for name in known.outline.variables:
            yield types.CompletionItem(f"${name}", kind=types.CompletionItemKind.Variable, detail="variable")
        for name, written in EVENT_WORDS.items():
            yield _function(name, written, WORDS[name.upper()].text)
    for name, (written, meaning) in FUNCTIONS.items():
        yield _function(name, written, meaning)


def _function(name: str, written: str, meaning: str) -> types.CompletionItem:
    kind = types.CompletionItemKind.Function
    return types.CompletionItem(name, kind=kind, detail=written, documentation=meaning, sort_text=f"3{name}")


def _items(names: Iterable[str], detail: str, kind: types.CompletionItemKind) -> list[types.CompletionItem]:
    return [
        types.CompletionItem(name, kind=kind, detail=detail, insert_text=name_text(name), sort_text=f"0{number:04}")
        for number, name in enumerate(names)
    ]


def _keyword(written: str, terminal: str) -> types.CompletionItem:
    meaning = WORDS.get(written.upper()) or WORDS.get(terminal)
    item = types.CompletionItem(written, kind=types.CompletionItemKind.Keyword, sort_text=f"2{written}")
    item.documentation = meaning.text if meaning else None
    return item


def _fitting(before: str) -> frozenset[str] | None:
    """The terminals that fit behind the beginning of a statement; None where that is wrong or very long."""
    if len(before) > _LONGEST:
        return None
    parser = token_parser()
    code = without_comments(before)
    # CASE is a keyword only before WHEN.
    following = "WHEN" if _CASE.search(code.rstrip()[-5:]) else "x"
    tokens = read_tokens(parser, f"{code} {following}")
    if tokens and tokens[-1].start_pos == len(code) + 1:
        tokens.pop()
    if not _reaches(tokens, code):
        return None
    return fitting_after(parser, tokens)


def _reaches(tokens: list[Token], code: str) -> bool:
    """Whether the tokens go to the end of a text; otherwise one of its words was rejected."""
    return (tokens[-1].end_pos if tokens else 0) == len(code.rstrip())
