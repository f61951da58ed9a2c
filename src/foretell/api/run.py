"""`ft.run`: subscriptions and inputs in, notifications out, whichever engine runs them.

The way of an event in process: `arguments` validates what the caller hands in, `language` checks the statements against
the data, `plan` compiles them and `machine` runs the plan (`start_runtime`), `notify` makes the notifications.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, cast, overload

from foretell.api.empty_results import empty_result_notes
from foretell.api.engine_choice import EngineChoice, check_engine, choose_engine, is_spark_frame, is_streaming
from foretell.arguments.input_settings import InputSettings, as_input_settings
from foretell.arguments.model import ModelLike, as_learning, as_model, delay_models
from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.streams import check_input_names, declaration_of, observed_schema, read_inputs, read_tables
from foretell.arguments.until import TimeLike, parse_until
from foretell.arguments.validation import as_mapping, as_names, as_tables, bad_argument
from foretell.errors import ForetellWarning, InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.ingest.nulled_values import unreadable_values
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, events_of, reading_notes
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement
from foretell.language.derived_windows import derived_window_notes
from foretell.language.subscriptions import Subscriptions
from foretell.language.token_forecasts import forecasting_statements
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.notify.files import FileOutput, in_parts
from foretell.notify.notifications import Notifications, require_statements
from foretell.notify.run_summary import counts_by_kind, waiting_notes
from foretell.notify.written_notifications import DescribedOutput, NotificationOutput, WrittenNotifications

if TYPE_CHECKING:
    from foretell.machine.exec.limits import Limits
    from foretell.machine.observe.observer import ObserverFactory
    from foretell.spark.batch.job import Frame


#: A file, or an object that takes sequences of notifications.
OutputLike: TypeAlias = str | os.PathLike[str] | NotificationOutput


class RunOptions(TypedDict, total=False):
    """The keyword arguments of `run`."""

    time: Mapping[str, str] | str | None
    read: ReadOptions | Mapping[str, ReadOptions] | None
    tables: Mapping[str, object] | None
    engine: str | None
    model: ModelLike | None
    learning: Learning | None
    until: TimeLike | None
    strict: bool
    only: Sequence[str] | None
    limits: Limits | None
    output: OutputLike | None
    json: bool


@overload
def run(  # type: ignore[overload-overlap]  # a mapping of frames is one of objects, too
    subscriptions: SubscriptionsLike, inputs: Mapping[str, Frame], **options: Unpack[RunOptions]
) -> Frame: ...
@overload
def run(
    subscriptions: SubscriptionsLike, inputs: Mapping[str, object], **options: Unpack[RunOptions]
) -> Notifications: ...
def run(
    subscriptions: SubscriptionsLike,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    engine: str | None = None,
    model: ModelLike | None = None,
    learning: Learning | None = None,
    until: TimeLike | None = None,
    strict: bool = False,
    only: Sequence[str] | None = None,
    limits: Limits | None = None,
    output: OutputLike | None = None,
    json: bool = False,
) -> Notifications | Frame:
    """Run subscriptions on finite inputs, or on Spark streams, and return their notifications.

    `inputs` has each stream's events: a path (JSON lines, CSV or Parquet; a file or a folder), Arrow, pandas or polars
    data, dicts, or a Spark DataFrame. Spark DataFrames give a lazy Spark DataFrame of notifications (see
    foretell.spark.batch.job), streaming ones a streaming one (see foretell.spark.streaming.query).

    `time` names the time column of streams without a STREAM statement, `read` has the form of the data where they do
    not show it (one ReadOptions, or one for each stream), `tables` has the FOR EACH tables, `model` and
    `learning` are for forecasts. `until` lets time pass after the last event, for matches that need only time.
    `strict` makes the first malformed event an error. If all events are malformed, a ForetellWarning says so.
    `only` names the statements whose notifications are returned, where others only serve them. `limits` bound the
    partial matches and the memory (see foretell.Limits); the reference evaluator has none.

    `output` names a file (.jsonl, .csv, .parquet, .jsonl.gz or .csv.gz) to which the notifications are written while
    they are found, however many there are. The result then has their number in its summary, and none of them. Instead
    of a file it may be an object with a method `write`, which gets the notifications in parts, in their order.

    In Parquet and in Spark DataFrames key, bindings and events are structs; `json` makes them JSON text.

    `engine` is "spark", "embedded" (in process) or "reference". The default is the embedded engine, or Spark for files
    with millions of events and for Spark DataFrames; programs that only the reference evaluator runs yet go there. A
    note says why.

    >>> import foretell as ft
    >>> ticks = [{"time": i, "name": "X", "price": price} for i, price in enumerate([3, 5, 4, 6, 7])]
    >>> rise = "SUBSCRIBE rise FROM ticks PER name MATCH a , b DEFINE b AS price > a.price RETURN b.price AS to"
    >>> ft.run(rise, {"ticks": ticks}, time={"ticks": "time"})
    3 notifications: rise 3 matches
      key     start  end  bindings  events
      name=X  0      1    to=5      a=0, b=1
      name=X  2      3    to=6      a=2, b=3
      name=X  3      4    to=7      a=3, b=4
    """
    check_engine(engine)
    for name, flag in (("strict", strict), ("json", json)):
        if not isinstance(flag, bool):
            raise bad_argument(name, "True or False", flag)
    program = as_subscriptions(subscriptions)
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    wanted = as_names(only, "only", "only=['name']")
    require_statements(wanted or (), program.statements)
    if any(map(is_spark_frame, sources.values())):
        _refuse_on_frames(only=wanted, output=output)
    bounds = None if limits is None else _as_limits(limits)
    request = _RunRequest(
        program=program,
        sources=sources,
        settings=as_input_settings(time, read),
        tables=read_tables(program.tables, as_tables(tables), bounds),
        model=as_model(model),
        learning=as_learning(learning),
        until=until,
        strict=strict,
        only=wanted,
        limits=bounds,
        json=json,
    )
    if any(map(is_streaming, sources.values())):
        if engine not in (None, "spark") or until is not None or strict:
            message = "engine, until and strict cannot be used with streaming inputs"
            raise InputError("not-on-streams", message, hint="leave them out")
        return _run_spark_stream(request, tables)
    with _opened(output, json) as opened:
        found = _run(replace(request, output=opened), engine)
    if not isinstance(found, Notifications) or not found.bad or not found.summary.all_set_aside:
        return found
    note = _nothing_to_match(found)
    warnings.warn(f"{note}\n  hint: look at .bad; read=ft.ReadOptions(...) says how to read them", ForetellWarning, 2)
    return replace(found, notes=(note, *found.notes))


def _refuse_on_frames(only: object, output: object) -> None:
    if only is not None:
        hint = "select the rows of the frame: frame.where(\"subscription = 'name'\")"
        raise InputError("not-on-frames", "only cannot be used with Spark DataFrames", hint=hint)
    if output is not None:
        hint = "write the frame that the call returns: frame.write.parquet(...)"
        raise InputError("not-on-frames", "output cannot be used with Spark DataFrames", hint=hint)


def _opened(output: OutputLike | None, json: bool) -> AbstractContextManager[_Output | None]:
    if output is None:
        return nullcontext()
    if isinstance(output, str | os.PathLike):
        return _file(output, json)
    if not callable(getattr(output, "write", None)):
        raise bad_argument("output", "the path of a file", output)
    return nullcontext(_Output(output, "the output"))


@contextmanager
def _file(path: str | os.PathLike[str], json: bool) -> Iterator[_Output]:
    with FileOutput(path, json=json) as file:
        yield _Output(file, f"'{os.fspath(path)}'")


@dataclass(frozen=True)
class _Output:
    """Where the notifications of a run go, and its name."""

    to: NotificationOutput
    name: str


def _run(request: _RunRequest, engine: str | None) -> Notifications | Frame:
    choice = choose_engine(request.program, request.sources, request.settings, engine)
    delays = delay_models(request.model, [str(s.name) for s in _subscriptions(request.program)], request.learning)
    if choice.engine == "spark":
        found = _run_spark_batch(request, choice, delays)
    else:
        found = _run_in_process(request, choice, delays)
    if not isinstance(found, Notifications):
        return found
    if request.only is not None:
        found = found.of(request.only)
    if request.output is None or isinstance(found.rows, WrittenNotifications):
        return found
    _describe_output(request, found.statements)
    for part in in_parts(found.rows):
        request.output.to.write(part)
    return replace(found, rows=WrittenNotifications(counts_by_kind(found.rows), request.output.name))


@dataclass(frozen=True)
class _RunRequest:
    """The arguments of a run, validated."""

    program: Subscriptions
    sources: Mapping[str, object]
    settings: InputSettings
    tables: Mapping[str, TemplateTable]
    model: Model
    learning: Learning | None
    until: object
    strict: bool
    only: Sequence[str] | None
    limits: Limits | None
    json: bool
    output: _Output | None = None


def _as_limits(limits: object) -> Limits:
    from foretell.arguments.limits import as_limits  # loads Numba, which takes a while

    return as_limits(limits)


def _nothing_to_match(found: Notifications) -> str:
    """A script that loops over no notifications would not notice that no event could be read."""
    first = found.bad[0]
    return f"{found.summary.nothing_to_match}; the first, {first.source}:{first.row}: {first.reason}"


# ── Spark ──


def _run_spark_stream(request: _RunRequest, tables: Mapping[str, object] | None) -> Frame:
    from foretell.spark.streaming.query import follow

    frames = cast(Mapping[str, Any], request.sources)
    return follow(
        request.program,
        frames,
        time=request.settings.time,
        read=request.settings.read,
        tables=tables,
        model=request.model,
        learning=request.learning,
        limits=request.limits,
        json=request.json,
    )


def _run_spark_batch(
    request: _RunRequest, choice: EngineChoice, delays: Mapping[str, DelayModel]
) -> Notifications | Frame:
    from foretell.forecast.online.factory import ForecasterFactory, untrained_notes
    from foretell.spark.batch.job import BatchJob  # loads Spark, which takes a while

    program, sources = request.program, request.sources
    check_input_names(program, sources, request.settings)
    declarations = {name: declaration_of(program, name, request.settings) for name in program.sources}
    forecasts = ForecasterFactory(request.model.subscriptions, request.learning)
    notes = untrained_notes(request.model, program)
    job = BatchJob(
        program,
        sources,
        declarations,
        request.tables,
        request.until,
        request.strict,
        forecasts,
        limits=request.limits,
        delays=delays,
    )
    if any(map(is_spark_frame, sources.values())):
        return job.frame(json=request.json)
    notifications = job.notifications()
    notes += derived_window_notes(program.program)
    return replace(notifications, notes=choice.notes + notes + notifications.notes)


# ── in process ──


def _run_in_process(request: _RunRequest, choice: EngineChoice, delays: Mapping[str, DelayModel]) -> Notifications:
    batches = read_inputs(request.program, request.sources, request.settings, request.strict)
    schemas = {name: observed_schema(batch) for name, batch in batches.items()}
    checked = request.program.checked(schemas, {name: table.types for name, table in request.tables.items()})
    until = parse_until(request.until, {schema.time_type for schema in schemas.values()} - {Type.UNKNOWN})
    notes: tuple[str, ...]
    rows: Sequence[Notification]
    if choice.engine == "embedded":
        rows, notes, lanes = _run_embedded(request, checked, batches, until, delays)
    else:
        rows, notes, lanes = _run_reference(request, checked, batches, until, delays)
    found = Notifications(
        rows,
        bad=tuple(event for batch in batches.values() for event in batch.quarantined),
        totals=tuple((name, batch.total) for name, batch in batches.items()),
        notes=(
            *choice.notes,
            *(note for batch in batches.values() for note in reading_notes(batch)),
            *derived_window_notes(request.program.program),
            *notes,
        ),
        unreadable=tuple(values for batch in batches.values() for values in unreadable_values(batch.nulled)),
        statements=checked.statements,
        lanes=tuple((statement.name, lanes.get(statement.name)) for statement in checked.statements),
    )
    empty = empty_result_notes(checked, batches, lanes, found.summary.notifications)
    return replace(found, notes=found.notes + empty)


def _describe_output(request: _RunRequest, statements: Iterable[CheckedStatement]) -> None:
    if request.output is not None and isinstance(request.output.to, DescribedOutput):
        request.output.to.describe([s for s in statements if request.only is None or s.name in request.only])


def _run_reference(
    request: _RunRequest,
    checked: CheckedProgram,
    batches: Mapping[str, EventBatch],
    until: int | float | None,
    delays: Mapping[str, DelayModel],
) -> tuple[Sequence[Notification], tuple[str, ...], Mapping[str, int]]:
    from foretell.reference.run import lane_counts, run
    from foretell.reference.table_rows import table_rows

    events = {name: events_of(batch, checked.ranks[name]) for name, batch in batches.items()}
    tables = {name: table_rows(table) for name, table in request.tables.items()}
    rows = tuple(run(checked, events, tables, until=until, timing=delays))
    return rows, _missing_forecasts(request.program), lane_counts(checked, events)


def _run_embedded(
    request: _RunRequest,
    checked: CheckedProgram,
    batches: Mapping[str, EventBatch],
    until: int | float | None,
    delays: Mapping[str, DelayModel],
) -> tuple[Sequence[Notification], tuple[str, ...], Mapping[str, int]]:
    # The engine loads Numba, which takes a while: only here.
    from foretell.engine.planning import delays_of, start_runtime
    from foretell.notify.collected_notifications import collect
    from foretell.notify.piece_output import write_pieces

    observers, notes = _forecasters(request)
    runtime = start_runtime(checked, request.tables, request.limits, observers, delays_of(delays))
    pieces = runtime.pieces(batches, until, ends=True)
    rows: Sequence[Notification]
    if request.output is None:
        rows = collect(pieces, runtime.ledger)
    else:
        _describe_output(request, checked.statements)
        counts = write_pieces(pieces, runtime.ledger, request.output.to, request.only)
        rows = WrittenNotifications(counts, request.output.name)
    notes += runtime.ledger.take_warnings()
    if until is None:
        notes += waiting_notes(runtime.waiting_counts)
    return rows, notes, runtime.lane_counts


def _forecasters(request: _RunRequest) -> tuple[ObserverFactory, tuple[str, ...]]:
    """The factory of forecasters, and notes on those that were not trained."""
    if not _forecasting(request.program):
        from foretell.machine.observe.observer import NO_OBSERVERS

        return NO_OBSERVERS, ()
    from foretell.forecast.online.factory import ForecasterFactory, untrained_notes

    notes = untrained_notes(request.model, request.program)
    return ForecasterFactory(request.model.subscriptions, request.learning), notes


def _missing_forecasts(program: Subscriptions) -> tuple[str, ...]:
    """Notes on the FORECAST clauses that the reference evaluator ignores."""
    names = _forecasting(program)
    return tuple(f"'{name}' has no forecasts: the reference evaluator makes none" for name in names)


def _forecasting(program: Subscriptions) -> list[str]:
    """The names of the statements with FORECAST."""
    return [str(statement.name) for statement in forecasting_statements(program.program)]


def _subscriptions(program: Subscriptions) -> list[tree.Subscription]:
    return [s for s in program.program.statements if isinstance(s, tree.Subscription)]
