"""A batch of events as columns, and what an expression over one event is worth in every row of it.

The slow meaning is `foretell.reference.expressions`; both agree to the value, NULL included. Whole columns go through
NumPy; the few rows in which a float cannot tell the exact result (a quotient of integers beyond 2**53, a length of
time that falls half-way between two microseconds) are done one by one in Python's exact arithmetic.

A constant is a column of one row, and NumPy stretches it where it meets others: what does not depend on the event is
computed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.events.arrow_interop import nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray
from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_INT, LEAST_MICROS
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.tree import Expression

Values: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Column:
    """The values of one attribute or expression. What `values` holds where `nulls` is set means nothing.

    FLOAT is float64; all others are int64: TIMESTAMP and DURATION microseconds, BOOL 0 and 1, STRING codes.
    """

    kind: Type
    values: Values
    nulls: Flags


_NONE: list[Flags] = [np.zeros(1024, np.bool_)]


def no_nulls(count: int) -> Flags:
    """So many flags that are not set. They are one array, made once, that nobody may write to."""
    if count > len(_NONE[0]):
        _NONE[0] = np.zeros(max(count, 2 * len(_NONE[0])), np.bool_)
    return _NONE[0][:count]


def may_be_null(nulls: Flags) -> bool:
    """Whether a flag may be set: no pass over the flags is made to find out."""
    return nulls.base is not _NONE[0] and bool(len(nulls) != 1 or nulls[0])


# ── Strings ────────────────────────────────────────────────────────────────────────────────────────────────────────


class StringDictionary:
    """All strings of an engine, each with a code for its whole life; equal strings have equal codes.

    For the kernel, which knows no Python strings, their UTF-8 lies in one heap: code c is `data[offsets[c]:
    offsets[c + 1]]`. Code 0 is the empty string, so that any array of zeros is one of valid codes.

    >>> strings = Strings()
    >>> strings.code("é"), strings.code("é"), strings.text(1), strings.offsets.tolist(), strings.lengths.tolist()
    (1, 1, 'é', [0, 0, 2], [0, 1])
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._offsets = np.zeros(64, np.int64)
        self._lengths = np.zeros(64, np.int64)
        self._data = np.zeros(1024, np.uint8)
        self._cases = np.zeros((64, 2), np.int64)
        self._cased = 0
        self.code("")
        for text in texts:
            self.code(text)

    def __len__(self) -> int:
        return len(self._texts)

    def code(self, text: str) -> int:
        found = self._codes.get(text)
        return self._add(text) if found is None else found

    def text(self, code: int) -> str:
        return self._texts[code]

    def codes(self, array: ArrowArray) -> tuple[Ints, Flags]:
        """The codes of a column of strings, and where it is NULL. Only its distinct values are looked at one by one."""
        chunks = [self._chunk_codes(chunk) for chunk in _chunks(array)]
        return _joined([codes for codes, _ in chunks], np.int64), _joined([nulls for _, nulls in chunks], np.bool_)

    @property
    def offsets(self) -> Ints:
        return self._offsets[: len(self) + 1]

    @property
    def data(self) -> NDArray[np.uint8]:
        return self._data[: self._offsets[len(self)]]

    @property
    def lengths(self) -> Ints:
        """The length of each string in code points."""
        return self._lengths[: len(self)]

    def heap(self, *, cases: bool) -> tuple[Ints, NDArray[np.uint8], Ints]:
        """What the kernel reads: offsets and data; and, where it asks for `cases`, each string's lower and upper case.

        The kernel cannot make strings, so whatever it may ask for has a code beforehand.
        """
        while cases and self._cased < len(self):
            text = self._texts[self._cased]
            self._cases = _roomy(self._cases, self._cased + 1)
            self._cases[self._cased] = self.code(text.lower()), self.code(text.upper())
            self._cased += 1
        return self.offsets, self.data, self._cases

    def state(self) -> list[str]:
        """What `restore` makes the same dictionary of."""
        return list(self._texts)

    @classmethod
    def restore(cls, state: Sequence[str]) -> StringDictionary:
        return cls(state)

    def _add(self, text: str) -> int:
        # A lone surrogate can only stand in a literal; no event has one, but asking must not fail.
        coded = text.encode("utf-8", "surrogatepass")
        code = len(self._texts)
        start = int(self._offsets[code])
        self._offsets = _roomy(self._offsets, code + 2)
        self._lengths = _roomy(self._lengths, code + 1)
        self._data = _roomy(self._data, start + len(coded))
        self._data[start : start + len(coded)] = np.frombuffer(coded, np.uint8)
        self._offsets[code + 1] = start + len(coded)
        self._lengths[code] = len(text)
        self._texts.append(text)
        self._codes[text] = code
        return code

    def _chunk_codes(self, chunk: ArrowArray) -> tuple[Ints, Flags]:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        words = [None if text is None else self.code(text) for text in encoded.dictionary.to_pylist()]
        if encoded.null_count == 0 and None not in words:
            return np.array(words or [0], np.int64)[numpy_of(encoded.indices)], no_nulls(len(encoded))
        # One more entry stands for NULL, which may be an index that is missing or a word that is.
        known = np.array([*(word or 0 for word in words), 0], np.int64)
        missing = np.array([*(word is None for word in words), True], np.bool_)
        indices = np.where(nulls_of(encoded.indices), len(words), numpy_of(encoded.indices))
        return known[indices], missing[indices]


