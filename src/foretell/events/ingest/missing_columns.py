"""Missing columns: an error before the first event is processed, or a note where the user allows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretell.errors import InputError, column_suggestion
from foretell.events.ingest.raw_columns import RawTable

_ALLOW = "allow it with --missing-columns, or ReadOptions(missing_columns=True)"


def check_columns(
    raw: RawTable, stream: str, required: Sequence[str], time: str, *, is_open: bool, allowed: bool
) -> tuple[str, ...]:
    """Raise where a required column is missing, or one of several files lacks a column; with `allowed`, return notes.

    The time is required in any case. An open stream has all columns of all its files.
    """
    if raw.absent_is_null and not raw.rows:
        return ()  # without events nothing is missing
    names = frozenset(raw.names)
    missing = [name for name in required if name not in names and not _is_element(name, raw.names)]
    for name in missing:
        if not allowed or name == time:
            hint = column_suggestion(name, raw.names)
            raise InputError("missing-column", _missing(raw, stream, name, time), hint=hint)
    present = raw.names if is_open else [name for name in required if name in names]
    return (
        *(f"{_missing(raw, stream, name, time)}: it is NULL" for name in missing),
        *_differing(raw, present, allowed),
    )


def _is_element(name: str, names: Sequence[str]) -> bool:
    """Whether the name is a place in a list that some event has; the lists may be shorter."""
    start, bracket, _ = name.rpartition("[")
    return bool(bracket) and any(other == start or other.startswith(f"{start}[") for other in names)


def _missing(raw: RawTable, stream: str, name: str, time: str) -> str:
    source = raw.origins[0].source if len(raw.origins) == 1 else stream
    column = "time column" if name == time else "column"
    return f"{source}: no event has the {column} '{name}'" if raw.absent_is_null else f"{source}: no {column} '{name}'"


def _differing(raw: RawTable, names: Sequence[str], allowed: bool) -> Iterator[str]:
    """Compare the columns of the files; the rows of JSON lines need not have the same."""
    files = [(origin.source, frozenset(origin.columns)) for origin in raw.origins if origin.columns is not None]
    for name in names:
        lacking = [source for source, columns in files if name not in columns]
        if not lacking or len(lacking) == len(files):  # a column that no file has is made of others
            continue
        having = next(source for source, columns in files if name in columns)
        message = f"{lacking[0]}: no column '{name}', which {having} has"
        if not allowed:
            raise InputError("missing-column", message, hint=_ALLOW)
        others = len(lacking) - 1
        more = f", nor have {others} other files" if others > 1 else ", nor has another file" if others else ""
        yield f"{message}{more}: it is NULL there"
