"""Text columns, as CSV has them: infer the type of all texts of a column, and cast them to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.arrow_interop import nan_to_null
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray, TypedColumn
from foretell.events.ingest.scalar_parsing import (
    BOOL_TEXT,
    FLOAT_TEXT,
    INT_TEXT,
    LAST_MICROS,
    LEAST_MICROS,
    cast_each,
    convert,
    convert_text,
    is_timestamp,
)
from foretell.events.types import Type

_PLAIN_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_PLAIN_INT = re.compile(rf"\s*{INT_TEXT}\s*")
_DATE_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
# The spelling that Arrow parses exactly as `parse_timestamp` does; all others are parsed one by one.
_NAIVE = rf"{_DATE_TIME}:[0-9]{{2}}(?:\.[0-9]{{1,6}})?"
_HEAD = 64  # rows that are matched first: most columns of another type show it there


@dataclass(frozen=True)
class TextColumn:
    """A column of texts; NULL stands for an empty field."""

    name: str
    texts: ArrowArray

    def infer_type(self) -> Type:
        """The most specific type that fits every text."""
        texts = self.texts
        if texts.null_count == len(texts):
            return Type.NULL
        if _all_match(texts, rf"\s*{INT_TEXT}\s*"):
            # Numbers too long for INT are most likely identifiers; as FLOAT, different ones would become equal.
            return Type.STRING if self.cast(Type.INT).misfits else Type.INT
        if _all_match(texts, rf"\s*(?:{FLOAT_TEXT})\s*"):
            return Type.FLOAT
        if _all_match(texts, rf"\s*{BOOL_TEXT}\s*"):
            return Type.BOOL
        if _all_match(texts, rf"\s*{_DATE_TIME}.*") and not parse_timestamps(texts, self.name).misfits:
            return Type.TIMESTAMP
        return Type.STRING

    def infer_time_type(self) -> Type:
        """The type of the first text that can be a time, a number or an ISO date; malformed texts before it do not
        decide."""
        present = (text for text in _strings(self.texts) if text is not None)
        deciding = next((text for text in present if _PLAIN_NUMBER.fullmatch(text) or is_timestamp(text)), None)
        if deciding is None:
            return Type.NULL if self.texts.null_count == len(self.texts) else Type.TIMESTAMP
        return self._number_type() if _PLAIN_NUMBER.fullmatch(deciding) else Type.TIMESTAMP

    def _number_type(self) -> Type:
        numbers = (text for text in _strings(self.texts) if text and _PLAIN_NUMBER.fullmatch(text))
        return Type.INT if all(map(_PLAIN_INT.fullmatch, numbers)) else Type.FLOAT

    def cast(self, wanted: Type) -> TypedColumn:
        if wanted is Type.STRING:
            return TypedColumn(self.texts, {})
        if wanted is Type.TIMESTAMP:
            return parse_timestamps(self.texts, self.name)
        pattern = {Type.INT: INT_TEXT, Type.FLOAT: FLOAT_TEXT, Type.BOOL: BOOL_TEXT}[wanted]
        # Arrow would also take '0x1f' for a number and '1' for true, hence the pattern first.
        if _all_match(self.texts, pattern):
            try:
                return TypedColumn(_without_nan(pc.cast(self.texts, ARROW_TYPES[wanted])), {})
            except pa.ArrowInvalid:
                pass  # some text does not fit, or is spelled '+5'
        return cast_each(_strings(self.texts), self.name, wanted, lambda text: convert_text(text, wanted))


def deciding_texts(texts: ArrowArray) -> list[str]:
    """The texts that decide the inferred type, in their order: the first, the first that does not fit each type, the
    first that can be a time or a number that is not whole."""
    texts = texts.drop_null()
    strings: list[str] = texts.to_pylist()
    whole, date = rf"\s*{INT_TEXT}\s*", rf"\s*{_DATE_TIME}.*"
    deciding = {0, *(_first_other(texts, p) for p in (whole, rf"\s*(?:{FLOAT_TEXT})\s*", rf"\s*{BOOL_TEXT}\s*", date))}
    deciding |= {_first_misfit(texts, whole, Type.INT), _first_misfit(texts, date, Type.TIMESTAMP)}
    numbers = [i for i, text in enumerate(strings) if _PLAIN_NUMBER.fullmatch(text)]
    deciding.add(next((i for i in numbers if not _PLAIN_INT.fullmatch(strings[i])), -1))
    before = strings[: numbers[0]] if numbers else strings
    deciding |= {*numbers[:1], next((i for i, text in enumerate(before) if is_timestamp(text)), -1)}
    return [strings[i] for i in sorted(deciding) if 0 <= i < len(strings)]


def _first_other(texts: ArrowArray, pattern: str) -> int:
    """The position of the first text that does not match a pattern; -1 without one."""
    return int(pc.index(_matching(texts, pattern), False).as_py())


def _matching(texts: ArrowArray, pattern: str) -> ArrowArray:
    return pc.match_substring_regex(texts, f"^(?:{pattern})$")


def _first_misfit(texts: ArrowArray, pattern: str, kind: Type) -> int:
    """The position of the first text that matches a type's pattern but is none: a whole number that is too long, a 13th
    month."""
    matching: ArrowArray = pc.indices_nonzero(_matching(texts, pattern))
    misfits = TextColumn("", texts.take(matching)).cast(kind).misfits
    return int(matching[min(misfits)].as_py()) if misfits else -1


def parse_timestamps(texts: ArrowArray, name: str) -> TypedColumn:
    """Parse ISO 8601 texts; one without an offset is UTC."""
    for pattern, kind in ((_NAIVE + "Z", ARROW_TYPES[Type.TIMESTAMP]), (_NAIVE, pa.timestamp("us"))):
        if _all_match(texts, pattern):
            try:
                moments = pc.cast(texts, kind)
            except pa.ArrowInvalid:
                break  # such as a 13th month
            if _within_range(moments):
                return TypedColumn(pc.cast(pc.cast(moments, pa.int64()), ARROW_TYPES[Type.TIMESTAMP]), {})
    return cast_each(_strings(texts), name, Type.TIMESTAMP, lambda text: convert(text, Type.TIMESTAMP))


def _within_range(moments: ArrowArray) -> bool:
    micros: ArrowArray = pc.cast(moments, pa.int64())
    least, last = pc.min(micros).as_py(), pc.max(micros).as_py()
    return least is None or (least >= LEAST_MICROS and last <= LAST_MICROS)


def _all_match(texts: ArrowArray, pattern: str) -> bool:
    """Whether every text that is not NULL matches `pattern`."""
    whole = f"^(?:{pattern})$"
    return _match(texts[:_HEAD], whole) and _match(texts, whole)


def _match(texts: ArrowArray, whole: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, whole), min_count=0).as_py())


def _without_nan(values: ArrowArray) -> ArrowArray:
    if not pa.types.is_floating(values.type):
        return values
    return nan_to_null(values)


def _strings(texts: ArrowArray) -> Iterator[str | None]:
    return iter(texts.to_pylist())
