"""A row group of a Parquet file: of events that cannot matter, no more is read than what they do to time.

Statistics in the file's footer can tell that no event of a group passes any static condition. Else the columns that the
conditions speak of are read first, and of the others only the events that pass are taken on. Whatever could make an
event malformed is read in any case, unless the statistics tell that it does not; where one is, all is read, so that it
is set aside as in process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.ingest.arrow_columns import ArrowColumn
from foretell.events.ingest.raw_columns import ARROW_TYPES, TypedColumn
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.spark.batch.input_splits import InputSplit, SplitEvents, StreamProgress, rows_part, seen_in
from foretell.spark.batch.plan import BatchPlan
from foretell.spark.pushdown.predicate import AttributeOperand, ConstantOperand, as_float, pushed_down_predicate
from foretell.spark.pushdown.quenching import acceptable, may_matter

Bounds = tuple[Any, Any]

#: A column of texts that takes fewer bytes for a text holds codes for them: a length alone takes four.
_CODED = 3
_UNITS: Mapping[str, Any] = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def row_group(plan: BatchPlan, stream: str, piece: InputSplit) -> SplitEvents:
    with pq.ParquetFile(piece.path, pre_buffer=False) as file:
        group = RowGroupStatistics(file, piece.group, plan.schemas[stream])
        taken = [n for n in group.names if n in plan.needed(stream) or group.may_misfit(n)]
        coded = [n for n in taken if group.is_coded(n)]
        with pq.ParquetFile(piece.path, metadata=file.metadata, read_dictionary=coded, pre_buffer=False) as as_codes:
            part = _sifted(plan, stream, piece, group, as_codes, taken)
        if part is not None:
            return part
        table = file.read_row_group(piece.group, columns=taken, use_threads=False)
    return rows_part(plan, stream, table, piece.path, piece.row, piece.arrival + piece.row)


def _sifted(
    plan: BatchPlan, stream: str, piece: InputSplit, group: RowGroupStatistics, file: pq.ParquetFile, taken: list[str]
) -> SplitEvents | None:
    """The events that may matter; None where one is malformed."""
    schema, statements, first = group.schema, plan.statements, piece.arrival + piece.row
    there = [name for name in group.names if name in schema.attributes]
    none = pushed_down_predicate(stream, there, statements, plan.named, group) is False
    asked = set() if none else {schema.time, *_asked(plan, stream)}
    columns = group.read(file, [name for name in taken if name in asked or not group.fits(name)])
    if columns is None:
        return None
    loaded = EventBatch(stream, schema, pa.table(columns), (), group.rows)
    seen = seen_in(loaded) if schema.time in columns else group.seen()
    keep = np.zeros(group.rows, np.bool_) if none else may_matter(loaded, statements, plan.named)
    number = np.arange(group.rows) if keep is None else np.flatnonzero(keep)
    found = columns if keep is None else {name: column.filter(arrow_of(keep)) for name, column in columns.items()}
    wanted = [name for name in schema.attributes if name in plan.needed(stream) and name not in found]
    if len(number):
        others = group.read(file, [name for name in wanted if name in there], keep)
        if others is None:
            return None
        found |= others
    for name in wanted:  # one of several files may lack it, and of no events nothing is read
        found.setdefault(name, pa.nulls(len(number), ARROW_TYPES[schema.attributes[name]]))
    return SplitEvents(replace(loaded, table=pa.table(found)), first + number, first, seen, sifted=True)


def _asked(plan: BatchPlan, stream: str) -> Iterable[str]:
    """The attributes that decide which events of a stream can matter."""
    for statement in plan.statements:
        if stream in map(str, statement.tree.streams):
            for condition in (one for together in acceptable(statement, plan.named) or () for one in together):
                yield from (str(node.name) for node in condition.walk() if isinstance(node, tree.Attribute))


@dataclass(frozen=True)
class RowGroupStatistics:
    """What a file's footer tells of a row group. As words of a sieve: whether some event may satisfy a condition."""

    file: pq.ParquetFile
    number: int
    schema: Schema

    @property
    def names(self) -> list[str]:
        return list(self.file.schema_arrow.names)

    @property
    def rows(self) -> int:
        return self.file.metadata.row_group(self.number).num_rows

    # ── columns ──

    def may_misfit(self, name: str) -> bool:
        """Whether a column can make an event malformed, as far as its type tells."""
        safe: Mapping[Type | None, Callable[[Any], bool]] = {
            None: lambda kind: True,
            Type.BOOL: pa.types.is_boolean,
            Type.INT: lambda kind: pa.types.is_integer(kind) and kind != pa.uint64(),
            Type.FLOAT: lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind),
        }
        wanted = self.schema.attributes.get(name)
        return wanted not in safe or not safe[wanted](self.file.schema_arrow.field(name).type)

    def fits(self, name: str) -> bool:
        """Whether a column surely makes no event malformed: where the least and the greatest value fit, others do."""
        kind, found = self.schema.attributes.get(name), self.file.schema_arrow.field(name).type
        if name == self.schema.time and (pa.types.is_floating(found) or self._nulls(name) != 0):
            return False
        between = pa.types.is_timestamp(found) or pa.types.is_integer(found)
        return not self.may_misfit(name) or (between and kind is not None and self.bounds(name, kind) is not None)

    def is_coded(self, name: str) -> bool:
        column = self._column(name)
        if column is None or self.schema.attributes.get(name) is not Type.STRING or not column.has_dictionary_page:
            return False
        plain = pa.types.is_string(self.file.schema_arrow.field(name).type)
        return plain and column.total_uncompressed_size <= _CODED * self.rows

    def read(self, file: pq.ParquetFile, names: list[str], keep: Any = None) -> dict[str, Any] | None:
        """Columns in their types, of some events or all; None where one is malformed."""
        table = file.read_row_group(self.number, columns=names, use_threads=False) if names else pa.table({})
        found = {}
        for name in names:
            column = table[name] if keep is None else table[name].filter(arrow_of(keep))
            fitted = _fitted(name, column, self.schema.attributes[name])
            if fitted.misfits or (name == self.schema.time and not _timed(fitted)):
                return None
            found[name] = fitted.values
        return found

    def seen(self) -> StreamProgress:
        """The events by their statistics, where `fits` says that these tell all of their times."""
        assert self.schema.time is not None
        times = self.bounds(self.schema.time, self.schema.attributes[self.schema.time])
        return StreamProgress(self.rows) if times is None else StreamProgress(self.rows, *times)

    # ── statistics ──

    def bounds(self, name: str, kind: Type) -> Bounds | None:
        """Between which values of our type a column's lie, as far as that is known."""
        column = self._column(name)
        said = None if column is None else column.statistics
        if said is None or not said.has_min_max:
            return None
        found: Any = self.file.schema_arrow.field(name).type
        if kind is Type.STRING:
            return _texts(said.min_raw, said.max_raw)
        if pa.types.is_timestamp(found):
            unit = _UNITS.get(_unit(self.file, self.names.index(name)))
            if unit is None:
                return None
            values: Any = pa.array([said.min_raw, said.max_raw], pa.timestamp(unit))
        elif pa.types.is_integer(found) or found in (pa.float32(), pa.float64()):
            values = pa.array([said.min, said.max], found)
        else:
            return None
        fitted = _fitted(name, pa.chunked_array([values]), kind)
        if fitted.misfits or fitted.values.null_count:
            return None
        numbers = fitted.values.cast(pa.int64()) if kind is Type.TIMESTAMP else fitted.values
        least, greatest = numbers.to_pylist()
        return least, greatest

    def _column(self, name: str) -> Any:
        if self.file.metadata.num_columns != len(self.names):
            return None  # some hold several values, and columns are numbered otherwise
        return self.file.metadata.row_group(self.number).column(self.names.index(name))

    def _nulls(self, name: str) -> int | None:
        """None where the file does not say."""
        column = self._column(name)
        said = None if column is None else column.statistics
        return None if said is None else said.null_count

    # ── the words of a sieve ──

    def always(self, holds: bool) -> bool:
        return holds

    def both(self, one: bool, other: bool) -> bool:
        return one and other

    def either(self, one: bool, other: bool) -> bool:
        return one or other

    def compare(self, sign: str, left: AttributeOperand, right: AttributeOperand | ConstantOperand) -> bool | None:
        bounds = self.bounds(left.name, self.schema.attributes[left.name])
        if bounds is None or isinstance(right, AttributeOperand):
            return None
        some: tuple[Any, ...] = (*bounds, right.value)
        least, greatest, value = map(float, some) if as_float(left, right) else some
        return _possible(sign, least, greatest, value) if type(least) is type(value) else None

    def known(self, one: AttributeOperand, wanted: bool) -> bool | None:
        nulls = self._nulls(one.name)
        if nulls is None or pa.types.is_floating(self.file.schema_arrow.field(one.name).type):
            return None  # nobody counts NaNs
        return nulls < self.rows if wanted else nulls > 0

    def flag(self, one: AttributeOperand, wanted: bool) -> bool | None:
        return None


