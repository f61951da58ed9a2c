"""Arrival lists: a `;` sequence of single steps, matched backwards when its last step arrives.

These are P-ToPSS's time lists (section 4), AYAC's arrival queues (section 4.1) and SASE's stacks. An event that meets
the conditions of a step on it alone is an *arrival* of that step. It is linked to the arrival before it in its list and
to the newest one of the step before, so "earlier than this" is a link and no search. No combination is ever stored.

* All arrivals of all lists lie in one ring, in the order they came, by ascending numbers. So those that the window has
  left are at its front, whichever lane they belong to, and a link to a number before the front leads nowhere: the whole
  cost of forgetting is amortised over the arrivals, and quiet lanes need no sweeping.
* Each lane has a front of its own as well: where its arrivals became too many, the oldest of them lie before it, and of
  a refused lane all (foretell.machine.exec.arrival_ring). The lists of a lane link to none but its own arrivals.
* An arrival keeps the latest start that a match up to it can have (AYAC's upper bound, section 4.1, with the start as
  the score). It never falls along a list, so the walk through a list ends where the window does, and every branch
  leads to a match unless a condition cuts it. An arrival that no start is left for is not kept at all.
* A negated step between two others keeps one number for each list, the position of its latest event: the arrivals
  before it are out of reach (AYAC searches its negative queue; for conditions on one event the latest is enough).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.interpreter import holds
from foretell.machine.kernels.layout import Array
from foretell.machine.kernels.opcodes import Op
from foretell.machine.kernels.structs import ArrivalTables, Bytecode, Values

#: Counters: front of the ring, its end, matches written, what ran out, the step at which the walk was interrupted, how
#: many arrivals there are in all, the lane that has too many.
FRONT, END, MATCHES, LACKING, LEVEL, HELD, CROWDED = range(7)
COUNTERS = 7

#: LACKING: room for arrivals or matches; or a lane has more arrivals than its limit.
FULL_RING, FULL_OUTPUT, FULL_LANE = range(1, 4)

#: LEVEL: no walk was interrupted.
IDLE = -1

#: The front of a lane in which nothing is matched any more.
REFUSED = 2**62


class ArrivalEvents(NamedTuple):
    """Of each kind of key [kind, row] the list of each event; of each step the kind of its key; of each event its lane,
    time, start and position; of each step [step, row] whether the event may arrive there; the template rows."""

    buckets: Array
    kinds: Array
    lane: Array
    time: Array
    start: Array
    position: Array
    flags: Array
    rows: Array


class RingArrays(NamedTuple):
    """Of each arrival its position, start, the latest start of a match up to it, the arrival before it in its list, the
    newest of the step before (of the first step: template rows), the latest absence before it; [number, arrival] the
    values it keeps; its owner: lane and step."""

    position: Array
    start: Array
    latest_start: Array
    before: Array
    below: Array
    floor: Array
    values: Values
    owner: Array


class ArrivalLists(NamedTuple):
    """Of each list the newest arrival of each step, and the latest event of each negated step; the latter for lanes
    too; of each lane how many arrivals it has, and its front."""

    heads: Array
    latest: Array
    lane_latest: Array
    held: Array
    fronts: Array


class Search(NamedTuple):
    """Of each step the arrival that the walk has come to, and the position that it may not go behind; the slots of the
    match that is being put together."""

    at: Array
    floors: Array
    carried: Array


class ArrivalOutput(NamedTuple):
    """Of each match the row of its last event, its template rows, and [match, slot] what it carries."""

    row: Array
    rows: Array
    slots: Array


class Matcher(NamedTuple):
    """The inputs of the walk: `slots` are values of events bound so far, which conditions compare."""

    tables: ArrivalTables
    windowed: bool
    within: Any
    code: Bytecode
    parameters: Values
    slots: Values
    stack: Values


# ── conditions ──


@kernel
def evaluate(
    start: int, stop: int, code: Bytecode, values: Values, row: int, slots: Values, parameters: Values, stack: Values
) -> bool:
    """Any condition. The call costs more than most conditions do, so `_holds` spares it for the commonest."""
    return holds(start, stop, code, values, row, slots, 0, parameters, 0, stack)


@kernel
def unneeded_condition(
    start: int, stop: int, code: Bytecode, values: Values, row: int, slots: Values, parameters: Values, stack: Values
) -> bool:
    """In place of `evaluate` for plans without a condition for it."""
    if start != stop:
        raise ValueError("the kernel was compiled without the interpreter, which a condition needs")
    return True


@inlined
def _holds(start: int, stop: int, values: Values, row: int, matcher: Matcher) -> bool:
    """Whether a condition is true; one comparison of the event tried with a bound one is done on the spot."""
    ops, slots = matcher.code.ops, matcher.slots
    op = ops[start, 0]
    if stop - start == 1 and (op == Op.COMPARE_COLUMN_SLOT_F or op == Op.COMPARE_COLUMN_SLOT_I):
        column, outcomes, slot = ops[start, 1] >> 3, ops[start, 1] & 7, ops[start, 2]
        if values.nulls[column, row] or slots.nulls[0, slot]:
            return False
        if op == Op.COMPARE_COLUMN_SLOT_F:
            value, bound = values.floats[column, row], slots.floats[0, slot]
            outcome = int(value < bound) | int(value == bound) << 1 | int(value > bound) << 2
        else:
            number, bound_number = values.integers[column, row], slots.integers[0, slot]
            outcome = int(number < bound_number) | int(number == bound_number) << 1 | int(number > bound_number) << 2
        return bool((outcomes & outcome) != 0)
    return evaluate(start, stop, matcher.code, values, row, slots, matcher.parameters, matcher.stack)


@inlined
def _all_hold(step: int, starts: Array, spans: Array, values: Values, row: int, matcher: Matcher) -> bool:
    for condition in range(starts[step], starts[step + 1]):
        if not _holds(spans[condition, 0], spans[condition, 1], values, row, matcher):
            return False
    return True


@inlined
def _arrives(step: int, row: int, events: ArrivalEvents, columns: Values, matcher: Matcher) -> bool:
    """Whether an event is an arrival of a step."""
    tables = matcher.tables
    return bool(events.flags[step, row]) and _all_hold(
        step, tables.entry_starts, tables.entry_spans, columns, row, matcher
    )


@inlined
def _joins(step: int, arrival: int, values: Values, matcher: Matcher) -> bool:
    """Whether an arrival goes with the events of later steps that are bound."""
    return _all_hold(step, matcher.tables.join_starts, matcher.tables.join_spans, values, arrival, matcher)


# ── the walk ──


@inlined
def _bind(step: int, position: int, values: Values, row: int, matcher: Matcher, search: Search) -> None:
    """Write what later conditions and the match need of an event: an arrival's values, or the last event's."""
    tables, slots = matcher.tables, matcher.slots
    search.carried[tables.position_finals[step]] = position
    for k in range(tables.slot_starts[step], tables.slot_starts[step + 1]):
        # One buffer holds both kinds of value, so copying the bits is enough.
        slots.integers[0, tables.slot_loads[k, 1]] = values.integers[tables.slot_loads[k, 0], row]
        slots.nulls[0, tables.slot_loads[k, 1]] = values.nulls[tables.slot_loads[k, 0], row]
    for k in range(tables.final_starts[step], tables.final_starts[step + 1]):
        search.carried[tables.final_loads[k, 1]] = values.integers[tables.final_loads[k, 0], row]


@inlined
def _floor(step: int, bucket: int, lane: int, tables: ArrivalTables, lists: ArrivalLists) -> int:
    """The position of the latest event that may not come between a step and the one before it; -1 without one."""
    floor = -1
    for gap in range(tables.gap_after.size):
        if tables.gap_after[gap] == step - 1:
            latest = lists.latest[bucket, gap] if tables.gap_keyed[gap] else lists.lane_latest[lane, gap]
            floor = max(floor, latest)
    return floor


@inlined
def _emit_matches(
    row: int, time: Any, front: int, matcher: Matcher, ring: RingArrays, search: Search, output: ArrivalOutput,
    counters: Array,
) -> bool:  # fmt: skip
    """Go through the first step's arrivals, each of which makes a match; False where the output is full."""
    tables, windowed, within = matcher.tables, matcher.windowed, matcher.within
    mask = ring.position.size - 1
    number, floor, match = search.at[0], search.floors[0], counters[MATCHES]
    while number >= front:
        i = number & mask
        if ring.position[i] < floor or (windowed and time > ring.latest_start[i] + within):
            break
        if not (windowed and time > ring.start[i] + within) and _joins(0, i, ring.values, matcher):
            if match == output.row.size:
                search.at[0], counters[MATCHES], counters[LEVEL] = number, match, 0
                return False
            output.row[match] = row
            output.rows[match] = ring.below[i]
            for slot in range(search.carried.size):
                output.slots[match, slot] = search.carried[slot]
            output.slots[match, tables.position_finals[0]] = ring.position[i]
            for k in range(tables.final_starts[0], tables.final_starts[1]):
                output.slots[match, tables.final_loads[k, 1]] = ring.values.integers[tables.final_loads[k, 0], i]
            match += 1
        number = ring.before[i]
    counters[MATCHES] = match
    return True


