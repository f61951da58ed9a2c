"""The formatter keeps the tree and the comments, and changes nothing that it has written."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretell.errors import LanguageError
from foretell.language import tree
from foretell.language.layout.formatter import format_text
from foretell.language.layout.lines import WIDTH
from foretell.language.parser import parse, token_parser, without_comments
from foretell.language.printer import program_text
from foretell.language.rules.tokens import QUOTED_OR_COMMENT
from foretell.language.syntax_hints.rejection import read_tokens
from tests.case_files import cases
from tests.language import strategies

ROOT = Path(__file__).parents[2]
EXAMPLES = [*ROOT.glob("examples/**/*.ftl"), *ROOT.glob("src/**/*.ftl")]
thorough = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def _comments(text: str) -> list[str]:
    return [found[0].rstrip() for found in QUOTED_OR_COMMENT.finditer(text) if found[1] is None]


def _require_kept(text: str) -> str:
    formatted = format_text(text)
    assert parse(formatted) == parse(text)
    assert _comments(formatted) == _comments(text)
    assert format_text(formatted) == formatted
    assert formatted == "" or formatted.endswith("\n")
    assert not any(line.endswith((" ", "\t")) for line in formatted.split("\n") if not {"'", '"'} & {*line})
    return formatted


def _disordered(text: str, seed: int) -> str:
    """The text with other blanks, line ends, comments and cases of keywords."""
    chance = random.Random(seed)
    parts: list[str] = []
    for token in read_tokens(token_parser(), text):
        word = str(token)
        if token.type.isupper() and word.isalpha() and token.type not in ("NAME", "UNIT") and chance.random() < 0.3:
            word = word.swapcase()
        blank = chance.choice([" ", "  ", "\n", "\r\n", "\n\n\n", "\t", " -- one\n", "\n-- two\n", "\n\n-- three\n\n"])
        parts += [word, blank if chance.random() < 0.4 else " "]
    return "".join(parts)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_have_the_usual_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text) == text


def test_the_example_of_the_manual() -> None:
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    before, after = re.findall(r"```\n(.*?)```", text.split("## `foretell format")[1], re.DOTALL)[:2]
    assert format_text(before) == after


def test_every_text_keeps_its_tree_and_its_comments() -> None:
    @thorough
    @given(strategies.programs, st.integers(0, 2**32))
    def kept(program: tree.Program, seed: int) -> None:
        text = program_text(program)
        formatted = _require_kept(text)
        _require_kept(_disordered(text, seed))
        assert _comments(formatted) == []

    kept()


@pytest.mark.parametrize("number", range(6))
def test_the_cases_keep_their_trees_and_comments(number: int) -> None:
    for case in cases()[number::6]:
        if case.error is None:
            _require_kept(case.text)
            _require_kept(_disordered(without_comments(case.text), number))


def test_long_lines_break_where_they_can() -> None:
    values = ", ".join(f"value_{n:02} INT" for n in range(20))
    condition = " AND ".join(f"value_{n:02} > {n}" for n in range(20))
    columns = ", ".join(f"a.value_{n:02} AS v{n}" for n in range(20))
    pattern = " ; ".join(f"step_{n:02}" for n in range(30))
    text = (
        f"STREAM s ({values}, t INT) TIME t; SUBSCRIBE m FROM s MATCH a , b ; {pattern} DEFINE a AS {condition}, b AS "
        f"NOT ({condition}) HAVING a.value_01 > 5 RETURN {columns};"
    )
    formatted = _require_kept(text)
    assert max(map(len, formatted.splitlines())) <= WIDTH


def test_comments_stay_where_they_are() -> None:
    text = """\
-- of the file

-- of the statement
SUBSCRIBE m FROM s  -- behind the stream
-- before the pattern
MATCH  a ,  -- the first
       -- before the second
       b               -- the second
DEFINE a AS x > 1      -- check: allow trivial
           AND y < 3,  -- both
       b AS x < 1;     -- the end

-- of nothing
"""
    assert format_text(text) == text


def test_a_wrong_text_is_refused_with_its_error() -> None:
    with pytest.raises(LanguageError, match="expected a stream"):
        format_text("SUBSCRIBE m FROM MATCH a")


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff", "-- only this"])
def test_texts_without_statements(text: str) -> None:
    assert format_text(text) == ("-- only this\n" if "only" in text else "")


def test_a_large_text_is_formatted_in_time_in_proportion_to_its_size() -> None:
    one_line = "SUBSCRIBE m FROM s MATCH a DEFINE a AS x IN (" + ", ".join(map(str, range(5_000))) + ");"
    assert len(format_text(one_line).splitlines()) > 100
