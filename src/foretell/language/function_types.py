"""Types of function calls, and the checks of arguments that must be constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from foretell.errors import closest, refuse
from foretell.events.regular_expressions import pattern_mistake
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.functions import CALENDAR_FIELDS, CASE_FUNCTIONS, FLOAT_FUNCTIONS, MOST_DIGITS, TEXT_TESTS
from foretell.language.type_rules import check_number, check_type, common_type


def function_type(call: tree.Call, kinds: Sequence[Type], time: Type) -> Type:
    """The type of a call; `kinds` are the types of its arguments."""
    where, first, kind = f"{call.function}(...)", call.arguments[0], kinds[0]
    match call.function:
        case "coalesce":
            return common_type(call.arguments, kinds, time)
        case "abs":
            if kind is not Type.DURATION:
                check_number(first, kind, where)
            return kind
        case "round":
            check_number(first, kind, where)
            _check_digits(call)
            return kind
        case "floor" | "ceil":
            check_number(first, kind, where)
            return Type.INT
        case "substr":
            check_type(first, kind, Type.STRING, where)
            for argument, number in zip(call.arguments[1:], kinds[1:], strict=True):
                check_type(argument, number, Type.INT, where)
            return Type.STRING
        case function if function in CALENDAR_FIELDS:
            check_type(first, kind, Type.TIMESTAMP, where)
            _check_zone(call)
            return Type.INT
    return _plain_type(call, kinds, where)


def _plain_type(call: tree.Call, kinds: Sequence[Type], where: str) -> Type:
    """The type of a function whose arguments are all texts, or all numbers."""
    if call.function == "pow" or call.function in FLOAT_FUNCTIONS:
        for argument, kind in zip(call.arguments, kinds, strict=True):
            check_number(argument, kind, where)
        return Type.FLOAT
    for argument, kind in zip(call.arguments, kinds, strict=True):
        check_type(argument, kind, Type.STRING, where)
    if call.function == "regexp_like":
        _check_pattern(call)
    if call.function in CASE_FUNCTIONS:
        return Type.STRING
    return Type.BOOL if call.function in (*TEXT_TESTS, "regexp_like") else Type.INT


# ── constants ──


def _refuse_argument(call: tree.Call, subject: str, example: str) -> NoReturn:
    message = f"{call.function}(...) takes {subject} as its second argument"
    refuse("not-constant", message, call.arguments[1].place, f"write {call.function}({example})")


def _check_pattern(call: tree.Call) -> None:
    match call.arguments[1]:
        case tree.Literal(value=str(pattern)) as argument:
            mistake = pattern_mistake(pattern)
            if mistake:
                hint = "patterns have the syntax of RE2; to look for a plain text write contains(text, part)"
                refuse("bad-pattern", f"'{pattern}' is not a regular expression: {mistake}", argument.place, hint)
        case _:
            _refuse_argument(call, "a constant text", "text, '^[a-z]+$'")


def _check_digits(call: tree.Call) -> None:
    if len(call.arguments) < 2:
        return
    match call.arguments[1]:
        case tree.Literal(value=bool()):
            pass
        case tree.Literal(value=int(digits)) if abs(digits) <= MOST_DIGITS:
            return
    _refuse_argument(call, f"a constant whole number from -{MOST_DIGITS} to {MOST_DIGITS}", "number, 2")


def _check_zone(call: tree.Call) -> None:
    if len(call.arguments) < 2:
        return
    match call.arguments[1]:
        case tree.Literal(value=str(name)) as argument:
            if not _is_zone(name):
                meant = closest(name, _zones())
                hint = f"did you mean '{meant}'?" if meant else "name a zone such as 'Europe/Berlin'"
                refuse("unknown-zone", f"unknown time zone '{name}'", argument.place, hint)
        case _:
            _refuse_argument(call, "the name of a time zone", "time, 'Europe/Berlin'")


@cache
def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


@cache
def _zones() -> list[str]:
    return sorted(available_timezones())
