"""The streams of one FROM, merged and ordered, with the lanes of one PER and a buffer of their latest events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, concatenate_columns, dtype_of, null_column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.limits import RunLedger
from foretell.machine.input.event_buffer import EventBuffer, EventSegment
from foretell.machine.input.event_order import OrderedInput, deepened
from foretell.machine.input.lag_columns import LagColumns
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.input.lane_keys import LaneKeys
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.codec import restore_segment, segment_state
from foretell.plan.match_plan import InputPlan
from foretell.storage.recorded_values import whole

#: So many events come, and as many as remained, before the buffer is cleaned up again: that has a fixed cost.
UNCLEANED = 1024


class MergedStream:
    """The input of an input group. A position is an event's number in the merged stream, from the first event on.

    `needed` are the attributes that some statement reads. `named` says that every event so far has an ID; without one,
    notifications show its number in the lane.
    """

    def __init__(self, plan: InputPlan, strings: StringDictionary, ledger: RunLedger | None = None) -> None:
        self.plan, self.strings = plan, strings
        self.ledger = ledger or RunLedger()
        self.per = plan.per
        self.lanes = LaneIndex([self._kind(name) for name in self.per])
        self.keys = LaneKeys(self.per, self.lanes, strings)
        self.lags = LagColumns()
        self.buffer = EventBuffer()
        self.positions = 0
        self.needed: set[str] = set(self.per)
        self.named = True
        self._remained = self._cleaned = 0  # the length of the buffer after the last clean-up, and `positions` then

    def _kind(self, name: str) -> Type:
        return self.plan.attributes.get(name, Type.STRING)

    def append(self, inputs: list[OrderedInput]) -> EventSegment:
        """Merges the events of a batch and appends them to the event buffer as one segment."""
        merged = self._merged(inputs)
        if self.named and len(merged.order):
            self.named = merged.name is not None and None not in merged.name.tolist()
        events, count = merged.events, len(merged.order)
        lane, number = self.lanes.numbered(self.key_columns(events), count)
        self.lags.add_columns(events, lane, len(self.lanes), self.strings)
        segment = EventSegment(self.positions, events, lane, number, merged.name, merged.order)
        self.positions += count
        self.buffer = self.buffer.extended(segment)
        return segment

    def key_columns(self, events: EventColumns) -> list[Column]:
        """The PER attributes of events."""
        return [events.attributes.get(n) or null_column(self._kind(n), len(events)) for n in self.per]

    @property
    def crowded(self) -> bool:
        """Whether the buffer has grown so much since the last clean-up that another one is worth its cost."""
        return self.positions - self._cleaned > self._remained + UNCLEANED

    def forget(self, oldest: int, referenced: Sequence[Ints] = ()) -> None:
        """Drops the events before a position, but those that results refer to."""
        older = np.unique(np.concatenate([np.zeros(0, np.int64), *referenced]))
        older = older[older < oldest]
        if not len(older):
            self._keep(self.buffer.since(oldest))
            return
        held = self.buffer.positions
        self._keep(self.buffer.only(np.concatenate([older, held[held >= oldest]])))

    def _keep(self, buffer: EventBuffer) -> None:
        self.buffer, self._remained, self._cleaned = buffer, len(buffer), self.positions

    def free_lanes(self, needed: Flags) -> Ints:
        """Frees the lanes that nothing needs; returns their numbers."""
        self.renew_keys()
        freed = self.lanes.free(needed)
        self.lags.free_lanes(freed)
        return freed

    def renew_keys(self) -> None:
        """Leaves the keys to the results that were handed over: lanes will be freed, or texts were."""
        self.keys.freeze()
        self.keys = LaneKeys(self.per, self.lanes, self.strings)

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in keys, in lag columns and in the event buffer, whose cached columns are dropped."""
        segments = [replace(s, events=replace(s.events, cache={}, truths={})) for s in self.buffer.segments]
        self.buffer = EventBuffer(tuple(segments))
        yield from self.lanes.texts()
        yield from self.lags.texts()
        for segment in segments:
            yield from segment.events.texts()

    def state(self) -> dict[str, Any]:
        return {
            "lanes": self.lanes.state(),
            "named": self.named,
            "positions": self.positions,
            "lags": self.lags.state(),
            "history": segment_state(self.buffer.whole) if self.buffer.segments else None,
        }

    def restore(self, state: Mapping[str, Any], places: int) -> StateBounds:
        """Continues from a snapshot that has so many places in the order of all events; returns how far the numbers of
        those who read this stream may reach."""
        texts = len(self.strings)
        self.lanes.restore(state["lanes"], texts)
        self.positions = whole(state["positions"], "the number of events")
        self.named = state.get("named", False) is True  # early snapshots do not tell
        bounds = StateBounds(len(self.lanes), self.positions, places, texts, self.buffer.held)
        self._cleaned = self.positions
        if state["history"] is not None:
            self._keep(EventBuffer((restore_segment(state["history"], self.plan, bounds),)))
        return replace(bounds, held=self.buffer.held)

    def no_events(self) -> EventColumns:
        """No events, with the attributes of this stream."""
        columns = {name: null_column(kind, 0) for name, kind in self.plan.attributes.items()}
        time = null_column(self.plan.time, 0)
        return EventColumns(columns, self.plan.attributes, time, time, null_column(Type.STRING, 0))

    def keep_only(self, referenced: list[Ints]) -> int:
        """Drops the events that no match refers to, if they are most of the buffer, else those before the first that a
        match refers to; returns its position."""
        positions = np.sort(np.concatenate([np.full(1, -1), *referenced]))
        positions = positions[1:][positions[1:] != positions[:-1]]  # (np.unique hashes, in ten times the time)
        first = int(positions[0]) if len(positions) else self.positions
        if 2 * len(positions) < len(self.buffer):
            self._keep(self.buffer.only(positions[positions >= self.buffer.base]))
        else:
            self.forget(first)
        return first

    def _merged(self, inputs: list[OrderedInput]) -> OrderedInput:
        """The streams of FROM as one, in order."""
        if len(inputs) == 1:
            only = self.typed(inputs[0])
            return only if len(only.order) < 2 else _in_order(only)
        plan = self.plan
        attributes = {
            name: concatenate_columns([_typed(i.events.attributes.get(name), kind, len(i)) for i in inputs], kind)
            for name, kind in plan.attributes.items()
            if name in self.needed
        }
        if "stream" in self.per and not any("stream" in i.events.attributes for i in inputs):
            attributes["stream"] = concatenate_columns([i.events.stream for i in inputs], Type.STRING)
        time = concatenate_columns([_typed(i.events.time, plan.time, len(i)) for i in inputs], plan.time)
        plain = all(i.events.start is i.events.time for i in inputs)
        start = concatenate_columns([_typed(i.events.start, plan.time, len(i)) for i in inputs], plan.time)
        stream = concatenate_columns([i.events.stream for i in inputs], Type.STRING)
        depth = max((i.order.shape[1] for i in inputs), default=1)
        order = _concatenated([deepened(i.order, depth) for i in inputs] or [np.zeros((0, depth), np.int64)])
        names = None
        if any(i.name is not None for i in inputs):
            parts = [i.name if i.name is not None else np.full(len(i), None, object) for i in inputs]
            names = np.concatenate(parts)
        events = EventColumns(attributes, plan.attributes, time, time if plain else start, stream)
        return _in_order(OrderedInput(events, names, order))

    def typed(self, only: OrderedInput) -> OrderedInput:
        """The events of one stream with the types of FROM."""
        events, count = only.events, len(only.order)
        attributes: dict[str, Column] = {}
        for name, kind in self.plan.attributes.items():
            if name in self.needed:
                column = events.attributes.get(name)
                if column is None or column.kind is not kind:
                    column = _typed(column, kind, count)
                attributes[name] = column
        if "stream" in self.per and "stream" not in events.attributes:
            attributes["stream"] = events.stream
        time = events.time
        if time.kind is not self.plan.time:
            time = _typed(time, self.plan.time, count)
        start = time if events.start is events.time else _typed(events.start, self.plan.time, count)
        return OrderedInput(
            EventColumns(attributes, self.plan.attributes, time, start, events.stream), only.name, only.order
        )


def _in_order(merged: OrderedInput) -> OrderedInput:
    """The events in their order. Derived events that time completed between the same two events go by their end."""
    events, order = merged.events, merged.order
    if (order[1:, 0] > order[:-1, 0]).all():
        return merged
    by = np.lexsort((*order.T[:0:-1], events.time.values, order[:, 0]))

    def sorted_column(column: Column) -> Column:
        return Column(column.kind, column.values[by], column.nulls[by])

    time = sorted_column(events.time)
    in_order = EventColumns(
        {name: sorted_column(column) for name, column in events.attributes.items()},
        events.types,
        time,
        time if events.start is events.time else sorted_column(events.start),
        sorted_column(events.stream),
    )
    return OrderedInput(in_order, None if merged.name is None else merged.name[by], order[by])


def _typed(column: Column | None, kind: Type, count: int) -> Column:
    if column is None:
        return null_column(kind, count)
    if column.kind is kind:
        return column
    return Column(kind, column.values.astype(dtype_of(kind), copy=False), column.nulls)


def _concatenated(arrays: Sequence[Ints]) -> Ints:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
