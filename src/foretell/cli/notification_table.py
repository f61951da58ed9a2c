"""Notifications as tables for a terminal: one for each statement and kind, which fit its width."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from foretell.display import short_times, without_equal_dates
from foretell.events.notification import ESTIMATE, Notification
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.run_summary import counted_kind, counts_by_kind

if TYPE_CHECKING:
    from foretell.machine.matches.results import ResultBatch

#: The rows of a table on a terminal; the rest is counted.
MOST_ROWS = 20
#: The width to which a column of text may shrink, and the widest that it becomes.
_NARROWEST, _WIDEST = 8, 40
_GAP = 2


@dataclass(frozen=True)
class NotificationGroup:
    """The notifications of one statement and kind: how many there are, and the first of them."""

    subscription: str
    kind: str
    count: int
    first: Sequence[Notification]


class FirstNotifications:
    """An output that counts the notifications of each statement and kind, and makes the first of them only."""

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most = most
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], list[Notification]] = {}  # in the order of their first notifications

    def groups(self) -> list[NotificationGroup]:
        return [NotificationGroup(*name, self._counts[name], first) for name, first in self._first.items()]

    def write(self, part: Sequence[Notification]) -> None:
        self._counts.update(counts_by_kind(part))
        if not isinstance(part, LazyNotifications):
            for row in part:
                if self._missing(row.subscription, row.kind):
                    self._first.setdefault((row.subscription, row.kind), []).append(row)
            return
        for subscription, kind in part.counts():
            first = part.first(subscription, kind, self._missing(subscription, kind))
            self._first.setdefault((subscription, kind), []).extend(first)

    def write_results(self, results: Sequence[ResultBatch]) -> None:
        from foretell.machine.matches.notification_order import notification_order  # loads the engine

        for result in results:
            self._counts[result.schema.name, result.kind] += result.notification_count
        wanted = [result for result in results if len(result) and self._missing(result.schema.name, result.kind)]
        order = notification_order(wanted)
        names = [(result.schema.name, result.kind) for result in wanted]
        group = np.array([names.index(name) for name in names], np.int64)[order.batch]
        numbers, begins = np.unique(group, return_index=True)
        for number in numbers[np.argsort(begins)].tolist():
            places = np.flatnonzero(group == number)[: self._missing(*names[number])]
            self._first.setdefault(names[number], []).extend(order.only(places).notifications())

    def _missing(self, subscription: str, kind: str) -> int:
        return self._most - len(self._first.get((subscription, kind), ()))


def print_tables(console: Console, groups: Iterable[NotificationGroup], statements: Iterable[str]) -> None:
    """Print the tables in the order of the statements."""
    order = {name: place for place, name in enumerate(statements)}
    for number, group in enumerate(sorted(groups, key=lambda g: order[g.subscription])):
        if number:
            console.print()
        _print_table(console, group)


def _print_table(console: Console, group: NotificationGroup) -> None:
    title = Text.assemble((group.subscription, "bold"), f"  {counted_kind(group.count, group.kind)}")
    console.print(title, no_wrap=True, overflow="ellipsis")
    columns = _columns(group)
    if _least_width(columns) > console.width:
        columns = [replace(column, name=column.name_within(column.cell_width)) for column in columns]
    shown = _fitting(columns, console.width)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim", show_edge=False)
    for column, width in zip(shown, _widths(shown, console.width), strict=True):
        side: Literal["left", "right"] = "right" if column.numeric else "left"
        header = Text(column.name_within(width), no_wrap=True, overflow="ellipsis")
        table.add_column(header, justify=side, no_wrap=True, overflow="ellipsis", width=width, vertical="bottom")
    for cells in zip(*(column.cells for column in shown), strict=True):
        table.add_row(*map(Text, cells))
    console.print(table)
    missing = len(columns) - len(shown)
    rest = group.count - len(group.first)
    if rest or missing:
        parts = ([f"… {rest:,} more"] if rest else []) + (
            [f"{missing} more {'column' if missing == 1 else 'columns'}"] if missing else []
        )
        console.print(Text(f"{', '.join(parts)}: use --output FILE.csv", "dim"), no_wrap=True, overflow="ellipsis")


# ── columns ──


@dataclass(frozen=True)
class TableColumn:
    """A column of cells; one of numbers or times keeps its width."""

    name: str
    cells: Sequence[str]
    numeric: bool = False
    fixed: bool = False

    @property
    def width(self) -> int:
        return min(max(map(cell_len, (*self.name.split("\n"), *self.cells))), _WIDEST)

    @property
    def narrowest(self) -> int:
        return self.width if self.fixed or self.numeric else min(self.width, _NARROWEST)

    @property
    def cell_width(self) -> int:
        return max(map(cell_len, self.cells), default=0)

    def name_within(self, width: int) -> str:
        """The name, on several lines where it is wider: `first_` and `price`."""
        if "\n" in self.name or cell_len(self.name) <= width:
            return self.name
        lines = [""]
        for part in re.findall(r"[^_\W]*[_\W]*", self.name):
            fits = len(lines[-1]) + len(part) <= max(width, _NARROWEST)
            lines = [*lines[:-1], lines[-1] + part] if fits else [*lines, part]
        return "\n".join(line for line in lines if line)


def _least_width(columns: Sequence[TableColumn]) -> int:
    return sum(column.narrowest + _GAP for column in columns) - _GAP


def _fitting(columns: Sequence[TableColumn], width: int) -> Sequence[TableColumn]:
    """The first columns, as many as fit at their narrowest."""
    used = 0
    for number, column in enumerate(columns):
        used += column.narrowest + (_GAP if number else 0)
        if used > width:
            return columns[: max(number, 1)]
    return columns


def _widths(columns: Sequence[TableColumn], width: int) -> list[int]:
    """The widths of columns; where they do not fit together, the widest of those that may shrink do."""
    widths = [column.width for column in columns]
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        spare = [have - column.narrowest for have, column in zip(widths, columns, strict=True)]
        if not any(spare):
            break
        widest = max((have, place) for place, have in enumerate(widths) if spare[place])[1]
        widths[widest] -= 1
    return widths


def _columns(group: NotificationGroup) -> list[TableColumn]:
    rows = group.first
    columns = _value_columns([row.key or {} for row in rows])
    columns += _time_columns(rows, group.kind)
    if any(row.id is not None for row in rows):
        name = "id" if group.kind in ("match", "token", "forecast") else "estimate"
        columns.append(_value_column(name, [row.id for row in rows]))
    if group.kind not in ("match", "token") or any(row.probability != 1 for row in rows):
        columns.append(TableColumn("probability", [f"{row.probability:.3f}" for row in rows], numeric=True))
    if any(row.horizon is not None for row in rows):
        columns.append(TableColumn("within", [_horizon(row.horizon) for row in rows], fixed=True))
    lost = [row.cells.get(ESTIMATE, "") for row in rows]
    if any(lost):
        columns.append(TableColumn("lost", lost))
    bindings = _value_columns([row.bindings for row in rows])
    return columns + (bindings or _value_columns([row.events for row in rows]))


def _horizon(horizon: int | float | str | None) -> str:
    return "" if horizon is None else horizon if isinstance(horizon, str) else f"{horizon:,} events"


def _time_columns(rows: Sequence[Notification], kind: str) -> list[TableColumn]:
    if kind in ("match", "estimate") and any(row.start != row.end for row in rows):
        starts, ends = [row.started for row in rows], [row.ended for row in rows]
        short = _short_times([*starts, *ends])
        first, last = short[: len(rows)], short[len(rows) :]
        return [_time_column("start", first, starts), _time_column("end", without_equal_dates(first, last), ends)]
    times = [row.ended for row in rows]
    return [_time_column("time", _short_times(times), times)]


def _time_column(name: str, cells: Sequence[str], times: Sequence[datetime | int | float]) -> TableColumn:
    numbers = not any(isinstance(time, datetime) for time in times)
    return TableColumn(name, cells, numeric=numbers, fixed=True)


def _short_times(times: Sequence[datetime | int | float]) -> list[str]:
    moments = [time for time in times if isinstance(time, datetime)]
    short = iter(short_times(moments))
    return [next(short) if isinstance(time, datetime) else cell(time) for time in times]


def _value_columns(rows: Sequence[Mapping[str, object]]) -> list[TableColumn]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [_value_column(name, [row.get(name) for row in rows]) for name in names]


def _value_column(name: str, values: Sequence[object]) -> TableColumn:
    known = [value for value in values if value is not None]
    numeric = bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
    return TableColumn(name, [cell(value) for value in values], numeric)


def cell(value: object) -> str:
    """A value in a table.

    >>> [cell(value) for value in (0.1 + 0.2, 12, None, True, "2026-03-01T10:00:00Z", [4, 5, 6], list(range(9)))]
    ['0.3', '12', '', 'true', '2026-03-01 10:00:00', '4, 5, 6', '0 … 8 (9)']
    """
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float() if math.isfinite(value):
            return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.10g}"
        case list() | tuple() if len(value) > 3:
            return f"{cell(value[0])} … {cell(value[-1])} ({len(value)})"
        case list() | tuple():
            return ", ".join(map(cell, value))
        case str() if len(value) > 18 and value[-1] == "Z" and value[10] == "T" and value[:4].isdecimal():
            return value[:-1].replace("T", " ")
    return str(value)
