"""Arrival lists: a `;` sequence of single steps, matched backwards when its last step arrives.

These are P-ToPSS's time lists (section 4), AYAC's arrival queues (section 4.1) and SASE's stacks. An event that meets
what a step asks of it alone is an *arrival* of that step. It is linked to the arrival before it in its list and to the
newest one of the step before, so "earlier than this" is a link and no search. No combination is ever stored.

* All arrivals of all lists lie in one ring, in the order they came, by ascending numbers. So those that the window has
  left are at its front, whichever lane they belong to, and a link to a number before the front leads nowhere: what is
  amortised over the arrivals is the whole cost of forgetting, and quiet lanes need no sweeping.
* Each lane has a front of its own as well: where its arrivals became too many, the oldest of them lie before it, and of
  a refused lane all (foretell.machine.exec.arrival_ring). The lists of a lane link to none but its own arrivals.
* An arrival keeps the latest start that a match up to it can have (AYAC's upper bound, section 4.1, with the start as
  the score). It never falls along a list, so the walk through a list ends where the window does, and every branch
  leads to a match unless a condition cuts it. An arrival that no start is left for is not kept at all.
* A negated step between two others keeps one number for each list, the position of its latest event: the arrivals
  before it are out of reach (AYAC searches its negative queue; for what is asked of one event the latest is enough).

Arrays that go together travel as tuples, in this order:

| tuple | holds |
| --- | --- |
| plan | of each step: what is asked at its arrival, what backwards, columns kept, values to slots, values told, where its position goes; of each negated step: the step before it, whether the key finds its list |
| code | operations, constants, heap of strings |
| events | list of each kind, kind of each step, lane, time, start, position, flags of the steps, rows of the template |
| batch | columns as floats, as integers, nulls |
| parameters | of the FOR EACH row: floats, integers, nulls |
| ring | position, start, latest start, the one before, the newest of the step before (of the first step: template rows), latest absence before it, values as floats, as integers, nulls, owner: its lane and step |
| lists | newest arrival of each step, latest event of each negated step, the same for lanes; of each lane: how many arrivals, its front |
| search | of each step: where the walk is, what it may not go behind; what the match carries |
| slots | values of bound events that conditions compare with: floats, integers, nulls |
| output | of each match: row of its last event, rows of the template, slots |
| counters | front of the ring, its end, matches written, what ran out, where the walk was interrupted, how many arrivals there are in all, the lane that has too many |
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.interpreter import holds
from foretell.machine.kernels.opcodes import Op

Array: TypeAlias = np.ndarray[Any, Any]

FRONT, END, MATCHES, LACKING, LEVEL, HELD, CROWDED = range(7)
FULL_RING, FULL_OUTPUT, FULL_LANE = 1, 2, 3
IDLE = -1  # no walk was interrupted
REFUSED = 2**62  # the front of a lane in which nothing is looked for any more

# fmt: off


@kernel
def _judge(start: int, stop: int, code: Any, values: Any, row: int, slots: Any, parameters: Any, stacks: Any) -> bool:
    (ops, const_f, const_i, heap_offsets, heap_data, heap_cases) = code
    (value_f, value_i, value_null) = values
    (slot_f, slot_i, slot_null) = slots
    (parameter_f, parameter_i, parameter_null) = parameters
    (stack_f, stack_i, stack_null) = stacks
    return holds(ops, start, stop, const_f, const_i, value_f, value_i, value_null, row, slot_f, slot_i, slot_null, 0,
                 parameter_f, parameter_i, parameter_null, 0, heap_offsets, heap_data, heap_cases, stack_f, stack_i,
                 stack_null)


@inlined
def _holds(start: int, stop: int, code: Any, values: Any, row: int, slots: Any, parameters: Any, stacks: Any) -> bool:
    """Whether a condition is true; one comparison of the event tried with a bound one is done on the spot."""
    ops = code[0]
    op = ops[start, 0]
    if stop - start == 1 and (op == Op.COMPARE_COLUMN_SLOT_F or op == Op.COMPARE_COLUMN_SLOT_I):
        value, outcomes, slot = ops[start, 1] >> 3, ops[start, 1] & 7, ops[start, 2]
        if values[2][value, row] or slots[2][0, slot]:
            return False
        if op == Op.COMPARE_COLUMN_SLOT_F:
            one, other = values[0][value, row], slots[0][0, slot]
            outcome = int(one < other) | int(one == other) << 1 | int(one > other) << 2
        else:
            number, another = values[1][value, row], slots[1][0, slot]
            outcome = int(number < another) | int(number == another) << 1 | int(number > another) << 2
        return bool((outcomes & outcome) != 0)
    return _judge(start, stop, code, values, row, slots, parameters, stacks)


@inlined
def _all_hold(step: int, starts: Array, spans: Array, code: Any, values: Any, row: int, slots: Any, parameters: Any,
              stacks: Any) -> bool:
    for one in range(starts[step], starts[step + 1]):
        if not _holds(spans[one, 0], spans[one, 1], code, values, row, slots, parameters, stacks):
            return False
    return True


@inlined
def _bind(step: int, position: int, values: Any, row: int, plan: Any, search: Any, slots: Any) -> None:
    """Writes down what later conditions and the match want of an event: an arrival's, or the last one's."""
    (_, _, _, _, _, _, fill_start, fill, told_start, told, position_slot, _, _) = plan
    (_, value_i, value_null) = values
    carried = search[2]
    carried[position_slot[step]] = position
    for k in range(fill_start[step], fill_start[step + 1]):
        # One buffer holds both kinds of value, so the bits are all there is to copy.
        slots[1][0, fill[k, 1]] = value_i[fill[k, 0], row]
        slots[2][0, fill[k, 1]] = value_null[fill[k, 0], row]
    for k in range(told_start[step], told_start[step + 1]):
        carried[told[k, 1]] = value_i[told[k, 0], row]


@inlined
def _floor(step: int, bucket: int, lane: int, plan: Any, lists: Any) -> int:
    """The position of the latest event that may not come between a step and the one before it; -1 without one."""
    gap_after, gap_keyed = plan[11], plan[12]
    floor = -1
    for gap in range(gap_after.size):
        if gap_after[gap] == step - 1:
            latest = lists[1][bucket, gap] if gap_keyed[gap] else lists[2][lane, gap]
            floor = max(floor, latest)
    return floor


@inlined
def _finish(row: int, time: Any, front: int, windowed: bool, within: Any, plan: Any, code: Any, parameters: Any,
            ring: Any, search: Any, slots: Any, output: Any, counters: Array, stacks: Any) -> bool:
    """Goes through the first step's arrivals, each of which makes a match; False where the output is full."""
    (_, _, judge_start, judge_span, _, _, _, _, told_start, told, position_slot, _, _) = plan
    (ring_position, ring_start, latest_start, before, below, _, value_f, value_i, value_null, _) = ring
    (at, floors, carried) = search
    (out_row, out_rows, out_slot) = output
    mask = ring_position.size - 1
    number, floor, match = at[0], floors[0], counters[MATCHES]
    while number >= front:
        i = number & mask
        if ring_position[i] < floor or (windowed and time > latest_start[i] + within):
            break
        if not (windowed and time > ring_start[i] + within) and _all_hold(
            0, judge_start, judge_span, code, (value_f, value_i, value_null), i, slots, parameters, stacks
        ):
            if match == out_row.size:
                at[0], counters[MATCHES], counters[LEVEL] = number, match, 0
                return False
            out_row[match] = row
            out_rows[match] = below[i]
            for slot in range(carried.size):
                out_slot[match, slot] = carried[slot]
            out_slot[match, position_slot[0]] = ring_position[i]
            for k in range(told_start[0], told_start[1]):
                out_slot[match, told[k, 1]] = value_i[told[k, 0], i]
            match += 1
        number = before[i]
    counters[MATCHES] = match
    return True


