"""Errors for arguments of the wrong kind, and the mappings that several calls take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foretell.errors import InputError
from foretell.events.ingest.scalar_parsing import display_value

#: In place of the name of a stream: a setting for all streams.
EVERY_STREAM = "*"


def bad_argument(name: str, expected: str, value: object, hint: str = "") -> InputError:
    return InputError("bad-argument", f"{name}: expected {expected}, found {describe(value)}", hint=hint)


def describe(value: object) -> str:
    """A small value as it is written, any other by its type."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str | int | float):
        return display_value(value)
    return f"a value of type {type(value).__name__}"


def as_mapping(value: object, name: str, hint: str) -> dict[str, object]:
    """A mapping from the names of streams or tables."""
    if not isinstance(value, Mapping):
        raise bad_argument(name, "a dict", value, hint)
    for key in value:
        if not isinstance(key, str):
            raise bad_argument(f"a name in {name}", "a text", key, hint)
    return dict(value)


def as_names(value: object, name: str, hint: str) -> tuple[str, ...] | None:
    """A list of names, or None."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise bad_argument(name, "a list of names", value, hint)
    names = tuple(value)
    for item in names:
        if not isinstance(item, str):
            raise bad_argument(f"a name in {name}", "a text", item, hint)
    return names


def as_column_names(value: object, name: str, hint: str) -> dict[str, str]:
    """A mapping from the names of streams to the names of columns."""
    columns: dict[str, str] = {}
    for stream, column in as_mapping(value, name, hint).items():
        if not isinstance(column, str):
            raise bad_argument(f"{name} of '{stream}'", "the name of a column", column, hint)
        columns[stream] = column
    return columns


def as_time_columns(time: object) -> dict[str, str]:
    """The time columns of streams without a STREAM statement; one name is for all of them."""
    if isinstance(time, str):
        return {EVERY_STREAM: time}
    return as_column_names({} if time is None else time, "time", "time={'logins': 'time'}")


def as_tables(tables: object) -> dict[str, object]:
    """The sources of FOR EACH tables."""
    return as_mapping({} if tables is None else tables, "tables", "tables={'limits': 'limits.csv'}")
