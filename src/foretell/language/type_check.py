"""Type check: the type of an expression, or the error that says why it has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import NoReturn

from foretell.errors import NOWHERE, Place, closest, column_suggestion, refuse, suggestion
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.function_types import function_type
from foretell.language.tree import Expression, place_of
from foretell.language.type_rules import (
    UNTYPED,
    arithmetic_type,
    check_comparable,
    check_type,
    common_type,
    timestamp_hint,
)
from foretell.records import record

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_NUMBER = re.compile(r"\d+(\.\d+)?")


@record
class Scope:
    """The names an expression may use, depending on its clause.

    `steps` are the steps it may name; `hidden` maps the others to the reason why not. `own` is the step
    whose condition this is, None in HAVING and RETURN, where there is no event being tried.
    """

    attributes: Mapping[str, Type]
    streams: tuple[str, ...]
    time: Type
    open: bool = False
    steps: frozenset[str] = frozenset()
    hidden: Mapping[str, str] = field(default_factory=dict)
    own: str | None = None
    has_event: bool = True
    has_previous: bool = True
    has_match: bool = True
    variables: Mapping[str, Type] | None = None
    parameters: Mapping[str, Type] | None = None
    #: Why the data have made attributes STRING.
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def length(self) -> Type:
        """The type of a difference of two times."""
        if self.time is Type.TIMESTAMP:
            return Type.DURATION
        return self.time


def check_condition(condition: Expression, scope: Scope) -> None:
    kind = type_of(condition, scope)
    if kind is not Type.BOOL and kind not in UNTYPED:
        hint = "write a comparison, such as price > 0"
        refuse("not-a-condition", f"a condition must be true or false, this is {kind.value}", condition.place, hint)


def type_of(expression: Expression, scope: Scope) -> Type:
    """The type of an expression; a LanguageError where it has none."""
    match expression:
        case tree.Literal(value=value):
            if isinstance(value, int) and value >= 2**63:
                refuse("too-large", f"{value} does not fit in 64 bits", expression.place)
            return _literal_type(value)
        case tree.Span():
            return Type.DURATION
        case tree.Moment():
            return Type.TIMESTAMP
        case tree.Variable():
            return _variable(expression, scope)
        case tree.Parameter():
            return _parameter(expression, scope)
        case tree.Attribute(event=event, name=name):
            check_event(event, scope, expression.place, name)
            return attribute_type(name, scope, expression.place)
        case tree.StreamOf(event=event):
            check_event(event, scope, expression.place)
            return Type.STRING
        case tree.TimeOf(event=event):
            check_event(event, scope, expression.place)
            return scope.time
        case tree.Elapsed():
            _needs_match(scope, "duration", expression.place)
            return scope.length
        case tree.Aggregate():
            return _aggregate(expression, scope)
        case tree.EventValue():
            refuse(
                "event-as-value",
                "an event is not a value",
                expression.place,
                "name one of its attributes, as in first(b).price, or its time, t(first(b))",
            )
        case tree.Unary():
            return _unary(expression, scope)
        case tree.Binary():
            return _binary(expression, scope)
        case tree.In(value=value, options=options):
            kind = type_of(value, scope)
            for option in options:
                check_comparable(kind, type_of(option, scope), option.place, scope.time, _string_remark(value, scope))
            return Type.BOOL
        case tree.Between(value=value, low=low, high=high):
            kind = type_of(value, scope)
            for bound in (low, high):
                check_comparable(kind, type_of(bound, scope), bound.place, scope.time, _string_remark(value, scope))
            return Type.BOOL
        case tree.Like(value=value, pattern=pattern):
            for text in (value, pattern):
                check_type(text, type_of(text, scope), Type.STRING, "LIKE")
            return Type.BOOL
        case tree.IsNull(value=value):
            type_of(value, scope)
            return Type.BOOL
        case tree.Case(conditions=conditions, results=results):
            for condition in conditions:
                check_condition(condition, scope)
            return common_type(results, [type_of(result, scope) for result in results], scope.time)
        case tree.Call(arguments=arguments):
            return function_type(expression, [type_of(argument, scope) for argument in arguments], scope.time)
    raise AssertionError(expression)


def _at(name: str, otherwise: Place) -> Place:
    place = place_of(name)
    return otherwise if place == NOWHERE else place


def _literal_type(value: object) -> Type:
    match value:
        case None:
            return Type.NULL
        case bool():
            return Type.BOOL
        case int():
            return Type.INT
        case float():
            return Type.FLOAT
    return Type.STRING


def _variable(variable: tree.Variable, scope: Scope) -> Type:
    if scope.variables is None:
        hint = "compare with a constant; variables relate the steps of a pattern"
        refuse("variable-here", f"${variable.name} cannot be used here: there is only one event", variable.place, hint)
    if variable.name not in scope.variables:
        meant = closest(variable.name, scope.variables)
        binding = f"bind it in a step: attribute = ${variable.name}, joined to other conditions by AND"
        hint = f"did you mean ${meant}?" if meant else binding
        refuse("unbound-variable", f"no step binds the variable ${variable.name}", variable.place, hint)
    return scope.variables[variable.name]


def _parameter(parameter: tree.Parameter, scope: Scope) -> Type:
    if scope.parameters is None:
        hint = "name its table before FROM: FOR EACH table"
        refuse("no-table", f"the parameter :{parameter.name} needs FOR EACH", parameter.place, hint)
    if scope.parameters and parameter.name not in scope.parameters:
        hint = suggestion(parameter.name, scope.parameters)
        refuse("unknown-column", f"unknown column ':{parameter.name}'", parameter.place, hint)
    return scope.parameters.get(parameter.name, Type.UNKNOWN)


def check_event(event: tree.EventReference, scope: Scope, place: Place, attribute: str = "stream") -> None:
    match event:
        case tree.This() if not scope.has_event:
            _bare(attribute, scope, place)
        case tree.Previous() if not scope.has_previous:
            hint = "name the step: step.attribute" if scope.has_match else "name an attribute of the event itself"
            refuse("no-previous", "'prev' has no meaning here", place, hint)
        case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step):
            check_step(step, scope, place)


def _bare(attribute: str, scope: Scope, place: Place) -> NoReturn:
    """Refuses a bare attribute in HAVING and RETURN, which are about the whole match."""
    if attribute in scope.steps:
        example = next((a for a in scope.attributes if a not in scope.steps), "attribute")
        hint = f"name one of its attributes, as in {attribute}.{example}, or its time, t({attribute})"
        refuse("bare-attribute", f"the step '{attribute}' is not a value", place, hint)
    example = min(scope.steps, default="step")
    refuse("bare-attribute", f"'{attribute}' needs a step here", place, f"name the step, as in {example}.{attribute}")


def check_step(step: str, scope: Scope, place: Place) -> None:
    if step in scope.steps or step == scope.own:
        return
    place = _at(step, place)
    if step in scope.hidden:
        hint = f"put conditions on '{step}' in DEFINE {step} AS ..." if scope.has_event else ""
        refuse("hidden-step", scope.hidden[step], place, hint)
    _needs_match(scope, f"'{step}'", place)
    hint = suggestion(step, scope.steps)
    parts = _parts(step, scope)
    if parts:
        hint = f"write the parts of an object in double quotes: {_quoted(parts)}"
    if step in scope.streams:
        hint = f"'{step}' is a stream; write its attributes without a prefix"
    refuse("unknown-step", f"unknown step '{step}'", place, hint)


def _needs_match(scope: Scope, subject: str, place: Place) -> None:
    if not scope.has_match:
        hint = "name an attribute of the event itself"
        refuse("one-event", f"{subject} cannot be used here: there is only one event", place, hint)


def attribute_type(name: str, scope: Scope, place: Place) -> Type:
    if name in scope.attributes:
        return scope.attributes[name]
    if scope.open:
        return Type.UNKNOWN
    parts = _parts(name, scope)
    if parts:
        shape = "an object" if parts[0][len(name)] == "." else "a list"
        refuse("unknown-attribute", f"'{name}' is {shape}", _at(name, place), f"use its parts: {_quoted(parts)}")
    where = f"stream '{scope.streams[0]}'" if len(scope.streams) == 1 else "any of the streams"
    hint = _attribute_hint(name, scope, place)
    refuse("unknown-attribute", f"unknown attribute '{name}' of {where}", _at(name, place), hint)


def _parts(name: str, scope: Scope) -> list[str]:
    """The attributes that are parts of an object or a list of this name."""
    return [attribute for attribute in scope.attributes if attribute.startswith((f"{name}.", f"{name}["))]


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names[:5]) + (", …" if len(names) > 5 else "")


def _attribute_hint(name: str, scope: Scope, place: Place) -> str:
    own = place_of(name)
    if name in scope.steps:
        return f"'{name}' is a step; name one of its attributes, as in {name}.{next(iter(scope.attributes), 'x')}"
    if own.end_column - own.column > len(name):
        # It is wider in the text than its own length, so it stands in double quotes.
        return f"put a string in single quotes: '{name}'"
    hint = column_suggestion(name, scope.attributes)
    if own == place and not closest(name, scope.attributes):
        # A bare word may have been meant as a string.
        return f"{hint}; put a string in single quotes".removeprefix("; ")
    return hint


def _aggregate(aggregate: tree.Aggregate, scope: Scope) -> Type:
    check_step(aggregate.step, scope, aggregate.place)
    if aggregate.attribute is None:
        return Type.INT
    kind = attribute_type(aggregate.attribute, scope, aggregate.place)
    if aggregate.function == "count":
        return Type.INT
    if aggregate.function in ("sum", "avg"):
        if not kind.numeric and kind not in UNTYPED:
            refuse(
                "not-a-number",
                f"{aggregate.function}(...) needs numbers, '{aggregate.attribute}' is {kind.value}",
                aggregate.place,
                scope.remarks.get(str(aggregate.attribute), ""),
            )
        return Type.FLOAT if aggregate.function == "avg" else kind
    return kind


def _unary(unary: tree.Unary, scope: Scope) -> Type:
    if unary.operator == "NOT":
        check_condition(unary.operand, scope)
        return Type.BOOL
    kind = type_of(unary.operand, scope)
    if not kind.numeric and kind not in (*UNTYPED, Type.DURATION):
        refuse("not-a-number", f"'-' needs a number, this is {kind.value}", unary.place)
    return kind


def _binary(binary: tree.Binary, scope: Scope) -> Type:
    if binary.operator in ("AND", "OR"):
        check_condition(binary.left, scope)
        check_condition(binary.right, scope)
        return Type.BOOL
    left, right = type_of(binary.left, scope), type_of(binary.right, scope)
    if binary.operator in _COMPARISONS:
        hint = _quoted_time(binary) if Type.TIMESTAMP in (left, right) else _quoted_number(binary)
        hint = hint or _string_remark(binary, scope)
        check_comparable(left, right, binary.place, scope.time, hint)
        return Type.BOOL
    return arithmetic_type(binary, left, right, scope.time, _string_remark(binary, scope))


def _quoted_time(binary: tree.Binary) -> str:
    """A hint where a point in time was written as a string."""
    for side in (binary.left, binary.right):
        if isinstance(side, tree.Literal) and isinstance(side.value, str):
            return timestamp_hint(side.value)
    return ""


def _quoted_number(binary: tree.Binary) -> str:
    """A hint where a number was written as a string."""
    for side in (binary.left, binary.right):
        if isinstance(side, tree.Literal) and isinstance(side.value, str) and _NUMBER.fullmatch(side.value):
            return f"write a number without quotes: {side.value}"
    return ""


def _string_remark(expression: tree.Expression, scope: Scope) -> str:
    """Why the data have made an attribute of the expression STRING, where that is a surprise."""
    names = (str(node.name) for node in expression.walk() if isinstance(node, tree.Attribute))
    return next((scope.remarks[name] for name in names if name in scope.remarks), "")
