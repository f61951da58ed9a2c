"""Parser errors as errors of the language: message, place and hint."""

from __future__ import annotations

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from foretell.errors import LanguageError, Place, place_at
from foretell.language.syntax_hints.expectations import expected
from foretell.language.syntax_hints.hints import hint_for
from foretell.language.syntax_hints.other_dialects import SIGNS
from foretell.language.syntax_hints.rejection import Rejection, blamed, fitting_after, read_tokens, token_place
from foretell.language.syntax_hints.units import is_unit


def syntax_error(error: UnexpectedInput, text: str, parser: Lark) -> LanguageError:
    """The error for what Lark rejects. `text` is without its comments."""
    before = read_tokens(parser, text)
    if isinstance(error, UnexpectedCharacters):
        token = Token("", error.char, error.pos_in_stream, error.line, error.column)
    else:
        assert isinstance(error, UnexpectedToken)
        token = error.token
    if token.type == "$END":
        return _at_end(Rejection(token, tuple(before), fitting_after(parser, before)), text)
    if token.type == "" and token in ("'", '"'):
        return _unclosed(token, text)
    sign = _foreign_sign(text, token.start_pos or 0)
    if sign is not None:
        return sign
    rest = text[(token.start_pos or 0) + len(token) :]
    return _unexpected(blamed(Rejection(token, tuple(before), fitting_after(parser, before), rest), text, parser))


def _at_end(rejection: Rejection, text: str) -> LanguageError:
    lines = text.rstrip().split("\n")
    place = Place(len(lines), len(lines[-1]) + 1, len(lines[-1]) + 2)
    hint = hint_for(rejection)
    return LanguageError(
        "unexpected-end", f"unexpected end of the text, expected {expected(rejection)}", place=place, hint=hint
    )


def _unclosed(quote: Token, text: str) -> LanguageError:
    if text.startswith('""', quote.start_pos):
        place = Place(quote.line or 1, quote.column or 1, (quote.column or 1) + 2)
        message, hint = "a name in double quotes cannot be empty", "write '' for an empty string"
        return LanguageError("unexpected", message, place=place, hint=hint)
    name = text[quote.start_pos or 0 :].split('"')[1] if quote == '"' else ""
    if "\0" in name:
        message = "a name cannot have the character NUL"
        return LanguageError("unexpected", message, place=token_place(quote), hint="leave the character out")
    hint = "close the quote; write a quote inside a string twice: 'it''s'" if quote == "'" else "close the quote"
    return LanguageError(
        "unclosed", f"the quote {quote} is opened here and never closed", place=token_place(quote), hint=hint
    )


def _foreign_sign(text: str, at: int) -> LanguageError | None:
    """A sign of another language that begins here, or one character before."""
    for start, length in ((at - 1, 2), (at, 2), (at, 1)):
        sign = text[start : start + length] if start >= 0 else ""
        if sign in SIGNS:
            place = place_at(text, start, start + len(sign))
            return LanguageError("unexpected", f"'{sign}' has no meaning here", place=place, hint=SIGNS[sign])
    return None


def _unexpected(rejection: Rejection) -> LanguageError:
    message = f"expected {expected(rejection)}, found {_quoted(rejection.token)}"
    if is_unit(rejection):
        message = f"unknown unit '{rejection.token}'"
    return LanguageError("unexpected", message, place=token_place(rejection.token), hint=hint_for(rejection))


def _quoted(token: Token) -> str:
    shown = str(token).split("\n")[0]
    if len(shown) > 40 or "\n" in token:
        shown = f"{shown[:40]}…"
    if not shown.isprintable():
        return f"the character U+{ord(shown[0]):04X}" if len(shown) == 1 else repr(shown)
    if token.type == "STRING":
        return f"the string {shown}"
    return shown if token.type == "QUOTED" else f"'{shown}'"
