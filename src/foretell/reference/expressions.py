"""Evaluation of expressions with three-valued logic: None is NULL, and unknown.

A TIMESTAMP is a datetime here and a duration a timedelta, so that Python's own arithmetic defines theirs.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from foretell.events.event import Event
from foretell.events.types import EPOCH, Scalar, Type
from foretell.language import tree
from foretell.language.tree import Expression
from foretell.reference.functions import Value, call, fits


@dataclass(frozen=True)
class Frame:
    """The events and values that an expression can refer to.

    `seen` gives the events of a step that a reference sees, `before` those that an aggregate ranges over: in the
    condition of a repeated step `seen` includes the event being tried and `before` does not.
    """

    types: Mapping[str, Type]
    time: Type
    this: Event | None = None
    previous: Event | None = None
    first: Event | None = None
    last: Event | None = None
    seen: Callable[[str], list[Event]] = lambda _: []
    before: Callable[[str], list[Event]] = lambda _: []
    variables: Mapping[str, Value] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)


def holds(condition: Expression, frame: Frame) -> bool:
    """Whether a condition is true; false and unknown do not hold."""
    return value(condition, frame) is True


def value(expression: Expression, frame: Frame) -> Value:
    """The value of an expression in a frame."""
    match expression:
        case tree.Literal(value=literal):
            return literal
        case tree.Span(micros=micros):
            return timedelta(microseconds=micros)
        case tree.Moment(micros=micros):
            return moment(micros)
        case tree.Variable(name=name):
            return frame.variables.get(name)
        case tree.Parameter(name=name):
            return frame.parameters.get(name)
        case tree.Attribute(event=reference, name=name):
            event = _event(reference, frame)
            return None if event is None else attribute(event, name, frame.types)
        case tree.StreamOf(event=reference):
            event = _event(reference, frame)
            return None if event is None else event.stream
        case tree.TimeOf(event=reference):
            event = _event(reference, frame)
            return None if event is None else _time(event.end, frame)
        case tree.Elapsed():
            return _elapsed(frame)
        case tree.Aggregate():
            return _aggregate(expression, frame)
        case tree.Unary(operator="NOT", operand=operand):
            return _not(value(operand, frame))
        case tree.Unary(operand=operand):
            number = value(operand, frame)
            return None if number is None else _arithmetic("*", number, -1)
        case tree.Binary():
            return _binary(expression, frame)
        case tree.In(value=inner, options=options, negated=negated):
            found = value(inner, frame)
            any_equal: Value = False
            for option in options:
                any_equal = _or(any_equal, compare("=", found, value(option, frame)))
            return _not(any_equal) if negated else any_equal
        case tree.Between(value=inner, low=low, high=high, negated=negated):
            found = value(inner, frame)
            inside = _and(compare(">=", found, value(low, frame)), compare("<=", found, value(high, frame)))
            return _not(inside) if negated else inside
        case tree.Like(value=inner, pattern=pattern, negated=negated):
            like = _like(value(inner, frame), value(pattern, frame))
            return _not(like) if negated else like
        case tree.IsNull(value=inner, negated=negated):
            return (value(inner, frame) is None) is not negated
        case tree.Call(function=function, arguments=arguments):
            return call(function, [value(a, frame) for a in arguments])
        case tree.Case(conditions=conditions, results=(*values, otherwise)):
            branches = (v for c, v in zip(conditions, values, strict=True) if holds(c, frame))
            return value(next(branches, otherwise), frame)
    raise AssertionError(expression)


def scalar(found: Value, kind: Type) -> Scalar:
    """A value as an attribute of a type: timestamps as microseconds, durations in seconds."""
    if isinstance(found, datetime):
        return (found - EPOCH) // timedelta(microseconds=1)
    if isinstance(found, timedelta):
        return found / timedelta(seconds=1)
    if kind is Type.FLOAT and isinstance(found, int) and not isinstance(found, bool):
        return float(found)
    return found


def moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def attribute(event: Event, name: str, types: Mapping[str, Type]) -> Value:
    found = event.attributes.get(name)
    if found is not None and types.get(name) is Type.TIMESTAMP:
        return moment(int(found))
    if isinstance(found, int) and types.get(name) is Type.FLOAT:
        return float(found)
    return found


def _event(reference: tree.EventReference, frame: Frame) -> Event | None:
    match reference:
        case tree.This():
            return frame.this
        case tree.Previous():
            return frame.previous
        case tree.FirstOf(step=step):
            return next(iter(frame.seen(step)), None)
        case tree.BoundEvent(step=step) | tree.LastOf(step=step):
            return next(reversed(frame.seen(step)), None)
    raise AssertionError(reference)


def _time(time: int | float, frame: Frame) -> Value:
    if frame.time is Type.FLOAT:
        return float(time)
    return moment(int(time)) if frame.time is Type.TIMESTAMP else time


def _elapsed(frame: Frame) -> Value:
    if frame.first is None or frame.last is None:
        return None
    passed = frame.last.end - frame.first.start
    return timedelta(microseconds=passed) if frame.time is Type.TIMESTAMP else passed


def _aggregate(aggregate: tree.Aggregate, frame: Frame) -> Value:
    events = frame.before(aggregate.step)
    if aggregate.attribute is None:
        return len(events)
    found = [v for e in events if (v := attribute(e, aggregate.attribute, frame.types)) is not None]
    if aggregate.function == "count":
        return len(found)
    if not found:
        return None
    match aggregate.function:
        case "min":
            return _extreme(min, found)
        case "max":
            return _extreme(max, found)
    total: Value = found[0]
    for addend in found[1:]:
        total = None if total is None else fits(total + addend)  # type: ignore[operator]
    if total is None or aggregate.function == "sum":
        return total
    return fits(total / len(found))  # type: ignore[operator]


def _extreme(choose: Callable[[list[Any]], Any], found: list[Any]) -> Value:
    chosen: Value = choose(found)
    return chosen


def _not(truth: Value) -> Value:
    return None if truth is None else not truth


def _and(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Value, right: Value) -> Value:
    return _not(_and(_not(left), _not(right)))


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(sign: str, left: Value, right: Value) -> Value:
    """A comparison; as in SQL, an INT is converted to FLOAT beside a FLOAT."""
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)  # type: ignore[arg-type]
    return _COMPARE[sign](left, right)


def _binary(binary: tree.Binary, frame: Frame) -> Value:
    left = value(binary.left, frame)
    right = value(binary.right, frame)
    match binary.operator:
        case "AND":
            return _and(left, right)
        case "OR":
            return _or(left, right)
        case sign if sign in _COMPARE:
            return compare(sign, left, right)
    if left is None or right is None:
        return None
    return _arithmetic(binary.operator, left, right)


def _arithmetic(sign: str, left: Value, right: Value) -> Value:
    """Arithmetic: division gives a FLOAT; a division by zero and a result that does not fit its type are NULL."""
    try:
        match sign:
            case "+":
                return fits(left + right)  # type: ignore[operator]
            case "-":
                return fits(left - right)  # type: ignore[operator]
            case "*":
                return fits(left * right)  # type: ignore[operator]
            case "/":
                return fits(left / right)  # type: ignore[operator]
            case "%":
                return _remainder(left, right)
    except (ZeroDivisionError, OverflowError):
        return None
    raise AssertionError(sign)


def _remainder(left: Value, right: Value) -> Value:
    """With the sign of the dividend, as in SQL."""
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if isinstance(left, int) and isinstance(right, int):
        return int(math.copysign(1, left)) * (abs(left) % abs(right))
    return fits(math.fmod(left, right)) if right and math.isfinite(left) else None


def _like(text: Value, pattern: Value) -> Value:
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    return _like_regex(pattern).fullmatch(text) is not None


@cache
def _like_regex(pattern: str) -> re.Pattern[str]:
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(c) or re.escape(c) for c in pattern), re.DOTALL)
