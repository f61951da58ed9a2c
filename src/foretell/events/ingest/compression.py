"""Compressed files, by the ending of their names (gzip, bzip2, Zstandard, xz) or by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import IO, Any, cast

import pyarrow as pa

from foretell.errors import InputError
from foretell.records import record


@record
class Compression:
    """A compression: its name, the first bytes of its files, and a decompressing stream over a file."""

    name: str
    magic: bytes
    wrap: Callable[[Any], Any]


def _zstandard(file: Any) -> Any:
    return io.BufferedReader(cast(Any, pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")))


COMPRESSIONS: Mapping[str, Compression] = {
    ".gz": Compression("gzip", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    ".bz2": Compression("bzip2", b"BZh", bz2.BZ2File),
    ".zst": Compression("Zstandard", b"\x28\xb5\x2f\xfd", _zstandard),
    ".xz": Compression("xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
}


def compression_of(name: str) -> Compression | None:
    return COMPRESSIONS.get(PurePath(name).suffix.lower())


def without_compression(name: str) -> str:
    """The name of the file inside: 'events.csv' of 'events.csv.gz'."""
    return name[: -len(PurePath(name).suffix)] if compression_of(name) else name


class DecompressedFile:
    """A file read through its compression; errors of the compression name the file."""

    def __init__(self, name: str, file: IO[bytes], compression: Compression) -> None:
        self._name, self._file, self._compression = name, file, compression
        self._stream = self._guarded(lambda: compression.wrap(file))

    def read(self, size: int = -1) -> bytes:
        return bytes(self._guarded(lambda: self._stream.read(size)))

    def readline(self) -> bytes:
        return bytes(self._guarded(self._stream.readline))

    def __enter__(self) -> DecompressedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _guarded(self, work: Callable[[], Any]) -> Any:
        kind = self._compression.name
        try:
            return work()
        except EOFError:
            raise _cut_off(self._name, kind) from None
        except (OSError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
            if isinstance(error, OSError) and error.errno:
                raise  # of the file, not of what it contains
            if "runcated" in str(error):
                raise _cut_off(self._name, kind) from None
            message = f"{self._name} is not a {kind} file, or it is damaged"
            raise InputError("wrong-format", message, hint=str(error).splitlines()[0]) from None


def _cut_off(name: str, kind: str) -> InputError:
    return InputError("cut-off", f"{name} is cut off: its {kind} data end early", hint="copy or download it again")


def decompressed(name: str, content: bytes, *, by_content: bool = False) -> bytes:
    """The content of a file in memory without its compression; by its first bytes where the name does not tell."""
    compression = compression_of(name)
    if compression is None and by_content:
        compression = next((c for c in COMPRESSIONS.values() if content.startswith(c.magic)), None)
    if compression is None:
        return content
    return DecompressedFile(name, io.BytesIO(content), compression).read()
