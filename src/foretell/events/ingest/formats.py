"""Input formats: files of every format, data frames through Arrow, iterables of dicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from foretell.errors import InputError
from foretell.events.ingest.arrow_columns import arrow_source, combine_tables
from foretell.events.ingest.compression import compression_of, decompressed
from foretell.events.ingest.encodings import Utf8Files
from foretell.events.ingest.folder_columns import with_folder_columns
from foretell.events.ingest.input_files import (
    CSV,
    PARQUET,
    TEXT,
    InputFile,
    InputFiles,
    content_format,
    format_of,
    input_files,
    is_pipe,
    read_input,
    read_pipe,
)
from foretell.events.ingest.json_lines import read_dicts, read_json_lines
from foretell.events.ingest.nested_paths import roots_of
from foretell.events.ingest.period_columns import with_start_times
from foretell.events.ingest.raw_columns import RawTable
from foretell.events.ingest.read_notes import gathered_notes
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions
from foretell.progress import BYTES, begin_stage
from foretell.records import record


@record
class FetchedFiles:
    """Files whose contents are in memory, by their paths."""

    listing: InputFiles
    contents: Mapping[str, bytes]


def read_raw(
    source: object, label: str, wanted: frozenset[str] | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> RawTable:
    """Read all rows of `source`, and only the `wanted` columns where these are known. `label` names a source without a
    path.

    Frames of pandas, polars and other libraries with Arrow's PyCapsule interface are read without a copy.
    """
    if isinstance(source, str | os.PathLike):
        return _read_path(source, wanted, options)
    if isinstance(source, InputFiles):
        return read_listing(source.in_process(), wanted, options)
    if isinstance(source, FetchedFiles):
        return _read_fetched(source, wanted, options)
    if isinstance(source, pa.RecordBatchReader):
        source = source.read_all()
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return _read_frame(source, label, wanted)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes | bytearray):
        return read_dicts(source, label, wanted)
    raise _unknown(source, label)


def _unknown(source: object, label: str) -> InputError:
    return InputError(
        "unknown-source",
        f"{label}: cannot read events from a value of type {type(source).__name__}",
        hint="give a path, an Arrow table, a pandas or polars frame, or an iterable of dicts",
    )


def _read_frame(frame: Any, label: str, wanted: frozenset[str] | None) -> RawTable:
    frame = with_start_times(frame)
    try:
        table = pa.table(frame)
    except (TypeError, ValueError):
        # Arrow has no column of several types, as pandas does; the frame's rows are still dicts.
        names = list(getattr(frame, "columns", ()))
        if not names or not hasattr(frame, "to_dict"):
            raise _unknown(frame, label) from None  # an Arrow array, a column without a name
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError("wrong-format", f"{label} has two columns '{twice}'") from None
        return read_dicts(frame.to_dict("records"), label, wanted)
    roots = None if wanted is None else roots_of(wanted)
    taken = [index for index, name in enumerate(table.column_names) if roots is None or name in roots]
    return combine_tables([arrow_source(label, table.select(taken), table.column_names, wanted)])


def read_raw_content(
    name: str, content: bytes, wanted: frozenset[str] | None, options: ReadOptions = DEFAULT_OPTIONS
) -> RawTable:
    """Read all rows of a file whose content is in memory."""
    content = decompressed(name, content, by_content=format_of(name) is None)
    kind, notes = content_format(name, content, options)
    listing = InputFiles(name, kind, [InputFile(name)], gathered_notes((name, note) for note in notes))
    return _read(listing.in_process(), [(name, content)], wanted, options)


def _read_path(source: str | os.PathLike[str], wanted: frozenset[str] | None, options: ReadOptions) -> RawTable:
    if is_pipe(source):
        return read_raw_content(*read_pipe(source), wanted, options)
    return read_listing(input_files(source, options).in_process(), wanted, options)


def read_listing(listing: InputFiles, wanted: frozenset[str] | None, options: ReadOptions) -> RawTable:
    """Read all rows of files."""
    if listing.format == PARQUET:
        from foretell.events.ingest.parquet_files import read_parquet

        raw = combine_tables([read_parquet(file.path, wanted) for file in listing.files])
    else:
        plain = all(compression_of(file.path) is None for file in listing.files)
        total = sum(file.size() for file in listing.files) if plain else None
        begin_stage(f"reading {PurePath(listing.name).name}", total, BYTES)
        raw = _read(listing, ((file.path, read_input(file.path)) for file in listing.files), wanted, options)
    return with_folder_columns(raw, listing.files)


def _read_fetched(source: FetchedFiles, wanted: frozenset[str] | None, options: ReadOptions) -> RawTable:
    files = source.listing.files
    contents = ((file.path, decompressed(file.path, source.contents[file.path])) for file in files)
    return with_folder_columns(_read(source.listing, contents, wanted, options), files)


def _read(
    listing: InputFiles, contents: Iterable[tuple[str, bytes]], wanted: frozenset[str] | None, options: ReadOptions
) -> RawTable:
    if listing.format == PARQUET:
        from foretell.events.ingest.parquet_files import read_parquet

        return combine_tables([read_parquet(name, wanted, content) for name, content in contents])
    texts = Utf8Files(contents, options.encoding)
    raw = _read_texts(listing.format, texts, wanted, options)
    return replace(raw, notes=(*listing.notes, *texts.notes, *raw.notes))


def _read_texts(kind: str, texts: Utf8Files, wanted: frozenset[str] | None, options: ReadOptions) -> RawTable:
    """The rows of text files. The readers of CSV and of other lines are loaded with the first such file."""
    if kind == TEXT:
        from foretell.events.ingest.text_lines import read_text_lines

        return read_text_lines(texts, wanted, options.pattern)
    if kind == CSV:
        from foretell.events.ingest.csv_reader import read_csv

        return read_csv(texts, wanted, options)
    return read_json_lines(texts, wanted)
