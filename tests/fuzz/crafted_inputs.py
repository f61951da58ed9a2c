"""Files of events that somebody made up, as CSV, JSON lines and text lines: events, a reason for each, or a refusal."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from random import Random

import foretell as ft
from foretell.errors import ForetellError

CSV = 't,k,v,when\n1,a,1.5,2026-03-01T10:00:00Z\n2,"b, c",,2026-03-01 10:00:01\n3,"d""e",-1e5,\n4,é,NaN,01/03/2026\n'
JSON = (
    '{"t": 1, "k": "a", "v": 1.5, "w": {"x": [1, 2]}}\n{"t": 2, "k": null, "v": "x"}\n'
    '{"t": 3, "k": "\\ud83d\\ude00", "v": -1e5}\n[]\n{"t": "4", "k": "b", "k": "c"}\n'
)
TEXT = "2026-03-01T10:00:00Z host app[12]: a failed 1.5\n2026-03-01T10:00:01Z host app[13]: b ok 2\n"
ORIGINALS = {".csv": CSV, ".jsonl": JSON, ".json": f"[{JSON.splitlines()[0]}]", ".log": TEXT}
MARKS = (b"", b",", b'"', b"\n", b"\r", b"\r\n", b";", b"\t", b"{", b"}", b"[", b"]", b":", b"\\", b"-", b"null")
BYTES = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xfe\xff",
    b"PAR1",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\\ud800",
)
LONG = (b"9" * 400, b"[" * 5000, b'{"a":' * 2000, b"a" * 70_000, b"," * 3000, b"\n" * 3000)
PARTS = (*MARKS, *BYTES, *LONG, b"\\ud800", b"1e999", b"0001-01-01", b"99999999999999999999")


def prepare() -> None:
    for ending, text in ORIGINALS.items():
        _read(text.encode(), ending)


def run(number: int, prepared: None) -> str:
    chance = Random(number)
    ending = chance.choice(list(ORIGINALS))
    content = ORIGINALS[chance.choice([ending, ending, ending, *ORIGINALS])].encode()
    for _ in range(chance.choice([0, 1, 1, 2, 5, 20])):
        at, length = chance.randrange(len(content) + 1), chance.choice([0, 1, 1, 5, 20])
        content = content[:at] + chance.choice(PARTS) + content[at + length :]
    try:
        return _read(content, ending)
    except ForetellError:
        return "refused"


def _read(content: bytes, ending: str) -> str:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ft.ForetellWarning)
        path = Path(folder) / f"s{ending}"
        path.write_bytes(content)
        text = "SUBSCRIBE m FROM s MATCH a;"
        time = "time" if ending == ".log" else "t"
        read = ft.ReadOptions(pattern="syslog") if ending == ".log" else None
        found = ft.run(text, {"s": str(path)}, time=time, read=read, engine="embedded")
        str(found)
    return "read"