def _possible(sign: str, least: Any, greatest: Any, value: Any) -> bool:
    """Whether a value between two can compare so with another."""
    match sign:
        case "=":
            return bool(least <= value <= greatest)
        case "<>":
            return not least == value == greatest
        case "<" | "<=":
            return bool(least < value or (sign == "<=" and least == value))
    return bool(greatest > value or (sign == ">=" and greatest == value))


def _fitted(name: str, column: Any, kind: Type) -> TypedColumn:
    if pa.types.is_dictionary(column.type):
        coded = column.unify_dictionaries().combine_chunks()
        if _is_utf8(coded.dictionary):
            return TypedColumn(coded, {})
    return ArrowColumn(name, column.chunks).cast(kind)


def _is_utf8(texts: Any) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _timed(time: TypedColumn) -> bool:
    """Whether every event has a time."""
    if time.values.null_count:
        return False
    return not pa.types.is_floating(time.values.type) or bool(np.isfinite(numpy_of(time.values)).all())


def _texts(least: bytes, greatest: bytes) -> Bounds | None:
    """A long text may have been cut short in the footer, and not between two characters."""
    try:
        return least.decode(), greatest.decode()
    except UnicodeDecodeError:
        return None


def _unit(file: pq.ParquetFile, column: int) -> str:
    """The unit in which a column of times is stored."""
    return str(msgspec.json.decode(file.schema.column(column).logical_type.to_json()).get("timeUnit"))
