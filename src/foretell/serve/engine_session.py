"""An engine that is watched: what each push brings goes to the recorder, and its statements can be changed.

Looking at the engine takes a small part of the time, whatever its size: how long a look took decides when the next one
is due.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.arrays import Ints
from foretell.engine import Engine
from foretell.engine.inspection import EngineInspection
from foretell.errors import ForetellError, InputError
from foretell.events.arrow_interop import arrow_of
from foretell.events.notification import Notification
from foretell.events.reorder_buffer import LateEvents
from foretell.events.types import EPOCH, Type, format_time, format_timestamp
from foretell.language import tree
from foretell.language.parser import parse as parse_text
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.machine.exec.limits import Limits
from foretell.machine.matches.results import ResultBatch
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.ordered_notifications import to_notifications
from foretell.notify.row_encoder import encode_json, to_row
from foretell.serve.automaton_view import automaton_view
from foretell.serve.notification_log import MOST_ROWS
from foretell.serve.recent_events import RecentEvents
from foretell.serve.recorder import ServiceRecorder
from foretell.serve.records import EngineLoad, EventTime, ForecastPoint, SideEvent, StatementLoad
from foretell.serve.statement_sources import statement_sources, stream_sources

#: A look at the engine is due after so many times as long as the last one took, and after so many seconds at least.
_PATIENCE, _LOAD_SECONDS, _FORECAST_SECONDS = 20.0, 0.5, 1.0
#: So many of a statement's present forecasts are recorded at a time.
_MOST_FORECASTS = 200

Results = Callable[[Sequence[Notification], list[ResultBatch]], None]


@dataclass
class Schedule:
    """When a look is due that should take a small part of the time."""

    seconds: float
    _due: float = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    def took(self, seconds: float) -> None:
        self._due = time.monotonic() + max(self.seconds, _PATIENCE * seconds)


class EngineSession:
    """`take` gets all results, for an output. `limits` and `model` are those of the engine."""

    def __init__(
        self,
        engine: Engine,
        recorder: ServiceRecorder,
        take: Results | None = None,
        *,
        limits: Limits | None = None,
        model: Model | None = None,
        recent: RecentEvents | None = None,
    ) -> None:
        self.engine, self._recorder, self._take = engine, recorder, take
        self._limits, self._model = limits or Limits(), model or Model()
        self.recent = recent or RecentEvents()
        self.inspection = EngineInspection(engine)
        self._latest: dict[str, int | float] = {}
        self._loads, self._looks = Schedule(_LOAD_SECONDS), Schedule(_FORECAST_SECONDS)
        self.describe()

    @property
    def time_type(self) -> Type:
        return self.inspection.time_type

    def describe(self) -> None:
        """Tell the recorder the statements of now."""
        program = self.engine.subscriptions
        self._recorder.describe(statement_sources(program), stream_sources(program))
        self._forecasting = [source.name for source in statement_sources(program) if source.threshold is not None]

    # ── events ──

    def push(self, tables: Mapping[str, pa.Table], time_columns: Mapping[str, str]) -> list[SideEvent]:
        """Push the events of several streams together; returns the late ones."""
        began = time.perf_counter()
        result = self.engine.push_columns(tables, take=self._took)
        self._recorder.add_push(time.perf_counter() - began)
        kind = self.time_type
        late_rows = {events.stream: events.rows for events in result.late}
        for name, table in tables.items():
            last = _last_time(table, time_columns[name])
            if last is not None:
                self._latest[name] = max(last, self._latest.get(name, last))
            shown = None if last is None else shown_time(self._latest[name], kind)
            unreadable = sum(values.count for values in result.unreadable if values.stream == name)
            self._recorder.count_events(name, table.num_rows, shown, unreadable)
            if last is not None:
                self.recent.time_columns[name] = time_columns[name]
                # Trials have the events that the statements had.
                self.recent.add(name, _without(table, late_rows.get(name)), last, kind)
        for note in result.notes:
            self._recorder.note(note)
        late = [event for events in result.late for event in late_events(events)]
        if late:
            self._recorder.set_aside(late, [])
        return late

    def _took(self, results: list[ResultBatch]) -> None:
        if not any(map(len, results)):
            return
        found = to_notifications(results)
        record_notifications(self._recorder, found)
        if self._take is not None:
            self._take(found, results)

    def look(self, *, always: bool = False) -> None:
        """Tell the recorder how much state the engine holds, and what it forecasts, where that is due."""
        if always or self._loads.is_due():
            began = time.perf_counter()
            self._recorder.update_load(self._load())
            self._loads.took(time.perf_counter() - began)
        if self._forecasting and (always or self._looks.is_due()):
            began = time.perf_counter()
            self._recorder.update_forecasts(self._forecasts())
            self._looks.took(time.perf_counter() - began)

    def _load(self) -> EngineLoad:
        watermark, kind = self.inspection.watermark, self.time_type
        occupancies = self.inspection.occupancies()
        lag = None
        if watermark is not None and kind is Type.TIMESTAMP:
            lag = (datetime.now(UTC) - EPOCH).total_seconds() - watermark / 1_000_000
        return EngineLoad(
            watermark=None if watermark is None else shown_time(watermark, kind),
            state_bytes=self.inspection.memory,
            partial_matches=self.engine.partial_matches,
            lag=lag,
            statements={
                name: StatementLoad(each.partial_matches, each.lanes, each.memory, each.stopped_lanes)
                for name, each in occupancies.items()
            },
        )

    def _forecasts(self) -> Iterator[ForecastPoint]:
        watermark = self.inspection.watermark
        if watermark is None:
            return
        now = shown_time(watermark, self.time_type)
        for name in self._forecasting:
            for outlook in self.engine.outlook(name)[:_MOST_FORECASTS]:
                if outlook.probability is not None:
                    row = {} if outlook.id is None else {"id": outlook.id}
                    key = {**row, **(outlook.key or {}), **outlook.bindings}
                    yield ForecastPoint(name, key or None, round(outlook.probability, 6), now)

    # ── statements ──

    def subscribe(self, text: str) -> None:
        """Add statements from the next event on."""
        require_statements(text, self.engine.subscriptions)
        try:
            self.engine.subscribe(text)
        except ForetellError as error:
            raise _with_hint(error, text) from None
        self.describe()

    def unsubscribe(self, name: str) -> None:
        self.engine.unsubscribe(name)
        self.describe()

    def replace(self, name: str, text: str) -> None:
        """Change a statement: the new one begins with the next event. Where it is refused the old one goes on as it
        was, with its partial matches."""
        new = require_statements(text, self.engine.subscriptions, changed=name)
        if len(new.program.statements) != 1:
            message = f"a change of '{name}' has one statement, found {len(new.program.statements)}"
            raise InputError("bad-change", message, hint="add the others by themselves")
        before = self.engine.snapshot()
        self.engine.unsubscribe(name)
        try:
            self.engine.subscribe(text)
        except ForetellError as error:
            self.engine = Engine.restore(None, before, limits=self._limits)
            self.inspection = EngineInspection(self.engine)
            raise _with_hint(error, text) from None
        finally:
            self.describe()

    # ── views ──

    def automaton(self, name: str) -> dict[str, Any]:
        checked = self.inspection.checked(name)
        if checked is None:
            raise unknown_statement(name)
        return automaton_view(checked, self.inspection.partial_matches(name, 0), self._model, self._limits)

    def partial_matches(self, name: str, limit: int) -> dict[str, Any]:
        if name not in self.engine.subscriptions.statements:
            raise unknown_statement(name)
        found, kind = self.inspection.partial_matches(name, limit), self.time_type
        rows = [
            {"key": run.key or None, "state": run.state, "began": shown_time(run.began, kind), "events": run.events}
            for run in found.newest
        ]
        note = "" if found.own_states else "this statement shares its states with others, or runs as several patterns"
        if found.total > len(rows):
            note = "; ".join(filter(None, [f"the newest {len(rows)} of {found.total:,}", note]))
        return {"rows": rows, "total": found.total, "note": note}


def record_notifications(recorder: ServiceRecorder, found: Sequence[Notification]) -> None:
    """Tell a recorder new notifications: their counts, and the newest of them."""
    if isinstance(found, LazyNotifications):
        counts: Mapping[tuple[str, str], int] = found.counts()
        newest: Sequence[Notification] = found[max(0, len(found) - MOST_ROWS) :]
    else:
        counts, newest = Counter((each.subscription, each.kind) for each in found), found[-MOST_ROWS:]
    recorder.add_notifications(counts, [to_row(notification) for notification in newest])


def shown_time(value: int | float, kind: Type) -> EventTime:
    """An event time as notifications have it."""
    return format_timestamp(int(value)) if kind is Type.TIMESTAMP else value


def late_events(late: LateEvents) -> Iterator[SideEvent]:
    if not len(late):
        return
    reason = f"later than LATE BY allows: time was {format_time(late.time, late.schema.time_type)} already"
    for event in late.events():
        yield SideEvent(event.stream, reason, json.loads(encode_json(event.event)))


def _without(table: pa.Table, rows: Ints | None) -> pa.Table:
    """A table without the rows of these numbers, which count from 1."""
    if rows is None or not len(rows):
        return table
    kept = np.ones(table.num_rows, np.bool_)
    kept[rows - 1] = False
    return table.filter(arrow_of(kept))


def _last_time(table: pa.Table, column: str) -> int | float | None:
    if not table.num_rows:
        return None
    last: Any = pc.max(table.column(column))
    latest: int | float = last.cast(pa.int64()).as_py() if pa.types.is_timestamp(last.type) else last.as_py()
    return latest


def require_statements(text: str, running: Subscriptions, changed: str | None = None) -> Subscriptions:
    """The statements of a text that is typed on the page: no new streams, which nothing would feed."""
    program = parse_text(text)
    streams, declared = dict.fromkeys(running.sources), running.declared
    for statement in program.statements:
        if isinstance(statement, tree.Stream) and declared.get(str(statement.name)) != statement:
            message = f"'{statement.name}' is a stream: the streams are those of the pipeline file"
            hint = f"leave the STREAM statement out; there are {', '.join(map(str, streams))}"
            raise InputError("new-stream", message, hint=hint).within(text)
    own = tuple(s for s in program.statements if not isinstance(s, tree.Stream))
    if not own:
        raise InputError("no-statements", "there is no statement", hint="write SUBSCRIBE name FROM stream MATCH a , b")
    return Subscriptions(tree.Program(own), text)


def _with_hint(error: ForetellError, text: str) -> ForetellError:
    """The error in the words of somebody who has a page and no command line."""
    if error.code == "missing-table":
        hint = "the tables are those of the pipeline file"
        return InputError(error.code, error.message, place=error.place, hint=hint).within(text)
    return error


def unknown_statement(name: str) -> InputError:
    return InputError("unknown-subscription", f"there is no statement '{name}'")
