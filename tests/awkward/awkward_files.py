"""Awkward files: one small file for each way in which people's files are awkward, with the events that must come out.

    [[case]]
    name = "semicolons are guessed"
    file = "a.csv"                          # and its `text`; or `base64`; `encode` and `compress` change the bytes
    text = "..."
    time = "time"                           # the default
    declare = "STREAM s (...) TIME time;"   # instead
    options = {delimiter = ";"}             # ReadOptions
    events = [{time = 1, k = "a"}]          # a column that one of them lacks is NULL there
    set_aside = 1                           # events set aside
    nulls = {v = 1}                         # values made NULL, by column
    notes = ["..."]                         # each is part of a note
    error = "..."                           # part of the message instead
    stream_error = "..."                    # that of a stream, where it differs

Also: `files` of a folder (by name; "gzip:..." is compressed) with `input` (a path or glob within it), `stdin`, and
`statement` with the number of its `matches`.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import foretell as ft

FOLDER = Path(__file__).parent

_COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "zstd": lambda content: pa.compress(content, "zstd", asbytes=True),
}


@dataclass(frozen=True)
class AwkwardFile:
    """A case: files or standard input, how they are read, and the outcome."""

    theme: str
    name: str
    file: str | None = None
    text: str = ""
    base64: str | None = None
    encode: str = "utf-8"
    compress: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    input: str = ""
    stdin: str | None = None
    time: str = "time"
    declare: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False
    statement: str = ""
    events: list[dict[str, Any]] | None = None
    matches: int | None = None
    set_aside: int = 0
    nulls: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    first_time: str | None = None
    error: str | None = None
    stream_error: str | None = None

    def __str__(self) -> str:
        return f"{self.theme}: {self.name}"

    def write(self, folder: Path) -> str:
        """Write the files; return the input."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(text[5:].encode()) if text.startswith("gzip:") else text.encode())
        if self.file is not None:
            (folder / self.file).write_bytes(self.content)
            return str(folder / self.file)
        if "://" in self.input:
            return self.input.format(folder=folder)
        return "-" if self.stdin is not None else str(folder / self.input)

    @property
    def content(self) -> bytes:
        if self.base64 is not None:
            return base64.b64decode(self.base64)
        content = self.text.replace("@@200000@@", "x" * 200_000).encode(self.encode)
        return _COMPRESSIONS[self.compress](content) if self.compress else content

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for event in self.events or () for name in event))

    @property
    def program(self) -> str:
        """The case's statement, or one that returns every event's expected columns."""
        returned = ", ".join(f'a."{name}" AS "{name}"' for name in self.columns)
        every = f"SUBSCRIBE every FROM s MATCH a {'RETURN ' + returned if returned else ''}"
        return f"{self.declare} {self.statement or every};"

    @property
    def time_columns(self) -> dict[str, str]:
        return {} if self.declare else {"s": self.time}

    @property
    def read_options(self) -> ft.ReadOptions:
        lists: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in self.options.items()
        }
        return ft.ReadOptions(**lists)

    @property
    def stream_refusal(self) -> str | None:
        """Part of the message with which a stream refuses the files before it starts; None where it reads them."""
        if self.stdin is not None:
            return "--follow cannot read standard input"
        return self.stream_error or self.error

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [{name: event.get(name) for name in self.columns} for event in self.events or ()]


def awkward_files() -> list[AwkwardFile]:
    return [case for path in sorted(FOLDER.glob("*.toml")) for case in _read(path)]


def _read(path: Path) -> list[AwkwardFile]:
    cases = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    return [AwkwardFile(path.stem, **{**case, "notes": tuple(case.get("notes", ()))}) for case in cases]
