"""Text columns, as CSV has them: infer the type of all texts of a column, and cast them to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.ingest.null_markers import USUAL_MARKERS, NullMarkers
from foretell.events.ingest.raw_columns import ArrowArray, TypedColumn
from foretell.events.ingest.scalar_parsing import (
    BOOL_TEXT,
    INT_TEXT,
    cast_each,
    convert_text,
    is_timestamp,
)
from foretell.events.ingest.text_kernels import (
    all_match,
    has_any,
    has_clock_times,
    has_leading_zeros,
    parse_most,
    parse_texts,
)
from foretell.events.ingest.time_columns import deciding_positions, deciding_times, parse_times
from foretell.events.ingest.time_forms import DEFAULT_READING, TimeReading
from foretell.events.types import Type
from foretell.records import record

_NUMBER_TEXT = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_PLAIN_NUMBER = re.compile(rf"\s*{_NUMBER_TEXT}\s*")
_PLAIN_INT = re.compile(rf"\s*{INT_TEXT}\s*")
_DATE_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
# Numbers without leading zeros, which identifiers have: '007' is not 7.
_WHOLE = r"\s*[+-]?(?:0|[1-9][0-9]*)\s*"
_REAL = r"\s*(?:[+-]?(?:0|[1-9][0-9]*|[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|[+-]?inf(?:inity)?))\s*"
_ONE_SPELLING = r"0|-?[1-9][0-9]*"
_HEAD = 64  # texts that are looked at first
_SLICE = 4_096  # texts that are decoded at once


@record
class TextColumn:
    """A column of texts; NULL stands for an empty field."""

    name: str
    texts: ArrowArray
    parsed: dict[Type, ArrowArray | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def infer_type(self) -> Type:
        """The most specific type that fits every text."""
        texts = self.texts
        if texts.null_count == len(texts):
            return Type.NULL
        return self._parsed_type() or self._matched_type()

    def _parsed_type(self) -> Type | None:
        """The type as which Arrow parses all texts; None where it cannot tell."""
        for kind in (Type.INT, Type.FLOAT, Type.BOOL, Type.TIMESTAMP):
            if self._parsed(kind) is not None:
                # Whole numbers that are no INT are too long for it, or spelled '+5'.
                sure = kind is not Type.FLOAT or has_any(self.texts, b".eEnN")
                sure = sure and (kind is not Type.TIMESTAMP or has_clock_times(self.texts))
                sure = sure and not (kind.numeric and has_leading_zeros(self.texts))
                return kind if sure else None
        return None

    def _matched_type(self) -> Type:
        texts = self.texts
        if all_match(texts, _WHOLE):
            # Numbers too long for INT are most likely identifiers; as FLOAT, different ones would become equal.
            return Type.STRING if self.cast(Type.INT).misfits else Type.INT
        if all_match(texts, _REAL):
            return Type.FLOAT
        if all_match(texts, rf"\s*{BOOL_TEXT}\s*"):
            return Type.BOOL
        if all_match(texts, rf"\s*{_DATE_TIME}.*") and not parse_timestamps(texts, self.name).misfits:
            return Type.TIMESTAMP
        return Type.STRING

    def infer_type_without_markers(self) -> Type:
        """The type of a STRING column whose usual markers of missing values are NULL; STRING where it is one still."""
        if self.texts.null_count == len(self.texts):
            return Type.STRING
        head = TextColumn(self.name, self.texts[:_HEAD]).without(USUAL_MARKERS).infer_type()
        kind = head if head is Type.STRING else self.without(USUAL_MARKERS).infer_type()
        return Type.STRING if kind is Type.NULL else kind

    def spells_numbers_alike(self, kind: Type) -> bool:
        """Whether every number has the one spelling that Python gives it, so that different texts are different
        numbers."""
        texts = self.without(USUAL_MARKERS).texts
        return (_first_other(texts, _ONE_SPELLING) if kind is Type.INT else _first_other_float(texts)) < 0

    def infer_time_type(self) -> Type:
        """The type of the first text that can be a time, a number or an ISO date; malformed texts before it do not
        decide."""
        present = (text for text in _strings(self.texts) if text is not None)
        deciding = next((text for text in present if _PLAIN_NUMBER.fullmatch(text) or is_timestamp(text)), None)
        if deciding is None:
            return Type.NULL if self.texts.null_count == len(self.texts) else Type.TIMESTAMP
        return self._number_type() if _PLAIN_NUMBER.fullmatch(deciding) else Type.TIMESTAMP

    def _number_type(self) -> Type:
        if self._parsed(Type.INT) is not None:
            return Type.INT
        if self._parsed(Type.FLOAT) is not None and has_any(self.texts, b".eE"):
            return Type.FLOAT
        numbers = (text for text in _strings(self.texts) if text and _PLAIN_NUMBER.fullmatch(text))
        return Type.INT if all(map(_PLAIN_INT.fullmatch, numbers)) else Type.FLOAT

    def cast(self, wanted: Type) -> TypedColumn:
        if wanted is Type.STRING:
            return TypedColumn(self.texts, {})
        parsed = self._parsed(wanted)
        if parsed is not None:
            return TypedColumn(parsed, {})
        if wanted is Type.TIMESTAMP:
            return parse_times(self.texts, self.name, DEFAULT_READING)
        most = parse_most(self.texts, wanted)
        if most is None:
            return cast_each(_strings(self.texts), self.name, wanted, lambda text: convert_text(text, wanted))
        values, positions = most
        column = self._cast_distinct(positions, wanted)
        misfits = {positions[n]: reason for n, reason in column.misfits.items()}
        return TypedColumn(_replaced(values, positions, column.values), misfits)

    def _cast_distinct(self, positions: list[int], wanted: Type) -> TypedColumn:
        """Cast the texts at these positions, each distinct one once: most are a marker of missing values."""
        texts: ArrowArray = self.texts.take(arrow_of(np.array(positions, np.int64)))
        codes: dict[str, list[int]] = {}
        for number, text in enumerate(_strings(texts)):
            assert text is not None
            codes.setdefault(text, []).append(number)
        column = cast_each(codes, self.name, wanted, lambda text: convert_text(text, wanted))
        code = np.empty(len(positions), np.int64)
        misfits: dict[int, str] = {}
        for number, places in enumerate(codes.values()):
            code[places] = number
            if number in column.misfits:
                misfits |= dict.fromkeys(places, column.misfits[number])
        return TypedColumn(column.values.take(arrow_of(code)), dict(sorted(misfits.items())))

    def cast_times(self, reading: TimeReading) -> TypedColumn:
        if not reading.is_plain:
            return parse_times(self.texts, self.name, reading)
        parsed = self._parsed(Type.TIMESTAMP)
        return TypedColumn(parsed, {}) if parsed is not None else parse_times(self.texts, self.name, reading)

    def time_texts(self) -> list[str]:
        return deciding_times(self.texts)

    def number_bounds(self) -> tuple[float | None, float | None]:
        parsed = self._parsed(Type.INT)
        bounds: Any = pc.min_max(_numbers(self.texts) if parsed is None else parsed).as_py()
        return bounds["min"], bounds["max"]

    def as_texts(self) -> ArrowArray:
        return self.texts

    def _parsed(self, kind: Type) -> ArrowArray | None:
        """The values as Arrow parses them, kept: inference and cast need the same."""
        if kind not in self.parsed:
            self.parsed[kind] = parse_texts(self.texts, kind)
        return self.parsed[kind]

    def without(self, markers: NullMarkers) -> Self:
        return replace(self, texts=markers.without_texts(self.texts, markers.fields))

    def value(self, position: int) -> object:
        return self.texts[position].as_py()


def _numbers(texts: ArrowArray) -> ArrowArray:
    """The numbers among the texts, NULL for others."""
    trimmed = pc.ascii_ltrim(pc.ascii_trim_whitespace(texts), "+")
    is_number = pc.match_substring_regex(trimmed, f"^(?:{_NUMBER_TEXT})$")
    return pc.cast(pc.if_else(is_number, trimmed, pa.nulls(1, pa.string())[0]), pa.float64())


def deciding_texts(texts: ArrowArray, *, is_id: bool = False) -> list[str]:
    """The texts that decide the inferred type, in their order, of all texts and of those that are no usual markers of
    missing values."""
    texts = texts.drop_null()
    unmarked = USUAL_MARKERS.without_texts(texts, USUAL_MARKERS.fields)
    valid: ArrowArray = pc.is_valid(unmarked)
    places: ArrowArray = pc.indices_nonzero(valid)
    deciding = _deciding(texts, is_id) | {int(places[i].as_py()) for i in _deciding(unmarked.drop_null(), is_id)}
    return [texts[i].as_py() for i in sorted(deciding)]


def _deciding(texts: ArrowArray, is_id: bool) -> set[int]:
    """The positions of the first text, the first that does not fit each type, the first that can be a time or a number
    that is not whole."""
    strings: list[str] = texts.to_pylist()
    date = rf"\s*{_DATE_TIME}.*"
    deciding = {0, *(_first_other(texts, p) for p in (_WHOLE, _REAL, rf"\s*{BOOL_TEXT}\s*", date))}
    deciding |= {_first_misfit(texts, _WHOLE, Type.INT), _first_misfit(texts, date, Type.TIMESTAMP)}
    if is_id:
        deciding |= {_first_other(texts, _ONE_SPELLING), _first_other_float(texts)}
    numbers = [i for i, text in enumerate(strings) if _PLAIN_NUMBER.fullmatch(text)]
    deciding.add(next((i for i in numbers if not _PLAIN_INT.fullmatch(strings[i])), -1))
    before = strings[: numbers[0]] if numbers else strings
    deciding |= {*numbers[:1], next((i for i, text in enumerate(before) if is_timestamp(text)), -1)}
    deciding |= {*deciding_positions(texts), *_extremes(texts)}
    return {i for i in deciding if 0 <= i < len(strings)}


def _first_other_float(texts: ArrowArray) -> int:
    """The position of the first text that Python would not spell so as a float; -1 without one."""
    spelled = ((i, text) for i, text in enumerate(_strings(texts)) if text is not None)
    return next((i for i, text in spelled if not _PLAIN_NUMBER.fullmatch(text) or text != repr(float(text))), -1)


def _extremes(texts: ArrowArray) -> list[int]:
    """The positions of the least and the greatest number."""
    numbers = _numbers(texts)
    return [int(pc.index(numbers, bound).as_py()) for bound in pc.min_max(numbers).values() if bound.is_valid]


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


def parse_timestamps(texts: ArrowArray, name: str, reading: TimeReading = DEFAULT_READING) -> TypedColumn:
    """Parse texts as times; ISO 8601, which most columns have, by Arrow's own parser."""
    return TextColumn(name, texts).cast_times(reading)


def _replaced(values: ArrowArray, positions: list[int], others: ArrowArray) -> ArrowArray:
    """Numbers or booleans, with others at some positions."""
    numbers, nulls = numpy_of(values).copy(), nulls_of(values).copy()
    numbers[positions], nulls[positions] = numpy_of(others), nulls_of(others)
    return arrow_of(numbers, values.type, nulls)


def _strings(texts: ArrowArray) -> Iterator[str | None]:
    """The texts one by one; the first may be enough, so they are not all decoded at once."""
    return (text for start in range(0, len(texts), _SLICE) for text in texts[start : start + _SLICE].to_pylist())
