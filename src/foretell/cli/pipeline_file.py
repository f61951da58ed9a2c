"""Pipeline files (TOML) for `foretell run --follow`: read, with an error for each wrong key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from foretell.arguments.input_settings import InputSettings
from foretell.arguments.pipeline import FILE_FORMATS, WHOLE_FILES, Endpoint, Pipeline
from foretell.arguments.statements import load, parse
from foretell.errors import InputError, suggestion
from foretell.events.atomic_files import read_text
from foretell.events.ingest.file_systems import scheme_of
from foretell.events.ingest.input_files import SPARK_FORMATS, input_files
from foretell.events.ingest.read_options import ReadOptions
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits

_KEYS = (
    "statements", "text", "checkpoint", "trigger", "shards", "kinds", "json", "quarantine", "late", "model",
    "streams", "tables", "control", "output", "limits", "spark",
)  # fmt: skip
_PLACE = ("format", "path", "options")
_SOURCE = ("schema", "time", "read")
_SIDE_KINDS = {"quarantine": "bad", "late": "late"}
_KINDS = ("match", "forecast", "estimate", "confirmed", "withdrawn", "token", "late", "bad", "refused")
_ENDINGS = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}


def read_pipeline(path: Path, checkpoint: str | None = None) -> Pipeline:
    """Read a pipeline file. Its paths are relative to the folder it is in."""
    try:
        given = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or a number of thousands of digits
        raise InputError("wrong-format", f"{path} is not TOML: {error}") from None
    home = path.parent
    _check(given, _KEYS, str(path))
    streams = _dict(given, "streams")
    if not streams:
        raise InputError("no-streams", f"{path} has no streams", hint="add a section [streams.NAME]")
    place = checkpoint or _text(given, "checkpoint")
    if place is None:
        raise InputError(
            "no-checkpoint", f"{path}: no checkpoint folder", hint='add checkpoint = "FOLDER", or use --checkpoint DIR'
        )
    return Pipeline(
        statements=_statements(given, home),
        streams={n: _source(_dict(streams, n, "streams."), f"streams.{n}", home) for n in streams},
        checkpoint=place if checkpoint else str(home / place),
        output=_place(_dict(given, "output"), "output", home) if "output" in given else None,
        tables={name: str(home / str(_text(_dict(given, "tables"), name))) for name in _dict(given, "tables")},
        control=_place(_dict(given, "control"), "control", home, ("schema",)) if "control" in given else None,
        trigger=_text(given, "trigger"),
        kinds=_kinds(given),
        shards=given.get("shards", 8),
        limits=_limits(_dict(given, "limits")) if "limits" in given else None,
        spark=_dict(given, "spark"),
        side_files=_side_files(
            {name: home / str(_text(given, name)) for name in ("quarantine", "late") if name in given},
            "output" in given,
        ),
        model=str(home / str(_text(given, "model"))) if "model" in given else None,
        json=_flag(given, "json"),
    )


def pipeline_of(
    statements: Subscriptions,
    inputs: Mapping[str, str],
    time: Mapping[str, str],
    tables: Mapping[str, str],
    output: Path | None,
    checkpoint: str | None,
    read: Mapping[str, ReadOptions] | None = None,
    quarantine: Path | None = None,
    late: Path | None = None,
    model: Path | None = None,
    limits: Limits | None = None,
    *,
    json: bool = False,
) -> Pipeline:
    """A pipeline from command-line options, with files and folders of files as streams.

    `quarantine` and `late` are files for malformed and late events.
    """
    if checkpoint is None:
        raise InputError("no-checkpoint", "--follow needs a folder for its state", hint="add --checkpoint DIR")
    settings = InputSettings(time, read or {})
    side_files = {name: path for name, path in (("quarantine", quarantine), ("late", late)) if path is not None}
    return Pipeline(
        statements=statements,
        streams={n: _file_source(place, settings.options(n), settings.named_time(n)) for n, place in inputs.items()},
        checkpoint=checkpoint,
        output=None if output is None else Endpoint(_format(str(output)), str(output)),
        tables=dict(tables),
        side_files=_side_files(side_files, output is not None),
        model=None if model is None else str(model),
        limits=limits,
        json=json,
    )


def _file_source(path: str, options: ReadOptions, time: str | None) -> Endpoint:
    """Files as a stream. Each file shows its format; a folder may be empty."""
    if path == "-":
        raise InputError("no-stream", "--follow cannot read standard input", hint="write files to a folder")
    try:
        kind = input_files(path, options).format
    except InputError as error:
        if error.code != "empty-folder":
            raise
        return Endpoint(WHOLE_FILES, path, time=time, read=options)
    if kind in SPARK_FORMATS:
        hint = "give its format and schema in a pipeline.toml"
        raise InputError("not-on-streams", f"{path}: --follow does not read {kind} without a schema", hint=hint)
    return Endpoint(WHOLE_FILES, path, time=time, read=options)


def _side_files(files: Mapping[str, Path], has_output: bool) -> dict[str, Path]:
    """The files for malformed and late events, by kind, where notifications go to standard output."""
    for option in files if has_output else ():
        kind = _SIDE_KINDS[option]
        message = f"{option}: the output has rows of the kind '{kind}' beside the notifications"
        raise InputError("two-places", message, hint=f"leave out '{option}', or the output")
    return {_SIDE_KINDS[option]: path for option, path in files.items()}


def _format(path: str) -> str:
    """The format of an output by its ending."""
    if Path(path).suffix.lower() in _ENDINGS:
        return _ENDINGS[Path(path).suffix.lower()]
    hint = f"known endings: {', '.join(_ENDINGS)}; a pipeline.toml can name the format"
    raise InputError("unknown-format", f"{path}: cannot tell the format by the ending", hint=hint)


def _statements(given: Mapping[str, Any], home: Path) -> Subscriptions:
    if ("statements" in given) == ("text" in given):
        hint = 'write statements = "watch.ftl", or text = """SUBSCRIBE ..."""'
        raise InputError("no-statements", "a pipeline needs either 'statements' or 'text'", hint=hint)
    if "text" in given:
        return parse(str(_text(given, "text")))
    return load(home / str(_text(given, "statements")))


def _source(given: Mapping[str, Any], where: str, home: Path) -> Endpoint:
    options = _dict(given, "read", f"{where}.")
    _check(options, [field.name for field in fields(ReadOptions)], f"{where}.read")
    lists = {name: tuple(map(str, value)) for name, value in options.items() if isinstance(value, list)}
    read, time = ReadOptions(**(options | lists)), _text(given, "time", where)
    path = _text(given, "path", where)
    if "format" in given or path is None:
        return replace(_place(given, where, home, _SOURCE), time=time, read=read)
    _file_source(_located(home, path), read, time)
    return replace(_place({**given, "format": WHOLE_FILES}, where, home, _SOURCE), time=time, read=read)


def _place(given: Mapping[str, Any], where: str, home: Path, more: tuple[str, ...] = ()) -> Endpoint:
    _check(given, (*_PLACE, *more), where)
    form = _text(given, "format", where)
    path = _text(given, "path", where)
    if form is None:
        form = _format(_located(home, path)) if path is not None else None
    if form is None:
        raise InputError(
            "missing-key",
            f"{where}: no format",
            hint=f"add format = one of {', '.join(FILE_FORMATS)}, console, foretell_mqtt, ...",
        )
    if form in FILE_FORMATS and path is None:
        raise InputError("missing-key", f"{where}: no path for the format {form}", hint='add path = "FOLDER"')
    options = {name: _option(value) for name, value in _dict(given, "options", f"{where}.").items()}
    full = None if path is None else _located(home, path)
    return Endpoint(form, full, options, _text(given, "schema", where))


def _located(home: Path, path: str) -> str:
    """A path, relative to the folder of the pipeline file; an address stays as it is."""
    return path if scheme_of(path) else str(home / path)


def _option(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise InputError("wrong-value", f"{name}: expected true or false, found {value!r}")
    return value


def _kinds(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    if "kinds" not in given:
        return None
    kinds = given["kinds"]
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise InputError("wrong-value", f"kinds: expected a list of {', '.join(_KINDS)}")
    _check(kinds, _KINDS, "kinds", "kind")
    return tuple(kinds)


def _limits(given: Mapping[str, Any]) -> Limits:
    _check(given, ("lane", "engine", "then", "memory", "results", "edges", "patterns", "tables"), "limits")
    return Limits(**given)


def _check(given: Iterable[str], known: Iterable[str], where: str, subject: str = "key") -> None:
    for name in given:
        if name not in known:
            hint = suggestion(name, known) or f"known: {', '.join(known)}"
            raise InputError(f"unknown-{subject}", f"{where}: unknown {subject} '{name}'", hint=hint)


def _text(given: Mapping[str, Any], name: str, where: str = "") -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError("wrong-value", f"{where}{'.' if where else ''}{name}: expected a text, found {value!r}")
    return value


def _dict(given: Mapping[str, Any], name: str, where: str = "") -> dict[str, Any]:
    value = given.get(name, {})
    if not isinstance(value, dict):
        raise InputError("wrong-value", f"{where}{name}: expected a table of keys, found {value!r}")
    return value
