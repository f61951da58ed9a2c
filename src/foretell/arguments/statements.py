"""Statements as a caller hands them in: text, `ft.load`, `ft.parse`, or `foretell.build`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from foretell.arguments.validation import bad_argument
from foretell.events.atomic_files import path_of, read_text
from foretell.language import subscriptions as language
from foretell.language.subscriptions import Subscriptions

if TYPE_CHECKING:
    from foretell.language.builder.statements import StatementBuilder

SubscriptionsLike: TypeAlias = "Subscriptions | str | StatementBuilder[Any] | Sequence[StatementBuilder[Any]]"

_EXPECTED = "statements (text, or the result of ft.load or ft.parse)"


def parse(text: str, file: str = "") -> Subscriptions:
    """Parse statements, and check all that can be checked before the data are there.

    >>> print(parse("subscribe rise from ticks match a, b define b as price > a.price"))
    SUBSCRIBE rise
    FROM ticks
    MATCH a , b
    DEFINE b AS price > a.price;
    """
    argument: object = text
    if isinstance(argument, os.PathLike):
        raise bad_argument("parse", "a text", argument, hint=f"load a file with ft.load({str(argument)!r})")
    if not isinstance(argument, str):
        raise bad_argument("parse", "a text", argument)
    return language.parse(argument, file)


def load(path: str | Path) -> Subscriptions:
    """Parse the statements of a file.

    >>> load("missing.ftl")
    Traceback (most recent call last):
    foretell.errors.InputError: there is no file 'missing.ftl'
    """
    argument: object = path
    if not isinstance(argument, str | os.PathLike):
        raise bad_argument("load", "a path", argument)
    return language.parse(read_text(path_of(argument)), str(argument))


def as_subscriptions(subscriptions: object) -> Subscriptions:
    """The statements of a run. A built statement, or a list of them, serves as well as `subscriptions(...)`."""
    if isinstance(subscriptions, Subscriptions):
        return subscriptions
    if isinstance(subscriptions, os.PathLike) or (isinstance(subscriptions, str) and _is_file_name(subscriptions)):
        hint = f"load a file with ft.load({os.fspath(subscriptions)!r})"
        raise bad_argument("subscriptions", _EXPECTED, subscriptions, hint=hint)
    if isinstance(subscriptions, str):
        return language.parse(subscriptions)
    built = _built_subscriptions(subscriptions)
    if built is not None:
        return built
    raise bad_argument("subscriptions", _EXPECTED, subscriptions)


def _built_subscriptions(given: object) -> Subscriptions | None:
    from foretell.language.builder.statements import StatementBuilder, subscriptions

    statements = given if isinstance(given, list | tuple) else [given]
    if not statements or not all(isinstance(statement, StatementBuilder) for statement in statements):
        return None
    return subscriptions(*statements)


def _is_file_name(text: str) -> bool:
    return text.endswith(".ftl") and "\n" not in text
