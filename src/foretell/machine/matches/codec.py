"""Events and results as plain values and arrays, to be packed, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null, no_nulls
from foretell.filter.predicates import EventColumns
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.match_batch import Gaps, MatchBatch
from foretell.machine.matches.results import ResultBatch

Tree = dict[str, Any]


def column_state(column: Column) -> Tree:
    nulls = column.nulls if may_be_null(column.nulls) and column.nulls.any() else None
    return {"kind": column.kind.value, "values": np.ascontiguousarray(column.values), "nulls": nulls}


def column_of(state: Mapping[str, Any]) -> Column:
    values, nulls = state["values"], state["nulls"]
    return Column(Type(state["kind"]), values, no_nulls(len(values)) if nulls is None else nulls)


def _columns_state(columns: Mapping[str, Column]) -> Tree:
    return {str(name): column_state(column) for name, column in columns.items()}


def _columns_of(state: Mapping[str, Any]) -> dict[str, Column]:
    return {name: column_of(column) for name, column in state.items()}


def piece_state(piece: EventSegment) -> Tree:
    events = piece.events
    return {
        "base": piece.base,
        "attributes": _columns_state(events.attributes),
        "time": column_state(events.time),
        "start": None if events.start is events.time else column_state(events.start),
        "stream": column_state(events.stream),
        "lane": piece.lane,
        "number": piece.number,
        "name": None if piece.name is None else piece.name.tolist(),
        "order": piece.order,
        "places": piece.places,
    }


def piece_of(state: Mapping[str, Any], types: Mapping[str, Type]) -> EventSegment:
    time = column_of(state["time"])
    start = time if state["start"] is None else column_of(state["start"])
    events = EventColumns(_columns_of(state["attributes"]), types, time, start, column_of(state["stream"]))
    names = None
    if state["name"] is not None:
        names = np.empty(len(state["name"]), object)
        names[:] = state["name"]
    return EventSegment(state["base"], events, state["lane"], state["number"], names, state["order"], state["places"])


def told_state(told: ResultBatch) -> Tree:
    """What waits to be told: its matches with their events, so that nothing leads into the machine any more."""
    assert told.matches is not None
    found, bound = told.matches.raw, told.matches.bound
    return {
        "found": [found.state, found.lane, found.position, found.first, found.rows],
        "slots": found.slots,
        "nulls": found.nulls,
        "bound": [bound.starts, bound.position, bound.step],
        "start": told.start,
        "end": told.end,
        "order": told.order,
        "returned": _columns_state(told.bindings),
    }


def told_of(state: Mapping[str, Any], like: ResultBatch) -> ResultBatch:
    """`like` is a result of the same subscription, of no matches."""
    assert like.matches is not None
    number, lane, position, first, rows = state["found"]
    nowhere = np.full(len(lane), -1, np.int64)
    found = RawMatches(number, lane, position, first, nowhere, rows, state["slots"], state["nulls"], NO_NODES)
    given = BoundEvents(lane, *state["bound"]), Gaps.none()
    matches = MatchBatch(
        like.matches.program,
        like.matches.buffer,
        like.strings,
        found,
        like.matches.parameters,
        given,
        like.matches.since,
    )
    returned = _columns_of(state["returned"])
    parts = lane, state["start"], state["end"], state["order"], returned
    return ResultBatch(like.schema, matches, *parts, like.keys, like.id, like.strings)
