"""Encodings of text files: every reader gets UTF-8 without a byte order mark."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Any

from foretell.errors import InputError
from foretell.events.ingest.read_notes import gathered_notes

#: The encodings that need no conversion.
_UTF8 = ("utf-8", "utf-8-sig", "ascii")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Utf8Files:
    """Text files by name and content, as UTF-8; the notes are complete once all files have been read."""

    def __init__(self, files: Iterable[tuple[str, bytes]], encoding: str) -> None:
        self._files, self._encoding = files, encoding
        self._notes: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for source, content in self._files:
            text, notes = to_utf8(source, content, self._encoding)
            self._notes += [(source, note) for note in notes]
            yield source, text

    @property
    def notes(self) -> tuple[str, ...]:
        return gathered_notes(self._notes)


def utf8_chunks(source: str, file: Any, encoding: str, size: int) -> Iterator[bytes]:
    """The lines of a text file as UTF-8, about `size` bytes at once; all at once where they must be converted."""
    chunk = file.read(size) + file.readline()
    if _codec(encoding) not in _UTF8 or chunk.startswith(_UTF16_MARKS):
        yield to_utf8(source, chunk + file.read(), encoding)[0]
        return
    chunk = chunk.removeprefix(codecs.BOM_UTF8)
    while chunk:
        yield chunk
        chunk = file.read(size) + file.readline()


def to_utf8(source: str, content: bytes, encoding: str) -> tuple[bytes, list[str]]:
    """The content of a file as UTF-8, and notes for the user. A byte order mark decides over the default encoding."""
    name = _codec(encoding)
    if name in _UTF8:
        if content.startswith(_UTF16_MARKS):
            return _decoded(source, content, "utf-16"), ["read as UTF-16, by its byte order mark"]
        return content.removeprefix(codecs.BOM_UTF8), []
    return _decoded(source, content, name), []


def _codec(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)  # some codecs are not for texts
    except (LookupError, TypeError):
        hint = "name one of Python's encodings, such as utf-8, latin-1 or utf-16"
        raise InputError("unknown-encoding", f"unknown encoding {encoding!r}", hint=hint) from None
    return codec.name


def _decoded(source: str, content: bytes, name: str) -> bytes:
    try:
        return content.decode(name).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        place = f" at byte {error.start + 1:,}" if isinstance(error, UnicodeDecodeError) else ""
        message = f"{source} is not {name.upper()}: {getattr(error, 'reason', error)}{place}"
        raise InputError("wrong-encoding", message, hint="give the encoding that the file was written in") from None
