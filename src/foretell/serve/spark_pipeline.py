"""A pipeline on Spark: the query of `foretell run --follow`, in this process, with what it shows by its metrics and a
tee of its output.

Spark holds the state in the shards of its tasks, so single partial matches are not to be seen here, nor those of one
statement. Changes of statements go through the control stream of the pipeline, and take effect with a micro-batch.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from foretell.arguments.model import as_model
from foretell.arguments.pipeline import Pipeline
from foretell.errors import ForetellError, InputError
from foretell.events.atomic_files import atomic_write
from foretell.language import tree
from foretell.language.printer import statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits
from foretell.notify.messages import rows_of_batch
from foretell.serve.automaton_view import automaton_view
from foretell.serve.engine_session import require_statements, unknown_statement
from foretell.serve.notification_log import Row
from foretell.serve.recorder import PipelineRecorder
from foretell.serve.records import EngineLoad, ForecastPoint, SideEvent
from foretell.serve.runner import PipelineEnd
from foretell.serve.statement_sources import statement_sources, stream_sources
from foretell.spark.notification_columns import DETAIL
from foretell.spark.streaming.notification_tee import NotificationTee, SeenRows
from foretell.spark.streaming.pipeline import PipelineQuery, PreparedPipeline, prepare, start
from foretell.spark.streaming.stream_status import StatusTally, StreamStatus

SHOWN_NOTE = "Spark tells the number of all partial matches, not which they are"
#: Seconds that a change waits for its micro-batch.
_CHANGE_SECONDS = 60.0
_POLL_SECONDS = 0.1
_SIDE_KINDS = ("late", "bad", "refused")


class SparkPipeline:
    """`write` takes lines of JSON where notifications go to standard output as well."""

    #: A change waits for a micro-batch, which may take long.
    patience = _CHANGE_SECONDS + 10

    def __init__(
        self, pipeline: Pipeline, recorder: PipelineRecorder, write: Callable[[bytes], object] | None = None
    ) -> None:
        self._pipeline, self._recorder, self._write = pipeline, recorder, write or (lambda _: None)
        self._folder = tempfile.TemporaryDirectory(prefix="foretell-serve-")
        self._tee = NotificationTee(self._folder.name)
        self._program = pipeline.statements
        self._prepared: PreparedPipeline | None = None
        self._running: PipelineQuery | None = None
        self._before = StreamStatus("starting Spark")
        self._latest: str | None = None
        self._refused: dict[int, str] = {}

    # ── the runner's protocol ──

    def prepare(self) -> None:
        recorder, control = self._recorder, self._pipeline.control
        if not recorder.read_only and (control is None or control.format != "json" or control.path is None):
            recorder.change_note = "the pipeline file has no [control] with JSON files: add one, and start again"
        self._prepared = prepare(self._pipeline)
        for note in self._prepared.notes:
            recorder.note(note)
        recorder.note(SHOWN_NOTE)
        self._describe()

    def start(self) -> None:
        assert self._prepared is not None
        self._running = start(
            self._prepared,
            once=False,
            write=self._write,
            log=lambda text: self._recorder.note(text.removeprefix("note: ")),
            status=lambda _: None,
            tee=self._tee,
        )
        self._tally = StatusTally(self._running.query)

    def step(self) -> bool:
        if self._has_ended():
            raise PipelineEnd
        self._observe()
        return False

    def stop(self) -> None:
        """End after the micro-batch that runs: the next run goes on after it."""
        self._query.stop()
        self._observe()

    def close(self) -> None:
        if self._running is not None:
            self._running.stop(at_once=True)
        self._folder.cleanup()

    @property
    def _query(self) -> PipelineQuery:
        assert self._running is not None
        return self._running

    def _has_ended(self) -> bool:
        try:
            return self._query.has_ended(_POLL_SECONDS)
        except BaseException:
            self._observe()
            raise

    # ── what the query shows ──

    def _observe(self) -> None:
        for seen in self._tee.take():
            self._record(seen)
        status, before = self._tally.update(), self._before
        self._before = status
        streams = list(self._pipeline.streams)
        name = streams[0] if len(streams) == 1 else None
        unreadable = status.unreadable - before.unreadable
        if status.events > before.events or unreadable:
            self._recorder.count_events(name, status.events - before.events, status.time, unreadable)
        if status.batches > before.batches:
            self._recorder.add_push(self._query.batch_seconds)
        self._latest = status.time or self._latest
        load = EngineLoad(self._latest, status.state_bytes, status.partial_matches, status.lag)
        self._recorder.update_load(load)

    def _record(self, seen: SeenRows) -> None:
        counts = {key: count for key, count in seen.counts.items() if key[1] not in _SIDE_KINDS}
        rows: list[Row] = []
        late, bad = [], []
        for row in _rows(seen.rows):
            content = row.pop(DETAIL, None) or row["bindings"]
            match row["kind"]:
                case "late":
                    late.append(SideEvent(row["subscription"], "later than LATE BY allows", content))
                case "bad":
                    bad.append(SideEvent(row["subscription"], str(content["reason"]), content["raw"]))
                case "refused":
                    self._refused[int(content["number"] or 0)] = str(content["reason"])
                    self._recorder.note(f"a change was refused: {content['reason']}")
                case _:
                    rows.append(row)
        if counts:
            self._recorder.add_notifications(counts, rows)
            self._recorder.update_forecasts(
                ForecastPoint(row["subscription"], row["key"], row["probability"], row["end"])
                for row in rows
                if row["kind"] == "forecast"
            )
        if late or bad:
            self._recorder.set_aside(late, bad)

    def automaton(self, name: str) -> dict[str, Any]:
        checked = {s.name: s for s in self._program.checked().statements}
        if name not in checked:
            raise unknown_statement(name)
        view = automaton_view(checked[name], None, as_model(self._pipeline.model), self._pipeline.limits or Limits())
        return {**view, "note": "; ".join(filter(None, [view["note"], SHOWN_NOTE]))}

    def partial_matches(self, name: str, limit: int) -> dict[str, Any]:
        if name not in self._program.statements:
            raise unknown_statement(name)
        note = f"{SHOWN_NOTE}: {self._before.partial_matches:,} of all statements"
        return {"rows": [], "total": None, "note": note}

    # ── changes, by the control stream ──

    def subscribe(self, text: str) -> None:
        new = require_statements(text, self._program)
        self._change([{"action": "subscribe", "text": text}])
        self._adopt((*self._program.program.statements, *new.program.statements))

    def unsubscribe(self, name: str) -> None:
        self._change([{"action": "unsubscribe", "name": name}])
        self._adopt(tuple(s for s in self._program.program.statements if s.name != name))

    def replace(self, name: str, text: str) -> None:
        new = require_statements(text, self._program)
        if len(new.program.statements) != 1:
            raise InputError("bad-change", f"a change of '{name}' has one statement")
        statements = self._program.program.statements
        (old,) = (s for s in statements if s.name == name)
        try:
            self._change([{"action": "unsubscribe", "name": name}, {"action": "subscribe", "text": text}])
        except ForetellError:
            self._change([{"action": "subscribe", "text": statement_text(old)}])
            raise
        self._adopt(tuple(new.program.statements[0] if s.name == name else s for s in statements))

    def _change(self, changes: list[dict[str, str]]) -> None:
        """Write changes to the control stream, and wait for the micro-batch that takes them."""
        control = self._pipeline.control
        assert control is not None
        assert control.path is not None
        number = time.time_ns() // 1_000
        numbered = [{"number": number + at, **change} for at, change in enumerate(changes)]
        folder = Path(control.path)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / f"page-{number}.json") as file:
            file.write("".join(json.dumps(change) + "\n" for change in numbered).encode())
        taken, deadline = self._query.last_batch_of(control.path), time.monotonic() + _CHANGE_SECONDS
        while self._query.last_batch_of(control.path) <= taken:
            if time.monotonic() > deadline:
                message = f"no micro-batch has taken the change in {_CHANGE_SECONDS:g} seconds"
                raise InputError("busy", message, hint="it takes effect with the next one: look again later")
            if self._has_ended():
                raise InputError("pipeline-ended", "the query has ended", hint="start the service again")
            self._observe()
        self._observe()
        refused = [self._refused[n] for n in range(number, number + len(changes)) if n in self._refused]
        if refused:
            raise InputError("refused-change", refused[0])

    def _adopt(self, statements: tuple[tree.Statement, ...]) -> None:
        self._program = Subscriptions(tree.Program(statements), "")
        self._describe()

    def _describe(self) -> None:
        self._recorder.describe(statement_sources(self._program), stream_sources(self._program))


def _rows(table: pa.Table) -> list[Row]:
    """Rows as JSON has them; of structs the fields that a row has."""
    names = table.column_names
    found = []
    for batch in table.to_batches():
        details = batch.column(names.index(DETAIL)).to_pylist() if DETAIL in names else [None] * len(batch)
        for row, detail in zip(rows_of_batch(batch), details, strict=True):
            shown: Row = {name: _shown(value) for name, value in row.items()}
            shown["key"] = shown["key"] or None
            if detail is not None:
                shown[DETAIL] = json.loads(detail)
            found.append(shown)
    return found


def _shown(value: Any) -> Any:
    """A value without the fields of other statements, and with times as text."""
    if isinstance(value, dict):
        return {name: _shown(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value
