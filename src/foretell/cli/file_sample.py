"""The first rows of a file or folder of events: `foretell init` takes a second, however large the file is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa

from foretell.events.ingest.compression import without_compression
from foretell.events.ingest.folder_columns import with_folder_columns
from foretell.events.ingest.formats import read_listing, read_raw, read_raw_content
from foretell.events.ingest.input_files import (
    CSV,
    JSON_LINES,
    PARQUET,
    InputFile,
    InputFiles,
    input_files,
    is_pipe,
    open_input,
    read_input,
)
from foretell.events.ingest.raw_columns import RawTable
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions

#: Enough to show types, keys and a pattern; the bytes are for files with long rows.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 8 << 20

#: How texts of two bytes for each character begin: a line end is no single byte there.
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def first_rows(path: Path, stream: str, options: ReadOptions) -> tuple[RawTable, bool]:
    """The first rows of a source, and whether these are all of them."""
    if is_pipe(path):
        return read_raw(path, stream, None, options), True
    listing = input_files(path, options).in_process()
    if listing.format == PARQUET:
        table, whole = _parquet_rows(listing.files)
        return (read_raw(path, stream, None, options), True) if whole else (read_raw(table, stream), False)
    files = list(_first_files(listing.files))
    if len(files) == 1 and (sample := _sampled(listing, files[0], stream, options)) is not None:
        return with_folder_columns(sample, files), False
    return read_listing(replace(listing, files=files), None, options), len(files) == len(listing.files)


def _first_files(files: Sequence[InputFile]) -> Iterator[InputFile]:
    """Files up to the size of a sample, at least one."""
    size = 0
    for file in files:
        yield file
        size += file.size()
        if size >= SAMPLE_BYTES:
            return


def _parquet_rows(files: Sequence[InputFile]) -> tuple[pa.Table | None, bool]:
    """The first rows of Parquet files, or that all of them are few."""
    import pyarrow.parquet as pq

    with open_input(files[0].path) as opened:
        first = pq.ParquetFile(cast(Any, opened))
        if len(files) == 1 and first.metadata.num_rows <= SAMPLE_ROWS:
            return None, True
        return pa.Table.from_batches([next(first.iter_batches(SAMPLE_ROWS))]), False


def _sampled(listing: InputFiles, file: InputFile, stream: str, options: ReadOptions) -> RawTable | None:
    """The first rows of one text file; None where it has no more than a sample, or cannot be divided by lines."""
    with open_input(file.path) as opened:
        content = opened.read(SAMPLE_BYTES)
    if options.encoding != DEFAULT_OPTIONS.encoding or content.startswith(_WIDE_MARKS):
        return None
    if listing.format == JSON_LINES and not _is_line_by_line(content):
        return _first_elements(file.path, stream)
    end = _end_of_rows(content, quotes=listing.format == CSV)
    if end is None:
        return None
    return read_raw_content(without_compression(file.path), content[:end], None, options)


def _is_line_by_line(content: bytes) -> bool:
    """Whether each line has an object of its own."""
    first = content.split(b"\n", 1)[0].strip()
    return first.startswith(b"{") and first.endswith(b"}")


def _first_elements(path: str, stream: str) -> RawTable | None:
    """The first elements of a JSON array."""
    try:
        elements = msgspec.json.decode(read_input(path))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(elements, list) or len(elements) <= SAMPLE_ROWS:
        return None
    return read_raw(elements[:SAMPLE_ROWS], stream)


def _end_of_rows(content: bytes, *, quotes: bool) -> int | None:
    """Where the rows of a sample end in the content; None where there are no more rows. A row may go on in the next
    line if a quote is open."""
    end = -1
    for _ in range(SAMPLE_ROWS + 1):  # with the header
        end = content.find(b"\n", end + 1)
        if end < 0:
            break
    if end < 0:
        end = content.rfind(b"\n") if len(content) == SAMPLE_BYTES else -1
    while quotes and end >= 0 and content.count(b'"', 0, end) % 2:
        end = content.find(b"\n", end + 1)
    return end + 1 if 0 <= end < len(content) - 1 or (len(content) == SAMPLE_BYTES and end >= 0) else None
