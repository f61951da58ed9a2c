"""What happens when an event is bound: conditions judged, values kept, matches written down.

All is flat arrays; nothing is allocated here. Arrays that go together travel as tuples, in this order:

| tuple | holds |
| --- | --- |
| program | states, threads, negations and edges, see foretell.plan.arrays |
| updates | what each edge keeps of its event: kind, slot, argument, end of code, whether its result is a float |
| code | operations, constants, heap of strings |
| events | lane, end time, start time, flags of the predicates, rows of the template that begin with it |
| batch | columns as floats, as integers, nulls; parameters likewise |
| pool | of each instance: state, next in its list, lane, list, when it began, first position, is it over, serial; free |
| lanes | first instance of each list and state; how many in all, how many may be; time of the instant |
| registers | slots as floats, as integers, nulls; chain; nodes: parent, position, step; row of a FOR EACH table |
| timers | a heap of what waits for its window to pass: until when, instance, its serial |
| output | of each match: state, lane, row of its last event, first position, chain, template rows, slots, nulls |
| counters | see below |
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from foretell.compiled import inlined, kernel
from foretell.machine.evaluate import COMPARE_COLUMN_SLOT_F, COMPARE_COLUMN_SLOT_I, compare_texts, holds, run_code

Array: TypeAlias = np.ndarray[Any, Any]
Arrays: TypeAlias = tuple[Array, ...]

# What an edge keeps of the event it binds.
(POSITION, SET, COUNT, COUNT_KNOWN, SUM_INT, SUM_FLOAT, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT, CHAIN, RUN, GAP,
 MIN_TEXT, MAX_TEXT) = range(15)  # fmt: skip

# The counters: free instances, next node, matches written, what ran out, the first of the instances this event made,
# the most instances a lane has had, how many timers there are.
FREE, NODES, FOUND, FULL, FRESH, LONGEST, TIMERS = range(7)
COUNTERS = 7

# What ran out.
FULL_POOL, FULL_NODES, FULL_OUTPUT, FULL_TIMERS, FULL_LANE = 1, 2, 3, 4, 5

MOST = np.int64(2**63 - 1)

# fmt: off


@kernel
def judge(start: int, stop: int, code: Any, batch: Any, row: int, registers: Any, instance: int, stacks: Any) -> bool:
    """Any condition. The call costs more than most conditions do, so `true` spares it for the commonest."""
    (ops, const_f, const_i, heap_offsets, heap_data, heap_cases) = code
    (column_f, column_i, column_null, parameter_f, parameter_i, parameter_null) = batch
    (slot_f, slot_i, slot_null, _, _, _, _, parameter_row) = registers
    (stack_f, stack_i, stack_null) = stacks
    return holds(ops, start, stop, const_f, const_i, column_f, column_i, column_null, row, slot_f, slot_i, slot_null,
                 instance, parameter_f, parameter_i, parameter_null, parameter_row[instance],
                 heap_offsets, heap_data, heap_cases, stack_f, stack_i, stack_null)


@inlined
def true(start: int, stop: int, code: Any, batch: Any, row: int, registers: Any, instance: int, stacks: Any) -> bool:
    """Whether a condition is true. No code holds; one comparison of a column with a slot is done on the spot."""
    if start == stop:
        return True
    ops = code[0]
    op = ops[start, 0]
    if stop - start == 1 and op in (COMPARE_COLUMN_SLOT_F, COMPARE_COLUMN_SLOT_I):
        column, outcomes, slot = ops[start, 1] >> 3, ops[start, 1] & 7, ops[start, 2]
        if batch[2][column, row] or registers[2][instance, slot]:
            return False
        if op == COMPARE_COLUMN_SLOT_F:
            one, other = batch[0][column, row], registers[0][instance, slot]
            outcome = 1 if one < other else (4 if one > other else 2)
        else:
            number, another = batch[1][column, row], registers[1][instance, slot]
            outcome = 1 if number < another else (4 if number > another else 2)
        return bool((outcomes & outcome) != 0)
    return judge(start, stop, code, batch, row, registers, instance, stacks)


@inlined
def overflows(one: int, other: int) -> bool:
    """Whether a sum does not fit 64 bits. It must be asked before adding: LLVM takes it that sums do not overflow."""
    if other >= 0:
        return bool(one > MOST - other)
    return bool(one < -MOST - 1 - other)


@kernel
def _aggregate(kind: int, slot: int, column: int, code: Any, instance: int, row: int, batch: Any,
               registers: Any) -> None:
    """An aggregate one event further. It is null until something is known; null 2 marks one that does not fit."""
    (column_f, column_i, column_null, _, _, _) = batch
    (slot_f, slot_i, slot_null, _, _, _, _, _) = registers
    unknown = slot_null[instance, slot]
    if unknown == 2 or column_null[column, row]:
        return
    slot_null[instance, slot] = 0
    if kind == SUM_INT:
        value = column_i[column, row]
        old = 0 if unknown else slot_i[instance, slot]
        if overflows(old, value):
            slot_null[instance, slot] = 2
        else:
            slot_i[instance, slot] = old + value
    elif kind in (MIN_INT, MAX_INT):
        value = column_i[column, row]
        if unknown or (value < slot_i[instance, slot] if kind == MIN_INT else value > slot_i[instance, slot]):
            slot_i[instance, slot] = value
    elif kind in (MIN_TEXT, MAX_TEXT):
        text = column_i[column, row]
        order = 0 if unknown else compare_texts(text, slot_i[instance, slot], code[3], code[4])
        if unknown or (order < 0 if kind == MIN_TEXT else order > 0):
            slot_i[instance, slot] = text
    else:
        value_f = column_f[column, row]
        if unknown or (value_f < slot_f[instance, slot] if kind == MIN_FLOAT else value_f > slot_f[instance, slot]):
            slot_f[instance, slot] = value_f


@kernel
def _compute(slot: int, start: int, stop: int, is_float: int, code: Any, instance: int, row: int, batch: Any,
             registers: Any, stacks: Any) -> None:
    """The value of an expression into a slot."""
    (ops, const_f, const_i, heap_offsets, heap_data, heap_cases) = code
    (column_f, column_i, column_null, parameter_f, parameter_i, parameter_null) = batch
    (slot_f, slot_i, slot_null, _, _, _, _, parameter_row) = registers
    (stack_f, stack_i, stack_null) = stacks
    run_code(ops, start, stop, const_f, const_i, column_f, column_i, column_null, row, slot_f, slot_i, slot_null,
             instance, parameter_f, parameter_i, parameter_null, parameter_row[instance],
             heap_offsets, heap_data, heap_cases, stack_f, stack_i, stack_null)
    slot_null[instance, slot] = stack_null[0]
    if is_float:
        slot_f[instance, slot] = stack_f[0]
    else:
        slot_i[instance, slot] = stack_i[0]


@inlined
def keep(first: int, stop: int, updates: Any, code: Any, instance: int, row: int, position: int, batch: Any,
         registers: Any, counters: Array, stacks: Any) -> None:
    """Writes down what an edge keeps of its event."""
    (update_kind, update_slot, update_argument, update_stop, update_float) = updates
    (slot_f, slot_i, slot_null, chain, node_parent, node_position, node_step, _) = registers
    for u in range(first, stop):
        kind, slot, argument = update_kind[u], update_slot[u], update_argument[u]
        if kind == SET:
            # One buffer holds both kinds of value, so the bits are all there is to copy.
            slot_i[instance, slot] = batch[1][argument, row]
            slot_null[instance, slot] = batch[2][argument, row]
        elif kind == POSITION:
            slot_i[instance, slot] = position
            slot_null[instance, slot] = 0
        elif kind == CHAIN:
            node = counters[NODES]
            counters[NODES] = node + 1
            node_parent[node] = chain[instance]
            node_position[node] = position
            node_step[node] = argument
            chain[instance] = node
        elif kind in (COUNT, COUNT_KNOWN):
            if kind == COUNT or not batch[2][argument, row]:
                slot_i[instance, slot] = 1 if slot_null[instance, slot] else slot_i[instance, slot] + 1
                slot_null[instance, slot] = 0
        elif kind == SUM_FLOAT:
            unknown = slot_null[instance, slot]
            if unknown != 2 and not batch[2][argument, row]:
                total = batch[0][argument, row] if unknown else slot_f[instance, slot] + batch[0][argument, row]
                slot_f[instance, slot] = total
                slot_null[instance, slot] = 0 if np.isfinite(total) else 2
        elif kind == GAP:
            # The gap of a negation, or what a[i] counts in, from the event before to this one, as two nodes that are
            # no events. -1: nothing is bound before.
            node = counters[NODES]
            counters[NODES] = node + 2
            node_parent[node] = chain[instance]
            node_position[node] = -1 if slot_null[instance, slot] else slot_i[instance, slot]
            node_step[node] = -2 * argument - 1
            node_parent[node + 1] = node
            node_position[node + 1] = position
            node_step[node + 1] = -2 * argument - 2
            chain[instance] = node + 1
        elif kind == RUN:
            _compute(slot, argument, update_stop[u], update_float[u], code, instance, row, batch, registers, stacks)
        else:
            _aggregate(kind, slot, argument, code, instance, row, batch, registers)


@inlined
def emit(there: int, lane: int, row: int, first: int, instance: int, finals: Array, registers: Any, output: Any,
         counters: Array) -> None:
    """Writes a match down, with the slots that are asked for afterwards."""
    (_, slot_i, slot_null, chain, _, _, _, parameter_row) = registers
    (out_state, out_lane, out_row, out_first, out_chain, out_rows, out_slot, out_null) = output
    match = counters[FOUND]
    counters[FOUND] = match + 1
    out_state[match] = there
    out_lane[match] = lane
    out_row[match] = row
    out_first[match] = first
    out_chain[match] = chain[instance]
    out_rows[match] = parameter_row[instance]
    for i in range(finals.size):
        out_slot[match, i] = slot_i[instance, finals[i]]
        out_null[match, i] = slot_null[instance, finals[i]]


@inlined
def copy(instance: int, pool: Any, registers: Any, counters: Array) -> int:
    """A new instance that has bound what another has."""
    (_, slot_i, slot_null, _, _, _, _, _) = registers
    counters[FREE] -= 1
    target = pool[8][counters[FREE]]
    serial = pool[7][target]
    for word in range(slot_i.shape[1]):  # the slots, and all else that is known of an instance
        slot_i[target, word] = slot_i[instance, word]
    for slot in range(slot_null.shape[1]):
        slot_null[target, slot] = slot_null[instance, slot]
    pool[7][target] = serial
    return target  # type: ignore[no-any-return]


@inlined
def begin(row: int, lane: int, start: Any, position: int, parameter: int, pool: Any, registers: Any,
          counters: Array) -> int:
    """The next free instance, with nothing bound yet. It stays free until somebody takes it."""
    (_, _, in_lane, _, began, first_position, _, _, free) = pool
    (_, _, slot_null, chain, _, _, _, parameter_row) = registers
    target = free[counters[FREE] - 1]
    for slot in range(slot_null.shape[1]):
        slot_null[target, slot] = 1
    chain[target] = -1
    began[target] = start
    in_lane[target] = lane
    first_position[target] = position
    parameter_row[target] = parameter
    return target  # type: ignore[no-any-return]


@inlined
def room(most: int, nodes: int, registers: Any, output: Any, timers: Any, counters: Array) -> int:
    """What would not hold so many new instances, and nodes for each; 0 where all would."""
    if counters[FREE] < most:
        return FULL_POOL
    if registers[4].size - counters[NODES] < most * nodes:
        return FULL_NODES
    if output[0].size - counters[FOUND] < most:
        return FULL_OUTPUT
    if timers[0].size - counters[TIMERS] < most:
        return FULL_TIMERS
    return 0


# fmt: on
