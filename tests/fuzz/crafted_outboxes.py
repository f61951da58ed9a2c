"""Outboxes that somebody made up, in SQL or byte by byte: they are refused, or their messages are sent."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from foretell.errors import ForetellError
from foretell.notify.messages import Message
from foretell.notify.outbox import Outbox, OutboxEntry
from foretell.notify.sender import Delivered, DeliveryOutcome, RetryLater, Undeliverable, drain
from tests.fuzz.work_folder import work_folder

VALUES = ("NULL", "0", "-1", "1", "1.5", "1e999", "-1e999", "''", "'x'", "x'ff'", "9223372036854775807", "1e300",
          "-9223372036854775808", "zeroblob(100000)", "char(0xd800)", "cast(x'ff' AS TEXT)",
          "printf('%.*c', 9999, 'x')")  # fmt: skip
COLUMNS = {
    "message": ("number", "batch", "id", "subscription", "body"),
    "progress": ("batch", "delivered", "dead", "not_before"),
    "sqlite_sequence": ("seq", "name"),
}
ENDLESS = "WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM r) SELECT"
SCHEMAS = (
    "DROP TABLE progress",
    "DROP TABLE message",
    "DROP INDEX waiting",
    "ALTER TABLE message RENAME TO messages",
    "ALTER TABLE message ADD COLUMN more TEXT",
    "ALTER TABLE progress RENAME COLUMN dead TO died",
    "DROP TABLE progress; CREATE TABLE progress (batch INTEGER)",
    f"DROP TABLE message; CREATE VIEW message AS {ENDLESS} i AS number, 0 AS batch, 'a' AS id, 's' AS subscription, "
    "x'7b7d' AS body FROM r",
    f"DROP TABLE progress; CREATE VIEW progress AS {ENDLESS} i AS batch, 0 AS delivered, 0 AS dead, i AS not_before "
    "FROM r WHERE i < 0",
    "CREATE TRIGGER more AFTER UPDATE ON message BEGIN INSERT INTO message (batch, id, subscription, body) "
    "VALUES (0, random(), 's', x'7b7d'); END",
    f"CREATE TRIGGER more AFTER UPDATE ON progress BEGIN INSERT INTO message (batch, id, subscription, body) "
    f"SELECT 0, random(), 's', x'7b7d' FROM ({ENDLESS} i FROM r); END",
    "CREATE TRIGGER refuse BEFORE UPDATE ON progress BEGIN SELECT raise(ABORT, 'no'); END",
    "DELETE FROM progress",
    "INSERT INTO progress SELECT * FROM progress",
    "DELETE FROM message",
    "PRAGMA user_version = 0",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = -1",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA encoding = 'UTF-16'",
)


@dataclass(frozen=True)
class Original:
    """The file of an outbox, and the folder that each case writes to."""

    content: bytes
    folder: Path


class _Receiver:
    together = 3

    def __init__(self, chance: Random) -> None:
        self._chance, self._sent = chance, 0

    def send(self, entries: Sequence[OutboxEntry]) -> DeliveryOutcome:
        self._sent += 1
        assert self._sent < 1000, "the outbox gives more messages than it has"
        after = self._chance.choice([None, 0.0, 1e-9, 1e9])
        later = RetryLater("later", after)
        outcomes: list[DeliveryOutcome] = [*[Delivered()] * 5, Undeliverable("no"), later]
        return self._chance.choice(outcomes)

    def close(self) -> None:
        pass


def prepare(numbers: range) -> Original:
    folder = work_folder()
    with closing(Outbox(folder / "original")) as outbox:
        outbox.put([Message(f"a{i}", "s", b"{}") for i in range(5)], 0)
        outbox.mark_delivered(outbox.pending(2))
        outbox.put([Message(f"b{i}", "s", b'{"x": 1}') for i in range(5)], 3)
    return Original((folder / "original" / "outbox.sqlite").read_bytes(), folder / "crafted")


def run(number: int, prepared: Original) -> str:
    chance = Random(number)
    folder = prepared.folder
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    path = folder / "outbox.sqlite"
    path.write_bytes(prepared.content)
    if chance.random() < 0.7 and not _changed_in_sql(path, chance):
        return "cannot be written"
    if chance.random() < 0.3:
        _change_bytes(path, chance)
    try:
        with closing(Outbox(folder)) as outbox:
            return _use(outbox, chance)
    except ForetellError:
        return "refused"


def _use(outbox: Outbox, chance: Random) -> str:
    outbox.counts()
    outbox.put([Message("a1", "s", b"{}"), Message("c", "s", b"{}")], chance.choice([3, 4]))
    sent = drain(outbox, _Receiver(chance), timeout=0.05)
    outbox.counts()
    return "sent" if sent else "not all sent"


def _changed_in_sql(path: Path, chance: Random) -> bool:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        statements = [_update(chance) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
        if not statements or chance.random() < 0.2:
            statements.append(chance.choice(SCHEMAS))  # last: a trigger would run here already
        try:
            for statement in statements:
                database.executescript(statement)
        except sqlite3.Error:
            return False
    return True


def _update(chance: Random) -> str:
    table = chance.choice(list(COLUMNS))
    column, value = chance.choice(COLUMNS[table]), chance.choice(VALUES)
    where = chance.choice(["", f" WHERE rowid % {chance.choice([2, 3])} = 0"])
    return f"UPDATE {table} SET {column} = {value}{where}"


def _change_bytes(path: Path, chance: Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 3, 10])):
        content[chance.randrange(len(content))] = chance.choice([0, 1, 255, chance.randrange(256)])
    path.write_bytes(content[: chance.choice([len(content)] * 4 + [chance.randrange(len(content))])])
