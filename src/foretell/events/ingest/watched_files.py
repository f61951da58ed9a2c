"""Watched files: the place that Spark watches for the files of a stream, and which of its files are the stream's."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from foretell.errors import InputError
from foretell.events.ingest.file_systems import local_name, scheme_of
from foretell.events.ingest.input_files import TEXT, InputFile, file_of, format_of, input_files, parts_below
from foretell.events.ingest.read_options import ReadOptions

#: Characters with a meaning in patterns of paths.
_SPECIAL = re.compile(r"[*?\[\]{}\\]")
_ANY_FOLDERS = "**"


@dataclass(frozen=True)
class WatchedFiles:
    """The files of a stream, by the folder below which they are; their Hive-style folders give columns.

    Without `base` only folders of the names in `keys` do. `pattern` selects files; Spark's own patterns know no
    `**`. Without `texts` files of text are descriptions of the others.
    """

    base: str = ""
    pattern: str | None = None
    keys: tuple[str, ...] = ()
    texts: bool = True

    def file(self, path: str, options: ReadOptions) -> InputFile | None:
        """Return a file with its columns by folders; None if it is not the stream's: a batch leaves it out of a folder,
        too."""
        name = _local_path(path)
        kind = format_of(name)
        if options.format is None and options.pattern is None and (kind is None or (kind == TEXT and not self.texts)):
            return None
        parts = parts_below(self.base, name)
        if not self.base:
            return file_of(name, [part for part in parts[:-1] if part.partition("=")[0] in self.keys] + parts[-1:])
        if self.pattern is not None and not _is_selected(parts, parts_below(self.base, self.pattern)):
            return None
        return file_of(name, parts)


def _is_selected(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a pattern matches a file or, unless it names all folders, one of the folders that it is in."""
    if _ANY_FOLDERS in pattern:
        return _matches(parts, pattern)
    return any(_matches(parts[:end], pattern) for end in range(1, len(parts) + 1))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """
    >>> [_matches(path.split("/"), ["**", "*.csv"]) for path in ("a.csv", "x/y/a.csv", "x/a.txt")]
    [True, True, False]
    """
    if not pattern:
        return not parts
    if pattern[0] == _ANY_FOLDERS:
        return any(_matches(parts[n:], pattern[1:] or ["*"]) for n in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _local_path(uri: str) -> str:
    """Return the path of a local file as its user writes it, and any other address as it is. Spark's addresses have no
    escapes.

    >>> _local_path("file:/logs/50%25 #1.csv"), _local_path("s3a://logs/1.csv")
    ('/logs/50%25 #1.csv', 's3a://logs/1.csv')
    """
    return "/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def watched_files(path: str, options: ReadOptions) -> WatchedFiles:
    """Return which files of the watched place are those of a file, a folder or a pattern."""
    name, texts = _absolute(path), _has_texts(path, options)
    if Path(name).is_file():
        return WatchedFiles(str(Path(name).parent), texts=texts)
    if not _is_pattern(name):
        return WatchedFiles(name, texts=texts)
    # Alternatives in braces are Spark's alone.
    return WatchedFiles(_fixed_part(name), None if "{" in name else name, texts=texts)


def _has_texts(path: str, options: ReadOptions) -> bool:
    """Return whether a file of text may be the stream's, as far as the files that are there show."""
    try:
        files = input_files(path, options).files
    except InputError:
        return True
    return any(format_of(file.path) == TEXT for file in files)


def contains(path: str, other: str) -> bool:
    """Return whether a folder on this machine that is watched contains another path."""
    name = _absolute(path)
    is_folder = not (scheme_of(name) or Path(name).is_file() or _is_pattern(name))
    return is_folder and Path(_absolute(other)).is_relative_to(name)


def _fixed_part(pattern: str) -> str:
    """Return the folder of a pattern before the first part with a special character."""
    return _SPECIAL.split(pattern)[0].rpartition("/")[0]


def _is_pattern(name: str) -> bool:
    return _SPECIAL.search(name) is not None and not Path(name).exists()


def watched_place(path: str, *, nested: bool) -> tuple[str, dict[str, str]]:
    """Return what Spark is to watch: a folder or pattern, and the options that select a single file in a folder, or
    with `nested` the files in the folders below, too.

    A folder that does not exist is created: Spark would refuse one that comes later.
    """
    name, below = _absolute(path), {"recursiveFileLookup": "true"} if nested else {}
    place = Path(name)
    if place.is_file():
        return _literal(str(place.parent)), {"pathGlobFilter": _literal(place.name)}
    if place.is_dir():
        return _literal(name), below
    if _ANY_FOLDERS in name:
        return _fixed_part(name), below
    if not _SPECIAL.search(name) and not scheme_of(name):
        place.mkdir(parents=True, exist_ok=True)
    return name, below


def _literal(name: str) -> str:
    """Return a pattern that matches this name alone."""
    return _SPECIAL.sub(r"\\\g<0>", name)


def _absolute(path: str) -> str:
    name = local_name(path)
    return name if scheme_of(name) else os.path.abspath(name)  # noqa: PTH100  # resolve would follow links
