"""What happens when an event is bound: conditions judged, values kept, matches written down.

All is flat arrays; nothing is allocated here. Arrays that go together travel as tuples, in this order:

| tuple | holds |
| --- | --- |
| tables | states, threads, negations, ticks, edges, updates, windows of states and of edges' targets, starts, finals: see foretell.plan.lower.flatten |
| code | operations, constants, heap of strings |
| events | lane, end time, start time, flags of the predicates, rows of the template that begin with it |
| batch | columns as floats, as integers, nulls; parameters likewise |
| pool | a row of cells for each instance, see below; the same as times; free instances |
| lanes | first instance of each list and state; how many in all, how many may be; time of the instant |
| registers | the cells as floats, as integers, which of them are NULL; nodes: parent, position, step |
| timers | a heap of what waits for its window to pass: until when, instance, its serial |
| output | of each match: first position, template rows, state, lane, row of its last event, chain; a row for each slot, and its nulls |
| counters | see below |

Indices are unsigned: to a signed one, which may count from the end, Numba adds a test at each use, and that took half of
the time. Unsigned and signed numbers must not meet in arithmetic, which would make floats of them: `U` and `S` turn one
into the other.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.interpreter import compare_texts, holds, run_code
from foretell.machine.kernels.layout import (
    CHAIN,
    COMPUTE,
    COUNT,
    COUNT_KNOWN,
    EDGE_CODE,
    EDGE_CODE_STOP,
    EDGE_FINAL,
    EDGE_PREDICATE,
    EDGE_TARGET,
    EDGE_UPDATES,
    EDGE_UPDATES_STOP,
    FREE,
    FULL_NODES,
    FULL_OUTPUT,
    FULL_POOL,
    FULL_TIMERS,
    GAP,
    MATCHES,
    MAX_INT,
    MAX_TEXT,
    MIN_FLOAT,
    MIN_INT,
    MIN_TEXT,
    NODES,
    NONE,
    ONE,
    POSITION,
    RUN_BEGAN,
    RUN_CHAIN,
    RUN_FIRST,
    RUN_LANE,
    RUN_ROWS,
    RUN_SERIAL,
    RUN_STATE,
    SET,
    SUM_FLOAT,
    SUM_INT,
    TIMERS,
    Array,
    S,
    U,
)
from foretell.machine.kernels.opcodes import Op

MOST = np.int64(2**63 - 1)

# fmt: off


@kernel
def judge(start: int, stop: int, code: Any, batch: Any, row: int, registers: Any, instance: int, stacks: Any) -> bool:
    """Any condition. The call costs more than most conditions do, so `true` spares it for the commonest."""
    (ops, const_f, const_i, heap_offsets, heap_data, heap_cases) = code
    (column_f, column_i, column_null, parameter_f, parameter_i, parameter_null) = batch
    (slot_f, slot_i, slot_null, _, _, _) = registers
    (stack_f, stack_i, stack_null) = stacks
    return holds(ops, start, stop, const_f, const_i, column_f, column_i, column_null, row, slot_f, slot_i, slot_null,
                 instance, parameter_f, parameter_i, parameter_null, slot_i[instance, RUN_ROWS],
                 heap_offsets, heap_data, heap_cases, stack_f, stack_i, stack_null)


@inlined
def true(start: Any, stop: Any, code: Any, batch: Any, row: Any, registers: Any, instance: Any, stacks: Any) -> bool:
    """Whether a condition is true. No code holds; one comparison of a column with a slot is done on the spot."""
    if start == stop:
        return True
    ops = code[0]
    op = ops[start, 0]
    if stop - start == ONE and (op == Op.COMPARE_COLUMN_SLOT_F or op == Op.COMPARE_COLUMN_SLOT_I):
        both = ops[start, 1]
        column, outcomes, slot = U(both >> 3), both & 7, U(ops[start, 2])
        if batch[2][column, row] or registers[2][instance, slot]:
            return False
        if op == Op.COMPARE_COLUMN_SLOT_F:
            one, other = batch[0][column, row], registers[0][instance, slot]
            outcome = 1 if one < other else (4 if one > other else 2)
        else:
            number, another = batch[1][column, row], registers[1][instance, slot]
            outcome = 1 if number < another else (4 if number > another else 2)
        return bool((outcomes & outcome) != 0)
    return judge(S(start), S(stop), code, batch, S(row), registers, S(instance), stacks)


@inlined
def holds_here(asked: Any, first: int, row: Any, predicates: Array, code: Any, batch: Any, registers: Any,
               instance: Any, stacks: Any) -> bool:
    """Whether a row of a table holds: its predicate, which stands in column `first`, and its code."""
    if asked[first] != NONE and not predicates[asked[first], row]:
        return False
    return true(asked[first + 1], asked[first + 2], code, batch, row, registers, instance, stacks)


@inlined
def overflows(one: int, other: int) -> bool:
    """Whether a sum does not fit 64 bits. It must be asked before adding: LLVM takes it that sums do not overflow."""
    if other >= 0:
        return bool(one > MOST - other)
    return bool(one < -MOST - 1 - other)


@kernel
def aggregate(kind: Any, slot: Any, column: Any, code: Any, instance: Any, row: Any, batch: Any,
               registers: Any) -> None:
    """An aggregate one event further. It is null until something is known; null 2 marks one that does not fit."""
    (column_f, column_i, column_null, _, _, _) = batch
    (slot_f, slot_i, slot_null, _, _, _) = registers
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
def _compute(slot: Any, start: Any, stop: Any, is_float: Any, code: Any, instance: Any, row: Any, batch: Any,
             registers: Any, stacks: Any) -> None:
    """The value of an expression into a slot."""
    (ops, const_f, const_i, heap_offsets, heap_data, heap_cases) = code
    (column_f, column_i, column_null, parameter_f, parameter_i, parameter_null) = batch
    (slot_f, slot_i, slot_null, _, _, _) = registers
    (stack_f, stack_i, stack_null) = stacks
    run_code(ops, S(start), S(stop), const_f, const_i, column_f, column_i, column_null, S(row), slot_f, slot_i,
             slot_null, S(instance), parameter_f, parameter_i, parameter_null, slot_i[instance, RUN_ROWS],
             heap_offsets, heap_data, heap_cases, stack_f, stack_i, stack_null)
    slot_null[instance, slot] = stack_null[0]
    if is_float:
        slot_f[instance, slot] = stack_f[0]
    else:
        slot_i[instance, slot] = stack_i[0]


@inlined
def keep(first: Any, stop: Any, updates: Array, code: Any, instance: Any, row: Any, position: int, batch: Any,
         registers: Any, counters: Array, stacks: Any) -> None:
    """Writes down what an edge keeps of its event."""
    (slot_f, slot_i, slot_null, node_parent, node_position, node_step) = registers
    for u in range(first, stop):
        kind, slot, argument = updates[u, 0], updates[u, 1], updates[u, 2]
        if kind == SET:
            # One buffer holds both kinds of value, so the bits are all there is to copy.
            slot_i[instance, slot] = batch[1][argument, row]
            slot_null[instance, slot] = batch[2][argument, row]
        elif kind == POSITION:
            slot_i[instance, slot] = position
            slot_null[instance, slot] = 0
        elif kind == CHAIN:
            node = U(counters[NODES])
            counters[NODES] += 1
            node_parent[node] = slot_i[instance, RUN_CHAIN]
            node_position[node] = position
            node_step[node] = S(argument)
            slot_i[instance, RUN_CHAIN] = S(node)
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
            node = U(counters[NODES])
            counters[NODES] += 2
            node_parent[node] = slot_i[instance, RUN_CHAIN]
            node_position[node] = -1 if slot_null[instance, slot] else slot_i[instance, slot]
            node_step[node] = -2 * S(argument) - 1
            node_parent[node + ONE] = S(node)
            node_position[node + ONE] = position
            node_step[node + ONE] = -2 * S(argument) - 2
            slot_i[instance, RUN_CHAIN] = S(node) + 1
        elif kind == COMPUTE:
            _compute(slot, argument, updates[u, 3], updates[u, 4], code, instance, row, batch, registers, stacks)
        else:
            aggregate(kind, slot, argument, code, instance, row, batch, registers)


@inlined
def emit(there: Any, lane: Any, row: int, instance: Any, finals: Array, registers: Any, output: Any,
         counters: Array) -> None:
    """Writes a match down, with the slots that are asked for afterwards. `row` is -1 where time completed it."""
    (_, slot_i, slot_null, _, _, _) = registers
    (out_first, out_rows, out_state, out_lane, out_row, out_chain, out_slot, out_null) = output
    match = U(counters[MATCHES])
    counters[MATCHES] += 1
    out_state[match] = S(there)
    out_lane[match] = S(lane)
    out_row[match] = row
    out_first[match] = slot_i[instance, RUN_FIRST]
    out_chain[match] = slot_i[instance, RUN_CHAIN]
    out_rows[match] = slot_i[instance, RUN_ROWS]
    for i in range(U(finals.size)):
        out_slot[i, match] = slot_i[instance, finals[i]]
        out_null[i, match] = slot_null[instance, finals[i]]


@inlined
def copy(instance: Any, pool: Any, registers: Any, counters: Array) -> Any:
    """A new instance that has bound what another has."""
    (cells, _, free) = pool
    slot_null = registers[2]
    counters[FREE] -= 1
    target = U(free[U(counters[FREE])])
    serial = cells[target, RUN_SERIAL]
    for cell in range(U(cells.shape[1])):
        cells[target, cell] = cells[instance, cell]
        slot_null[target, cell] = slot_null[instance, cell]
    cells[target, RUN_SERIAL] = serial
    return target


@inlined
def begin(lane: Any, start: Any, position: int, parameter: int, pool: Any, registers: Any, counters: Array) -> Any:
    """The next free instance, with nothing bound yet. It stays free until somebody takes it."""
    (cells, times, free) = pool
    slot_null = registers[2]
    target = U(free[U(counters[FREE] - 1)])
    for slot in range(U(RUN_ROWS + 1), U(slot_null.shape[1])):
        slot_null[target, slot] = 1
    cells[target, RUN_CHAIN] = -1
    times[target, RUN_BEGAN] = start
    cells[target, RUN_LANE] = S(lane)
    cells[target, RUN_FIRST] = position
    cells[target, RUN_ROWS] = parameter
    return target


@inlined
def started(edge: Any, lane: Any, row: Any, position: int, tables: Any, code: Any, events: Any, batch: Any, pool: Any,
            registers: Any, output: Any, counters: Array, stacks: Any) -> Any:
    """The instance that an event begins along an edge; NONE where it begins none, or is a match by itself."""
    (_, _, _, _, edges, updates, _, edge_within, _, finals) = tables
    (_, event_time, event_start, predicates, event_rows) = events
    predicate = edges[edge, EDGE_PREDICATE]
    if predicate != NONE and not predicates[predicate, row]:
        return NONE
    target = begin(lane, event_start[row], position, event_rows[row], pool, registers, counters)
    if not true(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], code, batch, row, registers, target, stacks):
        return NONE
    if edge_within[edge] >= 0 and event_time[row] > event_start[row] + edge_within[edge]:
        return NONE
    keep(edges[edge, EDGE_UPDATES], edges[edge, EDGE_UPDATES_STOP], updates, code, target, row, position, batch,
         registers, counters, stacks)
    if edges[edge, EDGE_FINAL]:
        emit(edges[edge, EDGE_TARGET], lane, S(row), target, finals, registers, output, counters)
        return NONE
    counters[FREE] -= 1
    pool[0][target, RUN_STATE] = S(edges[edge, EDGE_TARGET])
    return target


@inlined
def room(most: int, nodes: int, registers: Any, output: Any, timers: Any, counters: Array) -> int:
    """What would not hold so many new instances, and nodes for each; 0 where all would."""
    if counters[FREE] < most:
        return FULL_POOL
    if registers[3].size - counters[NODES] < most * nodes:
        return FULL_NODES
    if output[0].size - counters[MATCHES] < most:
        return FULL_OUTPUT
    if timers[0].size - counters[TIMERS] < most:
        return FULL_TIMERS
    return 0


# fmt: on