@inlined
def _walk(
    row: int, time: Any, front: int, matcher: Matcher, ring: RingArrays, search: Search, output: ArrivalOutput,
    counters: Array,
) -> bool:  # fmt: skip
    """Go through the combinations that end with an event, from where it was; False where the output is full."""
    at, floors = search.at, search.floors
    mask = ring.position.size - 1
    level = counters[LEVEL]
    while level < at.size:
        number = at[level]
        i = number & mask
        if level == 0:
            if not _emit_matches(row, time, front, matcher, ring, search, output, counters):
                return False
        elif (
            number >= front
            and ring.position[i] >= floors[level]
            and not (matcher.windowed and time > ring.latest_start[i] + matcher.within)
        ):
            if _joins(level, i, ring.values, matcher):
                _bind(level, ring.position[i], ring.values, i, matcher, search)
                level -= 1
                at[level] = ring.below[i]
                floors[level] = ring.floor[i]
            else:
                at[level] = ring.before[i]
            continue
        # Older ones are out of reach too: on with the next arrival of the step after.
        level += 1
        if level < at.size:
            at[level] = ring.before[at[level] & mask]
    counters[LEVEL] = IDLE
    return True


# ── arrivals ──


@inlined
def _append(
    step: int, row: int, bucket: int, front: int, matcher: Matcher, events: ArrivalEvents, columns: Values,
    ring: RingArrays, lists: ArrivalLists, counters: Array,
) -> None:  # fmt: skip
    """Keep an arrival, if a match can still lead to it: if the step before has one in reach."""
    tables, heads = matcher.tables, lists.heads
    mask = ring.position.size - 1
    lane, time = events.lane[row], events.time[row]
    below, floor, latest = events.rows[row], -1, events.start[row]
    if step > 0:
        below = heads[bucket, step - 1]
        floor = _floor(step, bucket, lane, tables, lists)
        if below < front or ring.position[below & mask] < floor:
            return
        latest = ring.latest_start[below & mask]
    if matcher.windowed and time > latest + matcher.within:
        return
    older = heads[bucket, step]
    if step == 0 and older >= front:
        latest = max(latest, ring.latest_start[older & mask])  # events that are matches themselves may begin earlier
    number = counters[END]
    counters[END] = number + 1
    counters[HELD] += 1
    lists.held[lane] += 1
    i = number & mask
    ring.owner[i] = lane * heads.shape[1] + step
    ring.position[i] = events.position[row]
    ring.start[i] = events.start[row]
    ring.latest_start[i] = latest
    ring.before[i] = older
    ring.below[i] = below
    ring.floor[i] = floor
    first = tables.stored_starts[step]
    for k in range(first, tables.stored_starts[step + 1]):
        ring.values.integers[k - first, i] = columns.integers[tables.stored_columns[k], row]
        ring.values.nulls[k - first, i] = columns.nulls[tables.stored_columns[k], row]
    heads[bucket, step] = number


