"""One call for every engine: subscriptions and inputs in, notifications out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from foretell.arguments.model import as_learning, as_model, delay_models
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import declaration_of, observed_schema, tables_of
from foretell.arguments.until import parse_until
from foretell.arguments.validation import as_mapping, as_tables, as_time_columns, bad_argument, describe
from foretell.errors import InputError, suggestion
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, events_of, read
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.builder.statements import StatementBuilder
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.notify.notifications import Notifications
from foretell.reference.expressions import Value, moment
from foretell.reference.run import run as run_reference

if TYPE_CHECKING:
    from foretell.spark.batch.job import Frame

ENGINES = ("embedded", "reference", "spark")


@overload
def run(  # type: ignore[overload-overlap]  # a mapping of frames is one of objects, too
    subscriptions: Subscriptions | str | StatementBuilder[Any] | Sequence[StatementBuilder[Any]],
    inputs: Mapping[str, Frame],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    engine: str | None = None,
    model: str | Path | Mapping[str, object] | Model | None = None,
    learning: Learning | None = None,
    until: str | int | float | date | datetime | None = None,
    strict: bool = False,
) -> Frame: ...
@overload
def run(
    subscriptions: Subscriptions | str | StatementBuilder[Any] | Sequence[StatementBuilder[Any]],
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    engine: str | None = None,
    model: str | Path | Mapping[str, object] | Model | None = None,
    learning: Learning | None = None,
    until: str | int | float | date | datetime | None = None,
    strict: bool = False,
) -> Notifications: ...
def run(
    subscriptions: Subscriptions | str | StatementBuilder[Any] | Sequence[StatementBuilder[Any]],
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    engine: str | None = None,
    model: str | Path | Mapping[str, object] | Model | None = None,
    learning: Learning | None = None,
    until: str | int | float | date | datetime | None = None,
    strict: bool = False,
) -> Notifications | Frame:
    """The notifications of finite inputs.

    `inputs` gives each stream's events: a path (JSON lines, CSV or Parquet; a file or a folder), Arrow, pandas or
    polars data, dicts, or a Spark DataFrame; with one of these what comes back is a Spark DataFrame of notifications,
    which nothing has computed yet (see foretell.spark.batch.job), and with streaming ones a streaming one (see
    foretell.spark.streaming.query). `time` names the time column of streams without a STREAM statement. `until` lets
    time go on after the last event, for what only time completes. Without an `engine` it is Spark, unless all events
    are in this process's memory already: then it is the same engine in process. Programs that only the reference runs
    yet go there.
    """
    if engine is not None and engine not in ENGINES:
        raise InputError("unknown-engine", f"unknown engine {describe(engine)}", hint=suggestion(str(engine), ENGINES))
    if not isinstance(strict, bool):
        raise bad_argument("strict", "True or False", strict)
    program = as_subscriptions(subscriptions)
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    times = as_time_columns(time)
    given = tables_of(program, as_tables(tables))
    known = as_model(model)
    timing = delay_models(known, [str(s.name) for s in _subscribed(program)])
    learning = as_learning(learning)
    if any(getattr(source, "isStreaming", False) for source in sources.values()):
        from foretell.spark.streaming.query import follow

        if engine not in (None, "spark") or until is not None or strict:
            raise InputError("not-on-streams", "a stream takes none of the arguments engine, until and strict")
        frames: Any = sources
        return follow(program, frames, time=times, tables=tables, model=known, learning=learning)
    if engine == "spark" or (engine is None and prefers_spark(program, sources)):
        check_input_names(program, sources, times)
        declarations = {name: declaration_of(program, name, times) for name in program.sources}
        return _run_spark(program, sources, declarations, given, until, strict, known, learning)
    loaded = read_inputs(program, sources, times, strict)
    columns = {name: table.types for name, table in given.items()}
    schemas = {name: observed_schema(one) for name, one in loaded.items()}
    checked = program.checked(schemas, columns)
    end = parse_until(until, {s.time_type for s in schemas.values()} - {Type.UNKNOWN})
    notes: tuple[str, ...] = ()
    if engine == "embedded" or (engine is None and _is_compiled(checked)):
        found, notes = _run_embedded(program, checked, loaded, given, end, known, learning)
    else:
        notes = _notes(program, "the reference evaluator")
        rows = {name: _values(table) for name, table in given.items()}
        events = {name: events_of(one, checked.ranks[name]) for name, one in loaded.items()}
        found = tuple(run_reference(checked, events, rows, until=end, timing=timing))
    bad = tuple(b for one in loaded.values() for b in one.quarantined)
    totals = tuple((name, one.total) for name, one in loaded.items())
    return Notifications(found, bad, totals, notes)


def prefers_spark(program: Subscriptions, sources: Mapping[str, object]) -> bool:
    """A JVM is worth its start where events lie in files or in Spark; a few dicts are done before it is there."""
    if any(map(_is_spark, sources.values())):
        return True
    statements = program.program.statements
    compiled = not any(isinstance(s, tree.Correlator) or getattr(s, "losing", None) for s in statements)
    return compiled and any(isinstance(source, str | os.PathLike) for source in sources.values())


def _is_spark(source: object) -> bool:
    """A Spark DataFrame, told without importing Spark for those who have none."""
    return type(source).__module__.startswith("pyspark.sql.")


def _run_spark(
    program: Subscriptions,
    sources: Mapping[str, object],
    declarations: Mapping[str, StreamDeclaration],
    tables: Mapping[str, TemplateTable],
    until: object,
    strict: bool,
    model: Model,
    learning: Learning | None,
) -> Notifications | Frame:
    from foretell.forecast.online.factory import Forecasts, untrained
    from foretell.spark.batch.job import BatchJob  # Spark takes a while to load, too

    notes = untrained(model, program)
    batch = BatchJob(program, sources, declarations, tables, until, strict, Forecasts(model.learned, learning))
    if any(map(_is_spark, sources.values())):
        return batch.frame()
    found = batch.notifications()
    return replace(found, notes=notes + found.notes)


def _run_embedded(
    program: Subscriptions,
    checked: CheckedProgram,
    loaded: Mapping[str, EventBatch],
    tables: Mapping[str, TemplateTable],
    until: int | float | None,
    model: Model,
    learning: Learning | None,
) -> tuple[Sequence[Notification], tuple[str, ...]]:
    # Numba takes a while to load, and only those who ask for this engine need it.
    from foretell.engine.planning import start_runtime
    from foretell.forecast.online.factory import Forecasts, untrained
    from foretell.notify.arrow_encoder import to_notifications
    from foretell.plan.lower.program import UnsupportedError

    notes = untrained(model, program)
    try:
        running = start_runtime(checked, tables, observers=Forecasts(model.learned, learning))
        return to_notifications(running.process(loaded, until)), notes + running.ledger.tell()
    except UnsupportedError as error:
        raise InputError(
            "not-in-engine", f"the embedded engine does not run {error} yet", hint="--engine reference does"
        ) from None


def _is_compiled(checked: CheckedProgram) -> bool:
    """Whether the compiled engine runs all statements."""
    return all(isinstance(s, CheckedSubscription) and s.tree.losing is None for s in checked.statements)


def read_inputs(
    program: Subscriptions, inputs: Mapping[str, object], time: Mapping[str, str], strict: bool
) -> dict[str, EventBatch]:
    check_input_names(program, inputs, time)
    return {n: read(inputs[n], declaration_of(program, n, time), strict=strict) for n in program.sources}


def check_input_names(program: Subscriptions, inputs: Mapping[str, object], time: Mapping[str, str]) -> None:
    """Every stream that is read must be given, and no other."""
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


def _values(table: TemplateTable) -> list[dict[str, Value]]:
    """The rows as the reference takes them: points in time as datetimes."""
    times = {name for name, kind in table.types.items() if kind is Type.TIMESTAMP}
    return [
        {name: moment(int(v)) if v is not None and name in times else v for name, v in row.items()}
        for row in table.rows
    ]


def _subscribed(program: Subscriptions) -> list[tree.Subscription]:
    return [s for s in program.program.statements if isinstance(s, tree.Subscription)]


def _notes(program: Subscriptions, who: str) -> tuple[str, ...]:
    """What is asked for and not given."""
    asking = [s.name for s in _subscribed(program) if s.forecast is not None]
    return tuple(f"'{name}' asks for forecasts, which {who} does not make" for name in asking)
