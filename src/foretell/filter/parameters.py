"""The row of a FOR EACH table in place of the parameters of an expression."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Expression, Literal, Moment, Parameter, map_children


def with_parameters(expression: Expression, parameters: Mapping[str, Column], strings: StringDictionary) -> Expression:
    """An expression with the values of a row, whose columns `parameters` are."""
    if not isinstance(expression, Parameter):
        return map_children(expression, lambda part: with_parameters(part, parameters, strings))
    column = parameters[expression.name]
    value = column.values[0].item()
    if column.nulls[0]:
        return Literal(None)
    match column.kind:
        case Type.STRING:
            return Literal(strings.text(value))
        case Type.TIMESTAMP:
            return Moment(value)
        case Type.BOOL:
            return Literal(bool(value))
    return Literal(value)
