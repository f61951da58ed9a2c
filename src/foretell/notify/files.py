"""Notifications to files, written atomically, and to a stream such as standard output."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow.parquet as pq

from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write
from foretell.events.notification import Notification
from foretell.notify.flat_rows import flat_json, flat_table, write_csv
from foretell.notify.notifications import Notifications
from foretell.notify.row_encoder import to_json, to_table


def write(notifications: Iterable[Notification], path: str | os.PathLike[str], *, flat: bool = False) -> None:
    """Write notifications to a file, in the format of its ending. If writing fails, the file is as it was before.

    With `flat`, and in CSV always, key, bindings and events have columns of their own (see `notify.flat_rows`).
    """
    target = Path(path)
    writer, compress = _writer(target, flat)
    with atomic_write(target) as file:
        if not compress:
            writer(notifications, file)
            return
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as compressed:
            writer(notifications, cast(BinaryIO, compressed))


def check_ending(path: str | os.PathLike[str]) -> None:
    """Raise InputError for a path to which `write` could not write, before there is anything to write."""
    _writer(Path(path), flat=False)


def write_lines(notifications: Iterable[Notification], stream: BinaryIO, *, flat: bool = False) -> None:
    """Write notifications as lines of JSON, one after the other."""
    with writing_to(stream):
        for line in map(flat_json, notifications) if flat else _lines(notifications):
            stream.write(line)


def _lines(notifications: Iterable[Notification]) -> Iterable[bytes]:
    return notifications.lines() if isinstance(notifications, Notifications) else map(to_json, notifications)


def _write_json_lines(notifications: Iterable[Notification], file: BinaryIO) -> None:
    file.writelines(_lines(notifications))


def _write_parquet(notifications: Iterable[Notification], file: BinaryIO) -> None:
    table = notifications.table() if isinstance(notifications, Notifications) else to_table(notifications)
    pq.write_table(table, file)


def _write_flat_json_lines(notifications: Iterable[Notification], file: BinaryIO) -> None:
    file.writelines(map(flat_json, notifications))


def _write_flat_parquet(notifications: Iterable[Notification], file: BinaryIO) -> None:
    pq.write_table(flat_table(notifications), file)


Writer = Callable[[Iterable[Notification], BinaryIO], None]

#: The writer of each ending, and the writer of flat rows.
_WRITERS: Mapping[str, tuple[Writer, Writer]] = {
    ".jsonl": (_write_json_lines, _write_flat_json_lines),
    ".csv": (write_csv, write_csv),
    ".parquet": (_write_parquet, _write_flat_parquet),
}
_COMPRESSED = (".jsonl.gz", ".csv.gz")


def _writer(target: Path, flat: bool) -> tuple[Writer, bool]:
    """The writer for an ending, and whether to compress what it writes."""
    name = target.name.lower()
    compress = name.endswith(_COMPRESSED)
    ending = Path(name.removesuffix(".gz") if compress else name).suffix
    if ending not in _WRITERS:
        hint = f"known endings: {', '.join([*_WRITERS, *_COMPRESSED])}"
        raise InputError("unknown-format", f"{target}: cannot tell the format by the ending", hint=hint)
    return _WRITERS[ending][flat], compress


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
