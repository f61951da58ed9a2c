"""The token that the grammar rejects, with what came before it and what would have fitted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from foretell.errors import Place, closest, place_at
from foretell.language.syntax_hints.vocabulary import OPENING, STATEMENTS, UNLIKELY_NAMES

_WORD = re.compile(r"\s*([^\W\d]\w*|;|\S)")


@dataclass(frozen=True)
class Rejection:
    """A rejected token, the tokens before it, and the terminals that would have fitted."""

    token: Token
    before: tuple[Token, ...]
    fitting: frozenset[str]
    rest: str = ""

    @property
    def word(self) -> str:
        return str(self.token).upper()

    def type_before(self, back: int = 1) -> str:
        return self.before[-back].type if len(self.before) >= back else ""

    @property
    def statement(self) -> str:
        """The keyword that begins the statement."""
        return next((token.type for token in reversed(self.before) if token.type in STATEMENTS), "")

    @property
    def wants_value(self) -> bool:
        return {"NUMBER", "NAME"} <= self.fitting

    @property
    def after_pattern(self) -> bool:
        return {"VBAR", "AMPERSAND"} <= self.fitting

    @property
    def unclosed(self) -> list[Token]:
        """The brackets that are still open."""
        opened: list[Token] = []
        for token in self.before:
            if token.type in OPENING:
                opened.append(token)
            elif opened and token.type == OPENING[opened[-1].type]:
                opened.pop()
        return opened


def read_tokens(parser: Lark, text: str) -> list[Token]:
    """The tokens before the rejected one."""
    reading = parser.parse_interactive(text)
    tokens: list[Token] = []
    try:
        tokens.extend(reading.iter_parse())
    except UnexpectedToken as error:
        if tokens and tokens[-1] is error.token:
            tokens.pop()
    except UnexpectedCharacters:
        pass
    return tokens


def fitting_after(parser: Lark, before: list[Token]) -> frozenset[str]:
    """The terminals that could have come after these tokens."""
    reading = parser.parse_interactive("")
    for token in before:
        reading.feed_token(token)
    return frozenset(reading.accepts())  # type: ignore[no-untyped-call]


def blamed(rejection: Rejection, text: str, parser: Lark) -> Rejection:
    """The rejection where the mistake really is: sometimes one word before or after the token Lark rejects."""
    token, before = rejection.token, list(rejection.before)
    if token == ";" and "END" in rejection.fitting:
        # It would end the statement if another statement came next.
        following = _WORD.match(text, (token.start_pos or 0) + 1)
        assert following is not None, "with nothing behind it, it would have been the end"
        return Rejection(_token_at(text, following.start(1), following[1]), (*before, token), frozenset(STATEMENTS))
    if not before or before[-1].type != "NAME":
        return rejection
    if token.type == "LBRACE" and "DEFINE" in rejection.fitting:
        return Rejection(before[-1], tuple(before[:-1]), fitting_after(parser, before[:-1]))
    name = str(before[-1]).upper()
    starts = closest(name, STATEMENTS, 0.8) and rejection.type_before(2) == "LATER"
    if name in UNLIKELY_NAMES or starts:
        return Rejection(before[-1], tuple(before[:-1]), fitting_after(parser, before[:-1]))
    return rejection


def _token_at(text: str, start: int, value: str) -> Token:
    place = place_at(text, start, start + len(value))
    return Token("", value, start, place.line, place.column)


def token_place(token: Token) -> Place:
    line, column = token.line or 1, token.column or 1
    first, *rest = str(token).split("\n")
    if rest:
        return Place(line, column, len(rest[-1]) + 1, line + len(rest))
    return Place(line, column, column + len(first))
