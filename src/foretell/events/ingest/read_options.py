"""Read options: what a user says about the form of a stream's events where the data do not show it."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, repr=False)
class ReadOptions:
    """How to read the events of a stream. The defaults fit files that describe themselves.

    >>> ReadOptions(delimiter=";", nulls=("NA",))
    ReadOptions(delimiter=';', nulls=('NA',))

    Of files: `format` ("csv", "jsonl", "parquet" or "text") replaces the ending of the name, `encoding` is that of text
    files, `delimiter` separates the fields of CSV, `columns` names the fields of a file without a header, and `pattern`
    is a regular expression with named groups (or the name of a built-in one) for lines of text.

    Of values: `nulls` stand for a missing value, texts where they are a text and numbers where they are a number.
    `missing_columns` allows declared columns that no event has, and files of a folder with different columns.

    Of times: `time_format` is a format of strptime, `zone` the time zone of times without an offset, `day_first` tells
    03/04 from 04/03, and `year` is that of the earliest time where times have none. With `plain_times` numbers are no
    times of 1970 and later, whatever their size, as where statements have durations without units. The texts of the two
    `time_columns` make the time; `time={"trips": "date+clock"}` says the same.
    """

    format: str | None = None
    encoding: str = "utf-8"
    delimiter: str | None = None
    columns: tuple[str, ...] | None = None
    pattern: str | None = None
    nulls: tuple[str | int | float, ...] = ()
    missing_columns: bool = False
    time_format: str | None = None
    zone: str | None = None
    day_first: bool | None = None
    year: int | None = None
    time_columns: tuple[str, str] | None = None
    plain_times: bool = False

    def __repr__(self) -> str:
        chosen = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return f"ReadOptions({', '.join(f'{name}={value!r}' for name, value in chosen.items())})"


DEFAULT_OPTIONS = ReadOptions()
