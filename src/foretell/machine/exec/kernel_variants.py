"""Kernel variants: a kernel without the parts that a plan never reaches.

Compiling a kernel takes seconds, and more than half of them go into the interpreter of conditions and its functions.
Most plans reach neither: columns and predicates answer their conditions for whole batches. A variant has stubs in their
place, which raise if they are called after all. The rest of it is the same code, so it runs the same way. The probes of
forecasts are compiled where a kernel is called with one: without, Numba drops the branch by the type of None.

There are three variants of a kernel and not one for each combination, lest several statements compile more together.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.jit import callees_of, with_callees
from foretell.machine.kernels import (
    actions,
    arrival_walk,
    fresh_runs,
    functions,
    general,
    layout,
    row_runs,
    run_index,
    run_lists,
)
from foretell.machine.kernels.decorators import Function
from foretell.machine.kernels.opcodes import FUNCTIONS, Op
from foretell.machine.kernels.structs import NfaTables
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.bytecode import LinkedCode
from foretell.plan.lower.program import CompiledNfa

#: Conditions of one such operation need no interpreter (see actions.code_holds; arrival_walk has the same).
_ON_THE_SPOT = (Op.COMPARE_COLUMN_SLOT_F, Op.COMPARE_COLUMN_SLOT_I)


class Extent(IntEnum):
    """How much of a kernel a plan reaches."""

    PREDICATES = 0  # no interpreter
    CONDITIONS = 1  # the interpreter of conditions, without functions
    ALL = 2


def extent_of(nfa: CompiledNfa) -> Extent:
    computes = (nfa.tables.updates[:, layout.UPDATE_KIND] == layout.COMPUTE).any()
    late = nfa.tables if nfa.late is None else nfa.tables._replace(edges=nfa.late.edges)
    spans = np.concatenate([_guard_spans(nfa.tables), _guard_spans(late)])
    return Extent.ALL if computes else _extent_of_code(nfa.code, spans)


def extent_of_arrivals(plan: ArrivalPlan) -> Extent:
    return _extent_of_code(plan.code, np.concatenate([plan.tables.entry_spans, plan.tables.join_spans]))


def _extent_of_code(linked: LinkedCode, spans: Ints) -> Extent:
    """The extent of code whose conditions have these spans: the first operation and the one after the last."""
    ops = linked.code.ops[:, 0]
    if np.isin(ops, list(FUNCTIONS)).any():
        return Extent.ALL
    sizes = spans[:, 1] - spans[:, 0]
    on_the_spot = np.isin(ops[spans[sizes == 1, 0]], _ON_THE_SPOT).all() and (sizes <= 1).all()
    return Extent.PREDICATES if on_the_spot else Extent.CONDITIONS


def _guard_spans(tables: NfaTables) -> Ints:
    """The first operation and the one after the last of every guard in the tables."""
    code, stop = layout.GUARD_CODE, layout.GUARD_CODE_STOP
    spans = [
        tables.edges[:, [layout.EDGE_CODE, layout.EDGE_CODE_STOP]],
        tables.ticks[:, [layout.TICK_GUARD + code, layout.TICK_GUARD + stop]],
        tables.threads[:, [layout.THREAD_GUARD + code, layout.THREAD_GUARD + stop]],
        tables.negations[:, [layout.NEGATION_GUARD + code, layout.NEGATION_GUARD + stop]],
    ]
    return np.concatenate(spans).astype(np.int64)


@cache
def kernel_for(kernel: Function, extent: Extent, *, rows: bool = False, many_states: bool = False) -> Function:
    """The variant of a kernel that has all that a plan reaches; with `rows` its runs carry rows of a template, with
    `many_states` it visits only those that have runs."""
    if many_states:
        kernel = with_callees(kernel, _MANY_STATES, "_occupied")
    if rows:
        kernel = with_callees(with_callees(kernel, _WITH_ROWS, "_rows"), _ROW_GUARDS, "_parted")
    reachable = callees_of(kernel)
    parts = tuple(part for part in _UNREACHED[extent] if reachable & _STUBS[part].keys())
    variant: Function = _without(kernel, parts)
    return variant


@cache
def pool_kernel_for(kernel: Function, *, rows: bool) -> Function:
    """The variant of a kernel that takes runs out of lists between events; with `rows` they are in chains, too."""
    others: Mapping[Any, Any] = {run_lists.unlink: run_index.unlink_indexed} if rows else {}
    variant: Function = with_callees(kernel, others, "_indexed")
    return variant


@cache
def _without(kernel: Function, parts: tuple[str, ...]) -> Function:
    others = {callee: stub for part in parts for callee, stub in _STUBS[part].items()}
    return with_callees(kernel, others, "".join(f"_no_{part}" for part in parts))


#: The functions of the general kernel in whose place runs that carry rows have others.
_WITH_ROWS: Mapping[Any, Any] = {
    general.rough_new_runs: row_runs.rough_row_runs,
    general.starting_runs: row_runs.starting_rows,
    general.new_runs_of_state: row_runs.new_runs_of_row_state,
    general.advance_state: row_runs.advance_row_state,
    general.begin_runs: row_runs.begin_rows,
    fresh_runs.admit_fresh: run_index.admit_rows,
    run_lists.unlink: run_index.unlink_indexed,
}
#: Where there are many states. (Both in one kernel would be compiled for every statement.)
_MANY_STATES: Mapping[Any, Any] = {
    general.advance_states: general.advance_occupied,
    general.new_runs_of_states: general.new_runs_of_occupied,
}
_ROW_GUARDS: Mapping[Any, Any] = {actions.guard_holds: row_runs.row_guard_holds}
_STUBS: Mapping[str, Mapping[Any, Any]] = {
    "conditions": {
        actions.evaluate: actions.unneeded_condition,
        arrival_walk.evaluate: arrival_walk.unneeded_condition,
    },
    "values": {actions.compute: actions.unneeded_value},
    "functions": {functions.run_function: functions.unneeded_function},
}
_UNREACHED: Mapping[Extent, tuple[str, ...]] = {
    Extent.PREDICATES: ("conditions", "values", "functions"),
    Extent.CONDITIONS: ("values", "functions"),
    Extent.ALL: (),
}
