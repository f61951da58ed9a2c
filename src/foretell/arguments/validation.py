"""Arguments of the wrong kind, refused with a word on the right one."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.errors import InputError
from foretell.events.ingest.scalar_parsing import display_value


def bad_argument(what: str, expected: str, found: object, hint: str = "") -> InputError:
    return InputError("bad-argument", f"{what}: expected {expected}, found {describe(found)}", hint=hint)


def describe(value: object) -> str:
    """A small value as it is written, another by its type."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str | int | float):
        return display_value(value)
    return f"a value of type {type(value).__name__}"


def as_mapping(given: object, what: str, hint: str) -> dict[str, object]:
    """What is given for each stream or table, by its name."""
    if not isinstance(given, Mapping):
        raise bad_argument(what, "a dict", given, hint)
    for name in given:
        if not isinstance(name, str):
            raise bad_argument(f"a name in {what}", "a text", name, hint)
    return dict(given)


def as_column_names(given: object, what: str, hint: str) -> dict[str, str]:
    """The same, where what is given is the name of a column."""
    columns: dict[str, str] = {}
    for name, column in as_mapping(given, what, hint).items():
        if not isinstance(column, str):
            raise bad_argument(f"{what} of '{name}'", "the name of a column", column, hint)
        columns[name] = column
    return columns


def as_time_columns(given: object) -> dict[str, str]:
    """The time columns of streams that have no STREAM statement."""
    return as_column_names({} if given is None else given, "time", "time={'logins': 'time'}")


def as_tables(given: object) -> dict[str, object]:
    """The tables of FOR EACH."""
    return as_mapping({} if given is None else given, "tables", "tables={'limits': 'limits.csv'}")
