"""The output of an embedded pipeline: the rows of a batch to files, an outbox, or lines, each batch once.

A batch has a number. Files carry it in their names and an outbox remembers it, so a batch that is written again after a
crash takes effect once; files that rows are appended to are cut back to where the checkpoint saw them end.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from foretell.arguments.pipeline import Endpoint, Pipeline
from foretell.connectors.mqtt import Topic
from foretell.connectors.options import (
    HEADER,
    MQTT_SINK_OPTIONS,
    WEBHOOK_OPTIONS,
    SourceOptions,
    broker_of,
    receiver_of,
)
from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write
from foretell.events.types import format_timestamp
from foretell.extras import require_extra
from foretell.notify.flat_rows import csv_lines
from foretell.notify.messages import messages_of_batch
from foretell.notify.outbox import Outbox
from foretell.notify.row_encoder import encode_json
from foretell.notify.sender import Sender, Transport
from foretell.serve.records import SideEvent

#: Outputs that are written in this process.
EMBEDDED_OUTPUTS = ("json", "csv", "parquet", "files", "foretell_webhook", "foretell_mqtt", "console")
_SIDE_KINDS = ("late", "bad")


class BatchOutput(Protocol):
    """Takes the rows of a batch: notifications and, as rows of their own kinds, late and malformed events."""

    def claim(self, batch: int | None) -> None:
        """Take the output for this process and a checkpoint whose next batch this is, None for a new checkpoint. Raises
        InputError where another process writes there, or where batches of another checkpoint would be overwritten."""

    def write(self, batch: int, tables: Sequence[pa.Table]) -> None:
        """Write a batch. When this returns, a crash does not lose it."""

    def close(self) -> None: ...


class FolderOutput:
    """A folder `kind=KIND` for each kind, with a file for each batch that has rows of the kind."""

    def __init__(self, sink: Endpoint, kinds: Sequence[str] | None) -> None:
        assert sink.path is not None
        self._folder, self._kinds = Path(sink.path), kinds
        self._form = {"files": "parquet"}.get(sink.format, sink.format)
        self._lock: int | None = None

    def claim(self, batch: int | None) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process writes to the output '{self._folder}'"
            raise InputError("output-in-use", message, hint="end it first, or use another output folder") from None
        except OSError as error:
            if self._lock is None:
                raise _cannot_write(self._folder, error) from None
            # This file system locks no folders: the numbers of the batches are looked at all the same.
        self._refuse_other_batches(batch)

    def _refuse_other_batches(self, batch: int | None) -> None:
        found = [number for path in self._folder.glob("kind=*/batch-*") if (number := _batch_number(path)) is not None]
        last = max(found, default=-1)
        if last < 0 or (batch is not None and last <= batch):
            return
        if batch is None:
            message = f"the output '{self._folder}' has batches up to {last}, and the checkpoint is new"
            hint = "a new checkpoint counts batches from 0 and would overwrite them: use an empty output folder, or the"
            raise InputError("output-ahead", message, hint=f"{hint} checkpoint that wrote them")
        message = f"the output '{self._folder}' has batches up to {last}, and the checkpoint goes on with batch {batch}"
        hint = "they are of another checkpoint, or of a later state of this: use an empty output folder, or bring back"
        raise InputError("output-ahead", message, hint=f"{hint} checkpoint and output of the same time")

    def write(self, batch: int, tables: Sequence[pa.Table]) -> None:
        rows = pa.concat_tables(tables, promote_options="permissive") if tables else None
        kinds: list[Any] = [] if rows is None else pc.unique(rows.column("kind")).to_pylist()
        wanted = [kind for kind in kinds if self._kinds is None or kind in self._kinds]
        name = f"batch-{batch:012d}.{self._form}"
        for before in self._folder.glob(f"kind=*/{name}"):
            if before.parent.name.removeprefix("kind=") not in wanted:
                before.unlink()  # of this batch before a crash
        for kind in wanted:
            assert rows is not None
            folder = self._folder / f"kind={kind}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                message = f"cannot write '{folder}': {error.strerror or error}"
                raise InputError("cannot-write", message) from None
            own = rows.filter(pc.equal(rows.column("kind"), pa.scalar(kind))).drop_columns(["kind"])
            with atomic_write(folder / name) as file:
                _WRITERS[self._form](file, own)

    def close(self) -> None:
        """Every file is complete: only the lock goes."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _batch_number(path: Path) -> int | None:
    """The number of a batch by the name of its file.

    >>> _batch_number(Path("kind=match/batch-000000000012.json")), _batch_number(Path("kind=match/batch-of-mine.json"))
    (12, None)
    """
    digits = path.stem.removeprefix("batch-")
    return int(digits) if digits.isascii() and digits.isdecimal() else None


def _write_json(file: Any, rows: pa.Table) -> None:
    for row in _with_text_times(rows).to_pylist():
        file.write(encode_json({name: value for name, value in row.items() if value is not None}).encode() + b"\n")


