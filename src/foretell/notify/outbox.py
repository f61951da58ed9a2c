"""What is to be sent, written down before it is sent: an SQLite file in a folder of its own.

A batch of messages comes in whole or not at all, and only once: the outbox remembers the number of the last batch and
the names in it, for that is the one batch that may be asked for again after a crash. Messages go out in the order in
which they came and stay until the receiver has taken or refused them.
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

DEAD_LETTERS = "dead-letters.jsonl"

_VERSION = 1
# A message that is done keeps its name until the next batch comes, so that a batch that comes again is known.
_SCHEMA = """
    CREATE TABLE message (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        batch INTEGER NOT NULL,
        id TEXT NOT NULL,
        subscription TEXT NOT NULL,
        body BLOB,  -- NULL once it is done
        UNIQUE (batch, id)
    );
    CREATE INDEX waiting ON message (number) WHERE body IS NOT NULL;
    CREATE TABLE progress (batch INTEGER, delivered INTEGER NOT NULL, dead INTEGER NOT NULL, not_before REAL NOT NULL);
    INSERT INTO progress VALUES (NULL, 0, 0, 0);
"""


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A message that waits, with its number in the outbox and the batch it came in."""

    number: int
    batch: int
    message: Message


@dataclass(frozen=True, slots=True)
class OutboxCounts:
    """How many messages wait, and how many have been taken and refused since the outbox was made."""

    waiting: int
    delivered: int
    dead: int


class Outbox:
    """The outbox in a folder. Several processes may have it open; `sending` lets one of them send."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.folder / "outbox.sqlite", timeout=60, isolation_level=None)
            # Each commit is on the disk before it counts, and readers do not wait for writers.
            self._database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            self._prepare()

    def put(self, messages: Iterable[Message], batch: int) -> int:
        """Takes a batch in, all of it or nothing; how many of its messages were new. Batches come in order."""
        with self._transaction():
            self._begin(batch)
            before = self._database.total_changes
            self._database.executemany(
                "INSERT OR IGNORE INTO message (batch, id, subscription, body) VALUES (?, ?, ?, ?)",
                ((batch, message.id, message.subscription, message.body) for message in messages),
            )
            return self._database.total_changes - before

    def waiting(self, limit: int) -> list[OutboxEntry]:
        """The first that wait, at most `limit`, all of one batch: what is sent together stays together in a repeat."""
        rows = self._database.execute(
            "SELECT number, batch, id, subscription, body FROM message WHERE body IS NOT NULL ORDER BY number LIMIT ?",
            (limit,),
        ).fetchall()
        entries = [OutboxEntry(number, batch, Message(*message)) for number, batch, *message in rows]
        return [entry for entry in entries if entry.batch == entries[0].batch]

    def delivered(self, entries: Sequence[OutboxEntry]) -> None:
        self._done(entries, "delivered")

    def refused(self, entries: Sequence[OutboxEntry], reason: str) -> None:
        """Sets messages aside that the receiver will never take. A crash may write them into the file twice."""
        with self._writing(), (self.folder / DEAD_LETTERS).open("ab") as file:
            for entry in entries:
                body = msgspec.Raw(entry.message.body)
                file.write(msgspec.json.encode({"id": entry.message.id, "reason": reason, "message": body}) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._done(entries, "dead")

    def counts(self) -> OutboxCounts:
        [row] = self._database.execute(
            "SELECT (SELECT count(*) FROM message WHERE body IS NOT NULL), delivered, dead FROM progress"
        )
        return OutboxCounts(*row)

    def postpone(self, seconds: float) -> None:
        """The receiver wants nothing for so long, which a process that takes over must know too."""
        with self._transaction():
            self._database.execute("UPDATE progress SET not_before = ?", (time.time() + seconds,))

    def pause(self) -> float:
        """The seconds for which the receiver still wants nothing."""
        [(not_before,)] = self._database.execute("SELECT not_before FROM progress")
        return max(0.0, float(not_before) - time.time())

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """The right to send, or False where somebody else has it: two senders would mix up the order."""
        with (self.folder / "sending.lock").open("ab") as lock:
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
                raise InputError("bad-outbox", f"{self.folder}: an outbox of version {version}, not {_VERSION}")

    def _begin(self, batch: int) -> None:
        [(last,)] = self._database.execute("SELECT batch FROM progress")
        if last is not None and batch < last:
            raise InputError(
                "outbox-ahead",
                f"{self.folder}: batch {batch} comes after batch {last}; "
                "the outbox belongs to another run or another checkpoint",
                hint="a run that starts anew wants a new outbox",
            )
        self._database.execute("DELETE FROM message WHERE body IS NULL AND batch < ?", (batch,))
        self._database.execute("UPDATE progress SET batch = ?", (batch,))

    def _done(self, entries: Sequence[OutboxEntry], how: str) -> None:
        with self._transaction():
            numbers = [(entry.number,) for entry in entries]
            self._database.executemany("UPDATE message SET body = NULL WHERE number = ?", numbers)
            self._database.execute(f"UPDATE progress SET {how} = {how} + ?", (len(entries),))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._writing():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                # A full disk has made SQLite roll back by itself.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise InputError("cannot-write", f"cannot write the outbox '{self.folder}': {error}") from error
