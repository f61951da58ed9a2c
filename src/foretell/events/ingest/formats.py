"""Input formats: files and folders by the ending of their names, data frames through Arrow, iterables of dicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from foretell.errors import InputError
from foretell.events.atomic_files import missing_file, path_of, unreadable_file
from foretell.events.ingest.arrow_columns import ArrowSource, combine_tables, read_parquet
from foretell.events.ingest.csv_reader import read_csv
from foretell.events.ingest.json_lines import read_dicts, read_json_lines
from foretell.events.ingest.raw_columns import RawTable
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions

#: The format of each file name ending.
FORMATS: Mapping[str, str] = {
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON lines",
    ".csv": "CSV",
    ".parquet": "Parquet",
}


def read_raw(
    source: object, label: str, wanted: frozenset[str] | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> RawTable:
    """Read all rows of `source`, and only the `wanted` columns where these are known. `label` names a source without a
    path.

    Frames of pandas, polars and other libraries with Arrow's PyCapsule interface are read without a copy.
    """
    if isinstance(source, str | os.PathLike):
        return _read_files(path_of(source), wanted, options)
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
    taken = [index for index, name in enumerate(table.column_names) if wanted is None or name in wanted]
    return combine_tables([ArrowSource(label, table.select(taken), table.column_names)])


def input_files(source: object) -> tuple[str, list[Path]]:
    """The format and the files of a source that is a path; no files for any other source."""
    if not isinstance(source, str | os.PathLike):
        return "", []
    files = _files(path_of(source))
    return FORMATS[files[0].suffix.lower()], files


def read_raw_content(
    name: str, content: bytes, wanted: frozenset[str] | None, options: ReadOptions = DEFAULT_OPTIONS
) -> RawTable:
    """Read all rows of a file whose content is in memory."""
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS:
        raise InputError("unknown-format", f"{name}: cannot tell the format by the ending", hint=_known_endings())
    if FORMATS[suffix] == "Parquet":
        return combine_tables([read_parquet(name, wanted, content)])
    if FORMATS[suffix] == "CSV":
        return read_csv([(name, content)])
    return read_json_lines([(name, content)], wanted)


def _read_files(path: Path, wanted: frozenset[str] | None, options: ReadOptions) -> RawTable:
    files = _files(path)
    kind = FORMATS[files[0].suffix.lower()]
    if kind == "Parquet":
        return combine_tables([_arrow_source(file, wanted) for file in files])
    if kind == "CSV":
        return read_csv(_contents(files))
    return read_json_lines(_contents(files), wanted)


def _files(path: Path) -> list[Path]:
    try:
        if path.is_dir():
            return _files_within(path)
        if not path.exists():
            raise missing_file(path)
    except OSError as error:
        raise unreadable_file(path, error) from None
    if path.suffix.lower() not in FORMATS:
        raise InputError("unknown-format", f"{path}: cannot tell the format by the ending", hint=_known_endings())
    return [path]


def _files_within(folder: Path) -> list[Path]:
    """The folder's files by name, without those that begin with '.' or '_': these are other programs' bookkeeping."""
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file() and entry.name[0] not in "._")
    files = [folder / name for name in names if Path(name).suffix.lower() in FORMATS]
    if not files:
        raise InputError("empty-folder", f"{folder}: no events in this folder", hint=_known_endings())
    kinds = sorted({FORMATS[file.suffix.lower()] for file in files})
    if len(kinds) > 1:
        raise InputError("mixed-folder", f"{folder}: files of several formats: {', '.join(kinds)}")
    return files


def _contents(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        try:
            yield str(file), file.read_bytes()
        except OSError as error:
            raise unreadable_file(file, error) from None


def _arrow_source(file: Path, wanted: frozenset[str] | None) -> ArrowSource:
    try:
        return read_parquet(str(file), wanted)
    except OSError as error:
        raise unreadable_file(file, error) from None


def _known_endings() -> str:
    return f"known endings: {', '.join(FORMATS)}"
