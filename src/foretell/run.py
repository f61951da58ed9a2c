"""One call for every engine: subscriptions and inputs in, notifications out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from foretell.errors import ForetellError, InputError, suggestion
from foretell.events.delays import Timing
from foretell.events.read import Declaration, Loaded, LoadedTable, events_of, read, read_table
from foretell.events.types import EPOCH, Schema, Type, parse_timestamp
from foretell.language import tree
from foretell.language.check import declared_schema
from foretell.language.checked import Checked
from foretell.language.subscriptions import Subscriptions, parse
from foretell.notify.notifications import Notifications
from foretell.reference.expressions import Value, moment
from foretell.reference.run import run as run_reference

ENGINES = ("reference",)


def run(
    subscriptions: Subscriptions | str,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    engine: str = "reference",
    model: str | Path | Mapping[str, object] | None = None,
    until: str | int | float | datetime | None = None,
    strict: bool = False,
) -> Notifications:
    """The notifications of finite inputs.

    `inputs` gives each stream's events: a path (JSON lines, CSV or Parquet; a file or a folder), Arrow, pandas or
    polars data, or dicts. `time` names the time column of streams without a STREAM statement. `until` lets time go
    on after the last event, for what only time completes.
    """
    if engine not in ENGINES:
        raise InputError("unknown-engine", f"unknown engine '{engine}'", hint=suggestion(engine, ENGINES))
    program = parse(subscriptions) if isinstance(subscriptions, str) else subscriptions
    loaded = _load(program, inputs, time or {}, strict)
    given = _tables(program, tables or {})
    columns = {name: table.types for name, table in given.items()}
    checked = program.checked({name: _known(one) for name, one in loaded.items()}, columns)
    rows = {name: _values(table) for name, table in given.items()}
    events = {name: events_of(one, checked.ranks[name]) for name, one in loaded.items()}
    found = run_reference(checked, events, rows, until=_until(until, checked), timing=_timing(model))
    bad = tuple(b for one in loaded.values() for b in one.bad)
    return Notifications(tuple(found), bad, tuple((name, one.total) for name, one in loaded.items()))


def _load(
    program: Subscriptions, inputs: Mapping[str, object], time: Mapping[str, str], strict: bool
) -> dict[str, Loaded]:
    sources = program.sources
    for name in (*inputs, *time):
        if name not in sources:
            hint = suggestion(name, sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
    missing = [name for name in sources if name not in inputs]
    if missing:
        raise InputError(
            "missing-input",
            f"no events are given for stream '{missing[0]}'",
            hint=f"--input {missing[0]}=PATH, or inputs={{'{missing[0]}': ...}}",
        )
    return {name: read(inputs[name], _declaration(program, name, time), strict=strict) for name in sources}


def _known(loaded: Loaded) -> Schema:
    """A stream that is not declared and has no events shows no attributes; that is no reason to refuse a name."""
    return replace(loaded.schema, open=loaded.open and loaded.total == 0)


def _declaration(program: Subscriptions, name: str, time: Mapping[str, str]) -> Declaration:
    stream = program.declared.get(name)
    if stream is None:
        if name not in time:
            hint = f"--time {name}=COLUMN, or a statement STREAM {name} (...) TIME column"
            raise InputError("no-time-column", f"which column of stream '{name}' is its time?", hint=hint)
        return Declaration(name, {}, time[name], open=True)
    if time.get(name, stream.time) != stream.time:
        raise InputError("time-twice", f"the time of stream '{name}' is '{stream.time}', as its STREAM statement says")
    schema = _schema(program, stream)
    return Declaration(
        name,
        schema.attributes,
        stream.time,
        stream.id,
        stream.order,
        stream.simultaneous,
        schema.lateness,
        open=schema.open,
    )


def _schema(program: Subscriptions, stream: tree.Stream) -> Schema:
    try:
        return declared_schema(stream)
    except ForetellError as error:
        raise error.within(program.text, program.file) from None


def _tables(program: Subscriptions, tables: Mapping[str, object]) -> dict[str, LoadedTable]:
    for name in tables:
        if name not in program.tables:
            hint = suggestion(name, program.tables)
            raise InputError("unread-table", f"no statement is FOR EACH '{name}'", hint=hint)
    missing = [name for name in program.tables if name not in tables]
    if missing:
        raise InputError("missing-table", f"no table '{missing[0]}' is given", hint=f"--table {missing[0]}=PATH")
    return {name: read_table(source, name) for name, source in tables.items()}


def _values(table: LoadedTable) -> list[dict[str, Value]]:
    """The rows as the reference takes them: points in time as datetimes."""
    times = {name for name, kind in table.types.items() if kind is Type.TIMESTAMP}
    return [
        {name: moment(int(v)) if v is not None and name in times else v for name, v in row.items()}
        for row in table.rows
    ]


def _until(until: str | int | float | datetime | None, checked: Checked) -> int | float | None:
    """The end of time, in the unit of the streams."""
    if until is None:
        return None
    timestamps = any(s.time_type is Type.TIMESTAMP for s in checked.streams.values())
    if isinstance(until, datetime):
        aware = until if until.tzinfo else until.replace(tzinfo=UTC)
        until = (aware - EPOCH) // timedelta(microseconds=1)
    elif isinstance(until, str):
        try:
            until = parse_timestamp(until) if timestamps else float(until)
        except ValueError:
            wanted = "a date and time" if timestamps else "a number"
            raise InputError("bad-until", f"until: expected {wanted}, found '{until}'") from None
    return until


def _timing(model: str | Path | Mapping[str, object] | None) -> dict[str, Timing]:
    """The delays a model gives for each subscription."""
    if model is None:
        return {}
    document = model if isinstance(model, Mapping) else _read_model(Path(model))
    subscriptions = document.get("subscriptions")
    if not isinstance(subscriptions, Mapping):
        raise InputError("bad-model", "a model is a JSON object with an object 'subscriptions'")
    return {str(name): Timing.of(delays) for name, delays in subscriptions.items()}


def _read_model(path: Path) -> Mapping[str, object]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no-file", f"there is no file '{path}'") from None
    except (OSError, ValueError) as error:
        raise InputError("bad-model", f"cannot read the model '{path}': {error}") from None
    if not isinstance(document, dict):
        raise InputError("bad-model", f"the model '{path}' is not a JSON object")
    return document