@inlined
def _walk(row: int, time: Any, front: int, windowed: bool, within: Any, plan: Any, code: Any, parameters: Any,
          ring: Any, search: Any, slots: Any, output: Any, counters: Array, stacks: Any) -> bool:
    """Goes through the combinations that end with an event, from where it was; False where the output is full."""
    judge_start, judge_span = plan[2], plan[3]
    (ring_position, _, latest_start, before, below, ring_floor, value_f, value_i, value_null, _) = ring
    (at, floors, _) = search
    values = (value_f, value_i, value_null)
    mask = ring_position.size - 1
    level = counters[LEVEL]
    while level < at.size:
        number = at[level]
        i = number & mask
        if level == 0:
            if not _finish(row, time, front, windowed, within, plan, code, parameters, ring, search, slots, output,
                           counters, stacks):
                return False
        elif (number >= front and ring_position[i] >= floors[level]
                and not (windowed and time > latest_start[i] + within)):
            if _all_hold(level, judge_start, judge_span, code, values, i, slots, parameters, stacks):
                _bind(level, ring_position[i], values, i, plan, search, slots)
                level -= 1
                at[level] = below[i]
                floors[level] = ring_floor[i]
            else:
                at[level] = before[i]
            continue
        # Older ones are out of reach too: on with the next arrival of the step after.
        level += 1
        if level < at.size:
            at[level] = before[at[level] & mask]
    counters[LEVEL] = IDLE
    return True


