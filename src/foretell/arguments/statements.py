"""Statements however they are given: as text, in a file, parsed already, or from `foretell.build`."""

from __future__ import annotations

import os
from pathlib import Path

from foretell.arguments.validation import bad_argument
from foretell.events.atomic_files import path_of, read_text
from foretell.language import subscriptions as language
from foretell.language.builder.statements import StatementBuilder
from foretell.language.builder.statements import subscriptions as built
from foretell.language.subscriptions import Subscriptions

_KINDS = "statements (text, or what ft.load and ft.parse give)"


def parse(text: str, file: str = "") -> Subscriptions:
    """Statements from their text, with everything checked that can be checked before the data is there.

    >>> print(parse("subscribe rise from ticks match a, b define b as price > a.price"))
    SUBSCRIBE rise
    FROM ticks
    MATCH a , b
    DEFINE b AS price > a.price;
    """
    given: object = text
    if isinstance(given, os.PathLike):
        raise bad_argument("parse", "a text", given, hint=f"a file: ft.load({str(given)!r})")
    if not isinstance(given, str):
        raise bad_argument("parse", "a text", given)
    return language.parse(given, file)


def load(path: str | Path) -> Subscriptions:
    """Statements from a file."""
    given: object = path
    if not isinstance(given, str | os.PathLike):
        raise bad_argument("load", "a path", given)
    return language.parse(read_text(path_of(given)), str(given))


def as_subscriptions(given: object) -> Subscriptions:
    """The statements of a run. A single built statement, or a list of them, is as good as `subscriptions(...)`."""
    if isinstance(given, Subscriptions):
        return given
    if isinstance(given, StatementBuilder):
        return built(given)
    if isinstance(given, list | tuple) and given and all(isinstance(one, StatementBuilder) for one in given):
        return built(*given)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and _is_file_name(given)):
        raise bad_argument("subscriptions", _KINDS, given, hint=f"a file: ft.load({os.fspath(given)!r})")
    if isinstance(given, str):
        return language.parse(given)
    raise bad_argument("subscriptions", _KINDS, given)


def _is_file_name(text: str) -> bool:
    return text.endswith(".ftl") and "\n" not in text
