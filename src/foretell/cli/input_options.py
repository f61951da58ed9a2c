"""The options that say where the events are and how to read them; several commands share them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from foretell.arguments.validation import EVERY_STREAM
from foretell.errors import suggestion
from foretell.events.ingest.read_options import ReadOptions

_INPUTS, _FORM = "Inputs", "Form of the events (VALUE for all streams, STREAM=VALUE for one)"


_FORMATS = "csv, jsonl, parquet or text; on Spark also avro, orc, delta or iceberg. Default: the ending."


def _read_option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=_FORM, show_default=False)


@dataclass(frozen=True)
class InputArguments:
    """The input options of a command line, as they were written."""

    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            metavar="[STREAM=]PATH",
            help="Read a stream's events from this file, folder, 'pattern*' or address; - is standard input. Repeat it "
            "for several streams; one stream needs no name.",
            rich_help_panel=_INPUTS,
        ),
    ]
    time: Annotated[
        list[str],
        typer.Option(
            "--time",
            metavar="[STREAM=]COLUMN",
            help="Name the time column of a stream without a STREAM statement, or of all of them.",
            rich_help_panel=_INPUTS,
        ),
    ]
    tables: Annotated[
        list[str],
        typer.Option(
            "--table", metavar="NAME=PATH", help="Read the rows of a FOR EACH table.", rich_help_panel=_INPUTS
        ),
    ]
    form: Annotated[
        list[str],
        _read_option("--format", "FORMAT", _FORMATS),
    ]
    encoding: Annotated[list[str], _read_option("--encoding", "NAME", "Encoding of text files; default: utf-8.")]
    delimiter: Annotated[list[str], _read_option("--delimiter", "CHARACTER", "Separates the fields of CSV.")]
    columns: Annotated[list[str], _read_option("--columns", "A,B,C", "Names the fields of a CSV without a header.")]
    pattern: Annotated[
        list[str],
        _read_option(
            "--pattern",
            "REGEX",
            "Read lines of text by named groups, (?P<user>\\w+), or by a built-in pattern, such as syslog, apache "
            "or nginx.",
        ),
    ]
    nulls: Annotated[list[str], _read_option("--null", "TEXT", "This text is a missing value. Repeatable.")]
    missing_columns: Annotated[
        bool,
        typer.Option("--missing-columns", help="Read columns that no event has as NULL.", rich_help_panel=_FORM),
    ]
    time_format: Annotated[list[str], _read_option("--time-format", "FORMAT", "Times look so: '%d.%m.%Y %H:%M'.")]
    zone: Annotated[list[str], _read_option("--zone", "ZONE", "Time zone of times without an offset; default: UTC.")]
    day_first: Annotated[
        bool | None,
        typer.Option(
            "--day-first/--month-first",
            help="03/04 is the third of April, or the fourth of March.",
            rich_help_panel=_FORM,
            show_default=False,
        ),
    ]
    year: Annotated[list[str], _read_option("--year", "YEAR", "Year of times that have none, as in syslog.")]

    def with_names(self, streams: Iterable[str]) -> InputArguments:
        """The same, with a name for each bare path: that of the only stream, else the file's."""
        names = list(streams)
        return replace(self, inputs=[_with_name(item, names) for item in self.inputs])

    # ── as the calls take them ──

    def sources(self) -> dict[str, str]:
        return pairs(self.inputs, "--input", "STREAM=PATH")

    def time_columns(self) -> dict[str, str]:
        """The time columns by stream; a bare one is for all streams."""
        named = [item if "=" in item else f"{EVERY_STREAM}={item}" for item in self.time if item]
        return pairs(named, "--time", "STREAM=COLUMN")

    def template_tables(self) -> dict[str, str]:
        return pairs(self.tables, "--table", "NAME=PATH")

    def read_options(self) -> dict[str, ReadOptions]:
        """The read options of each stream of --input."""
        return {stream: self.options_of(stream) for stream in self.sources()}

    def options_of(self, stream: str) -> ReadOptions:
        streams = list(self.sources()) or [stream]
        settings: dict[str, Any] = {"missing_columns": self.missing_columns, "day_first": self.day_first}
        for name, option in _OPTIONS.items():
            values = _values(getattr(self, name), option, streams)
            if name == "nulls":
                settings["nulls"] = tuple(dict.fromkeys([*values.get("", ()), *values.get(stream, ())]))
            elif given := values.get(stream, values.get("")):
                settings["format" if name == "form" else name] = _CONVERSIONS.get(name, str)(given[0])
        return ReadOptions(**settings)

    def form_words(self) -> list[str]:
        """The options on the form of the events as a command line has them."""
        words = [word for name, option in _OPTIONS.items() for value in getattr(self, name) for word in (option, value)]
        words += ["--missing-columns"] if self.missing_columns else []
        return words + ([] if self.day_first is None else ["--day-first" if self.day_first else "--month-first"])


