"""The time column of a stream for which none is named: the one column that its name or its values show to be the time.

In text formats the first value of a column decides: the type evidence of Spark's tasks has it, so that all engines
choose alike. In Arrow data its type decides, which is known without a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from foretell.errors import InputError, header_hint
from foretell.events.ingest.arrow_columns import ArrowColumn, attribute_type
from foretell.events.ingest.json_columns import JsonColumn
from foretell.events.ingest.null_markers import USUAL_MARKERS
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.raw_columns import RawColumn, RawTable
from foretell.events.ingest.scalar_parsing import is_timestamp, unboxed
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.types import Type

TIME_NAMES = frozenset({"time", "timestamp", "ts", "date", "datetime", "@timestamp", "event_time"})

_ISO = re.compile(r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY = re.compile(r"\s*([0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})\s*")
_CLOCK = re.compile(r"\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*([AaPp]\.?[Mm]\.?)?\s*")


def time_column_of(raw: RawTable, stream: str) -> str:
    """The only candidate for the time; an error that lists them where there are several or none."""
    candidates = time_candidates(raw)
    if len(candidates) == 1 and "+" not in candidates[0]:
        return candidates[0]
    message = f"the time column of stream '{stream}' is not known"
    if not candidates:
        columns = f"; its columns are {', '.join(raw.names)}{header_hint(raw.names)}" if raw.names else ""
        hint = f"add --time {stream}=COLUMN, or a statement STREAM {stream} (...) TIME column{columns}"
        reason = "" if raw.rows else ": it has no events" if raw.names else ": its input is empty"
        raise InputError("no-time-column", f"{message}{reason}", hint=hint)
    listed = " or ".join(f"'{name}'" for name in candidates)
    raise InputError("no-time-column", f"{message}: it may be {listed}", hint=f"add --time {stream}={candidates[0]}")


def time_note(stream: str, column: str) -> str:
    return f"stream '{stream}': the time is column '{column}'; change it with --time {stream}=COLUMN"


def time_candidates(raw: RawTable) -> list[str]:
    """Columns that may be the time, as the option `--time` names them: 'day+clock' for a day and a clock time."""
    named = [name for name in raw.names if name.lower() in TIME_NAMES]
    timed = [name for name in raw.names if name in raw.columns and _shows_times(raw.columns[name])]
    found = named or timed
    if len(named) == 1 and timed and named[0] not in timed:
        found = [*named, *timed]
    pair = day_and_clock(raw)
    if pair is None or pair[0] not in found:
        return found
    return ["+".join(pair), *(name for name in found if name != pair[1])]


def day_and_clock(raw: RawTable) -> tuple[str, str] | None:
    """The one column of days and the one of clock times, by their first texts."""
    first = {name: _first_value(column) for name, column in raw.columns.items()}
    texts = {name: value for name, value in first.items() if isinstance(value, str) and "+" not in name}
    days = [name for name, text in texts.items() if _DAY.fullmatch(text)]
    clocks = [name for name, text in texts.items() if _CLOCK.fullmatch(text)]
    return (days[0], clocks[0]) if len(days) == len(clocks) == 1 else None


def _shows_times(column: RawColumn) -> bool:
    if isinstance(column, ArrowColumn):
        return {attribute_type(chunk.type) for chunk in column.chunks} - {Type.NULL} == {Type.TIMESTAMP}
    value = _first_value(column)
    return isinstance(value, date) or (isinstance(value, str) and bool(_ISO.match(value)) and is_timestamp(value))


def _first_value(column: RawColumn) -> object:
    """The first value that is no usual marker of missing values; None of Arrow data."""
    values: Iterable[object] = ()
    if isinstance(column, PythonColumn):
        values = map(unboxed, column.values)
    elif isinstance(column, JsonColumn):
        values = (value.as_py() for value in column.array.drop_null())
    elif isinstance(column, TextColumn):
        values = (text.as_py() for text in column.texts.drop_null())
    return next((value for value in values if value is not None and not USUAL_MARKERS.has(value)), None)
