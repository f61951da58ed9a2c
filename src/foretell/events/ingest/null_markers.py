"""Markers of missing values: those that the user names, and the usual ones, which are guessed where nothing else fits.

A marker that is a text is compared with texts, without the spaces around them. A number, or a text that spells one, is
compared with numbers. The fields of a CSV file stand for either, so all markers are compared with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, lru_cache
from string import whitespace
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.raw_columns import ArrowArray, RawTable
from foretell.events.types import Type
from foretell.records import record

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_USUAL = ("NA", "N/A", "#N/A", "<NA>", "NaN", "NaT", "null", "None", "nil", "-", "?", "")


@record
class NullMarkers:
    texts: frozenset[str]
    numbers: frozenset[int | float] = frozenset()

    @classmethod
    def of(cls, nulls: Iterable[str | int | float]) -> NullMarkers:
        values = list(nulls)
        texts = frozenset(value.strip(whitespace) for value in values if isinstance(value, str))
        numbers = {value for value in values if not isinstance(value, str)}
        return cls(texts, frozenset(numbers | {float(text) for text in texts if _NUMBER.fullmatch(text)}))

    @cached_property
    def fields(self) -> frozenset[str]:
        """The texts of CSV fields that are markers; other spellings of the numbers are found once they are numbers."""
        return self.texts | {spelling for number in self.numbers for spelling in (str(number), f"{number:g}")}

    def has(self, value: object) -> bool:
        if isinstance(value, str):
            return value.strip(whitespace) in self.texts
        return value in self.numbers if isinstance(value, int | float) and not isinstance(value, bool) else False

    @staticmethod
    def without_texts(texts: ArrowArray, markers: frozenset[str]) -> ArrowArray:
        """The texts, NULL where they are markers."""
        marked: Any = pc.is_in(pc.ascii_trim_whitespace(texts), value_set=_value_set(markers))
        return pc.if_else(marked, pa.nulls(1, texts.type)[0], texts)

    def without_numbers(self, values: ArrowArray) -> ArrowArray:
        """The numbers, NULL where they are markers."""
        numbers = [float(number) for number in self.numbers]
        if not pa.types.is_floating(values.type):
            numbers = [int(number) for number in self.numbers if float(number).is_integer() and abs(number) < 2**63]
        if not numbers:
            return values
        plain: Any = pa.float64() if pa.types.is_floating(values.type) else pa.int64()
        marked: Any = pc.is_in(values.cast(plain, safe=False), value_set=arrow_of(np.array(numbers), plain))
        return pc.if_else(marked, pa.nulls(1, values.type)[0], values)


@lru_cache(maxsize=16)
def _value_set(markers: frozenset[str]) -> ArrowArray:
    """The markers for Arrow. Each of the columns asks for them, and there may be thousands."""
    return arrow_of_values(sorted(markers), Type.STRING)


NO_MARKERS = NullMarkers(frozenset())
#: The usual markers, in the spellings that files have.
USUAL_MARKERS = NullMarkers(frozenset(s for text in _USUAL for s in (text, text.lower(), text.upper(), text.title())))


def apply_null_markers(raw: RawTable, nulls: tuple[str | int | float, ...]) -> RawTable:
    """The table with NULL for the markers that the user names."""
    if not nulls:
        return raw
    markers = NullMarkers.of(nulls)
    return replace(raw, columns={name: column.without(markers) for name, column in raw.columns.items()})