@kernel
def expire(time: Any, within: Any, ring: RingArrays, lists: ArrivalLists, counters: Array) -> None:
    """Let go of the arrivals at the front that no match can have any more."""
    mask = ring.latest_start.size - 1
    front, end = counters[FRONT], counters[END]
    while front < end and time > ring.latest_start[front & mask] + within:
        lane = ring.owner[front & mask] // lists.heads.shape[1]
        if front >= lists.fronts[lane]:
            lists.held[lane] -= 1
            counters[HELD] -= 1
        front += 1
    counters[FRONT] = front


@inlined
def _begin_walk(
    row: int, front: int, matcher: Matcher, events: ArrivalEvents, columns: Values, lists: ArrivalLists,
    search: Search, counters: Array,
) -> None:  # fmt: skip
    """Begin a walk where an event arrives at the last step, and the step before has an arrival in reach."""
    last = search.at.size
    if not events.flags[last, row]:
        return
    bucket = events.buckets[events.kinds[last], row]
    search.at[last - 1] = lists.heads[bucket, last - 1]
    if search.at[last - 1] >= front and _arrives(last, row, events, columns, matcher):
        search.floors[last - 1] = _floor(last, bucket, events.lane[row], matcher.tables, lists)
        _bind(last, events.position[row], columns, row, matcher, search)
        counters[LEVEL] = last - 1


