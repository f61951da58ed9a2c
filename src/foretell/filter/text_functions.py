"""Functions of one text with constants as their other arguments, for many texts at once."""

from __future__ import annotations

from collections.abc import Sequence

from foretell.events.regular_expressions import matching
from foretell.plan.lower.text_functions import TextFunction


def apply(function: TextFunction, texts: Sequence[str]) -> Sequence[str | bool]:
    """The results of a function for the texts.

    >>> apply(TextFunction("substr", (-2,)), ["abc", "d"])
    ['bc', 'd']
    """
    match function.name, function.constants:
        case "lower", ():
            return [text.lower() for text in texts]
        case "upper", ():
            return [text.upper() for text in texts]
        case "regexp_like", (str(pattern),):
            return matching(texts, pattern)
        case "substr", (int(start), *rest):
            length = rest[0] if rest else None
            return [substr(text, start, length if isinstance(length, int) else None) for text in texts]
    raise AssertionError(function)


def substr(text: str, start: int, length: int | None = None) -> str:
    """A part of a text, as in SQL: the first character is number 1, the last one -1; 0 is the first too."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]
