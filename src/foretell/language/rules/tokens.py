"""Tokens to names, numbers and texts, with their places."""

from __future__ import annotations

import math
import re

from lark import Token

from foretell.errors import Place, refuse
from foretell.language import tree
from foretell.language.tree import Name

#: A string, a quoted name (group 1) or a comment.
QUOTED_OR_COMMENT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*""")


class QuotedName(Name):
    """A name in double quotes: never a word with a meaning of its own, such as `prev`."""


def token_place(token: Token) -> Place:
    line, column = token.line or 1, token.column or 1
    if token.end_line is not None and token.end_line > line:
        return Place(line, column, token.end_column or 1, token.end_line)
    return Place(line, column, column + len(token))


def span_of(*nodes: tree.Node) -> Place:
    return nodes[0].place.through(nodes[-1].place)


def number_of(token: Token) -> int | float:
    # A number with thousands of digits is refused before Python converts it, which would take long.
    value: int | float = math.inf
    if len(token) <= 400:
        value = int(token) if token.isdigit() else float(token)
    # 2**63 itself passes: with a minus sign it is the least INT. Without one the type check refuses it.
    if (value > 2**63 and isinstance(value, int)) or value == math.inf:
        shown = token if len(token) <= 40 else f"{token[:40]}…"
        refuse("too-large", f"{shown} does not fit in 64 bits", token_place(token))
    return value


def name_of(token: Token) -> Name:
    if token.type == "QUOTED":
        return QuotedName(str(token[1:-1]).replace('""', '"'), token_place(token))
    return Name(str(token), token_place(token))


def text_of(token: Token) -> str:
    return str(token[1:-1]).replace("''", "'")


def whole_number(number: tree.Literal, subject: str, least: int) -> int:
    if not isinstance(number.value, int) or isinstance(number.value, bool) or number.value < least:
        refuse("not-whole", f"{subject} must be a whole number of at least {least}, not {number.value}", number.place)
    return number.value


def _percent_hint(value: object) -> str:
    """A hint where the value may have been meant in percent."""
    return f"write {value / 100:g} for {value}%" if isinstance(value, int | float) and 1 < value <= 100 else ""


def probability_of(number: tree.Literal) -> float:
    if not isinstance(number.value, int | float) or not 0 <= number.value <= 1:
        refuse(
            "not-probability",
            f"{number.value} is not a probability between 0 and 1",
            number.place,
            _percent_hint(number.value),
        )
    return float(number.value)
