"""A survey of a file of events for `foretell init`: types, the time column, key candidates, categories and measures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.cli.file_sample import first_rows
from foretell.errors import InputError
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import numpy_of
from foretell.events.ingest.null_markers import apply_null_markers
from foretell.events.ingest.raw_columns import ArrowArray, RawTable
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, cast_events, infer_schema, with_times
from foretell.events.ingest.time_candidates import day_and_clock
from foretell.events.ingest.time_column import JOINED
from foretell.events.ingest.typed_table import infer_type
from foretell.events.types import Type

_TIME_NAME = re.compile(r"(?i)^(event_?|log_?)?(time|timestamp|ts|date_?time|when|epoch|date|t)(_?(utc|stamp))?$")
_TIME_PART = re.compile(r"(?i)(time|date|stamp|_at$|_ts$|epoch)")
_KEY_PART = re.compile(
    r"(?i)(^|_|\.)(id|key|user|client|customer|account|card|ip|host|device|sensor|machine|vessel|ship|mmsi|station|city"
    r"|symbol|ticker|session|order|tag|tail(num)?|source|src|name|location|unit|site|asset|pid|process|origin|airport"
    r"|country|region)($|_|\.|id)|id$"
)
#: Parts of a time, which rise by themselves.
_CALENDAR = re.compile(r"(?i)^(year|quarter|month|week|day|weekday|hour|minute|min|second|sec)s?$")
#: What an event is, as against what it belongs to.
_STATE_PART = re.compile(
    r"(?i)(stat(e|us)|type|kind|level|result|outcome|action|event|severity|code|message|error|mode|phase|class|weather)"
)
_MOST_CATEGORIES = 30
#: A column that varies in a smaller share of the lanes is as good as constant in each, as the owner of a car is.
_VARYING_LANES = 0.1


@dataclass(frozen=True)
class Survey:
    """The survey of a file. `keys` are the candidates for PER, the best first; `categories` have few values, those that
    tell what an event is first; `measures` are numbers; both vary within a lane of the first key. `gap` is
    the usual time between two events of a lane, in the unit of time."""

    stream: str
    batch: EventBatch
    keys: Sequence[str]
    categories: Sequence[str]
    measures: Sequence[str]
    whole: bool
    gap: float = 0.0
    skipped: Sequence[str] = ()
    read: ReadOptions = field(default_factory=ReadOptions)

    @property
    def table(self) -> pa.Table:
        return self.batch.table

    @property
    def types(self) -> Mapping[str, Type]:
        return self.batch.schema.attributes

    @property
    def time(self) -> str:
        return str(self.batch.schema.time)

    @property
    def markers(self) -> list[str]:
        """The texts that stand for missing values in columns of other types than STRING. One that is the value of a
        text too, as NA is of a region, is none for the whole stream."""
        found = dict.fromkeys(values.cause.strip("'") for values in self.batch.nulled if values.is_marker)
        strings = [self.table[name] for name, kind in self.types.items() if kind is Type.STRING]
        return [marker for marker in found if not any(_has(texts, marker) for texts in strings)]


def survey(path: Path, stream: str, options: ReadOptions, time: str | None) -> Survey:
    raw, whole = first_rows(path, stream, options)
    if not raw.rows:
        raise InputError("no-events", f"{path} has no events")
    raw = apply_null_markers(raw, options.nulls)
    options = replace(options, time_columns=_joined_columns(raw, path, options, time))
    column = JOINED if options.time_columns else time or _time_column(raw, path, options)
    skipped = [name for name in raw.names if name != column and infer_type(raw, name) is None]
    batch = _events(raw, StreamDeclaration(stream, {}, column, open=True, read=options))
    if not batch.table.num_rows:
        reason = batch.quarantined[0].reason if batch.quarantined else "no time"
        hint = "name another column with --time COLUMN, or its form with --time-format"
        raise InputError("no-time-column", f"{path}: no event has a time in the column '{column}': {reason}", hint=hint)
    return _classified(Survey(stream, batch, (), (), (), whole, skipped=skipped, read=options))


# ── reading ──


def _joined_columns(raw: RawTable, path: Path, options: ReadOptions, time: str | None) -> tuple[str, str] | None:
    """The two columns that make the time: those that the user names, or a day that would be the time and its clock."""
    if time is not None:
        first, plus, other = time.partition("+")
        return (first, other) if plus and time not in raw.names else None
    pair = day_and_clock(raw)
    if pair is None or (JOINED in raw.names and JOINED not in pair) or _time_column(raw, path, options) not in pair:
        return None
    return pair


def _time_column(raw: RawTable, path: Path, options: ReadOptions) -> str:
    """The column that looks most like the time of events: by its values, then by its name, then by its place."""
    ranked = [(_time_rank(raw, name, options), -place, name) for place, name in enumerate(raw.names)]
    rank, _, name = max(ranked, default=(0, 0, ""))
    if not rank:
        hint = f"name it with --time COLUMN; the columns are: {', '.join(raw.names)}"
        raise InputError("no-time-column", f"{path}: no column looks like a time", hint=hint)
    return name


def _time_rank(raw: RawTable, name: str, options: ReadOptions) -> int:
    named = 2 if _TIME_NAME.match(name) else 1 if _TIME_PART.search(name) else 0
    try:
        batch = _events(raw, StreamDeclaration(name, {}, name, read=options))
    except InputError:
        return 0
    if batch.table.num_rows * 2 < raw.rows:  # most of its texts are no times
        return 0
    return 10 + named if batch.schema.time_type is Type.TIMESTAMP else named


def _events(raw: RawTable, declaration: StreamDeclaration) -> EventBatch:
    timed = with_times(raw, declaration)
    return cast_events(timed, declaration, infer_schema(timed, declaration).attributes)


# ── columns ──


def _classified(found: Survey) -> Survey:
    table, count = found.table, found.table.num_rows
    others = [name for name in found.types if name != found.time]
    distinct = {name: pc.count_distinct(table[name], mode="only_valid").as_py() for name in others}
    possible = [
        name
        for name in others
        if found.types[name] in (Type.STRING, Type.INT)
        and 2 <= distinct[name] <= count / 2
        and (_KEY_PART.search(name) or (found.types[name] is Type.STRING and distinct[name] > _MOST_CATEGORIES))
    ]
    keys = sorted(possible, key=lambda name: (not _KEY_PART.search(name), -distinct[name]))
    key = keys[0] if keys else None
    varying = [name for name in others if name != key and distinct[name] > 1 and _varies(table, key, name)]
    categories = [
        name
        for name in varying
        if found.types[name] in (Type.STRING, Type.BOOL)
        and distinct[name] <= _MOST_CATEGORIES
        and (distinct[name] < count)
    ]
    categories.sort(key=lambda name: not tells_state(name))
    measures = [name for name in varying if found.types[name] in (Type.FLOAT, Type.INT) and not _is_no_measure(name)]
    return replace(found, keys=keys, categories=categories, measures=measures, gap=_usual_gap(found, key))


def _has(texts: ArrowArray, text: str) -> bool:
    return int(pc.index(texts, text).as_py()) >= 0


def tells_state(name: str) -> bool:
    """Whether a column is named as one that tells what an event is."""
    return bool(_STATE_PART.search(name))


def _is_no_measure(name: str) -> bool:
    return any(pattern.search(name) for pattern in (_KEY_PART, _CALENDAR, _TIME_PART))


def _usual_gap(found: Survey, key: str | None) -> float:
    """The median time between two events of a lane; 0 where no lane has two."""
    times = numpy_of(pc.cast(found.table[found.time], pa.int64() if _is_timestamp(found) else pa.float64()))
    lanes = np.zeros(len(times), np.int64)
    if key is not None:
        coded: Any = found.table[key].combine_chunks().dictionary_encode()
        lanes = numpy_of(pc.fill_null(coded.indices, -1)).astype(np.int64)
    order = np.lexsort((times, lanes))
    gaps = np.diff(times[order])[np.diff(lanes[order]) == 0]
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 0.0


def _is_timestamp(found: Survey) -> bool:
    return found.types[found.time] is Type.TIMESTAMP


def _varies(table: pa.Table, key: str | None, name: str) -> bool:
    """Whether a column has several values within a lane, in enough of those with several events."""
    if key is None:
        return True
    lanes: Any = table.select([key, name]).group_by(key).aggregate([(name, "count_distinct"), (name, "count")])
    several = numpy_of(lanes[f"{name}_count"]) > 1
    varying = numpy_of(lanes[f"{name}_count_distinct"])[several] > 1
    return bool(varying.any() and varying.mean() >= _VARYING_LANES)
