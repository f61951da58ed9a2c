"""Rules of types: which values can be compared, what arithmetic gives, what several values have in common.

`time` is the type of the streams' time: where it is a number, durations have no unit.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.errors import Place, refuse
from foretell.events.types import Type, parse_timestamp
from foretell.language import tree

#: The types that fit everywhere: of an attribute that no data has shown yet, and of NULL.
UNTYPED = (Type.UNKNOWN, Type.NULL)

_TIME_ARITHMETIC = {
    (Type.TIMESTAMP, "-", Type.TIMESTAMP): Type.DURATION,
    (Type.TIMESTAMP, "-", Type.DURATION): Type.TIMESTAMP,
    (Type.TIMESTAMP, "+", Type.DURATION): Type.TIMESTAMP,
    (Type.DURATION, "+", Type.TIMESTAMP): Type.TIMESTAMP,
    (Type.DURATION, "+", Type.DURATION): Type.DURATION,
    (Type.DURATION, "-", Type.DURATION): Type.DURATION,
    (Type.DURATION, "/", Type.DURATION): Type.FLOAT,
}


def check_type(expression: tree.Expression, kind: Type, wanted: Type, where: str) -> None:
    if kind is not wanted and kind not in UNTYPED:
        refuse("wrong-type", f"{where} needs {wanted.value}, this is {kind.value}", expression.place)


def check_number(expression: tree.Expression, kind: Type, where: str) -> None:
    if not kind.numeric and kind not in UNTYPED:
        refuse("not-a-number", f"{where} needs a number, this is {kind.value}", expression.place)


def timestamp_hint(text: str = "") -> str:
    """How to write a point in time: the given text, if it is one."""
    try:
        parse_timestamp(text)
    except ValueError:
        text = "2026-01-31 12:00:00"
    return f"write a point in time as TIMESTAMP '{text}'"


def check_comparable(left: Type, right: Type, place: Place, time: Type, hint: str = "") -> None:
    if left is right or left in UNTYPED or right in UNTYPED or (left.numeric and right.numeric):
        return
    both = {left, right}
    if both == {Type.TIMESTAMP, Type.STRING}:
        hint = hint or timestamp_hint()
    elif Type.DURATION in both and (left.numeric or right.numeric):
        hint = _duration_hint(time)
    message = f"cannot compare {left.value} with {right.value}"
    refuse("not-comparable", message, place, hint or "compare values of the same type")


def common_type(values: Sequence[tree.Expression], kinds: Sequence[Type], time: Type) -> Type:
    """The type of coalesce and CASE: that of the values they choose from, which must agree."""
    known = [kind for kind in kinds if kind not in UNTYPED]
    for kind, value in zip(kinds, values, strict=True):
        if known:
            check_comparable(known[0], kind, value.place, time)
    if Type.UNKNOWN in kinds:
        return Type.UNKNOWN
    if not known:
        return Type.NULL
    return Type.FLOAT if Type.FLOAT in known else known[0]


def arithmetic_type(binary: tree.Binary, left: Type, right: Type, time: Type, hint: str = "") -> Type:
    if left in UNTYPED or right in UNTYPED:
        return Type.UNKNOWN
    if left.numeric and right.numeric:
        if binary.operator == "/" or Type.FLOAT in (left, right):
            return Type.FLOAT
        return Type.INT
    result = _TIME_ARITHMETIC.get((left, binary.operator, right))
    if result is None and Type.DURATION in (left, right):
        result = _scaled(left, binary.operator, right)
    if result is None:
        timed = {left, right} & {Type.DURATION, Type.TIMESTAMP}
        hint = hint or "calculate with numbers, times and durations only"
        if timed and (left.numeric or right.numeric):
            hint = _duration_hint(time)
        message = f"cannot calculate {left.value} {binary.operator} {right.value}"
        refuse("no-arithmetic", message, binary.place, hint)
    return result


def _scaled(left: Type, operator: str, right: Type) -> Type | None:
    if operator == "*" and (left.numeric or right.numeric):
        return Type.DURATION
    if operator == "/" and right.numeric:
        return Type.DURATION
    return None


def _duration_hint(time: Type) -> str:
    if time.numeric:
        return "time is a number here: write the duration without a unit"
    return "give the duration a unit, as in 5 min"
