"""Outbox writer: tasks stage their notifications as files, and the driver moves them into an outbox and sends them.

`write` runs in the tasks without knowing its batch; some tasks run twice, some fail. Only `commit`, on the driver,
knows the number of the batch and which files count. A batch that Spark commits again after a crash is already in the
outbox and is not sent a second time.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write
from foretell.events.notification import COLUMNS
from foretell.notify.messages import Message, messages_of_batch
from foretell.notify.outbox import Outbox
from foretell.notify.sender import Transport, drain
from foretell.storage.private_files import make_private_folder

_LOG = logging.getLogger(__name__)


class NotificationTarget(Protocol):
    """Where messages go: a webhook or an MQTT topic, as a value that Spark can send to its workers."""

    def connect(self) -> Transport: ...


@dataclass
class StagedFile(WriterCommitMessage):
    """The file that a task has staged; no path if it had no rows."""

    path: str | None


@dataclass
class OutboxWriter(DataSourceStreamArrowWriter):
    """Sends the notifications of a streaming query. A commit sends for at most `patience` seconds."""

    receiver: NotificationTarget
    outbox: str
    patience: float

    # Spark passes Arrow batches to this class; only the declared type of its base class has rows.
    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFile:  # type: ignore[override]
        messages = (message for batch in iterator for message in messages_of_batch(batch))
        first = next(messages, None)
        if first is None:
            return StagedFile(None)
        folder = self._staging()
        make_private_folder(folder)
        path = folder / f"{uuid.uuid4().hex}.jsonl"
        with atomic_write(path, private=True) as file:
            file.write(_line(first))
            file.writelines(map(_line, messages))
        return StagedFile(str(path))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        paths = _paths(messages)
        with closing(Outbox(self.outbox)) as outbox:
            outbox.put((message for path in paths for message in _staged(path)), batchId)
            # Includes files of failed tasks: only one query writes here, and none of its tasks runs now.
            _remove(self._staging().glob("*"))
            with closing(self.receiver.connect()) as transport:
                if not drain(outbox, transport, timeout=self.patience):
                    _LOG.warning("%d notifications wait in the outbox %s", outbox.counts().waiting, self.outbox)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        _remove(_paths(messages))

    def _staging(self) -> Path:
        return Path(self.outbox) / "staged"


def check_columns(schema: StructType) -> None:
    missing = [name for name in COLUMNS if name not in schema.names]
    if missing:
        raise InputError(
            "missing-column",
            f"the sink needs notifications, and the frame has no column {', '.join(map(repr, missing))}",
            hint=f"pass a frame of notifications, with the columns {', '.join(COLUMNS)}",
        )
    _check_json(schema)


def _check_json(schema: StructType) -> None:
    """A struct has the fields of all statements, so it does not show which of them a notification has."""
    typed = [name for name in ("key", "bindings", "events") if not isinstance(schema[name].dataType, StringType)]
    if typed:
        raise InputError(
            "typed-columns",
            f"the sink needs {', '.join(map(repr, typed))} as JSON text, not as structs",
            hint="make the frame with follow(..., json=True) or ft.run(..., json=True)",
        )


def _paths(messages: Iterable[WriterCommitMessage | None]) -> list[Path]:
    return [Path(message.path) for message in messages if isinstance(message, StagedFile) and message.path is not None]


def _line(message: Message) -> bytes:
    return msgspec.json.encode((message.id, message.subscription, msgspec.Raw(message.body))) + b"\n"


def _staged(path: Path) -> Iterator[Message]:
    with path.open("rb") as file:
        for line in file:
            name, subscription, body = msgspec.json.decode(line, type=tuple[str, str, msgspec.Raw])
            yield Message(name, subscription, bytes(body))


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
