"""The spool: an append-only log of received messages, which makes a source without offsets replayable.

It is a folder of segments, each named by the number of its first message. Messages are only ever appended, and are on
the disk when `append` returns; segments without needed messages are deleted. The format of a message is

    length of the rest, CRC-32 of the rest, time received, packet number, length of the topic, topic, payload

A process that dies during a write leaves a torn last message. It was not acknowledged, so it is cut off.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
import uuid
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from foretell.errors import InputError
from foretell.storage.private_files import make_private_folder, open_private

_ENDING = ".spool"
_FRAME = struct.Struct("<II")
_HEAD = struct.Struct("<qHH")
_LONGEST_ID = 100
_MARK_EVERY = 1000  # messages between two positions of a segment at which reading can begin
LOCK_TIMEOUT = 15.0  # seconds: the previous process may just be ending


@dataclass(frozen=True, slots=True)
class SpooledMessage:
    """A message as it came; `time` is in microseconds, `packet` is the packet number."""

    topic: str
    payload: bytes
    time: int
    packet: int = 0

    def encoded(self) -> bytes:
        topic = self.topic.encode()
        body = _HEAD.pack(self.time, self.packet, len(topic)) + topic + self.payload
        return _FRAME.pack(len(body), zlib.crc32(body)) + body


@dataclass(frozen=True, slots=True)
class SpoolRange:
    """The messages `start` to `end` (exclusive) of one segment; reading begins at `position`, message `first`."""

    path: str
    first: int
    position: int
    start: int
    end: int

    def read(self) -> Iterator[tuple[int, SpooledMessage]]:
        """The messages with their numbers. Any process with access to the folder may call this."""
        number = self.first
        try:
            with Path(self.path).open("rb") as file:
                file.seek(self.position)
                for message, _ in _messages(file):
                    if number >= self.start:
                        yield number, message
                    number += 1
                    if number >= self.end:
                        return
        except OSError as error:
            raise InputError("bad-spool", f"cannot read the spool '{self.path}': {error.strerror or error}") from error
        raise InputError("bad-spool", f"{self.path}: message {number} is damaged; expected messages up to {self.end}")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A message at which reading can begin, and its position in the file."""

    number: int
    position: int


@dataclass
class _SpoolSegment:
    """A segment: its first number, its number of messages, and marks at which reading can begin."""

    path: Path
    first: int
    count: int
    marks: list[_Mark] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.first + self.count

    def slice(self, start: int, end: int) -> SpoolRange:
        nearest = max(0, bisect_right(self.marks, start, key=lambda mark: mark.number) - 1)
        mark = self.marks[nearest]
        return SpoolRange(str(self.path), mark.number, mark.position, max(start, self.first), min(end, self.end))


