"""The functions of expressions: their names, and the least and the greatest number of their arguments."""

from __future__ import annotations

from collections.abc import Mapping

AGGREGATES = ("count", "sum", "avg", "min", "max")

#: Functions of texts, of one argument each.
CASE_FUNCTIONS = ("lower", "upper")
#: Tests of a text for a part of it.
TEXT_TESTS = ("contains", "starts_with", "ends_with")
#: Functions of one number that give a FLOAT.
FLOAT_FUNCTIONS = ("sqrt", "ln", "exp")
#: Parts of a TIMESTAMP in UTC, or in the zone that the second argument names. Monday is weekday 0.
CALENDAR_FIELDS = ("year", "month", "day", "hour", "minute", "weekday")

FUNCTIONS: Mapping[str, tuple[int, int | None]] = {
    **dict.fromkeys((*CASE_FUNCTIONS, "length", *FLOAT_FUNCTIONS, "abs", "floor", "ceil"), (1, 1)),
    **dict.fromkeys((*TEXT_TESTS, "regexp_like", "pow"), (2, 2)),
    **dict.fromkeys((*CALENDAR_FIELDS, "round"), (1, 2)),
    "substr": (2, 3),
    "coalesce": (1, None),
}

#: The digits that round(...) takes: a FLOAT has no more than 17, an INT no more than 19.
MOST_DIGITS = 18
