"""Streams that come in files: their declarations, completed before Spark starts by the files that are there.

Types that the statements leave open and a time column that nobody has named are inferred as for a batch, and written to
the checkpoint, so that a restart has the same ones whatever files have come since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path

from foretell.errors import InputError
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.ingest.time_candidates import time_note
from foretell.events.types import Type

#: Of a folder with more than this, the first file shows the types.
INFERRED_BYTES = 64 << 20

#: Characters with a meaning in patterns of paths.
_SPECIAL = re.compile(r"[*?\[\]{}\\]")

Types = dict[str, str]


@dataclass
class TypeInference:
    """Completes declarations; `known` has the types of an earlier start, by stream, `times` its time columns, and
    `notes` says what was found."""

    known: dict[str, Types]
    times: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def complete(self, declaration: StreamDeclaration, path: str) -> StreamDeclaration:
        """Return a declaration with the types of all attributes."""
        stream = declaration.stream
        declaration = replace(declaration, time=declaration.time or self.times.get(stream, ""))
        if is_incomplete(declaration) and (stream not in self.known or not declaration.time):
            found = self._infer(declaration, path)
            self.known[stream] = {column: kind.value for column, kind in found.attributes.items()}
            declaration = replace(declaration, time=found.time)
        self.times[stream] = declaration.time
        if not is_incomplete(declaration):
            self.known.pop(stream, None)
            return declaration
        types = {name: Type(text) for name, text in self.known[stream].items()}
        declared = {name: kind for name, kind in declaration.attributes.items() if kind is not Type.UNKNOWN}
        return replace(declaration, attributes=types | declared, open=False)

    def _infer(self, declaration: StreamDeclaration, path: str) -> StreamDeclaration:
        files = local_files(path)
        whole = sum(file.stat().st_size for file in files) <= INFERRED_BYTES
        try:
            found = declaration.settled(read(path if whole else files[0], declaration).schema)
        except InputError as error:
            raise _unknown_types(declaration, path) if error.code in ("empty-folder", "no-file") else error from None
        listed = ", ".join(f"{column} {kind.value}" for column, kind in found.attributes.items())
        source = "the files that are there" if whole else f"{files[0]}"
        self.notes.append(f"stream '{declaration.stream}': types inferred from {source}: {listed}")
        if not declaration.time:
            self.notes.append(time_note(declaration.stream, found.time))
        return found


def _unknown_types(declaration: StreamDeclaration, path: str) -> InputError:
    name = declaration.stream
    message = f"stream '{name}' has no declaration with types, and there are no files in {path} that show them"
    time = declaration.time or "column"
    hint = f"declare it, STREAM {name} (attribute TYPE, ...) TIME {time}, or put a first file there"
    return InputError("no-schema", message, hint=hint)


def local_files(path: str) -> list[Path]:
    """Return the files of a path, a folder or a pattern on this machine, by name."""
    place = Path(path)
    if place.is_dir():
        return sorted(file for file in place.rglob("[!._]*") if file.is_file())
    return [place] if place.is_file() else sorted(map(Path, glob(path, recursive=True)))  # noqa: PTH207


def is_incomplete(declaration: StreamDeclaration) -> bool:
    """Return whether a declaration leaves columns or types to the data."""
    return declaration.open or any(declaration.declared_type(name) is None for name in declaration.columns)


def watched_place(path: str) -> tuple[str, dict[str, str]]:
    """Return what Spark is to watch: a folder or pattern, and the options that select a single file in a folder.

    A folder that does not exist is created: Spark would refuse one that comes later.
    """
    place = Path(path)
    if place.is_file():
        return str(place.parent), {"pathGlobFilter": _SPECIAL.sub(r"\\\g<0>", place.name)}
    if not _SPECIAL.search(path) and "://" not in path:
        place.mkdir(parents=True, exist_ok=True)
    return path, {}


def remembered(marked: Mapping[str, object]) -> TypeInference:
    """Return the types and time columns that a checkpoint has of its streams; those of earlier versions have none."""
    types, times = marked.get("types", {}), marked.get("times", {})
    known = {str(name): dict(of) for name, of in types.items()} if isinstance(types, dict) else {}
    return TypeInference(known, dict(times) if isinstance(times, dict) else {})
