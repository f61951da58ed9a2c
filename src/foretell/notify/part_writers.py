"""Writers of notifications that come in parts: JSON lines, CSV and Parquet, in bounded memory.

What a file begins with may depend on rows that come later: the columns of flat rows, the types of columns. A writer
begins with what the first part shows; where a later part shows more, it writes the rows so far again.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

import pyarrow as pa

from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify.flat_rows import BASE, csv_lines, flat_columns, flat_json, flat_row, flat_table, json_texts
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.row_encoder import TIME_TYPES, common_time_type, to_json, to_table

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from foretell.notify.typed_columns import TypedNotifications

#: Rows that are decoded and written at once, and rows of a group in Parquet, at least.
CHUNK_ROWS, GROUP_ROWS = 16_384, 131_072
#: The ending of files with typed columns.
PARQUET = ".parquet"


class Draft:
    """A file that is being written; `stream` takes its contents, which are compressed if asked for."""

    def __init__(self, file: BinaryIO, *, compress: bool = False) -> None:
        self._file, self._compress = file, compress
        self._begin()

    def _begin(self) -> None:
        self.stream = self._file
        if self._compress:
            self.stream = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=self._file, mtime=0))

    def close(self) -> None:
        """End the contents, not the file."""
        if self._compress:
            self.stream.close()

    @contextmanager
    def begun_again(self) -> Iterator[BinaryIO]:
        """Empty the file; the context has the contents that it had."""
        self.close()
        with tempfile.TemporaryFile() as before:
            self._file.seek(0)
            shutil.copyfileobj(self._file, before)
            before.seek(0)
            self._file.seek(0)
            self._file.truncate()
            self._begin()
            yield cast(BinaryIO, gzip.GzipFile(fileobj=before)) if self._compress else cast(BinaryIO, before)


class PartWriter(Protocol):
    """Writes notifications to a draft, part after part, and ends it."""

    def write(self, part: Sequence[Notification]) -> None: ...
    def close(self) -> None: ...


class _DraftWriter:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def close(self) -> None:
        self._draft.close()


# ── JSON lines ──


class JsonLinesWriter(_DraftWriter):
    def write(self, part: Sequence[Notification]) -> None:
        self._draft.stream.writelines(json_lines(part))


class FlatJsonLinesWriter(_DraftWriter):
    def write(self, part: Sequence[Notification]) -> None:
        self._draft.stream.writelines(json_lines(part, flat=True))


def json_lines(part: Sequence[Notification], *, flat: bool = False) -> Iterator[bytes]:
    """Lines of JSON, one or more in each `bytes`."""
    if flat:
        return map(flat_json, part)
    return part.lines() if isinstance(part, LazyNotifications) else map(to_json, part)


# ── CSV ──


class CsvWriter(_DraftWriter):
    """Flat rows with a header; NULL is an empty field, a list is JSON."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft)
        self._names: list[str] = []

    def write(self, part: Sequence[Notification]) -> None:
        for rows in _flat_chunks(part):
            names = flat_columns([dict.fromkeys(self._names), *rows])
            if names != self._names:
                self._widen(names)
            self._draft.stream.writelines(csv_lines([row.get(name) for name in names] for row in rows))

    def _widen(self, names: list[str]) -> None:
        before, self._names = self._names, names
        if not before:
            self._draft.stream.writelines(csv_lines([names]))
            return
        with self._draft.begun_again() as contents, _long_fields():
            rows = csv.reader(io.TextIOWrapper(contents, "utf-8", newline=""))
            next(rows)
            at = [before.index(name) if name in before else None for name in names]
            self._draft.stream.writelines(csv_lines([names]))
            self._draft.stream.writelines(csv_lines([None if k is None else row[k] for k in at] for row in rows))

    def close(self) -> None:
        if not self._names:
            self._widen(list(BASE))
        super().close()


def _flat_chunks(part: Sequence[Notification]) -> Iterator[list[dict[str, object]]]:
    for first in range(0, len(part), CHUNK_ROWS):
        yield [flat_row(notification) for notification in part[first : first + CHUNK_ROWS]]


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let fields of CSV have any length."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


# ── Parquet ──


