"""The result of a run: the notifications in order, quarantined and late events, unreadable values, and notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from foretell.display import View, Viewed, counted, listed, short_times, without_equal_dates
from foretell.errors import InputError, suggestion
from foretell.events.ingest.nulled_values import NulledValues
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.notification import COLUMNS, ESTIMATE, Notification
from foretell.events.reorder_buffer import LateEvent
from foretell.events.types import format_time
from foretell.language.checked import CheckedStatement, CheckedSubscription
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.row_encoder import to_json, to_table
from foretell.notify.run_summary import RunSummary, counted_kind, counts_by_kind, summarize
from foretell.notify.written_notifications import WrittenNotifications

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, repr=False)
class Notifications(Sequence[Notification], Viewed):
    """A sequence of notifications; `found["name"]` has those of one statement.

    `bad` has the malformed events, `totals` the number of events read of each stream, `notes` remarks on the run for
    the user, `late` the events that came later than LATE BY allows. `statements` are those of the run, whose types are
    those of the columns of `to_arrow`. `unreadable` has the values that could not be read and are NULL, by column and
    cause. `lanes` has for each statement the number of lanes so far, None where the engine does not know it.

    >>> import foretell as ft
    >>> logins = [{"time": 1, "user": "ann"}, {"time": 2, "user": "bob"}, {"time": 3, "user": "ann"}]
    >>> found = ft.run("SUBSCRIBE again FROM logins PER user MATCH a , b", {"logins": logins}, time={"logins": "time"})
    >>> found
    1 notification: again 1 match
      key       start  end  events
      user=ann  1      3    a=0, b=1
    >>> found.to_arrow().to_pylist()[0]["key"]
    {'user': 'ann'}
    """

    rows: Sequence[Notification]
    bad: tuple[QuarantinedEvent, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    late: tuple[LateEvent, ...] = ()
    statements: Iterable[CheckedStatement] = field(default=(), compare=False)
    unreadable: tuple[NulledValues, ...] = ()
    lanes: tuple[tuple[str, int | None], ...] = ()

    @overload
    def __getitem__(self, index: int) -> Notification: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Notification, ...]: ...
    @overload
    def __getitem__(self, index: str) -> Notifications: ...
    def __getitem__(self, index: int | slice | str) -> Notification | tuple[Notification, ...] | Notifications:
        if isinstance(index, str):
            return self.of((index,))
        selected = self.rows[index]
        return tuple(selected) if isinstance(selected, Sequence) else selected

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Notification]:
        return iter(self.rows)

    @property
    def summary(self) -> RunSummary:
        """The figures of the run."""
        return summarize(self.rows, self.totals, self.bad, self.unreadable, self.lanes, self.late)

    def of(self, names: Sequence[str]) -> Notifications:
        """The notifications of some statements."""
        require_statements(names, self._ipython_key_completions_())
        rows: Sequence[Notification]
        if isinstance(self.rows, LazyNotifications | WrittenNotifications):
            rows = self.rows.of(names)
        else:
            rows = tuple(n for n in self.rows if n.subscription in names)
        statements = tuple(s for s in self.statements if s.name in names)
        lanes = tuple((name, count) for name, count in self.lanes if name in names)
        return replace(self, rows=rows, statements=statements, lanes=lanes)

    def _ipython_key_completions_(self) -> list[str]:
        """The statements: IPython completes `found["…"]` with them."""
        return list(
            dict.fromkeys([*(s.name for s in self.statements), *(name for name, _ in counts_by_kind(self.rows))])
        )

    # ── other forms ──

    def table(self) -> pa.Table:
        """The notifications as an Arrow table, with key, bindings, events and estimate as JSON text."""
        estimates = any(isinstance(s, CheckedSubscription) and s.tree.losing is not None for s in self.statements)
        if isinstance(self.rows, LazyNotifications):
            return self.rows.table(estimates=estimates)
        return to_table(self.rows, estimates=estimates)

    def lines(self) -> Iterator[bytes]:
        """The notifications as lines of JSON, one or more in each `bytes`."""
        return self.rows.lines() if isinstance(self.rows, LazyNotifications) else map(to_json, self.rows)

    def to_arrow(self, *, flat: bool = False) -> pa.Table:
        """The notifications as an Arrow table with typed columns, as in SQL: key, bindings and events are structs.

        With several statements a struct has the fields of all of them. `flat` makes each field a column of its own,
        such as `key.user`.
        """
        from foretell.notify.typed_columns import TypedNotifications  # loads the engine
        from foretell.plan.result_schema import result_schema

        statements = list(self.statements)
        if len(self) and not statements:
            hint = "take those of a run, or table(), which has JSON text"
            raise InputError("no-types", "the types of these notifications are not known", hint=hint)
        typed = TypedNotifications.of_statements(map(result_schema, statements)).table_of(self.rows)
        return typed.flatten() if flat else typed

    def to_pandas(self, *, flat: bool = False) -> pd.DataFrame:
        """The same as `to_arrow` as a pandas frame; a struct is a dict."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError("no-pandas", "pandas is not installed", hint="pip install pandas") from None
        # An INT or BOOL column may have NULLs, for which NumPy has no value.
        nullable: Any = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame: pd.DataFrame = self.to_arrow(flat=flat).to_pandas(types_mapper=nullable.get, integer_object_nulls=True)
        return frame

    def to_polars(self, *, flat: bool = False) -> pl.DataFrame:
        """The same as `to_arrow` as a polars frame."""
        try:
            import polars
        except ImportError:
            raise InputError("no-polars", "polars is not installed", hint="pip install polars") from None
        frame = polars.from_arrow(self.to_arrow(flat=flat))
        assert isinstance(frame, polars.DataFrame)
        return frame

    # ── views ──

    def _view(self, rows: int) -> View:
        written = isinstance(self.rows, WrittenNotifications)
        shown, counts = () if written else self[:rows], counts_by_kind(self.rows)
        by_statement: dict[str, list[str]] = {}
        for (name, kind), count in counts.items():
            by_statement.setdefault(name, []).append(counted_kind(count, kind))
        statements = [f"{name} {', '.join(kinds)}" for name, kinds in by_statement.items()]
        title = f"{counted(len(self), 'notification')}: {listed(statements, '; ')}" if counts else "no notifications"
        hidden = {
            "subscription": len(by_statement) < 2,
            "kind": len({kind for _, kind in counts}) < 2,
            "probability": {kind for _, kind in counts} <= {"match", "token"},
            "start": all(n.start == n.end for n in shown),
        }
        cells = _with_short_times(shown, [n.cells for n in shown])
        if not any(ESTIMATE in row for row in cells):
            hidden[ESTIMATE] = True
        header = [name for name in (*COLUMNS, ESTIMATE) if not hidden.get(name)]
        table = [[row.get(name, "") for name in header] for row in cells]
        if written:
            return View(title, [], [], list(self._remarks(cut=False)), 0)
        return View(title, header, table, list(self._remarks(len(self) > rows)), len(self) - len(shown))

    def _remarks(self, cut: bool) -> Iterator[str]:
        if cut:
            last = self[-1]
            yield f"the last ends at {format_time(last.end, last.time_type)}"
        if isinstance(self.rows, WrittenNotifications) and len(self):
            yield f"written to {self.rows.place}"
        if not len(self) and self.totals and not self.summary.all_set_aside:
            yield f"events read: {listed([f'{stream} {count:,}' for stream, count in self.totals])}"
        if self.bad:
            yield f"{counted(len(self.bad), 'event')} set aside: see .bad"
        if nulled := sum(record.count for record in self.unreadable):
            yield f"{counted(nulled, 'unreadable value')} set to NULL: see .unreadable"
        if self.late:
            yield f"{counted(len(self.late), 'late event')}: see .late"
        if self.notes:
            yield f"note: {self.notes[0]}"
        if len(self.notes) > 1:
            yield f"{counted(len(self.notes), 'note')} in all: see .notes"


def require_statements(names: Iterable[str], known: Collection[str]) -> None:
    """Raise InputError for a name that is no statement's."""
    for name in names:
        if name not in known:
            raise InputError(
                "unknown-subscription", f"there is no statement '{name}'", hint=suggestion(str(name), known)
            )


def _with_short_times(shown: Sequence[Notification], cells: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The cells with times in a short form, where all are timestamps."""
    starts, ends = [n.started for n in shown], [n.ended for n in shown]
    moments = [time for time in (*starts, *ends) if isinstance(time, datetime)]
    if len(moments) < 2 * len(shown):
        return list(cells)
    texts = short_times(moments)
    first, last = texts[: len(shown)], texts[len(shown) :]
    if starts != ends:
        last = without_equal_dates(first, last)
    return [row | {"start": start, "end": end} for row, start, end in zip(cells, first, last, strict=True)]
