"""Notifications to files, written atomically, and to a stream such as standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq

from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write
from foretell.events.notification import Notification
from foretell.notify.notifications import Notifications
from foretell.notify.row_encoder import to_json, to_table


def write(notifications: Iterable[Notification], path: str | os.PathLike[str]) -> None:
    """Write notifications to a file, in the format of its ending. If writing fails, the file is as it was before."""
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        hint = f"known endings: {', '.join(_WRITERS)}"
        raise InputError("unknown-format", f"{target}: cannot tell the format by the ending", hint=hint)
    with atomic_write(target) as file:
        writer(notifications, file)


def write_lines(notifications: Iterable[Notification], stream: BinaryIO) -> None:
    """Write notifications as lines of JSON, one after the other."""
    with writing_to(stream):
        for line in _lines(notifications):
            stream.write(line)


def _lines(notifications: Iterable[Notification]) -> Iterable[bytes]:
    return notifications.lines() if isinstance(notifications, Notifications) else map(to_json, notifications)


def _write_json_lines(notifications: Iterable[Notification], file: BinaryIO) -> None:
    file.writelines(_lines(notifications))


def _write_parquet(notifications: Iterable[Notification], file: BinaryIO) -> None:
    table = notifications.table() if isinstance(notifications, Notifications) else to_table(notifications)
    pq.write_table(table, file)


_WRITERS: Mapping[str, Callable[[Iterable[Notification], BinaryIO], None]] = {
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}


@contextmanager
def writing_to(stream: BinaryIO) -> Iterator[None]:
    """Write to a stream such as standard output. A reader that closes it early (`| head`) is no error."""
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        discard_rest(stream)
    except OSError as error:
        raise InputError("cannot-write", f"cannot write the output: {error.strerror or error}") from None


def discard_rest(stream: BinaryIO) -> None:
    """Redirect a broken stream to nowhere, so that Python's flush at exit does not report the failure again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def standard_output() -> BinaryIO:
    """Standard output for bytes; it does not exist where the shell has closed it (`>&-`)."""
    if sys.stdout is None:
        raise InputError("cannot-write", "cannot write the output: standard output is closed")
    return sys.stdout.buffer