class Spool:
    """The spool in a folder, for the only process that writes it. Threads may share it."""

    def __init__(self, folder: str | os.PathLike[str], *, segment_bytes: int = 16 * 1024 * 1024) -> None:
        self.folder = Path(folder)
        self._limit = segment_bytes
        self._mutex = threading.Lock()
        self._file: BinaryIO | None = None
        try:
            make_private_folder(self.folder)
            self._lock = _locked(self.folder)
            self.id = self._read_id()
            self._segments = self._existing_segments()
        except OSError as error:
            raise self._cannot_write(error) from error

    @property
    def first(self) -> int:
        """The number of the oldest message, or of the next one if there is none."""
        return self._segments[0].first if self._segments else 0

    @property
    def next(self) -> int:
        """The number of the next message to come."""
        return self._segments[-1].end if self._segments else 0

    def append(self, messages: Sequence[SpooledMessage]) -> None:
        """Number and store messages. When this returns they are on the disk; if it fails, none of them is."""
        with self._mutex:
            file = self._writable()
            segment, position = self._segments[-1], file.tell()
            try:
                file.write(b"".join(message.encoded() for message in messages))
                file.flush()
                os.fsync(file.fileno())
            except OSError as error:
                with suppress(OSError):
                    file.close()
                self._file = None
                with suppress(OSError):
                    os.truncate(segment.path, position)
                raise self._cannot_write(error) from error
            if segment.end - segment.marks[-1].number >= _MARK_EVERY:
                segment.marks.append(_Mark(segment.end, position))
            segment.count += len(messages)

    def slices(self, start: int, end: int) -> list[SpoolRange]:
        """The ranges of segments that hold the messages `start` to `end` (exclusive)."""
        with self._mutex:
            if start < end and (start < self.first or end > self.next):
                has = f"it has {self.first} to {self.next - 1}" if self.next > self.first else "it is empty"
                message = f"{self.folder}: the spool has no messages {start} to {end - 1}; {has}"
                raise InputError("bad-spool", message)
            return [s.slice(start, end) for s in self._segments if s.first < end and s.end > start]

    def last(self, count: int) -> list[SpooledMessage]:
        """The last messages, `count` at most."""
        start = max(self.first, self.next - count)
        return [message for part in self.slices(start, self.next) for _, message in part.read()]

    def discard(self, before: int) -> None:
        """Delete segments that hold only messages before this number."""
        with self._mutex:
            # The last segment stays, as its name continues the numbering.
            while len(self._segments) > 1 and self._segments[0].end <= before:
                self._segments[0].path.unlink(missing_ok=True)
                del self._segments[0]

    def close(self) -> None:
        with self._mutex:
            if self._file is not None:
                self._file.close()
                self._file = None
            self._lock.close()

    def _writable(self) -> BinaryIO:
        """The file to append to: the last segment, or a new one if that is full."""
        try:
            if self._file is not None and self._file.tell() >= self._limit:
                self._file.close()
                self._file = None
                self._segments.append(self._created(self.next))
            if self._file is None:
                if not self._segments:
                    self._segments.append(self._created(0))
                self._file = open_private(self._segments[-1].path, "ab")
        except OSError as error:
            raise self._cannot_write(error) from error
        return self._file

    def _created(self, first: int) -> _SpoolSegment:
        path = self.folder / f"{first:020d}{_ENDING}"
        open_private(path, "ab").close()
        _sync_folder(self.folder)  # or the new file may be lost in a power cut
        return _SpoolSegment(path, first, 0, [_Mark(first, 0)])

    def _existing_segments(self) -> list[_SpoolSegment]:
        paths = sorted(self.folder.glob(f"*{_ENDING}"))
        for path in paths:
            if not (path.stem.isascii() and path.stem.isdecimal()):
                raise InputError("bad-spool", f"{path} is not a segment of a spool")
        firsts = [int(path.stem) for path in paths]
        for path, first, following in zip(paths[1:], firsts, firsts[1:]):
            if following <= first:
                raise InputError("bad-spool", f"{path} is not a segment of a spool: its number is not the next")
        older = [
            _SpoolSegment(path, first, following - first, [_Mark(first, 0)])
            for path, first, following in zip(paths, firsts, firsts[1:])
        ]
        return [*older, _recover(paths[-1], firsts[-1])] if paths else []

    def _read_id(self) -> str:
        """The id of this spool, by which a checkpoint of another spool is recognised."""
        path = self.folder / "id"
        with suppress(FileNotFoundError):
            written = path.read_bytes().strip()
            if len(written) > _LONGEST_ID or (written and not written.isalnum()):  # bytes are so only in ASCII
                raise InputError("bad-spool", f"{path} is not the id of a spool")
            if written:
                return written.decode("ascii")
        spool_id = uuid.uuid4().hex
        with open_private(path, "wb") as file:
            file.write(spool_id.encode())
            file.flush()
            os.fsync(file.fileno())
        return spool_id

    def _cannot_write(self, error: OSError) -> InputError:
        return InputError("cannot-write", f"cannot write the spool '{self.folder}': {error.strerror or error}")


def _locked(folder: Path) -> BinaryIO:
    """Lock the folder against other processes; the lock ends with the file or the process."""
    lock = open_private(folder / "lock", "ab")
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                lock.close()
                raise InputError(
                    "spool-in-use",
                    f"{folder}: another query uses this spool",
                    hint="give each query a spool of its own",
                ) from None
            time.sleep(0.1)


def _messages(file: BinaryIO) -> Iterator[tuple[SpooledMessage, int]]:
    """The messages from the file's position on, each with the position of its end, up to a torn one."""
    position, size = file.tell(), os.fstat(file.fileno()).st_size
    while len(frame := file.read(_FRAME.size)) == _FRAME.size:
        length, check = _FRAME.unpack(frame)
        if length > size - position:  # reading would first make room for all that is promised
            return
        body = file.read(length)
        if len(body) < max(length, _HEAD.size) or zlib.crc32(body) != check:
            return
        when, packet, topic = _HEAD.unpack_from(body)
        cut = _HEAD.size + topic
        position += _FRAME.size + length
        try:
            name = body[_HEAD.size : cut].decode()
        except UnicodeDecodeError:
            return
        if cut > len(body):
            return
        yield SpooledMessage(name, body[cut:], when, packet), position


def _recover(path: Path, first: int) -> _SpoolSegment:
    """The last segment, without the torn message that a process may have left at its end."""
    segment = _SpoolSegment(path, first, 0, [_Mark(first, 0)])
    end = 0
    with path.open("r+b") as file:
        for _, end in _messages(file):
            segment.count += 1
            if segment.count % _MARK_EVERY == 0:
                segment.marks.append(_Mark(segment.end, end))
        file.truncate(end)
        os.fsync(file.fileno())
    return segment


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
