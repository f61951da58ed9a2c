"""The delimiter of a CSV file: as the caller says, as the ending of its name says, or as its first lines show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from foretell.errors import InputError
from foretell.events.ingest.raw_columns import ArrowArray

#: Delimiters that are recognised; of equally likely ones the first.
_DELIMITERS = (",", ";", "\t", "|")
_TAB_ENDINGS = (".tsv", ".tab")
_HEAD_BYTES = 64 << 10
_HEAD_ROWS = 64
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")


def delimiter_of(source: str, content: bytes, given: str | None) -> tuple[str, list[str]]:
    """The delimiter, and a note where it is guessed and not a comma."""
    if given is not None:
        return _checked(given), []
    if any(suffix.lower() in _TAB_ENDINGS for suffix in PurePath(source).suffixes[-2:]):
        return "\t", []
    guessed = _guess(content)
    return guessed, [] if guessed == "," else [f"its fields are separated by {_shown(guessed)}, not by commas"]


def decimal_comma_notes(names: Iterable[str], columns: Iterable[ArrowArray]) -> list[str]:
    """A note for each column whose first texts are numbers with decimal commas, which are not read as numbers."""
    notes = []
    for name, column in zip(names, columns, strict=True):
        texts = column[:_HEAD_ROWS].drop_null().to_pylist()
        if all(map(_DECIMAL_COMMA.fullmatch, texts)) and (commas := [text for text in texts if "," in text]):
            notes.append(f"'{name}' has decimal commas, such as '{commas[0]}', and is read as STRING")
    return notes


def _checked(given: str) -> str:
    if len(given) != 1 or not given.isascii() or given in '"\r\n\0':
        hint = "give one ASCII character, such as ';' or '\\t'"
        raise InputError("bad-delimiter", f"{given!r} cannot separate fields", hint=hint)
    return given


def _guess(content: bytes) -> str:
    """The delimiter of which the header has some and the first row as many; without one, the most frequent in the
    header."""
    lines = [line for line in content[:_HEAD_BYTES].splitlines() if line.strip()][:2]
    if not lines:
        return ","
    header, *others = [_unquoted(line) for line in lines]
    counts = {delimiter: header.count(delimiter.encode()) for delimiter in _DELIMITERS}
    fitting = [d for d in _DELIMITERS if counts[d] and all(row.count(d.encode()) == counts[d] for row in others)]
    if fitting and fitting[0] != ",":
        return max(fitting, key=lambda delimiter: counts[delimiter])
    if fitting or counts[","]:
        return ","
    return max(_DELIMITERS, key=lambda delimiter: counts[delimiter])


def _unquoted(line: bytes) -> bytes:
    """A line without its quoted parts."""
    return b"".join(line.split(b'"')[::2])


def _shown(delimiter: str) -> str:
    return "tabs" if delimiter == "\t" else f"'{delimiter}'"
