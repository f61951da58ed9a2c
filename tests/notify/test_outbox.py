"""The outbox: a batch is stored once, messages are sent in order, none is lost."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foretell.errors import InputError
from foretell.notify.messages import Message
from foretell.notify.outbox import LONGEST_PAUSE, Outbox, OutboxCounts


def messages(*names: str) -> list[Message]:
    return [Message(name, "s", json.dumps({"notification": name}).encode()) for name in names]


def waiting(outbox: Outbox) -> list[str]:
    return [entry.message.id for entry in outbox.pending(1000)]


def test_a_batch_is_stored_once(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    assert outbox.put(messages("a", "b"), 0) == 2
    assert outbox.put(messages("a", "b"), 0) == 0
    outbox.mark_delivered(outbox.pending(1))
    outbox.close()
    again = Outbox(tmp_path)
    assert again.put(messages("a", "b"), 0) == 0
    assert waiting(again) == ["b"]
    assert again.counts() == OutboxCounts(waiting=1, delivered=1, dead=0)


def test_the_same_name_in_a_later_batch_is_another_message(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.put(messages("a"), 0)
    outbox.mark_delivered(outbox.pending(1))
    assert outbox.put(messages("a"), 1) == 1


def test_a_batch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[Message]:
        yield from messages("a")
        raise RuntimeError("a task's file is gone")

    outbox = Outbox(tmp_path)
    with pytest.raises(RuntimeError):
        outbox.put(failing(), 0)
    assert outbox.counts() == OutboxCounts(0, 0, 0)
    assert outbox.put(messages("a", "b"), 0) == 2


def test_messages_sent_together_are_of_one_batch(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.put(messages("a", "b", "c"), 0)
    outbox.put(messages("d"), 1)
    first = outbox.pending(2)
    assert [entry.message.id for entry in first] == ["a", "b"]
    outbox.mark_delivered(first)
    assert waiting(outbox) == ["c"]


def test_a_run_that_starts_anew_is_not_taken_for_a_repeat(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.put([], 5)
    with pytest.raises(InputError, match="batch 0 comes after batch 5") as caught:
        outbox.put(messages("a"), 0)
    assert caught.value.code == "outbox-ahead"
    Outbox(tmp_path / "new").put(messages("a"), 0)
    assert Outbox(tmp_path / "new").put(messages("b"), 0) == 1, "a first batch with other content is no repeat"


def test_delivered_messages_do_not_pile_up(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    for batch in range(20):
        outbox.put(messages("a", "b"), batch)
        outbox.mark_delivered(outbox.pending(2))
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        assert database.execute("SELECT count(*) FROM message").fetchall() == [(2,)]


def test_dead_letters(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.put(messages("a", "b"), 0)
    outbox.mark_dead(outbox.pending(1), "400 Bad Request")
    [line] = (tmp_path / "dead-letters.jsonl").read_text().splitlines()
    assert json.loads(line) == {"id": "a", "reason": "400 Bad Request", "message": {"notification": "a"}}
    assert outbox.counts() == OutboxCounts(waiting=1, delivered=0, dead=1)


def test_only_one_process_sends(tmp_path: Path) -> None:
    first_box, two = Outbox(tmp_path), Outbox(tmp_path)
    with first_box.sender_lock() as first:
        assert first
        with two.sender_lock() as second:
            assert not second
    with two.sender_lock() as second:
        assert second


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write the outbox"):
        Outbox(tmp_path / "file" / "outbox")


def test_a_later_version_is_left_alone(tmp_path: Path) -> None:
    Outbox(tmp_path).close()
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(InputError, match="expected an outbox of version 1, found version 9"):
        Outbox(tmp_path)


def test_messages_that_we_did_not_write(tmp_path: Path) -> None:
    Outbox(tmp_path).put(messages("a"), 0)
    with closing(sqlite3.connect(tmp_path / "outbox.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE message SET body = 5")
    with pytest.raises(InputError, match="did not write"):
        Outbox(tmp_path).pending(1)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE progress SET not_before = 'soon'",
        "UPDATE progress SET batch = 'x'",
        "UPDATE progress SET dead = 1.5",
        "DELETE FROM progress",
        "INSERT INTO progress SELECT * FROM progress",
        "DROP TABLE message",
        "ALTER TABLE message ADD COLUMN more TEXT",
        "CREATE TRIGGER more AFTER UPDATE ON progress BEGIN DELETE FROM message; END",
        "DROP TABLE progress; CREATE VIEW progress AS "
        "WITH RECURSIVE r(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM r) "
        "SELECT i AS batch, 0 AS delivered, 0 AS dead, 0.0 AS not_before FROM r WHERE i < 0",
    ],
)
def test_a_file_that_we_did_not_write(tmp_path: Path, change: str) -> None:
    Outbox(tmp_path).put(messages("a"), 0)
    with closing(sqlite3.connect(tmp_path / "outbox.sqlite", isolation_level=None)) as database:
        database.executescript(change)
    with pytest.raises(InputError, match="did not write"):
        Outbox(tmp_path)


def test_no_pause_is_longer_than_a_day(tmp_path: Path) -> None:
    """Python cannot wait for a time without an end."""
    outbox = Outbox(tmp_path)
    outbox.postpone(math.inf)
    assert 0 < outbox.remaining_pause() <= LONGEST_PAUSE
    with closing(sqlite3.connect(tmp_path / "outbox.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE progress SET not_before = 1e300")
    assert Outbox(tmp_path).remaining_pause() == LONGEST_PAUSE