def _write_csv(file: Any, rows: pa.Table) -> None:
    rows = _with_text_times(rows)
    file.writelines(csv_lines([rows.column_names]))
    file.writelines(csv_lines(list(row.values()) for row in rows.to_pylist()))


def _write_parquet(file: Any, rows: pa.Table) -> None:
    import pyarrow.parquet as pq  # it loads clients of file systems

    pq.write_table(rows, file)


_WRITERS: Mapping[str, Callable[[Any, pa.Table], None]] = {
    "json": _write_json,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _with_text_times(rows: pa.Table) -> pa.Table:
    """The rows with timestamps as all notifications have them in text."""
    for name in ("start", "end"):
        column = rows.column(name)
        if pa.types.is_timestamp(column.type):
            micros = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).to_pylist()
            texts = [None if time is None else format_timestamp(time) for time in micros]
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(texts, pa.string()))
    return rows


class OutboxOutput:
    """An outbox, from which a thread sends while the pipeline goes on. It is opened by the thread that writes."""

    def __init__(self, folder: str, connect: Callable[[], Transport], kinds: Sequence[str] | None) -> None:
        self._folder, self._connect, self._kinds = folder, connect, kinds
        self._outbox: Outbox | None = None
        self._sender: Sender | None = None

    def claim(self, batch: int | None) -> None:
        """The outbox itself refuses batches that are earlier than its last."""

    def write(self, batch: int, tables: Sequence[pa.Table]) -> None:
        if self._outbox is None or self._sender is None:
            self._outbox, self._sender = Outbox(self._folder), Sender(self._folder, self._connect)
        if self._sender.failure is not None:
            raise self._sender.failure
        batches = (part for table in tables for part in self._wanted(table).to_batches())
        self._outbox.put((message for part in batches for message in messages_of_batch(part)), batch)
        self._sender.wake()

    def _wanted(self, table: pa.Table) -> pa.Table:
        return table if self._kinds is None else table.filter(pc.is_in(table.column("kind"), pa.array(self._kinds)))

    def close(self) -> None:
        """Unsent notifications wait for the next run."""
        if self._sender is not None:
            self._sender.close()
        if self._outbox is not None:
            self._outbox.close()


class NoOutput:
    """Notifications are shown, and written nowhere."""

    def claim(self, batch: int | None) -> None:
        """Nothing to take."""

    def write(self, batch: int, tables: Sequence[pa.Table]) -> None:
        """Nothing to write."""

    def close(self) -> None:
        """Nothing is open."""


def batch_output(pipeline: Pipeline) -> BatchOutput:
    """The output of a pipeline."""
    sink = pipeline.output
    if sink is None or sink.format == "console":
        return NoOutput()
    if sink.format == "foretell_webhook":
        options = SourceOptions(sink.options, WEBHOOK_OPTIONS, HEADER)
        receiver = receiver_of(options)
        return OutboxOutput(_outbox_of(options), receiver.connect, pipeline.kinds)
    if sink.format == "foretell_mqtt":
        require_extra("mqtt", "the output foretell_mqtt")
        options = SourceOptions(sink.options, MQTT_SINK_OPTIONS)
        name = options.required("topic", "the topic to publish to, such as foretell/{subscription}")
        return OutboxOutput(_outbox_of(options), Topic(broker_of(options), name).connect, pipeline.kinds)
    if sink.format in EMBEDDED_OUTPUTS:
        return FolderOutput(sink, pipeline.kinds)
    message = f"output: the embedded engine does not write the format '{sink.format}'"
    raise InputError("not-written", message, hint=f"use --engine spark, or one of {', '.join(EMBEDDED_OUTPUTS)}")


def _outbox_of(options: SourceOptions) -> str:
    return options.required("outbox", "a folder for unsent notifications")


class SideFiles:
    """Files of JSON lines for late and malformed events, beside notifications that go elsewhere."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def restore(self, ends: Mapping[str, Sequence[int]]) -> None:
        """Cut off what was appended after the checkpoint, if it is still the same file."""
        for kind, path in self._files.items():
            inode, length = ends.get(kind, (0, 0))
            try:
                status = path.stat()
                if inode and status.st_ino == inode and status.st_size > length:
                    os.truncate(path, length)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _cannot_write(path, error) from None

    @property
    def ends(self) -> dict[str, list[int]]:
        found = {}
        for kind, path in self._files.items():
            if path.exists():
                status = path.stat()
                found[kind] = [status.st_ino, status.st_size]
        return found

    def append(self, kind: str, events: Iterable[SideEvent]) -> None:
        path = self._files.get(kind)
        lines = [] if path is None else [_side_line(kind, event) for event in events]
        if path is None or not lines:
            return
        try:
            with path.open("ab") as file:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _cannot_write(path, error) from None


def _side_line(kind: str, event: SideEvent) -> str:
    content = {"event": event.event} if kind == "late" else {"reason": event.reason, "raw": event.event}
    return encode_json({"stream": event.stream, **content}) + "\n"


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError("cannot-write", f"cannot write '{path}': {error.strerror or error}")