def _roomy(array: NDArray[Any], wanted: int) -> NDArray[Any]:
    """The array, or a larger one that begins with it: it doubles, so that growing costs little on average."""
    if wanted <= len(array):
        return array
    larger = np.zeros((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


# ── From Arrow ─────────────────────────────────────────────────────────────────────────────────────────────────────


def from_arrow(table_column: ArrowArray, kind: Type, strings: StringDictionary) -> Column:
    """A column of an Arrow table as the attribute type `kind`; NaN is NULL."""
    if pa.types.is_null(table_column.type):
        count = len(table_column)
        return Column(kind, np.zeros(count, _dtype(kind)), np.ones(count, np.bool_))
    if kind is Type.STRING:
        return Column(kind, *strings.codes(table_column))
    chunks = [_numbers(chunk, kind) for chunk in _chunks(table_column)]
    values = _joined([values for values, _ in chunks], _dtype(kind))
    return Column(kind, values, _joined([nulls for _, nulls in chunks], np.bool_))


def _numbers(chunk: ArrowArray, kind: Type) -> tuple[Values, Flags]:
    plain = chunk
    for wanted in (ARROW_TYPES[kind], pa.float64() if kind is Type.FLOAT else pa.int64()):
        plain = plain if plain.type == wanted else plain.cast(wanted)
    # Most columns have no NULL and come as they lie in Arrow, without a copy.
    known = plain.null_count == 0
    nulls = no_nulls(len(plain)) if known else nulls_of(plain)
    values = numpy_of(plain) if known else np.where(nulls, 0, numpy_of(plain))
    if kind is Type.FLOAT and np.isnan(values).any():
        nulls = nulls | np.isnan(values)
    return values, nulls


def _chunks(array: ArrowArray) -> list[ArrowArray]:
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _joined(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """One array; the part itself where there is only one."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def _dtype(kind: Type) -> DTypeLike:
    return np.float64 if kind is Type.FLOAT else np.int64


# ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────


def evaluate(
    expression: Expression,
    columns: Mapping[str, Column],
    time: Column,
    stream: Column | None,
    strings: StringDictionary,
    time_type: Type,
    types: Mapping[str, Type],
) -> Column:
    """What an expression over one event is worth in each row.

    `types` and `time_type` say what the columns mean where they hold something narrower: the INT column of one stream
    whose attribute is a FLOAT in another, a time held as plain microseconds. An attribute without a column is NULL.
    `stream` may be None where the expression does not ask for it.
    """
    found = _evaluated(expression, _Batch(columns, _as_type(time, time_type), stream, strings, types))
    return _stretched(found, len(time.values))


def truth(
    condition: Expression,
    columns: Mapping[str, Column],
    time: Column,
    stream: Column | None,
    strings: StringDictionary,
    time_type: Type,
    types: Mapping[str, Type],
) -> Flags:
    """In which rows a condition is true; the arguments are those of `evaluate`."""
    found = _evaluated(condition, _Batch(columns, _as_type(time, time_type), stream, strings, types))
    true = found.values if found.values.dtype == np.bool_ else found.values != 0
    if may_be_null(found.nulls):
        true = true & ~found.nulls
    return true if len(true) == len(time.values) else np.full(len(time.values), true)


def _evaluated(expression: Expression, batch: _Batch) -> Column:
    with np.errstate(all="ignore"):  # what has no result is found by looking at it
        return _value(expression, batch)


@dataclass(frozen=True)
class _Batch:
    columns: Mapping[str, Column]
    time: Column
    stream: Column | None
    strings: StringDictionary
    types: Mapping[str, Type]

    def attribute(self, name: str) -> Column:
        kind = self.types.get(name, Type.UNKNOWN)
        column = self.columns.get(name)
        return _nothing(Type.NULL if kind is Type.UNKNOWN else kind) if column is None else _as_type(column, kind)


def _as_type(column: Column, kind: Type) -> Column:
    """The column as an expression takes it: truths are NumPy's own on the way, and 0 and 1 again at the end."""
    if column.kind is Type.BOOL:
        return Column(Type.BOOL, column.values != 0, column.nulls)
    if column.kind is Type.INT and kind is Type.FLOAT:
        return _as_float(column)
    if column.kind is Type.INT and kind is Type.TIMESTAMP:
        return Column(kind, column.values, column.nulls)
    return column


def _stretched(column: Column, count: int) -> Column:
    values = column.values.astype(_dtype(column.kind), copy=False)
    if len(values) == count:
        return Column(column.kind, values, column.nulls)
    return Column(column.kind, np.full(count, values), np.full(count, column.nulls))


def _value(expression: Expression, batch: _Batch) -> Column:
    match expression:
        case tree.Literal(value=literal):
            return _literal(literal, batch.strings)
        case tree.Span(micros=micros):
            return _constant(Type.DURATION, micros)
        case tree.Moment(micros=micros):
            return _constant(Type.TIMESTAMP, micros)
        case tree.Attribute(event=tree.This(), name=name):
            return batch.attribute(name)
        case tree.StreamOf(event=tree.This()) if batch.stream is not None:
            return batch.stream
        case tree.TimeOf(event=tree.This()):
            return batch.time
        case tree.Unary(operator="NOT", operand=operand):
            return _not(_value(operand, batch))
        case tree.Unary(operand=operand):
            return _negative(_value(operand, batch))
        case tree.Binary():
            return _binary(expression, batch)
        case tree.In(value=inner, options=options, negated=negated):
            found = _value(inner, batch)
            equal = (_compare("=", found, _value(option, batch), batch.strings) for option in options)
            return _perhaps_not(reduce(_or, equal, _constant(Type.BOOL, False)), negated)
        case tree.Between(value=inner, low=low, high=high, negated=negated):
            found = _value(inner, batch)
            above = _compare(">=", found, _value(low, batch), batch.strings)
            below = _compare("<=", found, _value(high, batch), batch.strings)
            return _perhaps_not(_and(above, below), negated)
        case tree.Like(value=inner, pattern=pattern, negated=negated):
            like = _on_two_texts(_is_like, _value(inner, batch), _value(pattern, batch), batch.strings)
            return _perhaps_not(like, negated)
        case tree.IsNull(value=inner, negated=negated):
            nulls = _value(inner, batch).nulls
            return Column(Type.BOOL, ~nulls if negated else nulls, np.zeros(len(nulls), np.bool_))
        case tree.Call(function=function, arguments=arguments):
            return _call(function, [_value(a, batch) for a in arguments], batch.strings)
    raise ValueError(f"not an expression over one event: {expression}")


def _literal(value: bool | int | float | str | None, strings: StringDictionary) -> Column:
    match value:
        case None:
            return _nothing(Type.NULL)
        case bool():
            return _constant(Type.BOOL, value)
        case int():
            return _constant(Type.INT, value)
        case float():
            return _constant(Type.FLOAT, value)
    return _constant(Type.STRING, strings.code(value))


def _constant(kind: Type, value: bool | int | float) -> Column:
    dtype = np.bool_ if kind is Type.BOOL else _dtype(kind)
    return Column(kind, np.array([value], dtype), np.zeros(1, np.bool_))


def _nothing(kind: Type) -> Column:
    return Column(kind, _constant(kind, 0).values, np.ones(1, np.bool_))


def _as_float(column: Column) -> Column:
    return Column(Type.FLOAT, column.values.astype(np.float64, copy=False), column.nulls)


def _binary(binary: tree.Binary, batch: _Batch) -> Column:
    left, right = _value(binary.left, batch), _value(binary.right, batch)
    match binary.operator:
        case "AND":
            return _and(left, right)
        case "OR":
            return _or(left, right)
        case sign if sign in _COMPARE:
            return _compare(sign, left, right, batch.strings)
    return _arithmetic(binary.operator, left, right)


# ── Truth ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _and(left: Column, right: Column) -> Column:
    if not may_be_null(left.nulls) and not may_be_null(right.nulls):
        return Column(Type.BOOL, (left.values != 0) & (right.values != 0), _either(left.nulls, right.nulls))
    false = _false(left) | _false(right)
    nulls = (left.nulls | right.nulls) & ~false
    return Column(Type.BOOL, ~(false | nulls), nulls)


def _or(left: Column, right: Column) -> Column:
    return _not(_and(_not(left), _not(right)))


def _not(truth: Column) -> Column:
    return Column(Type.BOOL, truth.values == 0, truth.nulls)


def _perhaps_not(truth: Column, negated: bool) -> Column:
    return _not(truth) if negated else truth


def _false(truth: Column) -> Flags:
    false: Flags = (truth.values == 0) & ~truth.nulls
    return false


_COMPARE: Mapping[str, Callable[[Values, Values], Flags]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _compare(sign: str, left: Column, right: Column, strings: StringDictionary) -> Column:
    if Type.NULL in (left.kind, right.kind):
        return _nothing(Type.BOOL)
    if Type.FLOAT in (left.kind, right.kind):
        left, right = _as_float(left), _as_float(right)
    one, other = left.values, right.values
    if left.kind is Type.STRING and sign not in ("=", "<>"):
        one, other = _ranks(one, other, strings)
    return Column(Type.BOOL, _COMPARE[sign](one, other), _either(left.nulls, right.nulls))


def _either(one: Flags, other: Flags) -> Flags:
    """Where one of two is NULL: the longer of them itself where the other is never."""
    if len(other) in (1, len(one)) and not may_be_null(other):
        return one
    if len(one) in (1, len(other)) and not may_be_null(one):
        return other
    return one | other


# ── Numbers ────────────────────────────────────────────────────────────────────────────────────────────────────────

_EXACT = 2**53  #: up to here every integer is a float


def _arithmetic(sign: str, left: Column, right: Column) -> Column:
    kinds = (left.kind, right.kind)
    if Type.NULL in kinds:
        return _nothing(Type.NULL)
    if Type.DURATION in kinds or Type.TIMESTAMP in kinds:
        return _time_arithmetic(sign, left, right)
    if Type.FLOAT in kinds:
        return _float_arithmetic(sign, _as_float(left), _as_float(right))
    return _quotient(left, right) if sign == "/" else _int_arithmetic(sign, left, right, Type.INT)


def _float_arithmetic(sign: str, left: Column, right: Column) -> Column:
    values = _FLOAT_ARITHMETIC[sign](left.values, right.values)
    nulls = left.nulls | right.nulls | ~np.isfinite(values)
    return Column(Type.FLOAT, values, nulls | (right.values == 0) if sign in "/%" else nulls)


_FLOAT_ARITHMETIC: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "%": np.fmod,
}


def _int_arithmetic(sign: str, left: Column, right: Column, kind: Type) -> Column:
    values, nulls = _INT_ARITHMETIC[sign](left.values, right.values)
    return Column(kind, values, nulls | left.nulls | right.nulls)


def _sum(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    # It wrapped round where both sides have one sign and the result the other (Hacker's Delight, 2-13).
    total = left + right
    return total, ((left ^ total) & (right ^ total)) < 0


def _difference(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    rest = left - right
    return rest, ((left ^ right) & (left ^ rest)) < 0


def _product(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    # The float is near enough to say which of two's complement rounds the product is in: no wrap leaves the sign as
    # it is, one turns it, and beyond that the size alone tells.
    product = left * right
    near = left.astype(np.float64) * right.astype(np.float64)
    turned = (product < 0) != (near < 0)
    size = np.abs(near)
    return product, (size > 1.5 * 2.0**63) | ((size > 2.0**62) & turned)


def _remainder(left: Ints, right: Ints) -> tuple[Ints, Flags]:
    # The least INT by -1 has no quotient in C; by 1 the remainder is the same.
    nothing = right == 0
    return np.fmod(left, np.where(nothing | (right == -1), 1, right)), nothing


_INT_ARITHMETIC: Mapping[str, Callable[[Ints, Ints], tuple[Ints, Flags]]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "%": _remainder,
}


def _quotient(left: Column, right: Column) -> Column:
    """The float nearest to the quotient of two integers, as Python has it: not that of their nearest floats."""
    nulls = left.nulls | right.nulls | (right.values == 0)
    values = left.values / right.values
    for row in np.flatnonzero(~nulls & (_is_long(left.values) | _is_long(right.values))):
        values[row] = _at(left.values, row) / _at(right.values, row)
    return Column(Type.FLOAT, values, nulls)


def _is_long(values: Ints) -> Flags:
    long: Flags = (values > _EXACT) | (values < -_EXACT)
    return long


def _at(values: Values, row: Any) -> Any:
    """One value as Python has it, exact; a constant is the same in every row."""
    return values[row if len(values) > 1 else 0].item()


def _negative(column: Column) -> Column:
    return _turned(column, np.negative)


def _absolute(column: Column) -> Column:
    return _turned(column, np.absolute)


def _turned(column: Column, turn: Callable[[Values], Values]) -> Column:
    """With its sign changed. The least integer has no opposite, and what is calculated is finite."""
    values = turn(column.values)
    lost = ~np.isfinite(values) if column.kind is Type.FLOAT else column.values == LEAST_INT
    return Column(column.kind, values, column.nulls | lost)


# ── Times ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _time_arithmetic(sign: str, left: Column, right: Column) -> Column:
    match left.kind, sign, right.kind:
        case (Type.DURATION, "/", Type.DURATION):
            return _quotient(left, right)
        case (Type.TIMESTAMP, "-", Type.TIMESTAMP) | (Type.DURATION, "+" | "-", Type.DURATION):
            return _int_arithmetic(sign, left, right, Type.DURATION)
        case (_, "+" | "-", _):
            return _within_calendar(_int_arithmetic(sign, left, right, Type.TIMESTAMP))
        case (_, "*", Type.DURATION):
            left, right = right, left
    if sign == "*" and right.kind is Type.INT:
        return _int_arithmetic(sign, left, right, Type.DURATION)
    return _scaled(sign, left, right)


def _within_calendar(column: Column) -> Column:
    """Years 1 to 9999."""
    outside = (column.values < LEAST_MICROS) | (column.values > LAST_MICROS)
    return Column(column.kind, column.values, column.nulls | outside)


def _scaled(sign: str, length: Column, factor: Column) -> Column:
    """A DURATION times or by a number, exact, then rounded to the microsecond and from the half-way to the even one.

    The result of floats is off by less than 2**-50 of itself. Where that cannot reach the half-way, rounding it is
    right; the other rows, among them all that are half-way, are done exactly.
    """
    micros, number = length.values, factor.values
    near = micros * number.astype(np.float64) if sign == "*" else micros / number
    whole = np.rint(near)
    sure = 0.5 - np.abs(near - whole) > np.abs(near) * 2.0**-50
    nulls = length.nulls | factor.nulls | ~np.isfinite(number) | ((number == 0) & (sign == "/"))
    values = np.where(sure, whole, 0).astype(np.int64)
    for row in np.flatnonzero(~nulls & ~sure):
        exact = _exactly_scaled(sign, _at(micros, row), _at(number, row))
        fits = LEAST_INT <= exact < -LEAST_INT
        values[row], nulls[row] = (exact, False) if fits else (0, True)
    return Column(Type.DURATION, values, nulls)


def _exactly_scaled(sign: str, micros: int, factor: int | float) -> int:
    return round(micros * Fraction(factor) if sign == "*" else micros / Fraction(factor))


# ── Texts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _call(function: str, arguments: list[Column], strings: StringDictionary) -> Column:
    first = arguments[0]
    match function:
        case "coalesce":
            return _coalesce(arguments)
        case "abs":
            return _absolute(first)
        case "contains":
            return _on_two_texts(lambda text, part: part in text, first, arguments[1], strings)
        case "length":
            return Column(Type.INT, strings.lengths[first.values], first.nulls)
        case "lower":
            return _recoded(str.lower, first, strings)
        case "upper":
            return _recoded(str.upper, first, strings)
    raise AssertionError(function)


def _coalesce(arguments: list[Column]) -> Column:
    known = [a for a in arguments if a.kind is not Type.NULL]
    if any(a.kind is Type.FLOAT for a in known):
        known = [_as_float(a) for a in known]
    return reduce(_first_present, known) if known else _nothing(Type.NULL)


def _first_present(one: Column, other: Column) -> Column:
    return Column(one.kind, np.where(one.nulls, other.values, one.values), one.nulls & other.nulls)


def _recoded(function: Callable[[str], str], column: Column, strings: StringDictionary) -> Column:
    values = _on_each(lambda text: strings.code(function(text)), column.values, np.int64, strings)
    return Column(Type.STRING, values, column.nulls)


def _on_two_texts(holds: Callable[[str, str], bool], left: Column, right: Column, strings: StringDictionary) -> Column:
    nulls = left.nulls | right.nulls
    if len(right.values) == 1:
        constant = strings.text(int(right.values[0]))
        return Column(Type.BOOL, _on_each(lambda text: holds(text, constant), left.values, np.bool_, strings), nulls)
    count = len(strings)
    pairs, where = np.unique(left.values * count + right.values, return_inverse=True)
    truths = [holds(strings.text(pair // count), strings.text(pair % count)) for pair in pairs.tolist()]
    return Column(Type.BOOL, np.array(truths, np.bool_)[where], nulls)


def _on_each(function: Callable[[str], Any], codes: Ints, dtype: DTypeLike, strings: StringDictionary) -> Values:
    """The function's results, asked once for each distinct string."""
    distinct = _distinct(codes, strings)
    table = np.empty(len(strings), dtype)
    table[distinct] = [function(strings.text(code)) for code in distinct.tolist()]
    return table[codes]


def _ranks(left: Ints, right: Ints, strings: StringDictionary) -> tuple[Ints, Ints]:
    """Numbers in the order of the strings, which is that of their code points."""
    codes = np.union1d(_distinct(left, strings), _distinct(right, strings))
    ranks = np.empty(len(strings), np.int64)
    ranks[sorted(codes.tolist(), key=strings.text)] = np.arange(len(codes))
    return ranks[left], ranks[right]


def _distinct(codes: Ints, strings: StringDictionary) -> Ints:
    if len(strings) > 4 * len(codes):  # a short batch does not look through the whole dictionary
        return np.unique(codes)
    seen = np.zeros(len(strings), np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen)


def _is_like(text: str, pattern: str) -> bool:
    return _like_regex(pattern).fullmatch(text) is not None


@cache
def _like_regex(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern. What stands between two % is taken where it first fits, for good: no backtracking over it."""
    first, *others = ["".join("." if c == "_" else re.escape(c) for c in part) for part in pattern.split("%")]
    middle = "".join(f"(?>.*?{part})" for part in others[:-1])
    last = f".*{others[-1]}" if others else ""
    return re.compile(first + middle + last, re.DOTALL)
