"""Notes of readers: what they guessed or converted, once for all files of which it is true."""

from __future__ import annotations

from collections.abc import Iterable


def gathered_notes(notes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A line for each note, given with its source: 'a.csv and 2 more files: read as UTF-16 …'."""
    sources: dict[str, list[str]] = {}
    for source, note in notes:
        sources.setdefault(note, []).append(source)
    return tuple(f"{_named(names)}: {note}" for note, names in sources.items())


def _named(names: list[str]) -> str:
    others = len(names) - 1
    more = f" and {others} more file{'s' if others > 1 else ''}" if others else ""
    return names[0] + more