@inlined
def _append(step: int, row: int, bucket: int, front: int, windowed: bool, within: Any, plan: Any, events: Any,
            batch: Any, ring: Any, lists: Any, counters: Array) -> None:
    """Keeps an arrival, if a match can still lead to it: if the step before has one in reach."""
    kept_start, kept_column = plan[4], plan[5]
    (_, _, event_lane, event_time, event_start, event_position, _, event_rows) = events
    (ring_position, ring_start, latest_start, before, below, ring_floor, _, value_i, value_null, owner) = ring
    heads, held, last = lists[0], lists[3], lists[0].shape[1]
    mask = ring_position.size - 1
    time = event_time[row]
    down, floor, latest = event_rows[row], -1, event_start[row]
    if step > 0:
        down = heads[bucket, step - 1]
        floor = _floor(step, bucket, event_lane[row], plan, lists)
        if down < front or ring_position[down & mask] < floor:
            return
        latest = latest_start[down & mask]
    if windowed and time > latest + within:
        return
    older = heads[bucket, step]
    if step == 0 and older >= front:
        latest = max(latest, latest_start[older & mask])  # events that are matches themselves may have begun before
    number = counters[END]
    counters[END] = number + 1
    counters[HELD] += 1
    held[event_lane[row]] += 1
    i = number & mask
    owner[i] = event_lane[row] * last + step
    ring_position[i] = event_position[row]
    ring_start[i] = event_start[row]
    latest_start[i] = latest
    before[i] = older
    below[i] = down
    ring_floor[i] = floor
    for k in range(kept_start[step], kept_start[step + 1]):
        value_i[k - kept_start[step], i] = batch[1][kept_column[k], row]
        value_null[k - kept_start[step], i] = batch[2][kept_column[k], row]
    heads[bucket, step] = number


@kernel
def expire(time: Any, within: Any, ring: Any, lists: Any, counters: Array) -> None:
    """Lets go of the arrivals at the front that no match can have any more."""
    latest_start, owner = ring[2], ring[9]
    heads, held, fronts = lists[0], lists[3], lists[4]
    mask = latest_start.size - 1
    front, end = counters[FRONT], counters[END]
    while front < end and time > latest_start[front & mask] + within:
        lane = owner[front & mask] // heads.shape[1]
        if front >= fronts[lane]:
            held[lane] -= 1
            counters[HELD] -= 1
        front += 1
    counters[FRONT] = front


@kernel
def run_arrivals(first: int, stop: int, most: int, windowed: bool, within: Any, plan: Any, code: Any, events: Any,
                 batch: Any, parameters: Any, ring: Any, lists: Any, search: Any, slots: Any, output: Any,
                 counters: Array, stacks: Any) -> int:
    """Feeds the events `first` to `stop`, in order; returns where it stopped, which may be amid an event's matches.

    A lane may have `most` arrivals; with the event that brings it more it stops.
    """
    entry_start, entry_span, gap_keyed = plan[0], plan[1], plan[12]
    (buckets, kinds, event_lane, event_time, _, event_position, flags, _) = events
    (heads, latest, lane_latest, held, fronts) = lists
    (at, floors, _) = search
    last = at.size
    counters[LACKING] = 0
    for row in range(first, stop):
        time, lane = event_time[row], event_lane[row]
        if fronts[lane] == REFUSED:
            continue
        if counters[LEVEL] == IDLE:
            if windowed:
                expire(time, within, ring, lists, counters)
            if ring[0].size - (counters[END] - counters[FRONT]) < last:
                counters[LACKING] = FULL_RING
                return row
        front = max(counters[FRONT], fronts[lane])
        if counters[LEVEL] == IDLE and flags[last, row]:
            bucket = buckets[kinds[last], row]
            at[last - 1] = heads[bucket, last - 1]
            if at[last - 1] >= front and _all_hold(
                last, entry_start, entry_span, code, batch, row, slots, parameters, stacks
            ):
                floors[last - 1] = _floor(last, bucket, lane, plan, lists)
                _bind(last, event_position[row], batch, row, plan, search, slots)
                counters[LEVEL] = last - 1
        if counters[LEVEL] != IDLE and not _walk(
            row, time, front, windowed, within, plan, code, parameters, ring, search, slots, output, counters, stacks
        ):
            counters[LACKING] = FULL_OUTPUT
            return row
        # From the last step to the first, so that an event does not follow itself.
        for back in range(last):
            step = last - 1 - back
            if flags[step, row] and _all_hold(
                step, entry_start, entry_span, code, batch, row, slots, parameters, stacks
            ):
                _append(step, row, buckets[kinds[step], row], front, windowed, within, plan, events, batch, ring,
                        lists, counters)
        for gap in range(gap_keyed.size):
            absent = last + 1 + gap
            if flags[absent, row] and _all_hold(
                absent, entry_start, entry_span, code, batch, row, slots, parameters, stacks
            ):
                if gap_keyed[gap]:
                    latest[buckets[kinds[absent], row], gap] = event_position[row]
                else:
                    lane_latest[lane, gap] = event_position[row]
        if held[lane] > most:
            counters[LACKING], counters[CROWDED] = FULL_LANE, lane
            return row + 1
    return stop
