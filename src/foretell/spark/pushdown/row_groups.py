"""Row groups of Parquet files: of events that cannot matter, only what affects time is read.

The statistics in a file's footer may show that no event of a group satisfies any static condition. Otherwise the
columns of the conditions are read first, and of the other columns only the events that pass. Columns whose values might
not fit are read in any case, unless the statistics show that all fit. If one does not fit, the whole group is read, so
that the value is counted, or its event quarantined, as in process.
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
from foretell.events.ingest.folder_columns import constant_columns
from foretell.events.ingest.nested_paths import roots_of
from foretell.events.ingest.parquet_files import parquet_file
from foretell.events.ingest.raw_columns import ARROW_TYPES, TypedColumn
from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.ingest.time_forms import DEFAULT_READING, TimeReading
from foretell.events.types import Type
from foretell.language import tree
from foretell.spark.batch.input_splits import InputSplit, SplitEvents, row_events
from foretell.spark.batch.plan import BatchPlan
from foretell.spark.partitioning.shuffle_rows import StreamProgress
from foretell.spark.pushdown.predicate import AttributeOperand, PredicateOperand, as_float, pushed_down_predicate
from foretell.spark.pushdown.quenching import acceptable, may_matter

Bounds = tuple[Any, Any]

#: A column with at most so many bytes for each text is dictionary-encoded: a plain text's length alone takes four.
_DICTIONARY_BYTES = 3
_UNITS: Mapping[str, Any] = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def row_group_events(plan: BatchPlan, stream: str, split: InputSplit) -> SplitEvents:
    with parquet_file(split.path, pre_buffer=False) as file:
        declaration = plan.declaration(stream)
        own, stored = declaration.attributes, file.schema_arrow.names
        if split.keys or any(declaration.is_assembled(name, stored) for name in own):
            return _unfiltered_events(plan, stream, split, file)
        group = RowGroupStatistics(file, split.row_group, declaration)
        columns = [n for n in group.names if (n in plan.needed(stream) and n in own) or group.may_misfit(n)]
        encoded = [n for n in columns if group.is_dictionary_encoded(n)]
        dictionaries: Any = {"metadata": file.metadata, "read_dictionary": encoded, "pre_buffer": False}
        # Progress is that of the events within the period, and statistics know nothing of markers of missing values.
        if not plan.period and not declaration.read.nulls:
            with parquet_file(split.path, **dictionaries) as encoded_file:
                events = _filtered_events(plan, stream, split, group, encoded_file, columns)
            if events is not None:
                return events
        table = file.read_row_group(split.row_group, columns=columns, use_threads=False)
    return row_events(plan, stream, table, split.path, split.first_row, split.arrival + split.first_row)


def _unfiltered_events(plan: BatchPlan, stream: str, split: InputSplit, file: pq.ParquetFile) -> SplitEvents:
    """Read a whole row group where the statistics do not cover all columns: those of Hive-style folders, nested ones,
    and a time that is joined from two."""
    declaration = plan.declaration(stream)
    attributes, wanted = declaration.attributes, roots_of(declaration.wanted)
    taken = [name for name in file.schema_arrow.names if name in wanted]
    table = file.read_row_group(split.row_group, columns=taken, use_threads=False)
    for name, column in constant_columns(split.file, attributes, table.num_rows).items():
        table = table.drop_columns([name]) if name in table.column_names else table
        table = table.append_column(name, column)
    return row_events(plan, stream, table, split.path, split.first_row, split.arrival + split.first_row)


def _filtered_events(
    plan: BatchPlan,
    stream: str,
    split: InputSplit,
    group: RowGroupStatistics,
    file: pq.ParquetFile,
    readable: list[str],
) -> SplitEvents | None:
    """Read the events that may matter; None if one is malformed."""
    declaration, statements, first = group.declaration, plan.statements, split.arrival + split.first_row
    derived, conditions = declaration.derived, frozenset(_condition_attributes(plan, stream))
    present = [name for name in group.names if name in declaration.attributes]
    excluded = pushed_down_predicate(stream, present, statements, plan.identified, group, derived.names) is False
    deciding = set() if excluded else {declaration.time, *conditions, *derived.inputs(conditions)}
    columns = group.read(file, [name for name in readable if name in deciding or not group.fits(name)])
    if columns is None:
        return None
    table = pa.table(columns)
    if not excluded and derived.names:
        table = derived.extend(group.with_absent(table, deciding), declaration.attributes, conditions)
    batch = EventBatch(stream, plan.schemas[stream], table, (), group.rows)
    progress = StreamProgress.of(batch) if declaration.time in columns else group.progress()
    keep = np.zeros(group.rows, np.bool_) if excluded else may_matter(batch, statements, plan.identified)
    row = np.arange(group.rows) if keep is None else np.flatnonzero(keep)
    kept = columns if keep is None else {name: column.filter(arrow_of(keep)) for name, column in columns.items()}
    missing = [name for name in declaration.attributes if name in plan.needed(stream) and name not in kept]
    if len(row):
        others = group.read(file, [name for name in missing if name in present], keep)
        if others is None:
            return None
        kept |= others
    for name in missing:  # one of several files may lack it, and without events no more is read
        kept.setdefault(name, pa.nulls(len(row), ARROW_TYPES[declaration.attributes[name]]))
    whole = derived.extend(pa.table(kept), declaration.attributes, plan.needed(stream))
    return SplitEvents(replace(batch, table=whole), first + row, first, progress, filtered=True)


def _condition_attributes(plan: BatchPlan, stream: str) -> Iterable[str]:
    """Yield the attributes that decide which events of a stream can matter."""
    for statement in plan.statements:
        if stream in map(str, statement.tree.streams):
            for conditions in acceptable(statement, plan.identified) or ():
                for condition in conditions:
                    yield from (str(node.name) for node in condition.walk() if isinstance(node, tree.Attribute))


@dataclass(frozen=True)
class RowGroupStatistics:
    """The footer's statistics of a row group.

    As a predicate dialect it translates a condition into whether some event of the group may satisfy it.
    """

    file: pq.ParquetFile
    number: int
    declaration: StreamDeclaration

    @property
    def names(self) -> list[str]:
        return list(self.file.schema_arrow.names)

    @property
    def rows(self) -> int:
        return self.file.metadata.row_group(self.number).num_rows

    # ── columns ──

    def may_misfit(self, name: str) -> bool:
        """Return whether a column can make an event malformed, by its type."""
        safe: Mapping[Type | None, Callable[[Any], bool]] = {
            None: lambda kind: True,
            Type.BOOL: pa.types.is_boolean,
            Type.INT: lambda kind: pa.types.is_integer(kind) and kind != pa.uint64(),
            Type.FLOAT: lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind),
        }
        wanted = self.declaration.attributes.get(name)
        return wanted not in safe or not safe[wanted](self.file.schema_arrow.field(name).type)

    def fits(self, name: str) -> bool:
        """Return whether a column makes no event malformed: if its least and greatest value fit, all do."""
        kind, stored = self.declaration.attributes.get(name), self.file.schema_arrow.field(name).type
        if name == self.declaration.time and (pa.types.is_floating(stored) or self._nulls(name) != 0):
            return False
        between = pa.types.is_timestamp(stored) or pa.types.is_integer(stored)
        return not self.may_misfit(name) or (between and kind is not None and self.bounds(name, kind) is not None)

    def is_dictionary_encoded(self, name: str) -> bool:
        column = self._column(name)
        if column is None or self.declaration.attributes.get(name) is not Type.STRING or not column.has_dictionary_page:
            return False
        plain = pa.types.is_string(self.file.schema_arrow.field(name).type)
        return plain and column.total_uncompressed_size <= _DICTIONARY_BYTES * self.rows

    def read(self, file: pq.ParquetFile, names: list[str], keep: Any = None) -> dict[str, Any] | None:
        """Read columns in their types, of the events to keep; None if one is malformed."""
        table = file.read_row_group(self.number, columns=names, use_threads=False) if names else pa.table({})
        columns = {}
        for name in names:
            column = table[name] if keep is None else table[name].filter(arrow_of(keep))
            fitted = self._fitted(name, column, self.declaration.attributes[name])
            if fitted.misfits or (name == self.declaration.time and not _all_timed(fitted)):
                return None
            columns[name] = fitted.values
        return columns

    @property
    def reading(self) -> TimeReading:
        return self.declaration.times or DEFAULT_READING

    def _fitted(self, name: str, column: Any, kind: Type) -> TypedColumn:
        reading = self.reading if name == self.declaration.time else self.reading.unformatted
        return _fitted(name, column, kind, reading)

    def with_absent(self, table: pa.Table, names: Iterable[str]) -> pa.Table:
        """Add NULLs for attributes that this file lacks."""
        for name in names:
            if name in self.declaration.attributes and name not in table.column_names:
                kind = ARROW_TYPES[self.declaration.attributes[name]]
                table = table.append_column(name, pa.nulls(self.rows, kind))
        return table

    def progress(self) -> StreamProgress:
        """Return the progress by the statistics, which `fits` has found to cover all times."""
        times = self.bounds(self.declaration.time, self.declaration.attributes[self.declaration.time])
        return StreamProgress(self.rows) if times is None else StreamProgress(self.rows, *times)

    # ── statistics ──

    def bounds(self, name: str, kind: Type) -> Bounds | None:
        """Return the least and greatest value of a column in our type; None if they are unknown."""
        column = self._column(name)
        statistics = None if column is None else column.statistics
        if statistics is None or not statistics.has_min_max:
            return None
        stored: Any = self.file.schema_arrow.field(name).type
        if kind is Type.STRING:
            return _text_bounds(statistics.min_raw, statistics.max_raw)
        if pa.types.is_timestamp(stored):
            unit = _UNITS.get(_unit(self.file, self.names.index(name)))
            if unit is None:
                return None
            values: Any = pa.array([statistics.min_raw, statistics.max_raw], pa.timestamp(unit))
        elif pa.types.is_integer(stored) or stored in (pa.float32(), pa.float64()):
            values = pa.array([statistics.min, statistics.max], stored)
        else:
            return None
        if kind is Type.TIMESTAMP and (not pa.types.is_timestamp(stored) or self.reading.zone is not None):
            return None  # numbers of several units, and local times where clocks are set, have another order
        fitted = self._fitted(name, pa.chunked_array([values]), kind)
        if fitted.misfits or fitted.values.null_count:
            return None
        numbers = fitted.values.cast(pa.int64()) if kind is Type.TIMESTAMP else fitted.values
        least, greatest = numbers.to_pylist()
        return least, greatest

    def _column(self, name: str) -> Any:
        if self.file.metadata.num_columns != len(self.names):
            return None  # nested columns, which change the numbering
        return self.file.metadata.row_group(self.number).column(self.names.index(name))

    def _nulls(self, name: str) -> int | None:
        """Return the number of NULLs; None if the file does not say."""
        column = self._column(name)
        statistics = None if column is None else column.statistics
        return None if statistics is None else statistics.null_count

    # ── the predicate dialect ──

    def always(self, holds: bool) -> bool:
        return holds

    def both(self, left: bool, right: bool) -> bool:
        return left and right

    def either(self, left: bool, right: bool) -> bool:
        return left or right

    def compare(self, sign: str, left: AttributeOperand, right: PredicateOperand) -> bool | None:
        bounds = self.bounds(left.name, self.declaration.attributes[left.name])
        if bounds is None or isinstance(right, AttributeOperand):
            return None
        values: tuple[Any, ...] = (*bounds, right.value)
        least, greatest, value = map(float, values) if as_float(left, right) else values
        return _possible(sign, least, greatest, value) if type(least) is type(value) else None

    def is_known(self, attribute: AttributeOperand, wanted: bool) -> bool | None:
        nulls = self._nulls(attribute.name)
        if nulls is None or pa.types.is_floating(self.file.schema_arrow.field(attribute.name).type):
            return None  # statistics do not count NaNs
        return nulls < self.rows if wanted else nulls > 0

    def flag(self, attribute: AttributeOperand, wanted: bool) -> bool | None:
        return None


def _possible(sign: str, least: Any, greatest: Any, value: Any) -> bool:
    """Return whether a value between `least` and `greatest` can compare so with another."""
    match sign:
        case "=":
            return bool(least <= value <= greatest)
        case "<>":
            return not least == value == greatest
        case "<" | "<=":
            return bool(least < value or (sign == "<=" and least == value))
    return bool(greatest > value or (sign == ">=" and greatest == value))


def _fitted(name: str, column: Any, kind: Type, reading: TimeReading) -> TypedColumn:
    if pa.types.is_dictionary(column.type):
        coded = column.unify_dictionaries().combine_chunks()
        if _is_utf8(coded.dictionary):
            return TypedColumn(coded, {})
    return ArrowColumn(name, column.chunks).cast(kind, reading)


def _is_utf8(texts: Any) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _all_timed(time: TypedColumn) -> bool:
    """Return whether every event has a time."""
    if time.values.null_count:
        return False
    return not pa.types.is_floating(time.values.type) or bool(np.isfinite(numpy_of(time.values)).all())


def _text_bounds(least: bytes, greatest: bytes) -> Bounds | None:
    """Decode texts of the footer, where a long one may have been cut inside a character."""
    try:
        return least.decode(), greatest.decode()
    except UnicodeDecodeError:
        return None


def _unit(file: pq.ParquetFile, column: int) -> str:
    """Return the unit of a stored timestamp column."""
    return str(msgspec.json.decode(file.schema.column(column).logical_type.to_json()).get("timeUnit"))
