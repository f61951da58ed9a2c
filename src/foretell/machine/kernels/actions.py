"""The actions of a run that binds an event: it evaluates guards, updates registers, writes matches.

These kernels allocate nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.machine.kernels.decorators import expanded, inlined, kernel
from foretell.machine.kernels.interpreter import holds, run_code
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
    FIRST_SLOT,
    FREE,
    FULL_NODES,
    FULL_OUTPUT,
    FULL_POOL,
    FULL_TIMERS,
    GAP,
    GUARD_CODE,
    GUARD_CODE_STOP,
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
    ROWS_SHIFT,
    RUN_BEGAN,
    RUN_CHAIN,
    RUN_FIRST,
    RUN_LANE,
    RUN_ROWS,
    RUN_SERIAL,
    RUN_STATE,
    SET,
    STATE_EDGES,
    STATE_EDGES_STOP,
    SUM_FLOAT,
    SUM_INT,
    TIMERS,
    UPDATE_ARGUMENT,
    UPDATE_CODE_STOP,
    UPDATE_IS_FLOAT,
    UPDATE_KIND,
    UPDATE_SLOT,
    Array,
    S,
    U,
)
from foretell.machine.kernels.opcodes import Op
from foretell.machine.kernels.structs import Batch, Bytecode, NfaTables, Output, Runs, Values
from foretell.machine.kernels.texts import compare_texts

_MOST = np.int64(2**63 - 1)

#: In place of NULL: an aggregate that does not fit its type stays NULL for good.
_OVERFLOWN = 2

# ── guards ──


@kernel
def evaluate(
    start: int, stop: int, code: Bytecode, columns: Values, row: int, registers: Values, run: int, parameters: Values,
    stack: Values,
) -> bool:  # fmt: skip
    """Any condition. The call costs more than most conditions do, so `code_holds` spares it for the commonest."""
    parameter_row = registers.integers[run, RUN_ROWS] >> ROWS_SHIFT
    return holds(start, stop, code, columns, row, registers, run, parameters, parameter_row, stack)


@kernel
def unneeded_condition(
    start: int, stop: int, code: Bytecode, columns: Values, row: int, registers: Values, run: int, parameters: Values,
    stack: Values,
) -> bool:  # fmt: skip
    """In place of `evaluate` for plans without a condition for it: compiling the interpreter takes half of the time."""
    if start != stop:
        raise ValueError("the kernel was compiled without the interpreter, which a condition needs")
    return True


@inlined
def code_holds(start: Any, stop: Any, run: Any, row: Any, batch: Batch, registers: Values) -> bool:
    """Whether code is true for a run and an event. One comparison of a column with a slot is done on the spot."""
    if start == stop:
        return True
    ops, columns = batch.code.ops, batch.columns
    op = ops[start, 0]
    if stop - start == ONE and (op == Op.COMPARE_COLUMN_SLOT_F or op == Op.COMPARE_COLUMN_SLOT_I):
        both = ops[start, 1]
        column, outcomes, slot = U(both >> 3), both & 7, U(ops[start, 2])
        if columns.nulls[column, row] or registers.nulls[run, slot]:
            return False
        if op == Op.COMPARE_COLUMN_SLOT_F:
            value, bound = columns.floats[column, row], registers.floats[run, slot]
            outcome = 1 if value < bound else (4 if value > bound else 2)
        else:
            number, bound_number = columns.integers[column, row], registers.integers[run, slot]
            outcome = 1 if number < bound_number else (4 if number > bound_number else 2)
        return bool((outcomes & outcome) != 0)
    return evaluate(
        S(start), S(stop), batch.code, columns, S(row), registers, S(run), batch.parameters, batch.stack
    )  # fmt: skip


@inlined
def guard_holds(table_row: Any, first: int, run: Any, row: Any, batch: Batch, registers: Values) -> bool:
    """Whether a guard holds that lies in a row of a table, from the column `first` on."""
    if table_row[first] != NONE and not batch.events.predicates[table_row[first], row]:
        return False
    return code_holds(table_row[first + GUARD_CODE], table_row[first + GUARD_CODE_STOP], run, row, batch, registers)


# ── register updates ──


@inlined
def overflows(left: int, right: int) -> bool:
    """Whether a sum does not fit 64 bits. Ask before adding: LLVM assumes that sums do not overflow."""
    if right >= 0:
        return bool(left > _MOST - right)
    return bool(left < -_MOST - 1 - right)


@kernel
def aggregate(
    kind: Any, slot: Any, column: Any, run: Any, row: Any, code: Bytecode, columns: Values, registers: Values
) -> None:
    """Take one event more into an aggregate. It is NULL until a value is known."""
    unknown = registers.nulls[run, slot]
    if unknown == _OVERFLOWN or columns.nulls[column, row]:
        return
    registers.nulls[run, slot] = 0
    if kind == SUM_INT:
        value = columns.integers[column, row]
        old = 0 if unknown else registers.integers[run, slot]
        if overflows(old, value):
            registers.nulls[run, slot] = _OVERFLOWN
        else:
            registers.integers[run, slot] = old + value
    elif kind == MIN_INT or kind == MAX_INT:
        value = columns.integers[column, row]
        old = registers.integers[run, slot]
        if unknown or (value < old if kind == MIN_INT else value > old):
            registers.integers[run, slot] = value
    elif kind == MIN_TEXT or kind == MAX_TEXT:
        text = columns.integers[column, row]
        order = 0
        if not unknown:
            order = compare_texts(text, registers.integers[run, slot], code.text_offsets, code.text_bytes)
        if unknown or (order < 0 if kind == MIN_TEXT else order > 0):
            registers.integers[run, slot] = text
    else:
        number = columns.floats[column, row]
        least = registers.floats[run, slot]
        if unknown or (number < least if kind == MIN_FLOAT else number > least):
            registers.floats[run, slot] = number


@kernel
def compute(
    slot: Any, start: Any, stop: Any, is_float: Any, run: Any, row: Any, code: Bytecode, columns: Values,
    registers: Values, parameters: Values, stack: Values,
) -> None:  # fmt: skip
    """Write the value of an expression into a slot."""
    parameter_row = registers.integers[run, RUN_ROWS] >> ROWS_SHIFT
    run_code(S(start), S(stop), code, columns, S(row), registers, S(run), parameters, parameter_row, stack)
    registers.nulls[run, slot] = stack.nulls[0]
    if is_float:
        registers.floats[run, slot] = stack.floats[0]
    else:
        registers.integers[run, slot] = stack.integers[0]


@kernel
def unneeded_value(
    slot: Any, start: Any, stop: Any, is_float: Any, run: Any, row: Any, code: Bytecode, columns: Values,
    registers: Values, parameters: Values, stack: Values,
) -> None:  # fmt: skip
    """In place of `compute` for plans that store no expressions."""
    if start != stop:
        raise ValueError("the kernel was compiled without the interpreter, which an expression needs")


@expanded
def apply_update(update: Any, run: Any, row: Any, updates: Array, batch: Batch, runs: Runs) -> None:
    """Write the event of a row into a run as an update says."""
    registers, columns, nodes, counters = runs.registers, batch.columns, runs.nodes, runs.counters
    kind, slot, argument = updates[update, UPDATE_KIND], updates[update, UPDATE_SLOT], updates[update, UPDATE_ARGUMENT]
    if kind == SET:
        # One buffer holds both kinds of value, so copying the bits is enough.
        registers.integers[run, slot] = columns.integers[argument, row]
        registers.nulls[run, slot] = columns.nulls[argument, row]
    elif kind == POSITION:
        registers.integers[run, slot] = batch.base + S(row)
        registers.nulls[run, slot] = 0
    elif kind == CHAIN:
        node = U(counters[NODES])
        counters[NODES] += 1
        nodes.parent[node] = registers.integers[run, RUN_CHAIN]
        nodes.position[node] = batch.base + S(row)
        nodes.step[node] = S(argument)
        registers.integers[run, RUN_CHAIN] = S(node)
    elif kind == COUNT or kind == COUNT_KNOWN:
        if kind == COUNT or not columns.nulls[argument, row]:
            registers.integers[run, slot] = 1 if registers.nulls[run, slot] else registers.integers[run, slot] + 1
            registers.nulls[run, slot] = 0
    elif kind == SUM_FLOAT:
        unknown = registers.nulls[run, slot]
        if unknown != _OVERFLOWN and not columns.nulls[argument, row]:
            value = columns.floats[argument, row]
            total = value if unknown else registers.floats[run, slot] + value
            registers.floats[run, slot] = total
            registers.nulls[run, slot] = 0 if np.isfinite(total) else _OVERFLOWN
    elif kind == GAP:
        # The gap of a negation, or the events that a[i] counts in, from the event before to this one: two nodes that
        # are no events. -1: nothing is bound before.
        node = U(counters[NODES])
        counters[NODES] += 2
        nodes.parent[node] = registers.integers[run, RUN_CHAIN]
        nodes.position[node] = -1 if registers.nulls[run, slot] else registers.integers[run, slot]
        nodes.step[node] = -2 * S(argument) - 1
        nodes.parent[node + ONE] = S(node)
        nodes.position[node + ONE] = batch.base + S(row)
        nodes.step[node + ONE] = -2 * S(argument) - 2
        registers.integers[run, RUN_CHAIN] = S(node) + 1
    elif kind == COMPUTE:
        stop, is_float = updates[update, UPDATE_CODE_STOP], updates[update, UPDATE_IS_FLOAT]
        compute(slot, argument, stop, is_float, run, row, batch.code, columns, registers, batch.parameters, batch.stack)
    else:
        aggregate(kind, slot, argument, run, row, batch.code, columns, registers)


@inlined
def apply_updates(edge: Any, run: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> None:
    """Write the event of a row into a run that binds it along an edge."""
    for update in range(tables.edges[edge, EDGE_UPDATES], tables.edges[edge, EDGE_UPDATES_STOP]):
        apply_update(update, run, row, tables.updates, batch, runs)


# ── matches ──


@inlined
def emit(
    state: Any, lane: Any, row: int, run: Any, finals: Array, registers: Values, output: Output, counters: Array
) -> None:
    """Write a match with the slots that it carries. `row` is -1 where time completed it."""
    match = U(counters[MATCHES])
    counters[MATCHES] += 1
    output.state[match] = S(state)
    output.lane[match] = S(lane)
    output.row[match] = row
    output.first[match] = registers.integers[run, RUN_FIRST]
    output.chain[match] = registers.integers[run, RUN_CHAIN]
    output.rows[match] = registers.integers[run, RUN_ROWS]
    for i in range(U(finals.size)):
        output.slots[i, match] = registers.integers[run, finals[i]]
        output.nulls[i, match] = registers.nulls[run, finals[i]]


# ── runs ──


@expanded
def copy(run: Any, runs: Runs) -> Any:
    """A new run that has bound the same events."""
    cells, nulls, counters = runs.registers.integers, runs.registers.nulls, runs.counters
    counters[FREE] -= 1
    target = U(runs.free[U(counters[FREE])])
    serial = cells[target, RUN_SERIAL]
    for cell in range(U(cells.shape[1])):
        cells[target, cell] = cells[run, cell]
        nulls[target, cell] = nulls[run, cell]
    cells[target, RUN_SERIAL] = serial
    return target


@expanded
def begin_match(lane: Any, row: Any, batch: Batch, runs: Runs) -> Any:
    """The next free run, with nothing bound yet. It stays free until the caller counts it, who sets its rows."""
    cells, nulls = runs.registers.integers, runs.registers.nulls
    target = U(runs.free[U(runs.counters[FREE] - 1)])
    for slot in range(U(FIRST_SLOT), U(nulls.shape[1])):
        nulls[target, slot] = 1
    cells[target, RUN_CHAIN] = -1
    runs.times[target, RUN_BEGAN] = batch.events.start[row]
    cells[target, RUN_LANE] = S(lane)
    cells[target, RUN_FIRST] = batch.base + S(row)
    return target


@expanded
def begin(lane: Any, row: Any, batch: Batch, runs: Runs) -> Any:
    """The same with the template rows that the event selects."""
    target = begin_match(lane, row, batch, runs)
    runs.registers.integers[target, RUN_ROWS] = batch.events.rows[row]
    return target


@expanded
def started(edge: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> Any:
    """The run that an event begins along an edge; NONE where it begins none, or is a match by itself."""
    predicate = tables.edges[edge, EDGE_PREDICATE]
    if predicate != NONE and not batch.events.predicates[predicate, row]:
        return NONE
    return begun(edge, lane, row, tables, batch, runs, output)


@expanded
def begun(edge: Any, lane: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs, output: Output) -> Any:
    """The same where the predicate of the edge is known to hold."""
    edges, events = tables.edges, batch.events
    run = begin(lane, row, batch, runs)
    if not code_holds(edges[edge, EDGE_CODE], edges[edge, EDGE_CODE_STOP], run, row, batch, runs.registers):
        return NONE
    within = tables.edge_within[edge]
    if within >= 0 and events.time[row] > events.start[row] + within:
        return NONE
    apply_updates(edge, run, row, tables, batch, runs)
    if edges[edge, EDGE_FINAL]:
        emit(edges[edge, EDGE_TARGET], lane, S(row), run, tables.finals, runs.registers, output, runs.counters)
        return NONE
    runs.counters[FREE] -= 1
    runs.registers.integers[run, RUN_STATE] = S(edges[edge, EDGE_TARGET])
    return run


@kernel
def open_fan(row: Any, tables: NfaTables, predicates: Array) -> int:
    """The most runs that one run may become on an event, by the predicates of edges."""
    states, edges, fan = tables.states, tables.edges, 0
    for state in range(U(states.shape[0])):
        count = 0
        for edge in range(states[state, STATE_EDGES], states[state, STATE_EDGES_STOP]):
            predicate = edges[edge, EDGE_PREDICATE]
            if predicate == NONE or predicates[predicate, row]:
                count += 1
        fan = max(fan, count)
    return fan


@inlined
def lacking(most: int, nodes: int, runs: Runs, output: Output) -> int:
    """The structure that lacks room for so many new runs, with so many nodes each; 0 where none does."""
    counters = runs.counters
    if counters[FREE] < most:
        return FULL_POOL
    if runs.nodes.parent.size - counters[NODES] < most * nodes:
        return FULL_NODES
    if output.first.size - counters[MATCHES] < most:
        return FULL_OUTPUT
    if runs.timers.due.size - counters[TIMERS] < most:
        return FULL_TIMERS
    return 0
