"""The survey of streams that come in files: declarations, completed before a run starts by the files that are there.

Types that the statements leave open, a time column that nobody has named, and the order of day and month are inferred
as for a batch. They are written to the checkpoint, so that a restart has the same ones whatever files have come since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foretell.errors import InputError
from foretell.events.ingest.file_systems import local_name
from foretell.events.ingest.input_files import NAMED_FORMATS, format_of, input_files
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, reading_notes
from foretell.events.ingest.time_forms import reading_of
from foretell.events.types import Type

#: Of a folder with more than this, the first file shows the types.
INFERRED_BYTES = 64 << 20

#: Errors of a place that has no files yet, or files that only their own endings or Spark can tell apart.
_NOT_SURVEYED = ("empty-folder", "no-file", "mixed-folder", "no-file-system")

#: The types of a stream's attributes, and what its files have decided about the reading of times.
Types = dict[str, str]
Reading = dict[str, Any]


@dataclass
class FileSurvey:
    """Completes declarations by the files that are there.

    `types`, `times` (the time columns) and `readings` are those of an earlier start, by stream; `started` says that
    there was one. Only the first start reads the files of a stream whose types are all declared, for errors and notes.
    `notes` says what was found.
    """

    types: dict[str, Types]
    times: dict[str, str]
    readings: dict[str, Reading]
    started: bool
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, marked: Mapping[str, Any]) -> FileSurvey:
        """Return a survey with what a checkpoint has of its streams; those of earlier versions have less."""
        types, times, readings = (dict(marked.get(key, {})) for key in ("types", "times", "readings"))
        return cls(types, times, readings, bool(marked))

    @property
    def mark(self) -> dict[str, object]:
        """The values that the checkpoint keeps."""
        return {"types": self.types, "times": self.times, "readings": self.readings}

    def complete(self, declaration: StreamDeclaration, path: str) -> StreamDeclaration:
        """Return a declaration with its time column, the types of all attributes, and the reading of times."""
        name = declaration.stream
        declaration = replace(declaration, time=declaration.time or self.times.get(name, ""))
        inferred = is_incomplete(declaration)
        if not inferred:
            self.types.pop(name, None)
        if not self.started or (inferred and not (name in self.types and declaration.time)):
            declaration = self._survey(declaration, path, inferred)
        self.times[name] = declaration.time
        return _with_reading(self._with_types(_with_format(declaration, path)), self.readings.get(name, {}))

    def _with_types(self, declaration: StreamDeclaration) -> StreamDeclaration:
        if declaration.stream not in self.types:
            return declaration
        types = {name: Type(text) for name, text in self.types[declaration.stream].items()}
        declared = {name: kind for name, kind in declaration.attributes.items() if kind is not Type.UNKNOWN}
        return replace(declaration, attributes=types | declared, open=False)

    def _survey(self, declaration: StreamDeclaration, path: str, inferred: bool) -> StreamDeclaration:
        """Read the files that are there; return the declaration with its time column."""
        name = declaration.stream
        try:
            batch, source = _read_present(declaration, path)
        except InputError as error:
            if inferred and error.code in ("empty-folder", "no-file"):
                raise _unknown_types(declaration, path) from None
            if inferred or error.code not in _NOT_SURVEYED:
                raise
            return declaration
        found = declaration.settled(batch.schema)
        if inferred:
            listed = ", ".join(f"{column} {kind.value}" for column, kind in found.attributes.items())
            self.notes.append(f"stream '{name}': types inferred from {source}: {listed}")
            self.types[name] = {str(column): kind.value for column, kind in found.attributes.items()}
        if batch.times is not None and batch.times != reading_of(declaration.read):
            self.readings[name] = {"day_first": batch.times.day_first, "turn": batch.times.turn}
        self.notes += reading_notes(batch)
        return replace(declaration, time=found.time)


def _read_present(declaration: StreamDeclaration, path: str) -> tuple[EventBatch, str]:
    """Read the files that are there, or the first of many; return their events and what they are called."""
    listing = input_files(path, declaration.read)
    if sum(file.size() for file in listing.files) <= INFERRED_BYTES:
        return read(listing, declaration), "the files that are there"
    first = replace(listing, files=listing.files[:1])
    return read(first, declaration), first.files[0].path


def _with_format(declaration: StreamDeclaration, path: str) -> StreamDeclaration:
    """Return the declaration with the format of a single file whose ending does not tell it: alone it is taken for what
    it looks like, while a task would leave it out."""
    options = declaration.read
    if not Path(local_name(path)).is_file() or options.format is not None or format_of(path) is not None:
        return declaration
    kind = input_files(path, options).format
    return replace(declaration, read=replace(options, format=next(n for n, f in NAMED_FORMATS.items() if f == kind)))


def _with_reading(declaration: StreamDeclaration, reading: Mapping[str, Any]) -> StreamDeclaration:
    """Return the declaration with what the files have decided about times. The year of times without one stays that
    of the option; without the option it is that of the day on which a task reads them."""
    if not reading:
        return declaration
    day_first = reading["day_first"] if declaration.read.day_first is None else declaration.read.day_first
    options = replace(declaration.read, day_first=day_first)
    if options.year is None:
        return replace(declaration, read=options)
    return replace(declaration, read=options, times=replace(reading_of(options), turn=reading["turn"]))


def _unknown_types(declaration: StreamDeclaration, path: str) -> InputError:
    name = declaration.stream
    message = f"stream '{name}' has no declaration with types, and there are no files in {path} that show them"
    time = declaration.time or "column"
    hint = f"declare it, STREAM {name} (attribute TYPE, ...) TIME {time}, or put a first file there"
    return InputError("no-schema", message, hint=hint)


def is_incomplete(declaration: StreamDeclaration) -> bool:
    """Return whether a declaration leaves columns or types to the data."""
    return declaration.open or any(declaration.declared_type(name) is None for name in declaration.columns)
