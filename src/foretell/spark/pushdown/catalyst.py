"""The predicate dialect of Spark's optimizer (Catalyst): conditions as columns, evaluated before rows come to Python.

It leaves out conditions that Spark evaluates differently or might: texts that are not compared by their bytes; an INT
compared as a FLOAT beyond the exact range of FLOAT; and a FLOAT compared with zero: in a Parquet file that holds only
-0.0, Spark 4.3 finds no row for `= 0.0`, since its reader takes the two for different numbers.
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
from foretell.events.types import Type
from foretell.spark.column_names import column
from foretell.spark.pushdown.predicate import AttributeOperand, ConstantOperand, PredicateOperand, as_float

_WHOLE = (ByteType(), ShortType(), IntegerType(), LongType())
_FLOATS = (FloatType(), DoubleType())
_SIGNS: Mapping[str, Callable[[Column, Column], Column]] = {
    "<": Column.__lt__, "<=": Column.__le__, ">": Column.__gt__, ">=": Column.__ge__, "=": Column.__eq__,
    "<>": Column.__ne__,
}  # fmt: skip
_EXACT = 1 << 53  #: every INT up to this is a FLOAT


@dataclass(frozen=True)
class CatalystDialect:
    """Translates conditions on the columns of a frame."""

    columns: Mapping[str, DataType]

    @classmethod
    def of(cls, schema: StructType) -> CatalystDialect:
        return cls({field.name: field.dataType for field in schema})

    def always(self, holds: bool) -> Column:
        return f.lit(holds)

    def both(self, left: Column, right: Column) -> Column:
        return left & right

    def either(self, left: Column, right: Column) -> Column:
        return left | right

    def compare(self, sign: str, left: AttributeOperand, right: PredicateOperand) -> Column | None:
        floats = as_float(left, right)
        left_value, right_value = self._value(left, floats), self._value(right, floats)
        if left_value is None or right_value is None or (floats and not self._exact(left, right)):
            return None
        compared = _SIGNS[sign](left_value, right_value)
        return reduce(Column.__and__, [~f.isnan(column(n)) for n in self._floats(left, right)], compared)

    def is_known(self, attribute: AttributeOperand, wanted: bool) -> Column | None:
        if self.columns[attribute.name] not in (*_WHOLE, *_FLOATS, BooleanType(), StringType(), TimestampType()):
            return None
        is_nan = [f.isnan(column(n)) for n in self._floats(attribute)]
        null = reduce(Column.__or__, is_nan, column(attribute.name).isNull())
        return ~null if wanted else null

    def flag(self, attribute: AttributeOperand, wanted: bool) -> Column | None:
        if self.columns[attribute.name] != BooleanType():
            return None
        return column(attribute.name) if wanted else ~column(attribute.name)

    def _floats(self, *values: PredicateOperand) -> list[str]:
        """Return the attributes that may be NaN."""
        return [v.name for v in values if isinstance(v, AttributeOperand) and self.columns[v.name] in _FLOATS]

    def _exact(self, left: AttributeOperand, right: PredicateOperand) -> bool:
        """Return whether Spark's comparison of FLOATs gives the same result as ours, however it casts them."""
        if isinstance(right, AttributeOperand):
            return all(self.columns[operand.name] in _FLOATS for operand in (left, right))
        small = isinstance(right.value, int | float) and abs(right.value) < _EXACT
        return right.value != 0 and (small or self.columns[left.name] in _FLOATS)

    def _value(self, operand: PredicateOperand, floats: bool) -> Column | None:
        if isinstance(operand, ConstantOperand):
            return _constant(operand.value, floats)
        stored, plain = self.columns[operand.name], column(operand.name)
        if stored in _WHOLE or (stored in _FLOATS and floats):
            wanted = DoubleType() if floats else LongType()
            return plain if stored == wanted else plain.cast(wanted)
        if stored == TimestampType() and operand.kind is Type.TIMESTAMP:
            return f.unix_micros(plain)
        return plain if stored == StringType() and operand.kind is Type.STRING else None


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


# ── values that do not fit ──


@dataclass(frozen=True)
class MisfitRows:
    """Which rows of a frame have no valid time, and which have that or another value that does not fit."""

    untimed: Column
    any: Column


def misfit_rows(frame: StructType, attributes: Mapping[str, Type], time_column: str) -> MisfitRows | None:
    """Return which rows have values that do not fit; None if Spark cannot tell."""
    time = column(time_column)
    untimed: list[Column] = [time.isNull()]
    others: list[Column] = []
    types = {field.name: field.dataType for field in frame}
    for name, kind in attributes.items():
        known, misfits = _misfits(column(name), types.get(name), kind)
        if not known:
            return None
        (untimed if name == time_column else others).extend(misfits)
    if types[time_column] in _FLOATS:
        untimed += [f.isnan(time), f.abs(time) == f.lit(float("inf"))]
    return MisfitRows(reduce(Column.__or__, untimed), reduce(Column.__or__, [*untimed, *others]))


def _misfits(value: Column, stored: DataType | None, wanted: Type) -> tuple[bool, list[Column]]:
    """Return whether Spark can tell which values of a column do not fit our type, and the conditions for these."""
    match wanted:
        case Type.INT:
            return stored in _WHOLE, []
        case Type.FLOAT:
            return stored in (*_WHOLE, *_FLOATS), []
        case Type.BOOL:
            return stored == BooleanType(), []
        case Type.STRING:
            # A collation changes which texts are equal, not that they are UTF-8.
            return isinstance(stored, StringType), [~f.is_valid_utf8(value)]
        case Type.TIMESTAMP:
            micros = f.unix_micros(value)
            return stored == TimestampType(), [(micros < f.lit(LEAST_MICROS)) | (micros > f.lit(LAST_MICROS))]
    return False, []
