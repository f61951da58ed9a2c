"""The memory that FOR EACH tables may take: a table that needs more is refused before it is in memory.

How much a file will take is estimated from its size, and for Parquet from the numbers of rows and the types of its
columns; rows that a caller hands in one after the other are counted while they come.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

import pyarrow as pa

from foretell.errors import InputError
from foretell.events.ingest.compression import compression_of
from foretell.events.ingest.file_systems import reading
from foretell.events.ingest.input_files import PARQUET, InputFile, input_files, is_pipe, open_input
from foretell.events.ingest.template_tables import TemplateTable
from foretell.machine.exec.memory_size import format_bytes
from foretell.records import record

#: What reading takes, for each byte of text: the file, its columns, and the work on them (measured: 2.2 to 3.9 with
#: CSV, 0.9 to 1.5 with JSON lines).
_TEXT_FACTOR = 4

#: About the bytes of a text in a column, besides where it ends.
_TEXT_BYTES = 16

#: Each of so many rows stands for all of them where they are measured one by one.
_SAMPLED = 256

_BLOCK = 1 << 20


@record
class TableBudget:
    """At most so many bytes, of which so many are `held` already."""

    limit: int
    held: int = 0

    def limited(self, source: object, name: str) -> object:
        """The source of a table; raises InputError where its rows would take more than is left, or, of rows that come
        one after the other, when they do."""
        if isinstance(source, str | os.PathLike):
            if not is_pipe(source):
                self._require(sum(map(_bytes_of_file, _files_of(source))), name)
        elif isinstance(source, pa.RecordBatchReader):
            return pa.Table.from_batches(self._batches(source, name), source.schema)
        elif isinstance(source, pa.Table | pa.RecordBatch):
            self._require(source.nbytes, name)
        elif isinstance(source, Iterator):
            return self._rows(source, name)
        return source

    def require(self, table: TemplateTable, name: str) -> None:
        """Raises InputError where a table takes more than is left."""
        self._require(table.nbytes, name)

    def _batches(self, reader: pa.RecordBatchReader, name: str) -> Iterator[pa.RecordBatch]:
        size = 0
        for batch in reader:
            size += batch.nbytes
            self._require(size, name)
            yield batch

    def _rows(self, rows: Iterator[object], name: str) -> Iterator[object]:
        """The rows, until they take more than is left."""
        size = 0
        for number, row in enumerate(rows):
            if number % _SAMPLED == 0:
                values = row.values() if isinstance(row, Mapping) else ()
                size += _SAMPLED * (sys.getsizeof(row) + sum(map(sys.getsizeof, values)))
                self._require(size, name)
            yield row

    def _require(self, size: int, name: str) -> None:
        if self.held + size <= self.limit:
            return
        taken = f", of which {format_bytes(self.held)} are taken" if self.held else ""
        raise InputError(
            "memory-limit",
            f"{name}: the table does not fit into the memory: it takes about {format_bytes(size)} or more, and "
            f"Limits.memory is {format_bytes(self.limit)}{taken}",
            hint="give it fewer rows or columns, or raise Limits.memory",
        )


def _files_of(source: str | os.PathLike[str]) -> Iterator[tuple[InputFile, str]]:
    listing = input_files(source).in_process()
    return ((file, listing.format) for file in listing.files)


def _bytes_of_file(file_and_format: tuple[InputFile, str]) -> int:
    """About what reading a file takes."""
    file, kind = file_and_format
    if compression_of(file.path) is None:
        return _parquet_bytes(file) if kind == PARQUET else _TEXT_FACTOR * file.size()
    return _TEXT_FACTOR * _decompressed_size(file)


def _parquet_bytes(file: InputFile) -> int:
    """By the numbers of rows and the types: what the columns take while they are encoded may be much less."""
    from foretell.events.ingest.parquet_files import parquet_file

    with parquet_file(file.path) as opened:
        return opened.metadata.num_rows * sum(map(_width, opened.schema_arrow.types))


def _width(kind: pa.DataType) -> int:
    """About the bytes of a value."""
    return 8 if pa.types.is_primitive(kind) else _TEXT_BYTES


def _decompressed_size(file: InputFile) -> int:
    size = 0
    with reading(file.path), open_input(file.path) as opened:
        while block := opened.read(_BLOCK):
            size += len(block)
    return size
