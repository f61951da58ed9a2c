"""Files of events that somebody made up, as CSV, JSON lines and text lines: events, a reason for each, or a refusal."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import foretell as ft
from foretell.errors import ForetellError
from foretell.events.ingest.formats import FetchedFiles
from foretell.events.ingest.input_files import InputFile, InputFiles, content_format
from foretell.events.ingest.reader import StreamDeclaration, read, read_file, reading_notes
from foretell.events.types import Type
from tests.fuzz.work_folder import work_folder

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


#: Columns that are declared, as STREAM declares them; without this all columns are read, and their types inferred.
DECLARED = {"k": Type.STRING, "v": Type.FLOAT}


def prepare(numbers: range) -> Path:
    """The file that some cases write. All ways of reading are warm."""
    folder = work_folder()
    for ending, text in ORIGINALS.items():
        for way in WAYS:
            way(text.encode(), ending, folder / f"s{ending}")
    _run(b"t,k\n0.5,a\n1.5,b\n", ".csv", folder / "s.csv")  # times between whole numbers have kernels of their own
    return folder


def run(number: int, prepared: Path) -> str:
    chance = Random(number)
    ending = chance.choice(list(ORIGINALS))
    content = ORIGINALS[chance.choice([ending, ending, ending, *ORIGINALS])].encode()
    for _ in range(chance.choice([0, 1, 1, 2, 5, 20])):
        at, length = chance.randrange(len(content) + 1), chance.choice([0, 1, 1, 5, 20])
        content = content[:at] + chance.choice(PARTS) + content[at + length :]
    # Running an engine on the events takes most of the time: few do.
    [way] = chance.choices(WAYS, [50, 48, 2])
    try:
        way(content, ending, prepared / f"s{ending}")
    except ForetellError:
        return "refused"
    return "read"


def _read_all(content: bytes, ending: str, path: Path) -> None:
    """As an engine reads a file whose columns nobody has declared."""
    name = f"s{ending}"
    kind, notes = content_format(name, content, _options(ending))
    listing = InputFiles(name, kind, [InputFile(name)], tuple(notes))
    declaration = StreamDeclaration("s", {}, _time(ending), open=True, read=_options(ending))
    reading_notes(read(FetchedFiles(listing, {name: content}), declaration))


def _read_declared(content: bytes, ending: str, path: Path) -> None:
    """As a task of a cluster reads a file."""
    declared = {"program": Type.STRING, "pid": Type.INT} if ending == ".log" else DECLARED
    declaration = StreamDeclaration("s", declared, _time(ending), read=_options(ending))
    reading_notes(read_file(InputFile(f"s{ending}"), content, declaration))


def _run(content: bytes, ending: str, path: Path) -> None:
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ft.ForetellWarning)
        text = "SUBSCRIBE m FROM s MATCH a;"
        str(ft.run(text, {"s": str(path)}, time=_time(ending), read=_options(ending), engine="embedded"))


WAYS = (_read_all, _read_declared, _run)


def _time(ending: str) -> str:
    return "time" if ending == ".log" else "t"


def _options(ending: str) -> ft.ReadOptions:
    return ft.ReadOptions(pattern="syslog") if ending == ".log" else ft.ReadOptions(day_first=True)
