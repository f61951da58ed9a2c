"""File systems: local files, and those that an address such as s3://bucket/events names, through fsspec."""

from __future__ import annotations

import glob
import importlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import unquote, urlsplit

from foretell.errors import InputError
from foretell.events.atomic_files import missing_file, path_of, unreadable_file

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: The package that gives fsspec a kind of address.
_PACKAGES: Mapping[str, str] = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
}


class NoFileSystemError(InputError):
    """No package that reads a kind of address is installed."""


class FileSystem(Protocol):
    """The operations that the listing and the readers of files need. All names are whole paths or addresses."""

    def is_folder(self, name: str) -> bool: ...

    def exists(self, name: str) -> bool: ...

    def files_below(self, folder: str) -> list[str]:
        """The files of a folder and of the folders in it."""

    def matching(self, pattern: str) -> list[str]:
        """The files and folders that a pattern with *, ? and [ ] matches."""

    def open(self, name: str) -> IO[bytes]: ...

    def size(self, name: str) -> int: ...


class LocalFileSystem:
    """The files of this machine."""

    def is_folder(self, name: str) -> bool:
        return Path(name).is_dir()

    def exists(self, name: str) -> bool:
        return Path(name).exists()

    def files_below(self, folder: str) -> list[str]:
        files: list[str] = []
        for entry in Path(folder).iterdir():
            if entry.is_dir():
                files += [] if is_hidden(entry.name) else self.files_below(str(entry))
            elif entry.is_file():
                files.append(str(entry))
        return files

    def matching(self, pattern: str) -> list[str]:
        return glob.glob(pattern, recursive=True)  # noqa: PTH207  # of Path.glob the folder is no pattern

    def open(self, name: str) -> IO[bytes]:
        return Path(name).open("rb")

    def size(self, name: str) -> int:
        return Path(name).stat().st_size


class AddressFileSystem:
    """A file system of fsspec. Its own names lack the beginning of the address, which messages show."""

    def __init__(self, address: str) -> None:
        self._scheme = scheme_of(address)
        try:
            core = importlib.import_module("fsspec.core")
            self._system, _ = core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise _no_package(address, self._scheme, error) from None

    def is_folder(self, name: str) -> bool:
        return bool(self._system.isdir(name))

    def exists(self, name: str) -> bool:
        return bool(self._system.exists(name))

    def files_below(self, folder: str) -> list[str]:
        return self._named(self._system.find(folder))

    def matching(self, pattern: str) -> list[str]:
        return self._named(self._system.glob(pattern))

    def open(self, name: str) -> IO[bytes]:
        file: IO[bytes] = self._system.open(name, "rb")
        return file

    def size(self, name: str) -> int:
        return int(self._system.size(name) or 0)

    def _named(self, names: Any) -> list[str]:
        return [self._system.unstrip_protocol(name) for name in names]


_LOCAL = LocalFileSystem()


def file_system(name: str) -> FileSystem:
    """The file system of a path, or of an address that is no file:// address."""
    return AddressFileSystem(name) if scheme_of(name) else _LOCAL


def scheme_of(name: str) -> str:
    """'s3' of 's3://bucket/events'; empty for a path."""
    address = _ADDRESS.match(name)
    return address[1].lower() if address else ""


def is_hidden(name: str) -> bool:
    """Whether a file or folder is the bookkeeping of another program."""
    return name[:1] in (".", "_")


def local_name(source: str | os.PathLike[str]) -> str:
    """A path or an address as text; a file:// address as its path."""
    text = os.fspath(source)
    if scheme_of(text) == "file":
        text = unquote(urlsplit(text).path)
    return text if scheme_of(text) else str(path_of(text))


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Errors of a file system in our words."""
    try:
        yield
    except FileNotFoundError:
        raise no_file(name) from None
    except OSError as error:
        raise unreadable_file(name, error) from None


def no_file(name: str) -> InputError:
    return InputError("no-file", f"there is no file '{name}'") if scheme_of(name) else missing_file(Path(name))


def packages_for(scheme: str) -> str:
    """The packages that read a kind of address, as `pip install` takes them."""
    return " ".join(["fsspec", *([_PACKAGES[scheme]] if scheme in _PACKAGES else [])])


def _no_package(address: str, scheme: str, error: Exception) -> NoFileSystemError:
    hint = f"pip install {packages_for(scheme)}, or use --engine spark (engine='spark') where Spark reads it"
    message = f"cannot read '{address}': no package for {scheme}:// is installed"
    return NoFileSystemError("no-file-system", message, hint=hint if isinstance(error, ImportError) else str(error))
