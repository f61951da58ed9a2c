"""The outbox: messages are stored before they are sent, in an SQLite file in a folder of its own.

A batch of messages is stored whole or not at all, and only once: the outbox remembers the number of the last batch and
the ids in it, as only that batch can be repeated after a crash. Messages are sent in the order in which they came, and
stay until the receiver has accepted or refused them.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from foretell.errors import InputError
from foretell.notify.messages import Message
from foretell.storage.private_files import make_private_folder, open_private

DEAD_LETTERS = "dead-letters.jsonl"

_VERSION = 1
# A delivered message keeps its id until the next batch comes, so that a repeated batch is recognised.
_SCHEMA = """
    CREATE TABLE message (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        batch INTEGER NOT NULL,
        id TEXT NOT NULL,
        subscription TEXT NOT NULL,
        body BLOB,  -- NULL once it is delivered or dead
        UNIQUE (batch, id)
    );
    CREATE INDEX waiting ON message (number) WHERE body IS NOT NULL;
    CREATE TABLE progress (batch INTEGER, delivered INTEGER NOT NULL, dead INTEGER NOT NULL, not_before REAL NOT NULL);
    INSERT INTO progress VALUES (NULL, 0, 0, 0);
"""


# A view or a trigger in their place could make SQLite work without an end.
_TABLES = {
    "message": ["number", "batch", "id", "subscription", "body"],
    "progress": ["batch", "delivered", "dead", "not_before"],
}

# A message about a damaged file may quote it.
_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)

#: Seconds: a receiver that asks for a longer pause is asked again after this one.
LONGEST_PAUSE = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A pending message, with its number in the outbox and its batch."""

    number: int
    batch: int
    message: Message


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    """How many messages are pending, and how many were delivered and refused since the outbox was created."""

    waiting: int
    delivered: int
    dead: int


@dataclass(frozen=True, slots=True)
class _Progress:
    """The number of the last batch, if there was one, what became of messages, and when the next may be sent."""

    batch: int | None
    delivered: int
    dead: int
    not_before: float


