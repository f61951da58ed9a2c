"""Event segments and results as plain values and arrays, for snapshots. Earlier versions wrote the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null, no_nulls
from foretell.filter.predicates import EventColumns
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.results import ResultBatch

State = dict[str, Any]


def column_state(column: Column) -> State:
    nulls = column.nulls if may_be_null(column.nulls) and column.nulls.any() else None
    return {"kind": column.kind.value, "values": np.ascontiguousarray(column.values), "nulls": nulls}


def restore_column(state: Mapping[str, Any]) -> Column:
    values, nulls = state["values"], state["nulls"]
    return Column(Type(state["kind"]), values, no_nulls(len(values)) if nulls is None else nulls)


def _columns_state(columns: Mapping[str, Column]) -> State:
    return {str(name): column_state(column) for name, column in columns.items()}


def _restore_columns(state: Mapping[str, Any]) -> dict[str, Column]:
    return {name: restore_column(column) for name, column in state.items()}


def events_state(events: EventColumns, names: NDArray[np.object_] | None) -> State:
    return {
        "attributes": _columns_state(events.attributes),
        "time": column_state(events.time),
        "start": None if events.start is events.time else column_state(events.start),
        "stream": column_state(events.stream),
        "name": None if names is None else names.tolist(),
    }


def restore_events(
    state: Mapping[str, Any], types: Mapping[str, Type]
) -> tuple[EventColumns, NDArray[np.object_] | None]:
    """The events with their names."""
    time = restore_column(state["time"])
    start = time if state["start"] is None else restore_column(state["start"])
    events = EventColumns(_restore_columns(state["attributes"]), types, time, start, restore_column(state["stream"]))
    names = None
    if state["name"] is not None:
        names = np.empty(len(state["name"]), object)
        names[:] = state["name"]
    return events, names


def segment_state(segment: EventSegment) -> State:
    return {
        **events_state(segment.events, segment.name),
        "base": segment.base,
        "lane": segment.lane,
        "number": segment.number,
        "order": segment.order,
        "places": segment.positions,
    }


def restore_segment(state: Mapping[str, Any], types: Mapping[str, Type]) -> EventSegment:
    events, names = restore_events(state, types)
    return EventSegment(
        base=state["base"],
        events=events,
        lane=state["lane"],
        number=state["number"],
        name=names,
        order=state["order"],
        positions=state["places"],
    )


def results_state(results: ResultBatch) -> State:
    """Matches that wait to be settled, with their events, so that no chain leads into the executor any more."""
    assert results.matches is not None
    raw, bound = results.matches.raw, results.matches.bound
    return {
        "found": [raw.state, raw.lane, raw.position, raw.first, raw.rows],
        "slots": raw.slots,
        "nulls": raw.nulls,
        "bound": [bound.starts, bound.position, bound.step],
        "start": results.start,
        "end": results.end,
        "order": results.order,
        "returned": _columns_state(results.bindings),
    }


def restore_results(state: Mapping[str, Any], like: ResultBatch) -> ResultBatch:
    """`like` is an empty result of the same subscription."""
    assert like.matches is not None
    number, lane, position, first, rows = state["found"]
    no_chain = np.full(len(lane), -1, np.int64)
    raw = RawMatches(
        state=number,
        lane=lane,
        position=position,
        first=first,
        chain=no_chain,
        rows=rows,
        slots=state["slots"],
        nulls=state["nulls"],
        nodes=NO_NODES,
    )
    matches = MatchBatch(
        like.matches.plan,
        like.matches.buffer,
        like.strings,
        raw,
        like.matches.parameters,
        (BoundEvents(lane, *state["bound"]), Gaps.none()),
        like.matches.since,
    )
    return replace(
        like,
        matches=matches,
        lane=lane,
        start=state["start"],
        end=state["end"],
        order=state["order"],
        bindings=_restore_columns(state["returned"]),
    )