#: The options with a value for each stream, by the fields of InputArguments.
_OPTIONS: Mapping[str, str] = {
    "form": "--format",
    "encoding": "--encoding",
    "delimiter": "--delimiter",
    "columns": "--columns",
    "pattern": "--pattern",
    "nulls": "--null",
    "time_format": "--time-format",
    "zone": "--zone",
    "year": "--year",
}
#: Their values may contain `name=`, also where the name is not a stream's.
_FREE_TEXTS = ("--pattern", "--time-format", "--null", "--delimiter")


def stream_name(file: Path) -> str:
    """
    >>> stream_name(Path("logs/auth-log.2026.csv.gz")), stream_name(Path("2026.csv"))
    ('auth_log', 'events')
    """
    stem = re.sub(r"\W+", "_", file.name.partition(".")[0]).strip("_")
    return stem if re.fullmatch(r"[^\W\d]\w*", stem) else "events"


def _with_name(item: str, streams: Sequence[str]) -> str:
    name, sign, _ = item.partition("=")
    if not item or (sign and (not name or name in streams or name.isidentifier())):
        return item
    if len(streams) == 1:
        return f"{streams[0]}={item}"
    return f"{stream_name(Path(item))}={item}" if stream_name(Path(item)) in streams else item


def pairs(items: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Parse options of the form NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"expected {form}, found '{item}'", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"'{name}' occurs twice; give it once", param_hint=option)
        found[name] = value
    return found


def _values(items: Sequence[str], option: str, streams: Sequence[str]) -> dict[str, list[str]]:
    """The values of an option by stream; those for all streams are under the empty name."""
    found: dict[str, list[str]] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not (sign and name in streams):
            if sign and name.isidentifier() and option not in _FREE_TEXTS:
                message = f"'{item}': there is no --input for a stream '{name}'"
                hint = suggestion(name, streams)
                raise typer.BadParameter(f"{message} ({hint})" if hint else message, param_hint=option)
            name, value = "", item
        if name in found and option != "--null":
            raise typer.BadParameter(f"'{item}' is a second value; give one", param_hint=option)
        found.setdefault(name, []).append(value)
    return found


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise typer.BadParameter(f"expected names separated by commas, found '{text}'", param_hint="--columns")
    return names


def _year(text: str) -> int:
    if not text.isdecimal():
        raise typer.BadParameter(f"expected a year, found '{text}'", param_hint="--year")
    return int(text)


_CONVERSIONS: Mapping[str, Callable[[str], Any]] = {"columns": _names, "year": _year}


def takes_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options: it gets them as one argument, `given`, in place of which they are listed."""
    return _taking(command, get_type_hints(InputArguments, include_extras=True))


def takes_sample(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command whose --format is that of its output: that of the events is --input-format."""
    hints = get_type_hints(InputArguments, include_extras=True)
    hints["form"] = Annotated[list[str], _read_option("--input-format", "FORMAT", _FORMATS)]
    return _taking(command, hints)


def _taking(command: Callable[..., None], hints: Mapping[str, Any]) -> Callable[..., None]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, keyword, default=_default(hint), annotation=hint) for name, hint in hints.items()
    ]
    own = inspect.signature(command, eval_str=True)
    listed: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        listed += options if parameter.name == "given" else [parameter.replace(kind=keyword)]

    @wraps(command)
    def wrapped(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in hints}
        command(given=InputArguments(**given), **arguments)

    # Typer reads the signature; the type of a function does not know that it can be set.
    wrapped.__signature__ = own.replace(parameters=listed)  # type: ignore[attr-defined]
    return wrapped


def _default(hint: Any) -> Any:
    kind = hint.__origin__
    return [] if kind == list[str] else False if kind is bool else None
