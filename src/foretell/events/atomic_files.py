"""Files read as a whole and written atomically, with one message for each way in which that fails."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from foretell.errors import InputError, closest
from foretell.storage.private_files import open_private


def path_of(path: str | os.PathLike[str]) -> Path:
    """The path of a text. The empty text is refused: it would be the current folder."""
    text = os.fspath(path)
    if not text or "\0" in text:
        raise InputError("no-file", f"there is no file {text!r}")
    return Path(text)


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without the byte order mark that some editors write."""
    if path.is_dir():
        raise InputError("cannot-read", f"cannot read '{path}': it is a folder")
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise unreadable_file(path, error) from None
    except UnicodeDecodeError:
        raise InputError("cannot-read", f"cannot read '{path}': it is not UTF-8") from None


@contextmanager
def atomic_write(target: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Write a temporary file beside `target` that replaces it at the end, or leave `target` as it was. A `private` file
    is for its owner alone."""
    # A symbolic link stays: the file it points to is replaced.
    final = Path(os.path.realpath(target))
    draft = final.with_name(f".{final.name}.{uuid.uuid4().hex}.part")
    try:
        with open_private(draft, "xb") if private else draft.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(final)
    except OSError as error:
        raise InputError("cannot-write", f"cannot write '{target}': {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            draft.unlink()


class _AbandonedError(Exception):
    """Ends the writing of a file that is not to be."""


def check_writable(target: Path) -> None:
    """Raise InputError where `atomic_write` could not begin; `target` stays as it is."""
    writing = atomic_write(target)
    writing.__enter__()
    abandon(writing)


def abandon(writing: AbstractContextManager[BinaryIO]) -> None:
    """End an `atomic_write` that was entered, and leave its target as it was."""
    with suppress(_AbandonedError):
        writing.__exit__(_AbandonedError, _AbandonedError(), None)


def missing_file(path: Path) -> InputError:
    return InputError("no-file", f"there is no file '{path}'", hint=_nearby(path))


def unreadable_file(path: Path | str, error: OSError) -> InputError:
    # Arrow's own message would repeat the path.
    return InputError("cannot-read", f"cannot read '{path}': {os.strerror(error.errno) if error.errno else error}")


def _nearby(path: Path) -> str:
    """A hint at a file of the same folder with a similar name; the ending alone makes none similar."""
    try:
        names = {entry.stem: entry.name for entry in sorted(path.absolute().parent.iterdir())}
        names |= {entry.stem: entry.name for entry in path.absolute().parent.iterdir() if entry.suffix == path.suffix}
    except OSError:
        return ""
    similar = closest(path.stem, names)
    return f"did you mean '{names[similar]}'?" if similar else ""
