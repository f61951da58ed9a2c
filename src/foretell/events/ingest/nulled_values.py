"""Nulled values: those that were read as NULL because they could not be read, or are a usual marker of missing values.

Each record stands for all values of a column with one cause, so that a thousand different texts are one line for the
user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foretell.events.ingest.null_markers import USUAL_MARKERS
from foretell.events.ingest.raw_columns import RawTable, TypedColumn
from foretell.events.ingest.scalar_parsing import display_value

#: The part of a reason that shows a value: ", found 'dear'", or the number in "99999999999999999999 does not fit INT".
_FOUND = re.compile(r", found .*$|(?<=: ).* (?=does not fit [A-Z]+$)", re.DOTALL)
LISTED_CAUSES = 5


@dataclass(frozen=True)
class NulledValues:
    """The values of a column that are NULL for one cause: how many, and the place and reason of the first.

    `alike` says that all have the reason of the first. `is_marker` says that they are one usual marker of missing
    values, which was guessed and not declared; the cause is then the marker.
    """

    stream: str
    column: str
    cause: str
    count: int
    source: str
    row: int
    reason: str
    alike: bool = True
    is_marker: bool = False

    @property
    def key(self) -> tuple[str, str, str, bool]:
        return self.stream, self.column, self.cause, self.is_marker


def cause_of(reason: str) -> str:
    """A reason without the value that was found.

    >>> cause_of("price: expected FLOAT, found 'dear'"), cause_of("n: 99999999999999999999 does not fit INT")
    ('price: expected FLOAT', 'n: does not fit INT')
    """
    return _FOUND.sub("", reason)


def nulled_values(
    raw: RawTable, stream: str, columns: Mapping[str, TypedColumn], absent: Container[int]
) -> tuple[NulledValues, ...]:
    """The values of all columns that do not fit, but for those of rows that are `absent`."""
    records: list[NulledValues] = []
    for name, column in columns.items():
        counts: dict[str, int] = {}
        firsts: dict[str, int] = {}
        for position, reason in column.misfits.items():
            if position not in absent:
                counts[reason] = counts.get(reason, 0) + 1
                firsts.setdefault(reason, position)
        for reason, first in firsts.items():
            found = nulled_value(stream, name, raw.columns[name].value(first), reason, raw.place(first))
            records.append(replace(found, count=counts[reason]))
    return merge_nulled(records)


def nulled_value(stream: str, column: str, value: object, reason: str, place: tuple[str, int]) -> NulledValues:
    """The record of one value."""
    marker = isinstance(value, str) and USUAL_MARKERS.has(value)
    cause = display_value(str(value).strip()) if marker else cause_of(reason)
    source, row = place
    # A name that comes from a statement carries its place there; `str` drops it.
    return NulledValues(str(stream), str(column), cause, 1, source, row, reason, is_marker=marker)


def merge_nulled(
    records: Iterable[NulledValues], place: Callable[[NulledValues], Any] | None = None
) -> tuple[NulledValues, ...]:
    """One record for each cause. The records are in the order of arrival, or `place` gives it."""
    ordered = list(records) if place is None else sorted(records, key=place)
    merged: dict[tuple[str, str, str, bool], NulledValues] = {}
    for record in ordered:
        first = merged.get(record.key)
        merged[record.key] = record if first is None else _added(first, record)
    return tuple(merged.values())


def _added(first: NulledValues, later: NulledValues) -> NulledValues:
    alike = first.alike and later.alike and first.reason == later.reason
    return replace(first, count=first.count + later.count, alike=alike)


def unreadable_values(nulled: Iterable[NulledValues]) -> tuple[NulledValues, ...]:
    """The values that could not be read, without the markers of missing values."""
    return tuple(record for record in nulled if not record.is_marker)


# ── for the user ──


def marker_notes(nulled: Iterable[NulledValues]) -> tuple[str, ...]:
    """A note for each marker of missing values that was guessed, with the columns that have it."""
    by_marker: dict[tuple[str, str], list[NulledValues]] = {}
    for record in nulled:
        if record.is_marker:
            by_marker.setdefault((record.stream, record.cause), []).append(record)
    notes = []
    for (stream, marker), records in by_marker.items():
        columns, count = ", ".join(record.column for record in records), sum(record.count for record in records)
        # Rows of different files cannot be compared: there the first column has the first place.
        alike = [record for record in records if record.source == records[0].source]
        first = min(alike, key=lambda record: record.row)
        place = f"{counted_values(count)}, the first at {first.source}:{first.row}"
        notes.append(f"{stream}: {marker} is read as a missing value in {columns} ({place})")
    return tuple(notes)


def unreadable_summary(nulled: Sequence[NulledValues], totals: Iterable[tuple[str, int]]) -> Iterator[str]:
    """A line for each column with values that could not be read: how many, the causes, the place of the first.

    `totals` has the number of events read of each stream.
    """
    unreadable, read = unreadable_values(nulled), dict(totals)
    for stream, column in dict.fromkeys((record.stream, record.column) for record in unreadable):
        records = [record for record in unreadable if (record.stream, record.column) == (stream, column)]
        listed = list_causes({_of_column(record): record.count for record in records})
        count = sum(record.count for record in records)
        first = f"{records[0].source}:{records[0].row}"
        share = f"{count:,} of {counted_values(read[stream])}"
        yield f"{stream}: {share} of {column} set to NULL: {listed} (the first at {first})"


def _of_column(record: NulledValues) -> str:
    """The reason of the first, without the name of the column."""
    return shown_reason(record.reason.removeprefix(f"{record.column}: "), alike=record.alike)


def shown_reason(reason: str, *, alike: bool) -> str:
    return reason if alike else f"{reason} (and others)"


def list_causes(counts: Mapping[str, int]) -> str:
    listed = [f"{count:,} × {cause}" for cause, count in Counter(counts).most_common(LISTED_CAUSES)]
    return ", ".join([*listed, "…"] if len(counts) > LISTED_CAUSES else listed)


def counted_values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"
