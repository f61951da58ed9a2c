"""Conditions as columns of Spark, for its own plan to judge before rows come to Python, where that has our meaning.

Left out is what differs or might: texts that are not compared by their bytes; an INT that is compared as a FLOAT beyond
what a FLOAT holds; and a FLOAT compared with zero: of a Parquet file that holds -0.0 alone, Spark 4.3 finds no row for
`= 0.0`, since what reads the file takes it for another number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_MICROS
from foretell.events.types import Schema, Type
from foretell.spark.pushdown.predicate import AttributeOperand, ConstantOperand, as_float

_WHOLE = (ByteType(), ShortType(), IntegerType(), LongType())
_FLOATS = (FloatType(), DoubleType())
_SIGNS: Mapping[str, Callable[[Column, Column], Column]] = {
    "<": Column.__lt__, "<=": Column.__le__, ">": Column.__gt__, ">=": Column.__ge__, "=": Column.__eq__,
    "<>": Column.__ne__,
}  # fmt: skip
_EXACT = 1 << 53  #: up to here every INT is a FLOAT


def column(name: str) -> Column:
    return f.col(f"`{name}`")


@dataclass(frozen=True)
class CatalystDialect:
    """The columns of a frame, as conditions speak of them."""

    columns: Mapping[str, DataType]

    @classmethod
    def of(cls, schema: StructType) -> CatalystDialect:
        return cls({field.name: field.dataType for field in schema})

    def always(self, holds: bool) -> Column:
        return f.lit(holds)

    def both(self, one: Column, other: Column) -> Column:
        return one & other

    def either(self, one: Column, other: Column) -> Column:
        return one | other

    def compare(self, sign: str, left: AttributeOperand, right: AttributeOperand | ConstantOperand) -> Column | None:
        floats = as_float(left, right)
        one, other = self._value(left, floats), self._value(right, floats)
        if one is None or other is None or (floats and not self._exact(left, right)):
            return None
        compared = _SIGNS[sign](one, other)
        return reduce(Column.__and__, [~f.isnan(column(n)) for n in self._floats(left, right)], compared)

    def known(self, one: AttributeOperand, wanted: bool) -> Column | None:
        if self.columns[one.name] not in (*_WHOLE, *_FLOATS, BooleanType(), StringType(), TimestampType()):
            return None
        null = reduce(Column.__or__, [f.isnan(column(n)) for n in self._floats(one)], column(one.name).isNull())
        return ~null if wanted else null

    def flag(self, one: AttributeOperand, wanted: bool) -> Column | None:
        if self.columns[one.name] != BooleanType():
            return None
        return column(one.name) if wanted else ~column(one.name)

    def _floats(self, *values: AttributeOperand | ConstantOperand) -> list[str]:
        """Which of them may be NaN."""
        return [one.name for one in values if isinstance(one, AttributeOperand) and self.columns[one.name] in _FLOATS]

    def _exact(self, left: AttributeOperand, right: AttributeOperand | ConstantOperand) -> bool:
        """Whether Spark compares as we do where numbers are compared as FLOATs, however it goes about it."""
        if isinstance(right, AttributeOperand):
            return all(self.columns[one.name] in _FLOATS for one in (left, right))
        small = isinstance(right.value, int | float) and abs(right.value) < _EXACT
        return right.value != 0 and (small or self.columns[left.name] in _FLOATS)

    def _value(self, one: AttributeOperand | ConstantOperand, floats: bool) -> Column | None:
        if isinstance(one, ConstantOperand):
            return _constant(one.value, floats)
        found, plain = self.columns[one.name], column(one.name)
        if found in _WHOLE or (found in _FLOATS and floats):
            wanted = DoubleType() if floats else LongType()
            return plain if found == wanted else plain.cast(wanted)
        if found == TimestampType() and one.kind is Type.TIMESTAMP:
            return f.unix_micros(plain)
        return plain if found == StringType() and one.kind is Type.STRING else None


def _constant(value: bool | int | float | str | None, floats: bool) -> Column | None:
    match value:
        case bool() | None:
            return None
        case str():
            return f.lit(value) if value.isascii() or _is_utf8(value) else None
    return f.lit(float(value)) if floats else f.lit(value).cast(LongType())


def _is_utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


# ── malformed events ──


def malformed(frame: StructType, schema: Schema) -> Column | None:
    """Which rows of a frame are no events; None where Spark cannot tell."""
    assert schema.time is not None
    time = column(schema.time)
    found = [time.isNull()]
    types = {field.name: field.dataType for field in frame}
    for name, kind in schema.attributes.items():
        known, some = _misfits(column(name), types.get(name), kind)
        if not known:
            return None
        found += some
    if types[schema.time] in _FLOATS:
        found += [f.isnan(time), f.abs(time) == f.lit(float("inf"))]
    return reduce(Column.__or__, found)


def _misfits(value: Column, found: DataType | None, wanted: Type) -> tuple[bool, list[Column]]:
    """Whether it is known which values of a column do not fit, and these."""
    match wanted:
        case Type.INT:
            return found in _WHOLE, []
        case Type.FLOAT:
            return found in (*_WHOLE, *_FLOATS), []
        case Type.BOOL:
            return found == BooleanType(), []
        case Type.STRING:
            # Texts may have a rule of their own of which are equal: they are UTF-8 all the same.
            return isinstance(found, StringType), [~f.is_valid_utf8(value)]
        case Type.TIMESTAMP:
            micros = f.unix_micros(value)
            return found == TimestampType(), [(micros < f.lit(LEAST_MICROS)) | (micros > f.lit(LAST_MICROS))]
    return False, []
