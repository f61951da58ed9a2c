"""What the grammar expected where it found something else, in words a person uses."""

from __future__ import annotations

import difflib

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from foretell.errors import LanguageError, Place

_WORDS = {
    "NAME": "a name",
    "QUOTED": "",
    "NUMBER": "a number",
    "STRING": "a string in single quotes",
    "VARIABLE": "",
    "PARAMETER": "",
    "UNIT": "",
    "END": "';'",
    "LATER": "';'",
    "$END": "the end of the text",
    "COMPARISON": "a comparison",
    "PLUS_MINUS": "",
    "TIMES": "",
    "MINUS": "",
    "AGAIN": "",
    "LPAR": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "",
    "RSQB": "']'",
    "COMMA": "','",
    "DOT": "",
    "AT": "",
    "BANG": "'!'",
    "VBAR": "'|'",
    "AMPERSAND": "'&'",
    "QMARK": "",
    "STAR": "",
    "PLUS": "",
    "LESSTHAN": "",
    "MORETHAN": "'>'",
}

#: What an expression may begin with, said in one word.
_EXPRESSION = {"NAME", "NUMBER", "STRING", "NULL", "TRUE", "FALSE", "TIMESTAMP", "LPAR", "NOT", "MINUS"}
#: What a pattern may begin with.
_PATTERN = {"NAME", "QUOTED", "LPAR", "BANG", "FIRST", "LAST"}
#: What may follow a pattern or a condition; only its keywords and closing signs are worth naming.
_OPERATORS = {"VBAR", "AMPERSAND", "COMPARISON", "AND", "OR", "IN", "BETWEEN", "LIKE", "IS", "NOT", "LBRACE", "LATER"}

_SIGNS = {
    "==": "equality is written with one '='",
    "&&": "write AND in a condition, & between patterns",
    "||": "write OR in a condition, | between patterns",
    "->": "'followed by' is written ';', 'directly followed by' ','",
    "=>": "'followed by' is written ';', 'directly followed by' ','",
}


def unexpected(error: UnexpectedInput, text: str) -> LanguageError:
    """The grammar's complaint as one of ours."""
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        token = error.token
        if token.type == "$END":
            return _at_end(text, expected)
        place = Place(token.line or 1, token.column or 1, (token.column or 1) + len(token))
        return _found(str(token), place, expected, text)
    assert isinstance(error, UnexpectedCharacters)
    place = Place(error.line, error.column, error.column + 1)
    if error.char in "'\"":
        return LanguageError(
            "unclosed", f"a quote {error.char} is opened here and never closed", place=place, hint="close the quote"
        )
    return _found(error.char, place, set(error.allowed), text)


def _at_end(text: str, expected: set[str]) -> LanguageError:
    lines = text.rstrip().splitlines() or [""]
    place = Place(len(lines), len(lines[-1]) + 1, len(lines[-1]) + 2)
    return LanguageError("unexpected-end", f"the text ends, expected {_describe(expected)}", place=place)


def _found(found: str, place: Place, expected: set[str], text: str) -> LanguageError:
    line = text.splitlines()[place.line - 1] if text else ""
    return LanguageError(
        "unexpected",
        f"expected {_describe(expected)}, found '{found}'",
        place=place,
        hint=_hint(found, line, place, expected),
    )


def _hint(found: str, line: str, place: Place, expected: set[str]) -> str:
    for start in (place.column - 1, place.column - 2):
        if start >= 0 and (hint := _SIGNS.get(line[start : start + 2])):
            return hint
    keywords = {e.lower(): e for e in expected if e.isalpha() and e not in _WORDS}
    close = difflib.get_close_matches(found.lower(), keywords, n=1, cutoff=0.7)
    if close:
        return f"did you mean {keywords[close[0]]}?"
    if found.startswith('"') and "STRING" in expected:
        return "a string stands in single quotes"
    if found.upper() in ("SUBSCRIBE", "STREAM", "CORRELATE"):
        return "end the statement before it with ';'"
    return ""


def _describe(expected: set[str]) -> str:
    """A short list: `a condition`, `a step`, or the signs and keywords that fit."""
    if expected >= _EXPRESSION - {"NOT", "TRUE"}:
        return "a value" if "NOT" not in expected else "a condition"
    words: list[str] = []
    if expected >= _PATTERN:
        words.append("a step or a group")
        expected = expected - _PATTERN
    for name in sorted(expected - _OPERATORS, key=_rank):
        word = _WORDS.get(name, name)
        if word and word not in words:
            words.append(word)
    if not words:
        words = sorted({_WORDS.get(n) or n for n in expected})
    if len(words) > 8:
        words = [*words[:7], "…"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _rank(name: str) -> tuple[int, str]:
    return (0 if name in ("NAME", "NUMBER") else 1 if name in _WORDS else 2, name)
