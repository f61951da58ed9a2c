"""Parquet files of any file system, which are read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from foretell.errors import InputError
from foretell.events.ingest.arrow_columns import ArrowSource, arrow_source
from foretell.events.ingest.compression import compression_of
from foretell.events.ingest.file_systems import file_system, reading, scheme_of
from foretell.events.ingest.input_files import read_input
from foretell.events.ingest.nested_paths import roots_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq


@contextmanager
def parquet_file(path: str, content: bytes | None = None, **options: Any) -> Iterator[pq.ParquetFile]:
    """A Parquet file, which may be in memory; its errors name it."""
    import pyarrow.parquet as pq  # it loads clients of file systems

    with reading(path):
        try:
            with pq.ParquetFile(_source(path, content), **options) as file:
                yield file
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            detail = str(error).splitlines()[0]
            raise InputError("wrong-format", f"{path} is not a Parquet file", hint=detail) from None


def read_parquet(path: str, wanted: frozenset[str] | None, content: bytes | None = None) -> ArrowSource:
    """The columns of a Parquet file, or only those `wanted`."""
    with parquet_file(path, content) as file:
        names = file.schema_arrow.names
        roots = None if wanted is None else roots_of(wanted)
        taken = [name for name in names if roots is None or name in roots]
        return arrow_source(path, file.read(columns=taken), names, wanted)


def _source(path: str, content: bytes | None) -> Any:
    if content is not None:
        return pa.BufferReader(content)
    if compression_of(path) is not None:  # the file as a whole, not its columns
        return pa.BufferReader(read_input(path))
    return file_system(path).open(path) if scheme_of(path) else path
