"""A survey of a file of events for `foretell init`: types, the time column, key candidates, categories and measures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from foretell.errors import InputError
from foretell.events.ingest.compression import compression_of
from foretell.events.ingest.formats import read_raw, read_raw_content
from foretell.events.ingest.input_files import PARQUET, InputFile, input_files, is_pipe, open_input
from foretell.events.ingest.raw_columns import RawTable
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, cast_events, infer_schema, with_times
from foretell.events.ingest.typed_table import infer_type
from foretell.events.types import Type

#: Of larger files the beginning is read, so that the survey of a file takes seconds whatever its size.
SAMPLE_BYTES, SAMPLE_ROWS = 64 << 20, 500_000

_TIME_NAME = re.compile(r"(?i)^(event_?|log_?)?(time|timestamp|ts|date_?time|when|epoch|date|t)(_?(utc|stamp))?$")
_TIME_PART = re.compile(r"(?i)(time|date|stamp|_at$|_ts$|epoch)")
_KEY_PART = re.compile(
    r"(?i)(^|_|\.)(id|key|user|client|customer|account|card|ip|host|device|sensor|machine|vessel|ship|mmsi|station|city"
    r"|symbol|ticker|session|order|tag|tail(num)?|source|src|name|location|unit|site|asset|pid|process)($|_|\.|id)|id$"
)
_MOST_CATEGORIES = 30


@dataclass(frozen=True)
class Survey:
    """What a file of events shows. `keys` are the candidates for PER, the best first; `categories` have few values,
    `measures` are numbers; both vary within a lane of the first key."""

    stream: str
    batch: EventBatch
    keys: Sequence[str]
    categories: Sequence[str]
    measures: Sequence[str]
    whole: bool
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


def survey(path: Path, stream: str, options: ReadOptions, time: str | None) -> Survey:
    raw, whole = _raw(path, stream, options)
    if not raw.rows:
        raise InputError("no-events", f"{path} has no events")
    column = time or _time_column(raw, path, options)
    skipped = [name for name in raw.names if name != column and infer_type(raw, name) is None]
    batch = _events(raw, StreamDeclaration(stream, {}, column, open=True, read=options))
    if not batch.table.num_rows:
        reason = batch.quarantined[0].reason if batch.quarantined else "no time"
        hint = "name another column with --time COLUMN, or its form with --time-format"
        raise InputError("no-time-column", f"{path}: no event has a time in the column '{column}': {reason}", hint=hint)
    return _classified(Survey(stream, batch, (), (), (), whole, skipped, options))


# ── reading ──


def _raw(path: Path, stream: str, options: ReadOptions) -> tuple[RawTable, bool]:
    """The rows of the file, or of its beginning; whether it is all of them."""
    if is_pipe(path):
        return read_raw(path, stream, None, options), True
    listing = input_files(path, options).in_process()
    if listing.format == PARQUET:
        sample = _first_rows(listing.files)
        return (read_raw(path, stream, None, options), True) if sample is None else (read_raw(sample, stream), False)
    first = listing.files[0]
    if len(listing.files) == 1 and compression_of(first.path) is None and first.size() > SAMPLE_BYTES:
        with open_input(first.path) as file:
            content = file.read(SAMPLE_BYTES)
        return read_raw_content(first.path, content[: content.rfind(b"\n") + 1], None, options), False
    return read_raw(path, stream, None, options), True


def _first_rows(files: Sequence[InputFile]) -> pa.Table | None:
    """The first rows of Parquet files; None where there are few."""
    import pyarrow.parquet as pq

    with open_input(files[0].path) as opened:
        first = pq.ParquetFile(cast(Any, opened))
        if len(files) == 1 and first.metadata.num_rows <= SAMPLE_ROWS:
            return None
        return pa.Table.from_batches([next(first.iter_batches(SAMPLE_ROWS))])


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
    measures = [name for name in varying if found.types[name] in (Type.FLOAT, Type.INT) and not _KEY_PART.search(name)]
    return replace(found, keys=keys, categories=categories, measures=measures)


def _varies(table: pa.Table, key: str | None, name: str) -> bool:
    """Whether a column has several values within a lane."""
    if key is None:
        return True
    values: Any = table.select([key, name]).group_by(key).aggregate([(name, "count_distinct")])
    return bool(pc.max(values[f"{name}_count_distinct"]).as_py() > 1)
