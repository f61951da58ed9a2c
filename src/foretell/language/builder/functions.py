"""The functions of the language as methods of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretell.language.builder.expressions import ExpressionBuilder, Operand, Value


class FunctionMethods:
    """`x.lower()` is `lower(x)`; further arguments follow, as in `x.substr(1, 3)`."""

    def _call(self, function: str, *others: Operand) -> Value:
        raise NotImplementedError  # the class that mixes this in makes the call

    def __abs__(self) -> Value:
        return self._call("abs")

    def lower(self) -> Value:
        return self._call("lower")

    def upper(self) -> Value:
        return self._call("upper")

    def length(self) -> Value:
        return self._call("length")

    def contains(self, part: str | ExpressionBuilder) -> Value:
        """`contains(text, part)`."""
        return self._call("contains", part)

    def starts_with(self, part: str | ExpressionBuilder) -> Value:
        return self._call("starts_with", part)

    def ends_with(self, part: str | ExpressionBuilder) -> Value:
        return self._call("ends_with", part)

    def regexp_like(self, pattern: str) -> Value:
        """`regexp_like(text, pattern)`: whether the regular expression, in the syntax of RE2, is found in the text."""
        return self._call("regexp_like", pattern)

    def substr(self, start: int | ExpressionBuilder, length: int | ExpressionBuilder | None = None) -> Value:
        """`substr(text, start, length)`: the first character is number 1, the last one number -1."""
        return self._call("substr", start, *(() if length is None else (length,)))

    def sqrt(self) -> Value:
        return self._call("sqrt")

    def pow(self, exponent: int | float | ExpressionBuilder) -> Value:
        return self._call("pow", exponent)

    def ln(self) -> Value:
        return self._call("ln")

    def exp(self) -> Value:
        return self._call("exp")

    def round(self, digits: int | None = None) -> Value:
        """`round(number, digits)`: half is rounded away from 0."""
        return self._call("round", *(() if digits is None else (digits,)))

    def floor(self) -> Value:
        return self._call("floor")

    def ceil(self) -> Value:
        return self._call("ceil")

    def year(self, zone: str | None = None) -> Value:
        """`year(time, zone)`; without a zone in UTC. So have `month`, `day`, `hour`, `minute` and `weekday`."""
        return self._calendar_field("year", zone)

    def month(self, zone: str | None = None) -> Value:
        return self._calendar_field("month", zone)

    def day(self, zone: str | None = None) -> Value:
        return self._calendar_field("day", zone)

    def hour(self, zone: str | None = None) -> Value:
        return self._calendar_field("hour", zone)

    def minute(self, zone: str | None = None) -> Value:
        return self._calendar_field("minute", zone)

    def weekday(self, zone: str | None = None) -> Value:
        """`weekday(time, zone)`: Monday is 0, Sunday 6."""
        return self._calendar_field("weekday", zone)

    def _calendar_field(self, function: str, zone: str | None) -> Value:
        return self._call(function, *(() if zone is None else (zone,)))

    def coalesce(self, *others: Operand) -> Value:
        """The first of these values that is not NULL."""
        return self._call("coalesce", *others)
