"""Files and folders that belong to this user alone: what others can write here, they could make us run or believe."""

from __future__ import annotations

import os
import stat
import sys
import uuid
from pathlib import Path
from typing import BinaryIO, cast

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_private_folder(folder: Path) -> bool:
    """Whether nobody but us and the superuser can write to the folder, or put another in its place.

    An access control list that lets others write shows in the group's permissions. Windows has neither owners' numbers
    nor modes: there a folder is as private as the profile that contains it.
    """
    if sys.platform == "win32":
        return folder.is_dir()
    try:
        real = folder.resolve(strict=True)
        found = real.stat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
            return False
        return all(_keeps_entries(parent.stat()) for parent in real.parents)
    except (OSError, RuntimeError):  # a loop of symbolic links is a RuntimeError
        return False


def _keeps_entries(parent: os.stat_result) -> bool:
    """Whether others cannot rename the entries of a folder: in a sticky one, such as /tmp, only their owners can."""
    trusted = parent.st_uid in (0, os.geteuid())
    return trusted and (not parent.st_mode & _OTHERS_WRITE or bool(parent.st_mode & stat.S_ISVTX))


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents, with permissions for us alone whatever the umask."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=stat.S_IRWXU, exist_ok=True)


def read_private(file: Path, *, secret: bool = False) -> bytes:
    """The content of a file that only we can write to, and only we can read if it is a secret; else PermissionError.

    The file that was checked is the file that is read: it is opened once.
    """
    with open(os.open(file, _READ), "rb") as opened:  # noqa: PTH123 - Path.open() takes no flags
        found = os.fstat(opened.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{file} is not a file")
        if sys.platform != "win32" and (
            found.st_uid != os.geteuid() or found.st_mode & (_OTHERS if secret else _OTHERS_WRITE)
        ):
            raise PermissionError(f"other users can {'read' if secret else 'write'} {file}")
        return opened.read()


def create_private(file: Path, *parts: bytes) -> None:
    """Create a file that only we can read and write; FileExistsError if there is one."""
    with open(os.open(file, _CREATE, stat.S_IRUSR | stat.S_IWUSR), "wb") as opened:  # noqa: PTH123 - as above
        opened.writelines(parts)


def replace_private(file: Path, *parts: bytes) -> None:
    """Write a file that only we can read and write. It appears whole, in place of an older one."""
    draft = draft_of(file)
    try:
        create_private(draft, *parts)
        draft.replace(file)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def open_private(file: Path, mode: str) -> BinaryIO:
    """Open a file for writing that only we can read and write if it is new; `mode` as that of `open`."""

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR)

    return cast(BinaryIO, open(file, mode, opener=opener))


def draft_of(file: Path) -> Path:
    """A name beside the file for its content until it is complete."""
    return file.with_name(f"{file.name}.{uuid.uuid4().hex}.tmp")
