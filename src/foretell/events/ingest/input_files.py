"""Input files: the files of a path, a folder, a pattern such as logs/*.csv or an address, with the format of each.

A folder is all files in it and in the folders below. Hive-style folders (year=2024/month=01) give columns.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import IO
from urllib.parse import unquote

from foretell.errors import InputError, suggestion
from foretell.events.ingest.compression import DecompressedFile, compression_of, without_compression
from foretell.events.ingest.file_systems import (
    FileSystem,
    NoFileSystemError,
    file_system,
    is_hidden,
    local_name,
    no_file,
    reading,
    scheme_of,
)
from foretell.events.ingest.read_notes import gathered_notes
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions
from foretell.records import record

CSV, JSON_LINES, PARQUET, TEXT = "CSV", "JSON lines", "Parquet", "text"
#: The formats of the endings of file names.
FORMATS: Mapping[str, str] = {
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".json": JSON_LINES,
    ".csv": CSV,
    ".tsv": CSV,
    ".tab": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".avro": "Avro",
    ".orc": "ORC",
    ".txt": TEXT,
    ".log": TEXT,
}
#: The formats that a caller can name.
NAMED_FORMATS: Mapping[str, str] = {
    "csv": CSV,
    "jsonl": JSON_LINES,
    "json": JSON_LINES,
    "parquet": PARQUET,
    "text": TEXT,
    "avro": "Avro",
    "orc": "ORC",
    "delta": "Delta",
    "iceberg": "Iceberg",
}
#: The formats that only Spark reads.
SPARK_FORMATS = ("Avro", "ORC", "Delta", "Iceberg", "table")
_TABLE = "table:"
#: The start of an object or of an array of them; a log may begin with a time in brackets.
_JSON = re.compile(rb"\{|\[\s*[{\]]")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_NULL_KEY = "__HIVE_DEFAULT_PARTITION__"
_HEAD_BYTES = 4_096
_FOLDER_TABLES = ("Delta", "Iceberg")
#: The first bytes of binary formats.
_MAGIC: Mapping[bytes, str] = {b"PAR1": PARQUET, b"Obj\x01": "Avro", b"ORC": "ORC"}
_HOST = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:(?://[^/]*)?(?=/|$)")
STANDARD_INPUT = "standard input"


@record
class InputFile:
    """A file to read, and the columns that its Hive-style folders give: their names and texts, None for NULL."""

    path: str
    keys: tuple[tuple[str, str | None], ...] = ()

    def size(self) -> int:
        with reading(self.path):
            return file_system(self.path).size(self.path)


@record
class InputFiles:
    """The files of a source in order of arrival, all of one format; `notes` says what was guessed about them.

    A source that only Spark can list has none.
    """

    name: str
    format: str
    files: Sequence[InputFile]
    notes: tuple[str, ...] = ()

    def in_process(self) -> InputFiles:
        """The same files; an error where only Spark reads them."""
        if self.format in SPARK_FORMATS:
            kind = "a table of Spark's catalog" if self.format == "table" else f"{self.format} data"
            hint = "use --engine spark (engine='spark')"
            raise InputError("needs-spark", f"{self.name}: only Spark reads {kind}", hint=hint)
        return self


def needs_spark(source: object, options: ReadOptions = DEFAULT_OPTIONS) -> bool:
    """Whether a source is a path that only Spark reads."""
    if not isinstance(source, str | os.PathLike) or is_pipe(source):
        return False
    try:
        return input_files(source, options).format in SPARK_FORMATS
    except NoFileSystemError:
        return True


def input_files(source: str | os.PathLike[str], options: ReadOptions = DEFAULT_OPTIONS) -> InputFiles:
    """The files of a path, which may be a file, a folder, a pattern, an address or `table:NAME`."""
    text = os.fspath(source)
    if text.startswith(_TABLE):
        return InputFiles(text.removeprefix(_TABLE), "table", [])
    name = local_name(source)
    if named_format(options) in _FOLDER_TABLES:
        return InputFiles(name, str(named_format(options)), [])
    system = file_system(name)
    with reading(name):
        if system.is_folder(name):
            table = _folder_table(system, name)
            return InputFiles(name, table, []) if table else _files_in(system, name, options)
        if system.exists(name):
            return _one_format(name, [InputFile(name)], options)
        if any(character in name for character in "*?["):
            return _files_matching(system, name, options)
    raise no_file(name)


# ── folders and patterns ──


def _files_in(system: FileSystem, folder: str, options: ReadOptions) -> InputFiles:
    return files_among(folder, system.files_below(folder), options)


def files_among(folder: str, names: Iterable[str], options: ReadOptions) -> InputFiles:
    """The files of a folder to read, of all that are in it and below."""
    files = _with_keys(folder, names)
    if options.format is None:
        files = _of_known_endings(files)
    if not files:
        raise InputError("empty-folder", f"{folder}: no events in this folder", hint=known_endings())
    return _one_format(folder, files, options)


def _files_matching(system: FileSystem, pattern: str, options: ReadOptions) -> InputFiles:
    found = system.matching(pattern)
    names = [name for name in found if not system.is_folder(name)]
    if "**" not in pattern:  # which matches the files in folders, too
        names += [name for folder in found if system.is_folder(folder) for name in system.files_below(folder)]
    files = _with_keys(_fixed_part(pattern), names)
    if not files:
        raise InputError("no-file", f"no file matches '{pattern}'")
    return _one_format(pattern, (options.format is None and _of_known_endings(files)) or files, options)


def _fixed_part(pattern: str) -> str:
    """The folder of a pattern before the first part that has a wildcard."""
    parts = _parts(pattern)
    first = next(n for n, part in enumerate(parts) if any(character in part for character in "*?["))
    return "/".join(parts[:first])


def _with_keys(base: str, names: Iterable[str]) -> list[InputFile]:
    """The files below a folder in order, without those of other programs."""
    below = sorted((parts_below(base, name), name) for name in set(names))
    return [file for parts, name in below if (file := file_of(name, parts)) is not None]


def parts_below(base: str, name: str) -> list[str]:
    """The parts of a path below a folder; of a pattern without one, all."""
    return _parts(name)[len(_parts(base)) if base else 0 :]


def file_of(name: str, parts: Sequence[str]) -> InputFile | None:
    """The file whose path ends with these folders and its name; None where one of them begins with '.' or '_': these
    are other programs' bookkeeping."""
    return None if any(map(is_hidden, parts)) else InputFile(name, _keys(parts[:-1]))


