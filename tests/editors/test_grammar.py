"""The TextMate grammar knows every keyword of the language and every function."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from lark import Token

from foretell.events.types import ATTRIBUTE_TYPES
from foretell.language.functions import AGGREGATES, FUNCTIONS
from foretell.language.parser import parse, token_parser, without_comments
from foretell.language.syntax_hints.rejection import read_tokens
from foretell.lsp.language_help import EVENT_WORDS, PATTERN_SIGNS, WORDS, whole_example
from foretell.lsp.language_help import FUNCTIONS as FUNCTION_HELP
from tests.case_files import cases

ROOT = Path(__file__).parents[2]
GRAMMAR = ROOT / "editors/foretell.tmLanguage.json"
REPOSITORY = json.loads(GRAMMAR.read_text(encoding="utf-8"))["repository"]
EXAMPLES = sorted([*ROOT.glob("examples/**/*.ftl"), *ROOT.glob("src/**/*.ftl")])
_AGAIN = ("REPEAT", "PERSIST", "LOOP")
_UNITS = [
    "us",
    "microsecond",
    "microseconds",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
    "d",
    "day",
    "days",
    "week",
    "weeks",
]


def _keywords() -> list[str]:
    """The keywords of the grammar: its texts in which the case of letters does not count, and two patterns."""
    text = files("foretell.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return sorted({*re.findall(r'"([A-Z]+)"i', text), *_AGAIN, "CASE"})


def _matches(part: str, text: str) -> bool:
    """Whether a part of the grammar matches the beginning of a text. Python knows all that these expressions use."""
    return re.match(REPOSITORY[part]["match"], text) is not None


def test_the_keywords_are_those_of_the_grammar() -> None:
    assert len(_keywords()) > 60
    assert {"SUBSCRIBE", "UNLESS", "SIMULTANEOUS", "BETWEEN"} <= {*_keywords()}


@pytest.mark.parametrize("keyword", _keywords())
def test_every_keyword_is_highlighted(keyword: str) -> None:
    behind = {"PUSH": "('x')", "IN": " (1, 2)", "TIMESTAMP": " '2026-01-01'"}.get(keyword, " {a}")
    parts = ("construction", "keyword", "condition", "constant", "type")
    for written in (keyword, keyword.lower()):
        assert any(_matches(part, written + behind) for part in parts)


def test_every_function_type_and_unit_is_highlighted() -> None:
    for function in FUNCTIONS:
        assert _matches("function", f"{function}(x)")
        assert not _matches("function", f"{function} = 1")
    for word in EVENT_WORDS:
        assert _matches("event", {"prev": "prev.x", "duration": "duration"}.get(word, f"{word}(a)"))
    for kind in ATTRIBUTE_TYPES:
        assert _matches("type", kind.value)
    for unit in _UNITS:
        assert _matches("duration", f"1.5 {unit} ")
        parse(f"SUBSCRIBE m FROM s MATCH a WITHIN 1.5 {unit}")


def test_no_part_of_the_grammar_takes_names_for_keywords() -> None:
    for name in ("streams", "fail", "t", "count", "first_one", "order_id", "duration_s", "in_time", "match2"):
        assert not any(
            _matches(part, f"{name} = 1") for part in ("keyword", "condition", "constant", "event", "construction")
        )


def test_help_covers_the_language() -> None:
    assert {*_keywords()} - {*WORDS} == set()
    assert {*FUNCTION_HELP} == {*FUNCTIONS}
    assert {*AGGREGATES} <= {*EVENT_WORDS}
    for kind in ATTRIBUTE_TYPES:
        assert kind.value in WORDS


@pytest.mark.parametrize("word", [*WORDS, *PATTERN_SIGNS])
def test_examples_of_the_help_parse_and_show_their_word(word: str) -> None:
    shown = WORDS.get(word) or PATTERN_SIGNS[word]
    parse(whole_example(shown.example))
    if word in WORDS:
        assert re.search(rf"\b{word}\b", f"{shown.example} {shown.text}", re.IGNORECASE)
    else:
        assert word in shown.example
    assert shown.text.count(". ") <= 2


# ── with VS Code's library ──


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with which VS Code reads grammars, from npm. Where there is none, tests are skipped, not in CI."""
    folder = tmp_path_factory.mktemp("textmate")
    npm = shutil.which("npm")
    why = "there is no npm to install vscode-textmate and vscode-oniguruma with (apt-get install npm)"
    if npm is not None:
        (folder / "package.json").write_text("{}")
        command = [npm, "install", "--no-audit", "--no-fund", "vscode-textmate@9", "vscode-oniguruma@2"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode == 0:
            return folder
        why = f"npm cannot install vscode-textmate and vscode-oniguruma: {done.stderr[-300:]}"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def _tokenized(modules: Path, paths: list[Path]) -> list[list[list[Any]]]:
    command = ["node", str(Path(__file__).with_name("tokens.mjs")), str(modules), str(GRAMMAR), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _scopes(lines: list[list[Any]], line: int, column: int) -> str:
    """The scopes of a character; lines count from 0, columns in UTF-16."""
    return next((" ".join(scopes) for start, end, scopes in lines[line] if start <= column < end), "")


_SCOPES = {
    "STRING": "string.",
    "NUMBER": "constant.numeric",
    "UNIT": "keyword.other.unit",
    "VARIABLE": "variable.",
    "PARAMETER": "variable.",
    "QUOTED": "variable.other.quoted",
}
_WORD_SCOPES = ("keyword.", "support.", "constant.language", "entity.")


def _wrong(text: str, lines: list[list[Any]]) -> Iterator[str]:
    for number, token in enumerate(tokens := read_tokens(token_parser(), without_comments(text))):
        before = text[: token.start_pos]
        line, start = before.count("\n"), before.rfind("\n") + 1
        scopes = _scopes(lines, line, len(text[start : token.start_pos].encode("utf-16-le")) // 2)
        expected = _SCOPES.get(token.type)
        if expected is None and token.isalpha() and token.type != "NAME":
            expected = next((scope for scope in _WORD_SCOPES if scope in scopes), "a keyword")
        if (expected is not None and expected not in scopes) or (
            token.type == "NAME" and _is_coloured(token, tokens, number, scopes)
        ):
            yield f"{line + 1}: {token!r} ({token.type}) has {scopes!r}, not {expected!r}"


def _is_coloured(token: Token, tokens: list[Token], number: int, scopes: str) -> bool:
    """Whether a name looks like a keyword although it is none: not a function, a type, or a word of the language."""
    follows = tokens[number + 1].type if number + 1 < len(tokens) else ""
    plain = token.upper() not in (*WORDS, *(name.upper() for name in FUNCTIONS))
    return plain and any(scope in scopes for scope in ("keyword.", "support.", "constant.")) and follows != "LPAR"


@pytest.mark.soak
def test_the_examples_are_highlighted_as_the_grammar_reads_them(modules: Path, tmp_path: Path) -> None:
    paths = [*EXAMPLES]
    for number, case in enumerate(cases()):
        if case.error is None:
            paths.append(tmp_path / f"{number}.ftl")
            paths[-1].write_text(case.text, encoding="utf-8")
    assert len(paths) > 100
    for path, lines in zip(paths, _tokenized(modules, paths), strict=True):
        assert list(_wrong(path.read_text(encoding="utf-8"), lines)) == [], path


@pytest.mark.soak
def test_comments_and_allowances_are_highlighted(modules: Path, tmp_path: Path) -> None:
    path = tmp_path / "watch.ftl"
    path.write_text(
        "-- MATCH 'x'\nSUBSCRIBE m FROM s MATCH a -- check: allow vacuous, trivial -- why\n'it''s -- no comment'"
    )
    (lines,) = _tokenized(modules, [path])
    assert _scopes(lines, 0, 4) == "comment.line.double-dash.foretell"
    assert "constant.other.code" in _scopes(lines, 1, 45)
    assert "comment" in _scopes(lines, 1, 65)
    assert _scopes(lines, 2, 10) == "string.quoted.single.foretell"