class Outbox:
    """The outbox in a folder. Several processes may have it open; `sender_lock` lets one of them send."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        with self._writing():
            make_private_folder(self.folder)
            # SQLite gives its other files the permissions of this one.
            open_private(self.folder / "outbox.sqlite", "ab").close()
            self._database = sqlite3.connect(self.folder / "outbox.sqlite", timeout=60, isolation_level=None)
            # Every commit is synced to the disk, and readers do not wait for writers.
            self._database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            self._prepare()

    def put(self, messages: Iterable[Message], batch: int) -> int:
        """Store a batch, all of it or nothing, and return how many of its messages are new. Batches come in order."""
        with self._transaction():
            self._begin(batch)
            before = self._database.total_changes
            self._database.executemany(
                "INSERT OR IGNORE INTO message (batch, id, subscription, body) VALUES (?, ?, ?, ?)",
                ((batch, message.id, message.subscription, message.body) for message in messages),
            )
            return self._database.total_changes - before

    def pending(self, limit: int) -> list[OutboxEntry]:
        """The first pending messages, at most `limit` and of one batch: a repeat sends the same ones together."""
        with self._reading():
            rows = self._database.execute(
                "SELECT number, batch, id, subscription, body FROM message WHERE body IS NOT NULL "
                "ORDER BY number LIMIT ?",
                (limit,),
            ).fetchall()
        # SQLite keeps any type in any column.
        if not all(tuple(map(type, row)) == (int, int, str, str, bytes) for row in rows):
            raise self._foreign("messages")
        entries = [OutboxEntry(number, batch, Message(*message)) for number, batch, *message in rows]
        return [entry for entry in entries if entry.batch == entries[0].batch]

    def mark_delivered(self, entries: Sequence[OutboxEntry]) -> None:
        self._mark_done(entries, "delivered")

    def mark_dead(self, entries: Sequence[OutboxEntry], reason: str) -> None:
        """Move messages that the receiver refuses to the dead letters. A crash may write them to the file twice."""
        with self._writing(), open_private(self.folder / DEAD_LETTERS, "ab") as file:
            for entry in entries:
                body = msgspec.Raw(entry.message.body)
                file.write(msgspec.json.encode({"id": entry.message.id, "reason": reason, "message": body}) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._mark_done(entries, "dead")

    def counts(self) -> OutboxCounts:
        with self._reading():
            [(waiting,)] = self._database.execute("SELECT count(*) FROM message WHERE body IS NOT NULL")
        progress = self._progress()
        return OutboxCounts(waiting, progress.delivered, progress.dead)

    def postpone(self, seconds: float) -> None:
        """Send nothing for so many seconds, a day at most, also in a process that takes over."""
        with self._transaction():
            until = time.time() + min(seconds, LONGEST_PAUSE)
            self._database.execute("UPDATE progress SET not_before = ?", (until,))

    def remaining_pause(self) -> float:
        """The seconds for which `postpone` still holds."""
        return min(max(0.0, self._progress().not_before - time.time()), LONGEST_PAUSE)

    @contextmanager
    def sender_lock(self) -> Iterator[bool]:
        """The lock of the only sender, or False where another process has it: two senders would mix up the order."""
        with open_private(self.folder / "sending.lock", "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def close(self) -> None:
        self._database.close()

    def _prepare(self) -> None:
        with self._transaction():
            [(version,)] = self._database.execute("PRAGMA user_version")
            if version == 0:
                for statement in filter(str.strip, _SCHEMA.split(";\n")):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise InputError(
                    "bad-outbox", f"{self.folder}: expected an outbox of version {_VERSION}, found version {version}"
                )
            self._check_tables()
        self._progress()

    def _check_tables(self) -> None:
        made = self._database.execute("SELECT type, name FROM sqlite_master WHERE type <> 'index'").fetchall()
        if sorted(made) != sorted(("table", name) for name in [*_TABLES, "sqlite_sequence"]):
            raise self._foreign("tables")
        for table, columns in _TABLES.items():
            found = self._database.execute(f"PRAGMA table_xinfo({table})").fetchall()
            if [(row[1], row[-1]) for row in found] != [(name, 0) for name in columns]:
                raise self._foreign("columns")

    def _progress(self) -> _Progress:
        with self._reading():
            rows = self._database.execute("SELECT batch, delivered, dead, not_before FROM progress LIMIT 2").fetchall()
        types = [tuple(map(type, row)) for row in rows]
        if types not in ([(type(None), int, int, float)], [(int, int, int, float)]):
            raise self._foreign("progress")
        return _Progress(*rows[0])

    def _foreign(self, subject: str) -> InputError:
        return InputError("bad-outbox", f"{self.folder}: the outbox has {subject} that Foretell did not write")

    def _begin(self, batch: int) -> None:
        last = self._progress().batch
        if last is not None and batch < last:
            raise InputError(
                "outbox-ahead",
                f"{self.folder}: batch {batch} comes after batch {last}; "
                "the outbox belongs to another run or another checkpoint",
                hint="give a run that starts anew a new outbox",
            )
        self._database.execute("DELETE FROM message WHERE body IS NULL AND batch < ?", (batch,))
        self._database.execute("UPDATE progress SET batch = ?", (batch,))

    def _mark_done(self, entries: Sequence[OutboxEntry], counter: str) -> None:
        with self._transaction():
            numbers = [(entry.number,) for entry in entries]
            self._database.executemany("UPDATE message SET body = NULL WHERE number = ?", numbers)
            self._database.execute(f"UPDATE progress SET {counter} = {counter} + ?", (len(entries),))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._writing():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite has rolled back already.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except _SQLITE_ERRORS as error:
            raise InputError("bad-outbox", f"cannot read the outbox '{self.folder}': {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, *_SQLITE_ERRORS) as error:
            raise InputError("cannot-write", f"cannot write the outbox '{self.folder}': {error}") from error
