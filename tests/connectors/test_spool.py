"""The spool: numbers stay the same after crashes, full disks and restarts."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from foretell.connectors.mqtt.spool import Spool, SpooledMessage
from foretell.errors import InputError


def message(i: int) -> SpooledMessage:
    return SpooledMessage(f"t/{i % 3}", b"x" * (i % 7) + str(i).encode(), 1_000_000 + i, i % 65536)


def contents(spool: Spool, start: int, end: int) -> list[tuple[int, SpooledMessage]]:
    return [found for part in spool.slices(start, end) for found in part.read()]


def filled(folder: Path, count: int, segment_bytes: int = 1000) -> Spool:
    spool = Spool(folder, segment_bytes=segment_bytes)
    for i in range(0, count, 5):
        spool.append([message(j) for j in range(i, min(i + 5, count))])
    return spool


def test_messages_keep_their_numbers(tmp_path: Path) -> None:
    spool = filled(tmp_path, 200)
    assert (spool.first, spool.next) == (0, 200)
    assert contents(spool, 0, 200) == [(i, message(i)) for i in range(200)]
    assert contents(spool, 63, 131) == [(i, message(i)) for i in range(63, 131)]
    assert contents(spool, 7, 7) == []
    assert len(list(tmp_path.glob("*.spool"))) > 3
    spool.close()
    again = Spool(tmp_path)
    assert again.next == 200
    assert contents(again, 63, 131) == [(i, message(i)) for i in range(63, 131)]
    assert again.last(3) == [message(197), message(198), message(199)]


def test_reading_begins_near_the_first_message(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for i in range(0, 5000, 250):
        spool.append([message(j) for j in range(i, i + 250)])
    [part] = spool.slices(4500, 4600)
    assert part.first >= 4000
    assert [number for number, _ in part.read()] == list(range(4500, 4600))
    spool.close()
    [part] = Spool(tmp_path).slices(4500, 4600)
    assert part.first >= 4000
    assert list(part.read()) == [(i, message(i)) for i in range(4500, 4600)]


def test_discard_deletes_segments_and_keeps_the_numbering(tmp_path: Path) -> None:
    spool = filled(tmp_path, 200)
    spool.discard(100)
    assert 0 < spool.first <= 100
    assert contents(spool, 100, 200) == [(i, message(i)) for i in range(100, 200)]
    spool.discard(200)
    first = spool.first
    assert first > 100
    spool.close()
    again = Spool(tmp_path)
    assert (again.first, again.next) == (first, 200)
    with pytest.raises(InputError, match=f"the spool has no messages 0 to 9; it has {first} to 199"):
        again.slices(0, 10)


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_a_torn_message_is_cut_off(tmp_path: Path, cut: int) -> None:
    filled(tmp_path, 20, segment_bytes=10**6).close()
    [segment] = tmp_path.glob("*.spool")
    os.truncate(segment, segment.stat().st_size - cut)
    spool = Spool(tmp_path)
    assert spool.next == 19
    spool.append([message(77)])
    assert contents(spool, 18, 20) == [(18, message(18)), (19, message(77))]


def test_damage_is_reported(tmp_path: Path) -> None:
    spool = filled(tmp_path, 200)
    first = sorted(tmp_path.glob("*.spool"))[0]
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    with pytest.raises(InputError, match="is damaged") as caught:
        contents(spool, 0, 200)
    assert caught.value.code == "bad-spool"


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = filled(tmp_path, 20)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"cannot write the spool .*: No space left on device"):
            spool.append([message(20)])
    assert spool.next == 20
    spool.append([message(99)])
    assert contents(spool, 19, 21) == [(19, message(19)), (20, message(99))]


def test_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.connectors.mqtt.spool.LOCK_TIMEOUT", 0.0)
    spool = Spool(tmp_path)
    with pytest.raises(InputError, match="another query uses this spool"):
        Spool(tmp_path)
    spool.close()
    assert Spool(tmp_path).id == spool.id


def test_a_crafted_message_is_damaged(tmp_path: Path) -> None:
    """With a right checksum: a length that no file has, a topic that is no text or longer than the message."""
    spool = Spool(tmp_path)
    spool.append([SpooledMessage("t", b"payload", 1)])
    spool.close()
    (segment,) = tmp_path.glob("*.spool")
    good = segment.read_bytes()
    head = struct.Struct("<qHH")
    for body, length in [
        (head.pack(1, 0, 1) + b"\xff", None),
        (head.pack(1, 0, 9) + b"t", None),
        (head.pack(1, 0, 1) + b"t", 2**32 - 1),
    ]:
        frame = struct.pack("<II", len(body) if length is None else length, zlib.crc32(body))
        segment.write_bytes(good + frame + body)
        again = Spool(tmp_path)
        assert (again.first, again.next) == (0, 1)
        again.close()
        assert segment.read_bytes() == good


@pytest.mark.parametrize("content", [b"\xff", "ü".encode(), b"a b", b"a" * 1000])
def test_an_id_that_we_did_not_write(tmp_path: Path, content: bytes) -> None:
    Spool(tmp_path).close()
    (tmp_path / "id").write_bytes(content)
    with pytest.raises(InputError, match="is not the id of a spool"):
        Spool(tmp_path)


def test_a_crash_may_leave_an_empty_id(tmp_path: Path) -> None:
    (tmp_path / "id").touch()
    spool = Spool(tmp_path)
    assert (tmp_path / "id").read_text() == spool.id != ""


@pytest.mark.parametrize("name", ["5.spool", "0005.spool"])
def test_numbers_of_segments_rise(tmp_path: Path, name: str) -> None:
    """As texts they are in order, as numbers not: the messages of one would have the numbers of another."""
    filled(tmp_path, 200).close()
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match="its number is not the next"):
        Spool(tmp_path)
