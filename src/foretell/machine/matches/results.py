"""What a statement tells of a batch, as columns; rows for people are made only where they are asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.notification import Notification
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT
from foretell.language.checked import CheckedSubscription
from foretell.machine.input.event_order import OrderedInput, deepened
from foretell.machine.matches.bound_events import BoundEvents, Runs, in_order, matrix
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.rendering import shown_value


@dataclass(frozen=True)
class ForecastColumns:
    """What makes forecasts of notifications: how likely a match is, and until when."""

    probability: NDArray[np.float64]
    horizon: str


@dataclass(frozen=True)
class ResultBatch:
    """Notifications of one statement. `order` has each one's place in the order of all events.

    `matches` is None for silences, which have no events, and for forecasts out of nothing. `returned` are the RETURN
    columns or the variables. `selected` are the rows of a template that each match is of; a row is told only of matches
    that begin with its `row_since`. `chances` makes forecasts of them.
    """

    checked: CheckedSubscription
    matches: MatchBatch | None
    lane: Ints
    start: NDArray[Any]
    end: NDArray[Any]
    order: Ints
    returned: Mapping[str, Column]
    keys: Sequence[Mapping[str, Scalar]]
    id: Scalar
    strings: StringDictionary
    selected: Ints | None = None
    row_ids: Sequence[Scalar] | NDArray[np.object_] = ()
    row_since: Ints | None = None
    chances: ForecastColumns | None = None

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def count(self) -> int:
        """How many notifications these are: of a template, one for each row that a match is of."""
        if self.selected is None:
            return len(self)
        if self.row_since is not None:
            return len(self.members[0])
        return int((self.selected & ((1 << SHIFT) - 1)).sum())

    @property
    def members(self) -> tuple[Ints, Ints]:
        """Of each notification, which match it tells, and to which row of a template that ran as one; -1 to none."""
        if self.selected is None:
            return np.arange(len(self)), np.full(len(self), -1, np.int64)
        first, count = self.selected >> SHIFT, self.selected & ((1 << SHIFT) - 1)
        match = np.repeat(np.arange(len(self)), count)
        row = np.arange(len(match)) + np.repeat(first - np.cumsum(count) + count, count)
        if self.row_since is None or self.matches is None:
            return match, row
        there = self.matches.first[match] >= self.row_since[row]
        return match[there], row[there]

    def id_of(self, row: int) -> Scalar:
        return self.id if row < 0 else self.row_ids[row]

    def kept(self, keep: NDArray[np.bool_]) -> ResultBatch:
        """Only some of them."""
        return replace(
            self,
            matches=None if self.matches is None else self.matches.kept(keep),
            lane=self.lane[keep],
            start=self.start[keep],
            end=self.end[keep],
            order=self.order[keep],
            returned={n: Column(c.kind, c.values[keep], c.nulls[keep]) for n, c in self.returned.items()},
            selected=None if self.selected is None else self.selected[keep],
            chances=None if self.chances is None else replace(self.chances, probability=self.chances.probability[keep]),
        )

    # ── rows ──

    def bound(self, i: int) -> tuple[tuple[int, int], ...]:
        """The positions and steps of a match's events, in order."""
        if self.matches is None:
            return ()
        events = slice(self.matches.starts[i], self.matches.starts[i + 1])
        return tuple(zip(self.matches.position[events].tolist(), self.matches.step[events].tolist()))

    @property
    def all_bound(self) -> BoundEvents:
        if self.matches is None:
            nothing = np.zeros(0, np.int64)
            return BoundEvents(self.lane, np.zeros(len(self) + 1, np.int64), nothing, nothing)
        return BoundEvents(self.lane, self.matches.starts, self.matches.position, self.matches.step)

    def in_order_of_taking(self) -> Ints:
        """By completion, then by the positions of events, then by their steps."""
        return self.all_bound.order(_completion(self.order, self.end))

    def first_places(self) -> Ints:
        """Where the first event of each match stands in the order of all base events; -1 where it has none."""
        places = np.full(len(self), -1, np.int64)
        if self.matches is not None:
            some = self.matches.starts[1:] > self.matches.starts[:-1]
            first = self.matches.position[self.matches.starts[:-1][some]]
            places[some] = self.matches.history.order(first)[:, 0]
        return places

    def notification(self, i: int, row: int = -1) -> Notification:
        return Notification(
            subscription=self.checked.name,
            kind="match" if self.chances is None else "forecast",
            key=dict(self.keys[self.lane[i]]) if self.checked.tree.per else None,
            start=self.start[i].item(),
            end=self.end[i].item(),
            probability=1.0 if self.chances is None else self.chances.probability[i].item(),
            horizon=None if self.chances is None else self.chances.horizon,
            id=self.id_of(row),
            bindings={n: self._binding(c, i, self.type_of(n)) for n, c in self.returned.items()},
            events=self._names(i),
            time_type=self.checked.time,
        )

    def type_of(self, name: str) -> Type:
        """Of a RETURN column or, in a forecast, of a variable."""
        return self.checked.returns[name] if self.chances is None else self.checked.variables[name]

    def _names(self, i: int) -> dict[str, Any]:
        names: dict[str, Any] = dict.fromkeys(self.checked.positive)
        matches = self.matches
        if matches is None:
            return names if self.chances is not None else {}
        events = slice(matches.starts[i], matches.starts[i + 1])
        called = matches.history.names(matches.position[events])
        for name, step in zip(called, matches.step[events].tolist(), strict=True):
            step_name = self.checked.positive[step]
            if self.checked.steps[step_name].shape.repeated:
                names[step_name] = [*(names[step_name] or []), name]
            else:
                names[step_name] = name
        return names

    def _binding(self, column: Column, i: int, kind: Type) -> Scalar:
        shown = shown_value(column, i, self.strings)
        if kind is Type.FLOAT and isinstance(shown, int) and not isinstance(shown, bool):
            return float(shown)
        return shown


