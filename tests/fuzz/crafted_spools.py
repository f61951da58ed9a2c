"""Spools that somebody made up, with right checksums: they are refused, or read, and take further messages."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from random import Random

from foretell.connectors.mqtt.spool import Spool, SpooledMessage
from foretell.errors import ForetellError
from tests.fuzz.work_folder import work_folder

FRAME = struct.Struct("<II")
HEAD = struct.Struct("<qHH")
NUMBERS = (0, 1, 2, 5, 9, 10, 2**16, 2**31, 2**63 - 1, 2**64, 10**19, 10**100)
NAMES = ("x.spool", "-1.spool", "1.spool", "01.spool", "9.spool", "10.spool", ".spool", "²³.spool", "1e3.spool")
BYTES = (b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"\n", b"\xff" * 8, b"\x00" * 8, b"\x00" * 5000)
LENGTHS = (0, 1, 11, 12, 13, 100, 65535, 2**31 - 1, 2**31, 2**32 - 1)


@dataclass(frozen=True)
class Original:
    """The files of a spool, by their names, and the folder that each case writes to."""

    files: dict[str, bytes]
    folder: Path


def prepare(numbers: range) -> Original:
    folder = work_folder()
    spool = Spool(folder / "original", segment_bytes=200)
    for i in range(8):
        spool.append([SpooledMessage(f"t/{i}", b"{}" * i, i, i), SpooledMessage("é", b"", -i)])
    spool.close()
    files = {path.name: path.read_bytes() for path in (folder / "original").iterdir()}
    (folder / "crafted").mkdir()
    return Original(files, folder / "crafted")


def run(number: int, prepared: Original) -> str:
    chance = Random(number)
    files = dict(prepared.files)
    for _ in range(chance.choice([1, 1, 2, 4])):
        _change(files, chance)
    for path in prepared.folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (prepared.folder / name).write_bytes(content)
    try:
        return _use(prepared.folder)
    except ForetellError:
        return "refused"


def _use(folder: Path) -> str:
    spool = Spool(folder, segment_bytes=200)
    try:
        following = spool.next
        outcome = _read(spool)
        more = [SpooledMessage("t", b"more", 1), SpooledMessage("u", b"", 2)]
        spool.append(more)
        assert spool.last(2) == more
        spool.discard(following)
        assert spool.last(2) == more
    finally:
        spool.close()
    again = Spool(folder)
    try:
        assert again.next == following + 2
        assert again.last(2) == more
    finally:
        again.close()
    return outcome


def _read(spool: Spool) -> str:
    try:
        numbers = [number for part in spool.slices(spool.first, spool.next) for number, _ in part.read()]
    except ForetellError:
        return "opened, and damaged"
    assert numbers == list(range(spool.first, spool.next))
    return "read"


def _change(files: dict[str, bytes], chance: Random) -> None:
    name = chance.choice(sorted(files)) if files else "id"
    match chance.randrange(6):
        case 0:
            content = files.pop(name, b"")
            files[chance.choice([*NAMES, f"{chance.choice(NUMBERS):020d}.spool"])] = content
        case 1:
            files.pop(name, None)
        case 2:
            files["id"] = chance.choice([*BYTES, b"x" * 100_000])
        case 3:
            content = files.get(name, b"")
            at = chance.randrange(len(content) + 1)
            files[name] = content[:at] + chance.choice(BYTES) + content[at + chance.choice([0, 1, 8]) :]
        case _:
            files[name] = _framed(files.get(name, b""), chance)


def _framed(content: bytes, chance: Random) -> bytes:
    """A segment with a message that has a right checksum and wrong contents."""
    ends = [0]
    while ends[-1] + FRAME.size <= len(content):
        length, _ = FRAME.unpack_from(content, ends[-1])
        if length > len(content):
            break
        ends.append(ends[-1] + FRAME.size + length)
    at = chance.randrange(len(ends))
    topic = chance.choice([b"t", b"\xff", b"", b"\x00", b"x" * 1000])
    length = chance.choice([len(topic), len(topic), chance.choice(LENGTHS) % 65536])
    body = HEAD.pack(chance.choice([0, -1, 2**63 - 1, -(2**63)]), chance.randrange(65536), length) + topic
    body = chance.choice([body, body, body + b"{}", body[: chance.randrange(len(body) + 1)]])
    told = chance.choice([len(body), len(body), len(body), chance.choice(LENGTHS)])
    following = ends[at + 1] if at + 1 < len(ends) and chance.random() < 0.5 else ends[at]
    return content[: ends[at]] + FRAME.pack(told, zlib.crc32(body)) + body + content[following:]
