"""Notifications to files, written atomically, and to a stream such as standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

from foretell.errors import InputError
from foretell.events.atomic_files import abandon, atomic_write
from foretell.events.notification import Notification
from foretell.language.checked import CheckedStatement
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.notifications import Notifications
from foretell.notify.part_writers import WRITERS, Draft, ParquetWriter, PartWriter, json_lines
from foretell.plan.result_schema import result_schema

#: Notifications that are written at once.
_PART_ROWS = 65_536


def write(
    notifications: Iterable[Notification], path: str | os.PathLike[str], *, flat: bool = False, json: bool = False
) -> None:
    """Write notifications to a file, in the format of its ending. If writing fails, the file is as it was before.

    With `flat`, and in CSV always, key, bindings and events have columns of their own (see `notify.flat_rows`). In
    Parquet they are structs, or with `json` JSON text.
    """
    with FileOutput(path, flat=flat, json=json) as output:
        if isinstance(notifications, Notifications):
            output.describe(notifications.statements)
        for part in in_parts(notifications):
            output.write(part)


def write_lines(notifications: Iterable[Notification], stream: BinaryIO, *, flat: bool = False) -> None:
    """Write notifications as lines of JSON, one after the other."""
    with writing_to(stream):
        for part in in_parts(notifications):
            for lines in json_lines(part, flat=flat):
                stream.write(lines)


def in_parts(notifications: Iterable[Notification]) -> Iterator[Sequence[Notification]]:
    """All notifications, in parts."""
    rows = notifications.rows if isinstance(notifications, Notifications) else notifications
    if isinstance(rows, LazyNotifications):
        yield from (rows.part(first, _PART_ROWS) for first in range(0, len(rows), _PART_ROWS))
    else:
        remaining = iter(rows)
        while part := tuple(islice(remaining, _PART_ROWS)):
            yield part


class FileOutput:
    """A file of notifications that are written while others are still to come. It is there when the context has ended;
    if that fails, the file is as it was before."""

    def __init__(self, path: str | os.PathLike[str], *, flat: bool = False, json: bool = False) -> None:
        self._path = Path(path)
        self._make_writer, self._compress = _writer(self._path, flat)
        self._json = json

    def __enter__(self) -> Self:
        self._file = atomic_write(self._path)
        self._draft = Draft(self._file.__enter__(), compress=self._compress)
        self._writer = self._make_writer(self._draft)
        return self

    def describe(self, statements: Iterable[CheckedStatement]) -> None:
        """Say whose notifications will come, before the first of them: Parquet has their types."""
        shapes = [result_schema(statement) for statement in statements]
        if self._make_writer is not ParquetWriter or not shapes:
            return
        if self._json:
            self._writer = ParquetWriter(self._draft, estimates=any(shape.losable is not None for shape in shapes))
        else:
            from foretell.notify.typed_columns import TypedNotifications  # loads the engine

            self._writer = ParquetWriter(self._draft, TypedNotifications.of_statements(shapes))

    def write(self, part: Sequence[Notification]) -> None:
        with self._writing():
            self._writer.write(part)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            try:
                with self._writing():
                    self._writer.close()
            except BaseException:
                abandon(self._file)
                raise
            self._file.__exit__(None, None, None)
        else:
            # Without the error: if the engine raised it, it does not say that this file cannot be written.
            abandon(self._file)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"cannot write '{self._path}': {error.strerror or error}"
            raise InputError("cannot-write", message) from None


_COMPRESSED = (".jsonl.gz", ".csv.gz")


def _writer(target: Path, flat: bool) -> tuple[Callable[[Draft], PartWriter], bool]:
    """The writer for an ending, and whether to compress what it writes."""
    name = target.name.lower()
    compress = name.endswith(_COMPRESSED)
    ending = Path(name.removesuffix(".gz") if compress else name).suffix
    if ending not in WRITERS:
        hint = f"known endings: {', '.join([*WRITERS, *_COMPRESSED])}"
        raise InputError("unknown-format", f"{target}: cannot tell the format by the ending", hint=hint)
    return WRITERS[ending][flat], compress


class OutputClosedError(Exception):
    """The reader of the output has seen enough (`| head`)."""


class JsonLinesOutput:
    """Lines of JSON to a stream such as standard output, while notifications are still to come."""

    def __init__(self, stream: BinaryIO, *, flat: bool = False) -> None:
        self._stream, self._flat = stream, flat

    def write(self, part: Sequence[Notification]) -> None:
        """Write the lines; raises OutputClosedError where nobody reads them."""
        closed = True
        with writing_to(self._stream):
            for lines in json_lines(part, flat=self._flat):
                self._stream.write(lines)
            self._stream.flush()
            closed = False
        if closed:
            raise OutputClosedError


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