@dataclass(frozen=True)
class _Notifications:
    """All notifications of several results: of which result each is, of which of its matches, and to which row."""

    told: Sequence[ResultBatch]
    result: Ints
    match: Ints
    row: Ints

    @classmethod
    def of(cls, told: Sequence[ResultBatch]) -> _Notifications:
        members = [one.members for one in told]
        result = np.repeat(np.arange(len(told)), [len(match) for match, _ in members])
        return cls(told, result, _concatenated([m for m, _ in members]), _concatenated([row for _, row in members]))

    @cached_property
    def at(self) -> Ints:
        """Where the match of each stands when those of all results stand in a row."""
        return np.cumsum([0, *map(len, self.told)])[self.result] + self.match

    def order(self, before: Sequence[NDArray[Any]]) -> Ints:
        """By some columns, the positions of events, their steps, then by id and key (decision 0002, item 23)."""
        bound = [one.all_bound for one in self.told]
        first = np.cumsum([0, *(len(b.position) for b in bound)])
        begin = _concatenated([b.starts[:-1] + f for b, f in zip(bound, first)])[self.at]
        end = _concatenated([b.starts[1:] + f for b, f in zip(bound, first)])[self.at]
        events = _concatenated([b.position for b in bound]), _concatenated([b.step for b in bound])
        after = matrix([self._ids(), self._keys()], len(self.at))
        return in_order(matrix(before, len(self.at)), Runs(begin, end, *events), after)

    def ends(self) -> NDArray[Any]:
        return _ends([one.end for one in self.told])[self.at]

    def names(self) -> Ints:
        return _ranks([one.checked.name for one in self.told])[self.result]

    def _ids(self) -> Ints:
        """Numbers by size, before texts."""
        rows = max((len(one.row_ids) for one in self.told), default=0) + 1
        distinct, which = np.unique(self.result * rows + self.row + 1, return_inverse=True)
        return _ranks([_number(self.told[k // rows].id_of(k % rows - 1)) for k in distinct.tolist()])[which]

    def _keys(self) -> Ints:
        """Matches of the same events are of one lane, so only what has none is told apart by its key."""
        silent = np.array([one.matches is None for one in self.told], np.bool_)[self.result]
        lanes = max((len(one.keys) for one in self.told), default=0)
        lane = np.where(silent, _concatenated([one.lane for one in self.told])[self.at], 0)
        distinct, which = np.unique(self.result * lanes + lane, return_inverse=True)
        keys = [self.told[k // lanes].keys[k % lanes] for k in distinct.tolist()] if silent.any() else []
        texts = [json.dumps(key, sort_keys=True, default=str) for key in keys]
        return _ranks(texts)[which] if texts else np.zeros(len(which), np.int64)


def _concatenated(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _completion(order: Ints, end: NDArray[Any]) -> list[NDArray[Any]]:
    """When it was completed. What time completes between the same two events goes by its end."""
    return [order[:, 0], end, *order.T[1:]]


def _number(name: Scalar) -> tuple[int | float, str]:
    return (name, "") if isinstance(name, int | float) else (math.inf, str(name))


def _ranks(values: Sequence[Any]) -> Ints:
    rank = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([rank[value] for value in values], np.int64)


def _ends(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Times as they are; where some are INT and others FLOAT as ranks, since not every INT is a FLOAT."""
    if len({part.dtype for part in parts}) > 1:
        return _ranks([end for part in parts for end in part.tolist()])
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def derived(told: Sequence[ResultBatch], rank: int) -> OrderedInput:
    """The results of a statement as events, each directly after what completed it, for the statements that read it."""
    checked, strings = told[0].checked, told[0].strings
    every = _Notifications.of(told)
    depth = max(one.order.shape[1] for one in told) + 2
    order = np.concatenate([deepened(one.order, depth) for one in told])
    by = every.at[every.order(_completion(order[every.at], every.ends()))]
    count = len(by)
    order = order[by]
    level = np.argmax(order == -1, axis=1) if count else np.zeros(0, np.int64)
    number = np.arange(count)
    order[number, level] = rank
    order[number, level + 1] = number
    dtype = np.float64 if checked.time is Type.FLOAT else np.int64
    known = np.zeros(count, np.bool_)
    start, end = (np.concatenate([t.start for t in told])[by], np.concatenate([t.end for t in told])[by])
    events = EventColumns(
        {n: _attribute([t.returned[n] for t in told], by, kind) for n, kind in checked.returns.items()},
        checked.returns,
        Column(checked.time, end.astype(dtype), known),
        Column(checked.time, start.astype(dtype), known),
        Column(Type.STRING, np.full(count, strings.code(checked.name), np.int64), known),
    )
    return OrderedInput(events, None, order)


def rows(told: Sequence[ResultBatch]) -> list[Notification]:
    """All notifications, in their order."""
    return [one.notification(i, row) for one, i, row in in_their_order(told)]


def in_their_order(told: Sequence[ResultBatch]) -> Iterator[tuple[ResultBatch, int, int]]:
    """Of each notification, which result it is of, which match of that, and to which row of a template."""
    result, match, row = order_of(told)
    for n, i, k in zip(result.tolist(), match.tolist(), row.tolist()):
        yield told[n], i, k


def order_of(told: Sequence[ResultBatch]) -> tuple[Ints, Ints, Ints]:
    """The same as columns."""
    if not any(map(len, told)):
        nothing = np.zeros(0, np.int64)  # as after most events that come alone
        return nothing, nothing, nothing
    every = _Notifications.of(told)
    by = every.order([every.ends(), every.names()])
    return every.result[by], every.match[by], every.row[by]


def by_result(told: Sequence[ResultBatch]) -> Iterator[tuple[ResultBatch, Ints, Ints, Ints]]:
    """Of each result that has any notifications: their matches, their rows of a template, and their numbers in the
    order of all. They come as they stand in the result, so that columns can be taken as they are."""
    result, match, row = order_of(told)
    number = np.lexsort((row, match, result))
    ends = np.cumsum(np.bincount(result, minlength=len(told))).tolist()
    for one, begin, end in zip(told, [0, *ends], ends):
        if begin < end:
            mine = number[begin:end]
            yield one, match[mine], row[mine], mine


def _attribute(parts: list[Column], by: Ints, kind: Type) -> Column:
    """A RETURN column as an attribute: a duration in seconds, and FLOAT where it is declared so."""
    values = np.concatenate([p.values for p in parts])[by]
    nulls = np.concatenate([p.nulls for p in parts])[by]
    if parts[0].kind is Type.DURATION:
        return Column(Type.FLOAT, values / 1_000_000, nulls)
    return Column(kind, values.astype(np.float64) if kind is Type.FLOAT else values, nulls)