class ParquetWriter(_DraftWriter):
    """Rows with structs for key, bindings and events; as `row_encoder.to_table` has them where no types are known. Then
    `estimates` says whether there may be any."""

    def __init__(self, draft: Draft, types: TypedNotifications | None = None, *, estimates: bool = False) -> None:
        super().__init__(draft)
        self._types, self._estimates = types, estimates
        self._writer: pq.ParquetWriter | None = None
        self._schema: pa.Schema | None = None
        self._kept: list[pa.Table] = []  # rows of the next group
        self._time_types: set[Type] = set()

    def write(self, part: Sequence[Notification]) -> None:
        if not part:
            return
        self._time_types |= _time_types(part)
        self._add(self._table(part, common_time_type(self._time_types)))

    def _table(self, part: Sequence[Notification], time: Type) -> pa.Table:
        if self._types is not None:
            return self._types.table_of(part)
        make = part.table if isinstance(part, LazyNotifications) else partial(to_table, part)
        table = make(estimates=self._estimates)
        return _with_times(table, time)

    def _merged(self, before: pa.Schema, schema: pa.Schema) -> pa.Schema:
        """The schema of rows of both."""
        return schema  # only the type of times differs, which is already common

    def _add(self, table: pa.Table) -> None:
        schema = table.schema if self._schema is None else self._merged(self._schema, table.schema)
        if self._schema is not None and schema != self._schema:
            self._widen(schema)
        self._schema = schema
        self._kept.append(_as(table, schema))
        if sum(kept.num_rows for kept in self._kept) >= GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        if self._writer is None:
            import pyarrow.parquet as pq  # it loads clients of file systems

            self._writer = pq.ParquetWriter(self._draft.stream, self._kept[0].schema)
        self._writer.write_table(pa.concat_tables(self._kept))
        self._kept = []

    def _widen(self, schema: pa.Schema) -> None:
        self._kept = [_as(kept, schema) for kept in self._kept]
        if self._writer is None:
            return
        import pyarrow.parquet as pq

        self._writer.close()
        with self._draft.begun_again() as contents:
            self._writer = pq.ParquetWriter(self._draft.stream, schema)
            for batch in pq.ParquetFile(contents).iter_batches():
                self._writer.write_table(_as(pa.Table.from_batches([batch]), schema))

    def close(self) -> None:
        if self._writer is None and not self._kept:
            self._kept = [self._table((), Type.TIMESTAMP)]
        if self._kept:
            self._write_group()
        assert self._writer is not None
        self._writer.close()
        super().close()


class FlatParquetWriter(ParquetWriter):
    """Flat rows. A column whose values have several types is text."""

    def write(self, part: Sequence[Notification]) -> None:
        for first in range(0, len(part), CHUNK_ROWS):
            super().write(part[first : first + CHUNK_ROWS])

    def _table(self, part: Sequence[Notification], time: Type) -> pa.Table:
        return _with_times(flat_table(part), time)

    def _merged(self, before: pa.Schema, schema: pa.Schema) -> pa.Schema:
        types: dict[str, Any] = {}
        for field in (*before, *schema):
            types[field.name] = field.type if field.name not in types else _common(types[field.name], field.type)
        times = {name: schema.field(name).type for name in ("start", "end")}
        names = flat_columns([dict.fromkeys(types)])
        return pa.schema([(name, times.get(name, types[name])) for name in names])


def _time_types(part: Sequence[Notification]) -> set[Type]:
    return part.time_types() if isinstance(part, LazyNotifications) else {row.time_type for row in part}


def _with_times(table: pa.Table, time: Type) -> pa.Table:
    """The table with times of a type; a long INT is rounded."""
    for name in ("start", "end"):
        if table.schema.field(name).type != TIME_TYPES[time]:
            number = table.schema.get_field_index(name)
            table = table.set_column(number, name, table[name].cast(TIME_TYPES[time], safe=False))
    return table


def _as(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the columns and types of a schema."""
    if table.schema == schema:
        return table
    names = table.column_names
    columns = [_cast(table[f.name], f.type) if f.name in names else pa.nulls(len(table), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    if column.type == kind:
        return column
    if kind == pa.string() and not pa.types.is_null(column.type):
        return pa.array(json_texts(column.to_pylist()), pa.string())
    return column.cast(kind, safe=False)


def _common(a: Any, b: Any) -> Any:
    """The type of a column with values of two types."""
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    return pa.float64() if {a, b} == {pa.int64(), pa.float64()} else pa.string()


#: The writers of each ending: of rows, and of flat rows.
WRITERS: Mapping[str, tuple[Callable[[Draft], PartWriter], Callable[[Draft], PartWriter]]] = {
    ".jsonl": (JsonLinesWriter, FlatJsonLinesWriter),
    ".csv": (CsvWriter, CsvWriter),
    PARQUET: (ParquetWriter, FlatParquetWriter),
}
