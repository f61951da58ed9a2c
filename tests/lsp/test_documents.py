"""Help at every position of many texts: it never fails, and completion proposes what stands there."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.language.parser import token_parser, without_comments
from foretell.language.syntax_hints.rejection import read_tokens
from foretell.lsp.analysis import analyse
from foretell.lsp.completion import completions
from foretell.lsp.documents import Document
from foretell.lsp.hover import hover
from foretell.lsp.layout_edits import layout_edits
from foretell.lsp.mentions import MentionRole
from foretell.lsp.navigation import definition, highlights, references, renamed_range
from foretell.lsp.positions import TextPositions
from foretell.lsp.symbols import symbols
from tests.case_files import Case, cases

_VALID = [case for case in cases() if case.error is None]
#: Terminals whose completion is longer, or is not written as it is named.
_LONGER = {
    "FOR": "FOR EACH",
    "AFTER": "AFTER MATCH",
    "ORDER": "ORDER BY",
    "LATE": "LATE BY",
    "TIES": "TIES SIMULTANEOUS",
}
_LONGER |= {"IS": "IS NULL", "CASE": "CASE WHEN", "CASE_END": "END"}
_NO_KEYWORDS = ("NAME", "QUOTED", "STRING", "NUMBER", "VARIABLE", "PARAMETER", "UNIT")
_WORDS = [
    "SUBSCRIBE",
    "m",
    "FROM",
    "s",
    "MATCH",
    "a",
    ";",
    ",",
    "{",
    "}",
    "(",
    ")",
    ".",
    "'",
    '"',
    "$x",
    ":y",
    "--",
    "🦆",
    "DEFINE",
    "AS",
    "STREAM",
    "5",
    "min",
    "\r",
    "\n",
    "\u2028",
]
_PROPOSED = (MentionRole.STEP, MentionRole.STREAM, MentionRole.ATTRIBUTE)


def _document(text: str) -> Document:
    document = Document("file:///a.ftl", 1, text)
    document.analysis, document.analysed = analyse(text), 1
    return document


def _ask_everything(text: str, step: int) -> None:
    document = _document(text)
    symbols(document)
    layout_edits(document)
    for offset in range(0, len(text) + 1, step):
        position = document.positions.position(offset)
        assert document.positions.offset(position) <= offset  # equal, but within a line end
        completions(document, offset)
        hover(document, offset)
        for location in (*definition(document, offset), *references(document, offset, with_definition=True)):
            assert location.range.start != location.range.end
        highlights(document, offset)
        renamed_range(document, offset)


def test_no_position_of_a_whole_or_broken_text_fails() -> None:
    chance = random.Random(5)
    for case in chance.sample(_VALID, 60):
        _ask_everything(case.text, 5)
        _ask_everything(case.text[: chance.randrange(1, len(case.text))], 5)
        _ask_everything("".join(chance.sample(case.text, len(case.text))), 5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(_WORDS), max_size=40))
def test_no_position_of_any_text_fails(words: list[str]) -> None:
    _ask_everything(" ".join(words), 3)


def _missing_keywords(case: Case) -> Iterator[str]:
    document = _document(case.text)
    for token in read_tokens(token_parser(), without_comments(case.text)):
        if token.isalpha() and token.type not in _NO_KEYWORDS:
            labels = {item.label.upper() for item in completions(document, token.start_pos or 0)}
            if _LONGER.get(token.type, token.upper()) not in labels:
                yield f"{token} at {token.line}:{token.column}"


def _missing_names(case: Case) -> Iterator[str]:
    document = _document(case.text)
    for mention in document.mentions:
        if mention.role in _PROPOSED and not (mention.defines and mention.role is not MentionRole.STEP):
            start, _ = document.positions.span(mention.place)
            if mention.name not in {item.label for item in completions(document, start)}:
                yield f"{mention.name} at {mention.place.line}:{mention.place.column}"


@pytest.mark.parametrize("part", range(4))
def test_completion_proposes_the_keywords_and_names_of_the_cases(part: int) -> None:
    for case in _VALID[part::8]:
        assert [*_missing_keywords(case), *_missing_names(case)] == [], case.text


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet="a\n\r\u2028\x0cé語🦆\ufeff", max_size=30), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_positions_are_found_again(text: str, encoding: str) -> None:
    positions = TextPositions(text, encoding)
    for offset in range(len(text) + 1):
        found = positions.position(offset)
        if text[offset - 1 : offset + 1] != "\r\n":
            assert positions.offset(found) == offset
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert found.line < len(lines)
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
        assert found.character <= len(lines[found.line].encode(codec)) // width + 1
