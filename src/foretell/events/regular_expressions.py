"""Regular expressions with the syntax and the linear time of RE2, by Arrow, which every engine uses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from foretell.events.arrow_compute import pc


def matching(texts: Sequence[str], pattern: str) -> list[bool]:
    """Whether the pattern is found in each of the texts.

    >>> matching(["abc", "xyz"], "b.?$")
    [True, False]
    """
    # A literal may hold a lone surrogate, which no event has and UTF-8 cannot encode.
    encodable = [text.encode("utf-8", "replace").decode() for text in texts]
    found: list[bool] = _match(encodable, pattern).to_pylist()
    return found


@cache
def pattern_mistake(pattern: str) -> str:
    """Why a pattern is none; empty where it is one.

    >>> pattern_mistake("[a"), pattern_mistake("a+")
    ('missing ]: [a', '')
    """
    try:
        _match([""], pattern)
    except ValueError as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return ""


def _match(texts: list[str], pattern: str) -> Any:
    return pc.match_substring_regex(pa.array(texts, pa.string()), pattern)