def _parts(name: str) -> list[str]:
    """The parts of a path, or of an address without its scheme and host, which Spark and fsspec spell differently.

    >>> _parts("file:/logs/a.csv") == _parts("file:///logs/a.csv") == _parts("/logs/a.csv")
    True
    """
    return _HOST.sub("", name).replace(os.sep, "/").rstrip("/").split("/")


def _keys(folders: Iterable[str]) -> tuple[tuple[str, str | None], ...]:
    """
    >>> _keys(["logs", "year=2024", "city=S%C3%A3o Paulo", "day=__HIVE_DEFAULT_PARTITION__"])
    (('year', '2024'), ('city', 'São Paulo'), ('day', None))
    """
    pairs = (folder.partition("=") for folder in folders if folder.find("=") > 0)
    return tuple((unquote(key), None if text == _NULL_KEY else unquote(text)) for key, _, text in pairs)


def _of_known_endings(files: Iterable[InputFile]) -> list[InputFile]:
    """The files whose endings tell the format; .txt and .log only where there are no others, beside which they are
    descriptions."""
    known = [file for file in files if format_of(file.path)]
    return [file for file in known if format_of(file.path) != TEXT] or known


def _folder_table(system: FileSystem, folder: str) -> str | None:
    """The format of a folder whose files are not all of its current rows."""
    if system.is_folder(f"{folder}/_delta_log"):
        return "Delta"
    return "Iceberg" if system.matching(f"{folder}/metadata/*.metadata.json") else None


# ── formats ──


def format_of(name: str) -> str | None:
    """The format of a file by its ending, which may be followed by that of a compression."""
    return FORMATS.get(PurePath(without_compression(name)).suffix.lower())


def named_format(options: ReadOptions) -> str | None:
    """The format that the caller names."""
    if options.format is None:
        return None
    if options.format not in NAMED_FORMATS:
        hint = suggestion(options.format, NAMED_FORMATS)
        raise InputError("unknown-format", f"unknown format '{options.format}'", hint=hint)
    return NAMED_FORMATS[options.format]


def content_format(name: str, head: bytes, options: ReadOptions) -> tuple[str, list[str]]:
    """The format of a file by its name, else by its first bytes, and notes for the user."""
    given = named_format(options) or (TEXT if options.pattern is not None else None)
    ending = format_of(name)
    if given or ending not in (None, TEXT):
        return given or str(ending), []
    if PurePath(name).suffix.lower() in _SPREADSHEETS:
        raise InputError("unknown-format", f"{name}: spreadsheets are not read", hint="save the sheet as CSV")
    guessed = next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)
    if guessed is None:
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        guessed = JSON_LINES if _JSON.match(text) else TEXT if name.lower().endswith(".log") else CSV
    return guessed, [] if guessed == ending else [f"read as {guessed}, by its content"]


def _one_format(name: str, files: Sequence[InputFile], options: ReadOptions) -> InputFiles:
    """The files with their one format. The first of those whose endings do not tell shows the format of all."""
    is_named = options.format is not None or options.pattern is not None
    kinds = {format_of(file.path) for file in files}
    notes: list[str] = []
    if is_named or kinds & {None, TEXT}:
        first = next((file for file in files if format_of(file.path) in (None, TEXT)), files[0])
        kind, notes = content_format(first.path, b"" if is_named else _head(first.path), options)
        kinds = {kind} if is_named else kinds - {None, TEXT} | {kind}
    if len(kinds) > 1:
        raise InputError("mixed-folder", f"{name}: files of several formats: {', '.join(sorted(map(str, kinds)))}")
    return InputFiles(name, str(kinds.pop()), files, gathered_notes((name, note) for note in notes))


def known_endings() -> str:
    return f"known endings: {', '.join(FORMATS)}"


# ── contents ──


def is_pipe(source: str | os.PathLike[str]) -> bool:
    """Whether a source can be read only once: '-', the standard input, or a named pipe."""
    if os.fspath(source) == "-":
        return True
    try:
        mode = Path(local_name(source)).stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def read_pipe(source: str | os.PathLike[str]) -> tuple[str, bytes]:
    """The name and the content of a pipe."""
    if os.fspath(source) != "-":
        return local_name(source), read_input(local_name(source))
    return STANDARD_INPUT, sys.stdin.buffer.read()


def open_input(path: str) -> IO[bytes] | DecompressedFile:
    """A file for reading, without its compression."""
    with reading(path):
        file = file_system(path).open(path)
    compression = compression_of(path)
    return file if compression is None else DecompressedFile(path, file, compression)


def read_input(path: str) -> bytes:
    """The content of a file, without its compression."""
    with reading(path):
        if not scheme_of(path) and compression_of(path) is None:
            return Path(path).read_bytes()
        with open_input(path) as file:
            return file.read()


def _head(path: str) -> bytes:
    with reading(path), open_input(path) as file:
        return file.read(_HEAD_BYTES)
