"""The results of a subscription for one batch, as columns. Notifications are made of single rows only on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.events.detail_columns import DetailColumns
from foretell.events.notification import Notification, estimate_id
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column, concatenate_columns, no_nulls
from foretell.filter.string_dictionary import Texts
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.event_order import deepened
from foretell.machine.input.lane_keys import LaneKeys
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.indexed_rows import ListedRows, MatchedRows
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.rendering import column_scalar
from foretell.plan.result_schema import ResultSchema
from foretell.records import record


@record
class ForecastColumns:
    """The probability of a match for each forecast, and the horizon that they share."""

    probability: Floats
    horizon: str


@record
class EstimateColumns:
    """The probability of each match that may have lost events, and the kind of its notification. `hidden` are the steps
    of which an event may be lost, each with the number of the match's event before it; `details` are what estimates of
    a statement with LOSING rest on, and `late` has the names of events that came late, by their steps."""

    probability: Floats
    kind: str
    hidden: tuple[tuple[str, int], ...] = ()
    details: DetailColumns | None = None
    late: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)

    def filter(self, keep: Flags) -> EstimateColumns:
        details = None if self.details is None else self.details.filter(keep)
        late = {step: names[keep] for step, names in self.late.items()}
        return replace(self, probability=self.probability[keep], details=details, late=late)


#: A match takes as much memory as so many entries in lists of rows.
_LISTED_PER_MATCH = 16

#: About what a column of a result takes, with the work on it.
_RESULT_BYTES = 16


@record
class ResultBatch:
    """Matches or, with `forecasts`, forecasts of one subscription or of one row of a template.

    `places` are those of the results in the order of all events, where these are not those of their last events.
    `matches` is None
    where there are no events: for absences, and for forecasts of lanes without a partial match. `bindings` are the
    RETURN columns, or the variables. If one executor serves all `rows` of a template, `intervals` has those that each
    match belongs to; otherwise `id` is the id of the row. With `rows_part` several matches of the same events may
    belong to different rows.
    """

    schema: ResultSchema
    matches: MatchBatch | None
    lane: Ints
    start: NDArray[Any]
    end: NDArray[Any]
    places: Ints | None
    bindings: Mapping[str, Column]
    keys: LaneKeys
    id: Scalar
    strings: Texts
    intervals: Ints | None = None
    rows: MatchedRows | None = None
    rows_part: bool = False
    forecasts: ForecastColumns | None = None
    estimates: EstimateColumns | None = None

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def kind(self) -> str:
        """The kind of their notifications."""
        if self.estimates is not None:
            return self.estimates.kind
        return self.schema.kind if self.forecasts is None else "forecast"

    @property
    def probability(self) -> Floats | None:
        """The probabilities; None where all are certain."""
        uncertain = self.forecasts or self.estimates
        return None if uncertain is None else uncertain.probability

    @property
    def weight(self) -> int:
        """How many matches take about as much memory: those of a template have lists of their rows, too."""
        listed = len(self.rows.profiles) if isinstance(self.rows, ListedRows) else 0
        return len(self) + listed // _LISTED_PER_MATCH

    @property
    def nbytes(self) -> int:
        """About how much memory the results take, with the work on them."""
        slots = 0 if self.matches is None else self.matches.raw.slots.shape[1]
        details = None if self.estimates is None else self.estimates.details
        return _RESULT_BYTES * len(self) * (8 + slots + len(self.bindings) + (0 if details is None else details.width))

    @property
    def notification_count(self) -> int:
        """The number of notifications: with a template, one for each row that a match belongs to."""
        if self.intervals is None:
            return len(self)
        return int(self.row_counts.sum())

    @property
    def row_counts(self) -> Ints:
        """The number of rows of a template that each match belongs to."""
        assert self.intervals is not None
        assert self.rows is not None
        assert self.matches is not None
        return self.rows.counts(self.intervals, self.matches.first)

    def rows_of(self, results: Ints) -> Ints:
        """The rows of a template that these matches belong to, by their ids: those of one match after those of the
        other."""
        assert self.intervals is not None
        assert self.rows is not None
        assert self.matches is not None
        return self.rows.of(self.intervals[results], self.matches.first[results])

    @property
    def notification_rows(self) -> tuple[Ints, Ints]:
        """The result of each notification, and the template row that it goes to; -1 where `id` has the row."""
        every = np.arange(len(self))
        if self.intervals is None:
            return every, np.full(len(self), -1, np.int64)
        return np.repeat(every, self.row_counts), self.rows_of(every)

    def id_of(self, row: int) -> Scalar:
        return self.id if row < 0 or self.rows is None else self.rows.id_at(row)

    @property
    def order(self) -> Ints:
        """The place of each result in the order of all events (see `machine.input.event_order`)."""
        if self.places is not None:
            return self.places
        assert self.matches is not None
        return self.matches.buffer.order(self.matches.last)

    @property
    def completed_by_time(self) -> Flags:
        """The results that time completed, between two events."""
        return no_nulls(len(self)) if self.places is None else self.places[:, 0] & 1 == 1

    def filter(self, keep: Flags) -> ResultBatch:
        forecasts, estimates = self.forecasts, self.estimates
        return replace(
            self,
            matches=None if self.matches is None else self.matches.filter(keep),
            lane=self.lane[keep],
            start=self.start[keep],
            end=self.end[keep],
            places=None if self.places is None else self.places[keep],
            bindings={name: column.take(keep) for name, column in self.bindings.items()},
            intervals=None if self.intervals is None else self.intervals[keep],
            forecasts=None if forecasts is None else replace(forecasts, probability=forecasts.probability[keep]),
            estimates=None if estimates is None else estimates.filter(keep),
        )

    def without_buffer(self) -> ResultBatch:
        """The results without the events that they refer to: enough for the statements that read them."""
        matches = self.matches
        if matches is None:
            return self
        return replace(self, places=self.order, matches=replace(matches, buffer=EventBuffer()))

    def texts(self, registers: Iterable[int]) -> Iterator[Ints]:
        """The codes of all texts; these registers have some."""
        for column in self.bindings.values():
            if column.kind is Type.STRING:
                yield column.values
        if self.matches is not None:
            slots = self.matches.raw.slots
            yield from (slots[:, register] for register in registers if register < slots.shape[1])

    @property
    def bound_events(self) -> BoundEvents:
        return _no_events(self.lane) if self.matches is None else self.matches.bound

    def events_of(self, results: Flags) -> BoundEvents:
        """The events of some results."""
        return _no_events(self.lane[results]) if self.matches is None else self.matches.filter(results).bound

    @property
    def ascends(self) -> bool:
        """Whether each result ends later than the one before it or, with the same end, has later events."""
        later = self.end[1:] > self.end[:-1]
        if later.all():
            return True
        if self.matches is None:
            return False
        first = self.matches.first
        later |= (self.end[1:] == self.end[:-1]) & (first[1:] > first[:-1])
        return bool(later.all())

    def completion_order(self) -> Ints:
        """The results by completion, then by the positions of their events, then by their steps."""
        return self.bound_events.order(completion_columns(self.order, self.end))

    def first_event_order(self) -> Ints:
        """The place of each match's first event in the order of all base events; -1 where there is none."""
        places = np.full(len(self), -1, np.int64)
        if self.matches is not None:
            has_events = self.matches.starts[1:] > self.matches.starts[:-1]
            first = self.matches.position[self.matches.starts[:-1][has_events]]
            places[has_events] = self.matches.buffer.order(first)[:, 0]
        return places

    # ── single notifications ──

    def notification(self, i: int, row: int = -1) -> Notification:
        forecasts, probability = self.forecasts, self.probability
        details = None if self.estimates is None else self.estimates.details
        notification = Notification(
            subscription=self.schema.name,
            kind=self.kind,
            key=dict(self.keys[self.lane[i]]) if self.schema.per else None,
            start=self.start[i].item(),
            end=self.end[i].item(),
            probability=1.0 if probability is None else probability[i].item(),
            horizon=None if forecasts is None else forecasts.horizon,
            id=self.id_of(row),
            bindings={name: self._binding(name, column, i) for name, column in self.bindings.items()},
            events=self._event_names(i),
            time_type=self.schema.time,
            estimate=None if details is None else details[i],
        )
        if self.estimates is None:
            return notification
        if notification.id is None:
            notification = replace(notification, id=estimate_id(notification))
        late = {step: names[i] for step, names in self.estimates.late.items()}
        return replace(notification, events={**notification.events, **late}) if late else notification

    def binding_type(self, name: str) -> Type:
        """The type of a RETURN column or, in a forecast, of a variable."""
        return self.schema.returns[name] if self.forecasts is None else self.schema.variables[name]

    def _event_names(self, i: int) -> dict[str, Any]:
        names: dict[str, Any] = dict.fromkeys(self.schema.steps)
        matches = self.matches
        if not self.schema.steps:
            return {}
        if matches is None:
            return names if self.forecasts is not None else {}
        events = slice(matches.starts[i], matches.starts[i + 1])
        event_names = matches.buffer.names(matches.position[events])
        for name, number in zip(event_names, matches.step[events].tolist(), strict=True):
            step = self.schema.steps[number]
            if not self.schema.repeated[step]:
                names[step] = name
            elif names[step] is None:
                names[step] = [name]
            else:
                names[step].append(name)
        return names

    def _binding(self, name: str, column: Column, i: int) -> Scalar:
        value = column_scalar(column, i, self.strings)
        if self.binding_type(name) is Type.FLOAT and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value


