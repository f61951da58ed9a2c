"""Functions of one text, of which kernels know only the results: kernels cannot create strings."""

from __future__ import annotations

from dataclasses import replace

from foretell.language import tree
from foretell.language.functions import CASE_FUNCTIONS
from foretell.language.tree import Expression
from foretell.records import record


@record
class TextFunction:
    """A function of one text, with constants as its other arguments: `lower(·)`, `substr(·, 1, 3)`."""

    name: str
    constants: tuple[int | str, ...] = ()


def constants_of(arguments: tuple[Expression, ...]) -> tuple[int | str, ...] | None:
    """The values of constant texts and whole numbers; None where one is neither."""
    values = [argument.value if isinstance(argument, tree.Literal) else None for argument in arguments]
    found = tuple(value for value in values if isinstance(value, int | str))
    return found if len(found) == len(values) else None


def pushed_down(text: Expression) -> Expression:
    """Functions of a text applied to what is chosen: `lower(coalesce(x, y))` is `coalesce(lower(x), lower(y))`."""
    match text:
        case tree.Call(function="lower" | "upper" | "regexp_like" | "substr", arguments=(inner, *rest)):
            return _applied(text, pushed_down(inner), tuple(rest))
        case tree.Call(function="coalesce", arguments=arguments):
            return replace(text, arguments=tuple(map(pushed_down, arguments)))
        case tree.Case(values=values, otherwise=otherwise):
            other = None if otherwise is None else pushed_down(otherwise)
            return replace(text, values=tuple(map(pushed_down, values)), otherwise=other)
    return text


def _applied(call: tree.Call, text: Expression, rest: tuple[Expression, ...]) -> Expression:
    """A function of one text applied to another text."""
    match text:
        case tree.Literal(value=None):
            return text
        case tree.Literal(value=str(value)) if call.function in CASE_FUNCTIONS:
            return tree.Literal(value.lower() if call.function == "lower" else value.upper())
        case tree.Call(function="coalesce", arguments=arguments):
            return replace(text, arguments=tuple(_applied(call, argument, rest) for argument in arguments))
        case tree.Case(values=values, otherwise=otherwise):
            other = None if otherwise is None else _applied(call, otherwise, rest)
            return replace(text, values=tuple(_applied(call, value, rest) for value in values), otherwise=other)
    return tree.Call(call.function, (text, *rest))
