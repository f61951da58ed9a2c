"""The page of a running pipeline: its throughput and its state over time, of an engine or of a query on Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foretell.arguments.validation import bad_argument
from foretell.charts.page import ChartPage, chart_page
from foretell.charts.time_series import Series, TimeSeriesChart
from foretell.display import counted, duration_text
from foretell.engine.engine_recorder import EngineRecorder, PipelineRecord, record_of
from foretell.errors import InputError

_TITLE = "A running pipeline"

_EXPECTED = "a foretell.EngineRecorder, its records, or a streaming query of Spark"

_HINT = "call recorder.record(found) after each push, or wait for the first micro-batch"


def pipeline_page(pipeline: object, path: str | os.PathLike[str] | None = None) -> ChartPage:
    """The throughput and the state of a pipeline over time.

    `pipeline` is a `EngineRecorder`, a list of its records or of their dicts, a streaming query of Spark, or its
    `recentProgress` (Spark keeps the last hundred micro-batches). With a `path` the page is written there, too.
    """
    records = pipeline_records(pipeline)
    if not records:
        raise InputError("nothing-to-draw", "the pipeline has no records yet", hint=_HINT)
    found = chart_page(_TITLE, _introduction(records), list(_charts(records)))
    if path is not None:
        found.save(path)
    return found


def _introduction(records: Sequence[PipelineRecord]) -> str:
    events, seconds = sum(r.events for r in records), sum(r.seconds for r in records)
    batches = counted(len(records), "batch", "batches")
    rate = f", {events / seconds:,.0f} a second" if seconds > 0 else ""
    texts = [
        f"{batches} in {duration_text(seconds)} with {counted(events, 'event')}{rate},",
        f"and {counted(sum(r.notifications for r in records), 'notification')}.",
    ]
    late, bad = sum(r.late for r in records), sum(r.bad for r in records)
    if late or bad:
        texts.append(f"{counted(late, 'event')} came late, {bad:,} could not be read.")
    return " ".join(texts)


@dataclass(frozen=True)
class _Quantity:
    """A series of a chart: what it reads from a record, None where that is not known."""

    name: str
    value: Callable[[PipelineRecord], float | None]


@dataclass(frozen=True)
class _PipelineChart:
    slug: str
    title: str
    caption: str
    axis: str
    quantities: tuple[_Quantity, ...]
    unit: str = ""
    #: Without any number but 0 it is left out.
    is_optional: bool = False


_CHARTS = (
    _PipelineChart(
        "throughput",
        "Throughput",
        "Events and notifications of a batch, by the seconds since the one before.",
        "a second",
        (
            _Quantity("events", lambda record: _rate(record.events, record)),
            _Quantity("notifications", lambda record: _rate(record.notifications, record)),
        ),
    ),
    _PipelineChart(
        "duration",
        "Duration of a batch",
        "How long a batch took. Where that is as long as the time between batches, the pipeline is at its limit.",
        "duration",
        (
            _Quantity("processing", lambda record: record.busy),
            _Quantity("between batches", lambda record: None if record.busy is None else record.seconds),
        ),
        "s",
        is_optional=True,
    ),
    _PipelineChart(
        "state",
        "Partial matches, and events held back",
        "Partial matches that never end grow without bound: see WITHIN. Events are held back until LATE BY has passed.",
        "number",
        (
            _Quantity("partial matches", lambda record: record.partial_matches),
            _Quantity("events held back", lambda record: record.waiting),
        ),
    ),
    _PipelineChart(
        "memory",
        "Memory of the state",
        "The bytes of partial matches, events, lanes and tables, as limits count them.",
        "bytes",
        (_Quantity("memory", lambda record: record.memory),),
        "B",
    ),
    _PipelineChart(
        "lanes",
        "Lanes",
        "The keys (PER) that the engine knows; those that nothing needs any more are freed.",
        "lanes",
        (_Quantity("lanes", lambda record: record.lanes),),
        is_optional=True,
    ),
    _PipelineChart(
        "aside",
        "Late and malformed events",
        "Events that came later than LATE BY allows, and events that could not be read.",
        "events",
        (_Quantity("late", lambda record: record.late), _Quantity("malformed", lambda record: record.bad)),
        is_optional=True,
    ),
)


def _charts(records: Sequence[PipelineRecord]) -> Iterator[TimeSeriesChart]:
    for chart in _CHARTS:
        series = tuple(_series(quantity, records) for quantity in chart.quantities)
        if not chart.is_optional or any(value for each in series for _, value in each.points):
            yield TimeSeriesChart(chart.slug, chart.title, chart.caption, chart.axis, series, chart.unit)


def _series(quantity: _Quantity, records: Sequence[PipelineRecord]) -> Series:
    read = [(record.time, quantity.value(record)) for record in records]
    return Series(quantity.name, tuple((time, float(value)) for time, value in read if value is not None))


def _rate(count: int, record: PipelineRecord) -> float | None:
    return count / record.seconds if record.seconds > 0 else None


# ── records ──


def pipeline_records(pipeline: object) -> list[PipelineRecord]:
    """The records of a pipeline, in the order of their times."""
    if isinstance(pipeline, EngineRecorder):
        return list(pipeline.records)
    recent = getattr(pipeline, "recentProgress", pipeline)
    if not isinstance(recent, Iterable) or isinstance(recent, str | Mapping):
        raise bad_argument("pipeline", _EXPECTED, pipeline)
    items = list(recent)
    if items and all(_is_progress(item) for item in items):
        return list(_of_progress(items))
    return [_record(item) for item in items]


def _record(item: object) -> PipelineRecord:
    if isinstance(item, PipelineRecord):
        return item
    if not isinstance(item, Mapping):
        raise bad_argument("a record of the pipeline", "a dict", item)
    try:
        return record_of(dict(item))
    except ValueError as error:
        hint = "see foretell.EngineRecorder.as_dicts"
        raise InputError("bad-argument", f"a record of the pipeline: {error}", hint=hint) from None


def _is_progress(item: Any) -> bool:
    """Whether an object is the progress of a micro-batch: Spark's own is indexed by names, but no mapping."""
    try:
        return item["batchId"] is not None
    except (KeyError, TypeError, IndexError, AttributeError):
        return False


def _of_progress(batches: Sequence[Any]) -> Iterator[PipelineRecord]:
    """Micro-batches as records. The one before the first is not known: its duration stands for the time since then."""
    before: float | None = None
    for batch in batches:
        busy = float(_value(batch["durationMs"], "triggerExecution")) / 1000
        ended = datetime.fromisoformat(str(batch["timestamp"])).timestamp() + busy
        observed = _value(batch["observedMetrics"], "foretell", {})
        yield PipelineRecord(
            time=ended,
            seconds=busy if before is None else max(ended - before, 0.0),
            events=int(_value(observed, "events") or _rows(batch)),
            notifications=int(_value(observed, "matches")),
            late=int(_value(observed, "late")),
            bad=int(_value(observed, "bad")),
            partial_matches=int(_value(observed, "partial_matches")),
            waiting=int(_value(observed, "waiting")),
            memory=int(_value(observed, "state_bytes")),
            busy=busy,
        )
        before = ended


def _rows(batch: Any) -> int:
    """The rows that the sources of a micro-batch had."""
    return sum(int(_value(source, "numInputRows")) for source in batch["sources"])


def _value(record: Any, name: str, default: Any = 0) -> Any:
    """A value of a dict or a Row of Spark; the default where there is none."""
    values = record.asDict() if hasattr(record, "asDict") else record
    found = values.get(name) if isinstance(values, Mapping) else getattr(values, name, None)
    return default if found is None else found