@inlined
def _note_absences(
    row: int, matcher: Matcher, events: ArrivalEvents, columns: Values, lists: ArrivalLists, steps: int
) -> None:
    """Remember the position of an event that satisfies a negated step."""
    gap_keyed = matcher.tables.gap_keyed
    for gap in range(gap_keyed.size):
        absent = steps + 1 + gap
        if _arrives(absent, row, events, columns, matcher):
            if gap_keyed[gap]:
                lists.latest[events.buckets[events.kinds[absent], row], gap] = events.position[row]
            else:
                lists.lane_latest[events.lane[row], gap] = events.position[row]


@kernel
def run_arrivals(
    first: int, stop: int, most: int, matcher: Matcher, events: ArrivalEvents, columns: Values, ring: RingArrays,
    lists: ArrivalLists, search: Search, output: ArrivalOutput, counters: Array,
) -> int:  # fmt: skip
    """Process the events `first` to `stop`, in order; return where it stopped, which may be amid an event's matches.

    A lane may have `most` arrivals; the kernel stops after the event that brings it more.
    """
    last = search.at.size
    counters[LACKING] = 0
    for row in range(first, stop):
        time, lane = events.time[row], events.lane[row]
        if lists.fronts[lane] == REFUSED:
            continue
        if counters[LEVEL] == IDLE:
            if matcher.windowed:
                expire(time, matcher.within, ring, lists, counters)
            if ring.position.size - (counters[END] - counters[FRONT]) < last:
                counters[LACKING] = FULL_RING
                return row
        front = max(counters[FRONT], lists.fronts[lane])
        if counters[LEVEL] == IDLE:
            _begin_walk(row, front, matcher, events, columns, lists, search, counters)
        if counters[LEVEL] != IDLE and not _walk(row, time, front, matcher, ring, search, output, counters):
            counters[LACKING] = FULL_OUTPUT
            return row
        # From the last step to the first, so that an event does not follow itself.
        for back in range(last):
            step = last - 1 - back
            if _arrives(step, row, events, columns, matcher):
                bucket = events.buckets[events.kinds[step], row]
                _append(step, row, bucket, front, matcher, events, columns, ring, lists, counters)
        _note_absences(row, matcher, events, columns, lists, last)
        if lists.held[lane] > most:
            counters[LACKING], counters[CROWDED] = FULL_LANE, lane
            return row + 1
    return stop
