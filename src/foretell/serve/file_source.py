"""Files of events that are followed: those that appear, and lines that are appended to them.

A file of lines (CSV, JSON lines, logs) is read up to its last complete line, and again when it has grown. Other files
(Parquet, compressed ones, an array of objects, UTF-16) are read as a whole, once nobody has written to them for a
second. What was read is kept by path, so that after a restart each line is read once; a file that has become shorter is
another file of that name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from foretell.errors import InputError
from foretell.events.ingest.compression import compression_of
from foretell.events.ingest.file_systems import file_system, local_name, scheme_of
from foretell.events.ingest.input_files import CSV, JSON_LINES, TEXT, InputFile, content_format
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read_file
from foretell.events.ingest.time_forms import reading_of
from foretell.events.ingest.watched_files import WatchedFiles, watched_files

#: A file that ends without a line end, or that is read as a whole, is complete when it has not changed for so long.
SETTLED_SECONDS = 1.0
#: So many bytes of a stream are read at once.
MOST_BYTES = 256 * 1024 * 1024
_HEAD_BYTES = 4_096
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SPECIAL = "*?["


class FilePosition(msgspec.Struct):
    """How many bytes and lines of a file were read. Checkpoints hold it: the names of its fields must not change."""

    bytes: int = 0
    lines: int = 0


@dataclass(frozen=True)
class FileContent:
    """A part of a file to read; `lines` is how many lines lie before it, less those of a header that it repeats."""

    file: InputFile
    content: bytes
    lines: int
    after: FilePosition


@dataclass
class FileSource:
    """The files of one stream."""

    declaration: StreamDeclaration
    path: str
    positions: dict[str, FilePosition] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = local_name(self.path)
        if scheme_of(name):
            hint = "use --engine spark, or copy the files to this machine"
            raise InputError(
                "not-followed", f"{self.path}: the embedded engine follows files of this machine", hint=hint
            )
        if not any(character in name for character in _SPECIAL) and not Path(name).exists():
            Path(name).mkdir(parents=True, exist_ok=True)  # events will appear there
        self._name = name
        self._watched: WatchedFiles = watched_files(self.path, self.declaration.read)
        self._single = Path(name).is_file()
        self._timed = replace(self.declaration, times=self.declaration.times or reading_of(self.declaration.read))

    @property
    def stream(self) -> str:
        return self.declaration.stream

    def poll(self) -> list[EventBatch]:
        """The events that have come since the last call, file by file in the order in which they were written."""
        batches, size = [], 0
        for path, found in self._candidates():
            part = self._part(path, found)
            if part is None:
                continue
            batches.append(self._read(part))
            self.positions[path] = part.after
            size += len(part.content)
            if size >= MOST_BYTES:
                break
        return batches

    def state(self) -> dict[str, Any]:
        return {path: msgspec.to_builtins(position) for path, position in self.positions.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.positions = {path: msgspec.convert(position, FilePosition) for path, position in state.items()}

    def commit(self) -> None:
        """Forget the files that are gone: their names may come again."""
        for path in [path for path in self.positions if not Path(path).exists()]:
            del self.positions[path]

    def close(self) -> None:
        """Nothing is open."""

    # ── files ──

    def _candidates(self) -> list[tuple[str, Any]]:
        """The files that have more than was read, by the time of their last change."""
        found = []
        for path in self._listed():
            with suppress(OSError):
                status = Path(path).stat()
                before = self.positions.get(path)
                if before is None or status.st_size != before.bytes:
                    found.append((status.st_mtime_ns, path, status))
        found.sort(key=lambda each: (each[0], each[1]))
        return [(path, status) for _, path, status in found]

    def _listed(self) -> Iterator[str]:
        system = file_system(self._name)
        try:
            if self._single:
                names = [self._name]
            elif system.is_folder(self._name):
                names = system.files_below(self._name)
            else:
                found = system.matching(self._name)
                names = [name for name in found if not system.is_folder(name)]
                names += [name for folder in found if system.is_folder(folder) for name in system.files_below(folder)]
        except OSError as error:
            message = f"cannot list the files of '{self.path}': {error.strerror or error}"
            raise InputError("cannot-read", message) from None
        yield from (name for name in dict.fromkeys(names) if self._file(name) is not None)

    def _file(self, path: str) -> InputFile | None:
        return self._watched.file(path, self.declaration.read)

    def _part(self, path: str, status: Any) -> FileContent | None:
        """The part of a file that can be read now; None where it is not complete yet."""
        file = self._file(path)
        assert file is not None
        before = self.positions.get(path, FilePosition())
        if status.st_size < before.bytes:
            before = FilePosition()
        settled = time.time() - status.st_mtime >= SETTLED_SECONDS
        try:
            with Path(path).open("rb") as opened:
                head = opened.read(_HEAD_BYTES)
                kind = self._kind(path, head)
                if kind is None:
                    opened.seek(0)
                    whole = opened.read() if settled and head else b""
                    return FileContent(file, whole, 0, FilePosition(len(whole))) if whole else None
                opened.seek(before.bytes)
                content = opened.read(MOST_BYTES)
                header = b""
                if before.bytes and kind == CSV and self.declaration.read.columns is None:
                    opened.seek(0)
                    header = opened.readline()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError("cannot-read", f"cannot read '{path}': {error.strerror or error}") from None
        complete = _complete_lines(content, kind, settled=settled)
        if not complete or (not before.bytes and not complete.strip()):
            return None
        lines = before.lines + complete.count(b"\n")
        after = FilePosition(before.bytes + len(complete), lines)
        return FileContent(file, header + complete, before.lines - header.count(b"\n"), after)

    def _kind(self, path: str, head: bytes) -> str | None:
        """The format of a file that is read line by line; None for one that is read as a whole."""
        is_utf8 = self.declaration.read.encoding == ReadOptions().encoding and not head.startswith(_UTF16)
        if compression_of(path) is not None or not is_utf8:
            return None
        kind, _ = content_format(path, head, self.declaration.read)
        if kind == JSON_LINES and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
            return None
        return kind if kind in (CSV, JSON_LINES, TEXT) else None

    def _read(self, part: FileContent) -> EventBatch:
        batch = read_file(part.file, part.content, self._timed)
        if not part.lines:
            return batch
        moved = tuple(replace(event, row=event.row + part.lines) for event in batch.quarantined)
        return replace(batch, quarantined=moved)


def _complete_lines(content: bytes, kind: str, *, settled: bool) -> bytes:
    """The lines that are complete; all of them where the file has not changed for a while.

    >>> _complete_lines(b"a,b\\n1,2\\n3,", "CSV", settled=False)
    b'a,b\\n1,2\\n'
    >>> _complete_lines(b'1,"two\\nlines', "CSV", settled=False)
    b''
    """
    if settled:
        return content
    end = content.rfind(b"\n") + 1
    while kind == CSV and end and content.count(b'"', 0, end) % 2:  # a line end within quotes
        end = content.rfind(b"\n", 0, end - 1) + 1
    return content[:end]