@record
class ResultPiece:
    """The results of a slice of the events. No result of a later piece ends before the time `settled`."""

    results: list[ResultBatch]
    settled: int | float


def _no_events(lane: Ints) -> BoundEvents:
    nothing = np.zeros(0, np.int64)
    return BoundEvents(lane, np.zeros(len(lane) + 1, np.int64), nothing, nothing)


def completion_columns(order: Ints, end: NDArray[Any]) -> list[NDArray[Any]]:
    """Columns that order results by completion: results that time completes between the same two events go by end."""
    return [order[:, 0], end, *order.T[1:]]


def joined_results(parts: list[ResultBatch], buffer: EventBuffer) -> ResultBatch:
    """The results of several batches as one, all in the same event buffer."""
    matches = [p.matches for p in parts if p.matches is not None]
    return replace(
        parts[-1],
        matches=MatchBatch.concatenate(matches, buffer),
        lane=np.concatenate([p.lane for p in parts]),
        start=np.concatenate([p.start for p in parts]),
        end=np.concatenate([p.end for p in parts]),
        places=np.concatenate([deepened(p.order, max(q.order.shape[1] for q in parts)) for p in parts]),
        bindings={
            name: concatenate_columns([part.bindings[name] for part in parts], column.kind)
            for name, column in parts[-1].bindings.items()
        },
    )
