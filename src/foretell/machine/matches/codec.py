"""Event segments and results as plain values and arrays, for snapshots. Earlier versions wrote the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column, dtype_of, may_be_null, no_nulls
from foretell.filter.predicates import EventColumns
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.exec.register_kinds import RegisterKinds
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.run_checks import all_held
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.results import ResultBatch
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.match_plan import InputPlan
from foretell.records import record
from foretell.storage.recorded_values import (
    FAR,
    array,
    ascending,
    indices,
    offsets,
    require,
    require_range,
    times,
    whole,
)

State = dict[str, Any]

_TIMES = (Type.INT, Type.FLOAT, Type.TIMESTAMP)

#: Two numbers for each statement that a stream is derived through: more are no chain of statements.
_DEEPEST = 2**16


def column_state(column: Column) -> State:
    nulls = column.nulls if may_be_null(column.nulls) and column.nulls.any() else None
    return {"kind": column.kind.value, "values": np.ascontiguousarray(column.values), "nulls": nulls}


def restore_column(state: Mapping[str, Any], count: int, texts: int) -> Column:
    """A column of so many rows; `texts` is how many strings have a code."""
    kind = Type(state["kind"])
    values = array(state["values"], dtype_of(kind), (count,), "the values of a column")
    nulls = state["nulls"]
    if kind is Type.STRING:
        require_range(values, texts, "the texts of a column")
    return Column(kind, values, no_nulls(count) if nulls is None else array(nulls, np.bool_, (count,), "the NULLs"))


def columns_state(columns: Mapping[str, Column]) -> State:
    return {str(name): column_state(column) for name, column in columns.items()}


def restore_columns(state: Mapping[str, Any], types: Mapping[str, Type], count: int, texts: int) -> dict[str, Column]:
    columns = {name: restore_column(column, count, texts) for name, column in state.items()}
    require(all(name in types and _can_be(column, types[name]) for name, column in columns.items()), "columns")
    return columns


def _can_be(column: Column, kind: Type) -> bool:
    """Whether values can be taken for those of another type: codes of texts are no numbers."""
    return (column.kind is Type.STRING) == (kind is Type.STRING) or bool(column.nulls.all())


def events_state(events: EventColumns, names: NDArray[np.object_] | None) -> State:
    return {
        "attributes": columns_state(events.attributes),
        "time": column_state(events.time),
        "start": None if events.start is events.time else column_state(events.start),
        "stream": column_state(events.stream),
        "name": None if names is None else names.tolist(),
    }


def restore_events(
    state: Mapping[str, Any], types: Mapping[str, Type], count: int, texts: int
) -> tuple[EventColumns, NDArray[np.object_] | None]:
    """So many events with their names."""
    time = restore_column(state["time"], count, texts)
    start = time if state["start"] is None else restore_column(state["start"], count, texts)
    require(time.kind is start.kind and time.kind in _TIMES and not time.nulls.any(), "the times of events")
    stream = restore_column(state["stream"], count, texts)
    require(stream.kind is Type.STRING, "the streams of events")
    columns = restore_columns(state["attributes"], {"stream": Type.STRING, **types}, count, texts)
    events = EventColumns(columns, types, time, start, stream)
    names = None
    if state["name"] is not None:
        named = state["name"]
        require(isinstance(named, list) and len(named) == count, "the names of events")
        require(all(isinstance(name, bool | int | float | str | None) for name in named), "the names of events")
        names = np.empty(count, object)
        names[:] = named
    return events, names


def restore_order(state: object, count: int, places: int) -> Ints:
    """The places of so many events among all, of which there are `places` so far."""
    order = array(state, np.int64, (count, None), "the places of events")
    require(0 < order.shape[1] <= _DEEPEST, "the places of events")
    require_range(order[:, 0], places, "the places of events", low=-1)
    return order


def segment_state(segment: EventSegment) -> State:
    return {
        **events_state(segment.events, segment.name),
        "base": segment.base,
        "lane": segment.lane,
        "number": segment.number,
        "order": segment.order,
        "places": segment.positions,
    }


def restore_segment(state: Mapping[str, Any], plan: InputPlan, bounds: StateBounds) -> EventSegment:
    """The events that matches may refer to."""
    lane = indices(state["lane"], bounds.lanes, "the lanes of events")
    count = len(lane)
    events, names = restore_events(state, plan.attributes, count, bounds.texts)
    require(events.time.kind is plan.time, "the times of events")
    base = whole(state["base"], "the position of the first event", stop=bounds.positions + 1)
    positions = state["places"]
    if positions is not None:
        positions = indices(positions, bounds.positions, "the positions of events", (count,))
        ascending(positions, "the positions of events")
        require(count > 0 and positions[0] == base, "the positions of events")
    return EventSegment(
        base=whole(base, "the position of the first event", stop=bounds.positions - count + 1),
        events=events,
        lane=lane,
        number=indices(state["number"], FAR, "the numbers of events", (count,)),
        name=names,
        order=restore_order(state["order"], count, bounds.places),
        positions=positions,
    )


@record
class ResultLayout:
    """The layout that the results of a snapshot must have."""

    plan: SubscriptionPlan
    kinds: RegisterKinds
    states: int
    bounds: StateBounds


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
        "returned": columns_state(results.bindings),
    }


def restore_results(
    state: Mapping[str, Any], like: ResultBatch, layout: ResultLayout, *, refers: bool = True
) -> ResultBatch:
    """`like` is an empty result of the same subscription. Where results do not refer to events any more (see
    `ResultBatch.without_buffer`), these need not be there."""
    assert like.matches is not None
    bounds, time, buffer = layout.bounds, dtype_of(layout.plan.schema.time), like.matches.buffer
    number, lane, position, first, rows = state["found"]
    lane = indices(lane, bounds.lanes, "the lanes of matches")
    count = len(lane)
    starts, bound, step = state["bound"]
    bound = indices(bound, bounds.positions, "the events of matches")
    starts = offsets(starts, len(bound), "the events of matches")
    require(len(starts) == count + 1 and (starts[1:] > starts[:-1]).all(), "the events of matches")
    first = indices(first, bounds.positions, "the first events of matches", (count,))
    position = indices(position, bounds.positions, "the last events of matches", (count,), low=-1)
    slots = array(state["slots"], np.int64, (count, None), "the registers of matches")
    nulls = array(state["nulls"], np.uint8, slots.shape, "the registers of matches")
    # Subscriptions that have joined the NFA since may have added some, and earlier versions wrote more.
    require(slots.shape[1] > max(layout.plan.finals.values(), default=-1), "the registers of matches")
    layout.kinds.check_texts(slots, nulls, bounds)
    if refers:
        layout.kinds.check_positions(slots, nulls, bounds)
        require(all_held(np.concatenate([bound, first, position]), bounds.held), "the events of matches")
    raw = RawMatches(
        state=indices(number, layout.states, "the states of matches", (count,)),
        lane=lane,
        position=position,
        first=first,
        chain=np.full(count, -1, np.int64),
        rows=array(rows, np.int64, (count,), "the template rows of matches"),
        slots=slots,
        nulls=nulls,
        nodes=NO_NODES,
    )
    require(not raw.rows.any(), "the template rows of matches")  # where one executor serves all rows, no match waits
    events = BoundEvents(
        lane, starts, bound, indices(step, len(layout.plan.steps), "the steps of matches", bound.shape)
    )
    matches = MatchBatch(
        like.matches.plan,
        buffer,
        like.matches.strings,
        raw,
        like.matches.parameters,
        (events, Gaps.none()),
        like.matches.since,
    )
    types = {**layout.plan.schema.variables, **layout.plan.schema.returns}
    returned = restore_columns(state["returned"], types, count, bounds.texts)
    require(set(returned) == set(layout.plan.post_match.returns), "the returned values of matches")
    ends = state["end"]  # on whole times a window may be 2.5 long
    require(isinstance(ends, np.ndarray), "the ends of matches")
    return replace(
        like,
        matches=matches,
        lane=lane,
        start=times(state["start"], time, (count,), "the starts of matches"),
        end=times(ends, np.float64 if ends.dtype.kind == "f" else time, (count,), "the ends of matches"),
        places=restore_order(state["order"], count, bounds.places),
        bindings=returned,
    )
