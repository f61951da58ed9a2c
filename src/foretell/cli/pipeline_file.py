"""Pipeline files (TOML) for `foretell run --follow`: read, with an error for each wrong key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from foretell.arguments.statements import load, parse
from foretell.errors import InputError, suggestion
from foretell.events.atomic_files import read_text
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits
from foretell.spark.streaming.pipeline import FILE_FORMATS, Endpoint, Pipeline

_KEYS = (
    "statements", "text", "checkpoint", "trigger", "shards", "kinds",
    "streams", "tables", "control", "output", "limits", "spark",
)  # fmt: skip
_PLACE = ("format", "path", "options")
_KINDS = ("match", "forecast", "estimate", "token", "late", "bad", "refused")
_ENDINGS = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}


def read_pipeline(path: Path, checkpoint: str | None = None) -> Pipeline:
    """Read a pipeline file. Its paths are relative to the folder it is in."""
    try:
        given = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
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
        streams={n: _place(_dict(streams, n, "streams."), f"streams.{n}", home, ("schema", "time")) for n in streams},
        checkpoint=place if checkpoint else str(home / place),
        output=_place(_dict(given, "output"), "output", home) if "output" in given else None,
        tables={name: str(home / str(_text(_dict(given, "tables"), name))) for name in _dict(given, "tables")},
        control=_place(_dict(given, "control"), "control", home, ("schema",)) if "control" in given else None,
        trigger=_text(given, "trigger"),
        kinds=_kinds(given),
        shards=given.get("shards", 8),
        limits=_limits(_dict(given, "limits")) if "limits" in given else None,
        spark=_dict(given, "spark"),
    )


def pipeline_of(
    statements: Subscriptions,
    inputs: Mapping[str, str],
    time: Mapping[str, str],
    tables: Mapping[str, str],
    output: Path | None,
    checkpoint: str | None,
) -> Pipeline:
    """A pipeline from command-line options, with folders of files as streams."""
    if checkpoint is None:
        raise InputError("no-checkpoint", "--follow needs a folder for its state", hint="add --checkpoint DIR")
    return Pipeline(
        statements=statements,
        streams={n: Endpoint(_format(place), place, time=time.get(n)) for n, place in inputs.items()},
        checkpoint=checkpoint,
        output=None if output is None else Endpoint(_format(str(output)), str(output)),
        tables=dict(tables),
    )


def _format(path: str) -> str:
    """The format by the ending of the path, else of the first file in the folder."""
    inside = sorted(p for p in Path(path).iterdir() if p.name[0] not in "._") if Path(path).is_dir() else []
    for file in (Path(path), *inside):
        if file.suffix.lower() in _ENDINGS:
            return _ENDINGS[file.suffix.lower()]
    hint = f"known endings: {', '.join(_ENDINGS)}; a pipeline.toml can name the format"
    raise InputError("unknown-format", f"{path}: cannot tell the format by the ending", hint=hint)


def _statements(given: Mapping[str, Any], home: Path) -> Subscriptions:
    if ("statements" in given) == ("text" in given):
        hint = 'write statements = "watch.ftl", or text = """SUBSCRIBE ..."""'
        raise InputError("no-statements", "a pipeline needs either 'statements' or 'text'", hint=hint)
    if "text" in given:
        return parse(str(_text(given, "text")))
    return load(home / str(_text(given, "statements")))


def _place(given: Mapping[str, Any], where: str, home: Path, more: tuple[str, ...] = ()) -> Endpoint:
    _check(given, (*_PLACE, *more), where)
    form = _text(given, "format", where)
    path = _text(given, "path", where)
    if form is None:
        form = _format(str(home / path)) if path is not None else None
    if form is None:
        raise InputError(
            "missing-key",
            f"{where}: no format",
            hint=f"add format = one of {', '.join(FILE_FORMATS)}, console, foretell_mqtt, ...",
        )
    if form in FILE_FORMATS and path is None:
        raise InputError("missing-key", f"{where}: no path for the format {form}", hint='add path = "FOLDER"')
    options = {name: _option(value) for name, value in _dict(given, "options", f"{where}.").items()}
    full = None if path is None else str(home / path)
    return Endpoint(form, full, options, _text(given, "schema", where), _text(given, "time", where))


def _option(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kinds(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    if "kinds" not in given:
        return None
    kinds = given["kinds"]
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise InputError("wrong-value", f"kinds: expected a list of {', '.join(_KINDS)}")
    _check(kinds, _KINDS, "kinds", "kind")
    return tuple(kinds)


def _limits(given: Mapping[str, Any]) -> Limits:
    _check(given, ("lane", "engine", "then"), "limits")
    return Limits(**given)


def _check(given: Iterable[str], known: Iterable[str], where: str, what: str = "key") -> None:
    for name in given:
        if name not in known:
            hint = suggestion(name, known) or f"known: {', '.join(known)}"
            raise InputError(f"unknown-{what}", f"{where}: unknown {what} '{name}'", hint=hint)


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
