"""Late guards: conditions on single events that a kernel evaluates when a run asks, in place of flags of whole batches.

Where many statements share an NFA, few of them have a run at any time, and the predicates of their later steps hold or
not for events that nobody waits with. So each edge from a state has its guard as code, too. This is single-step
detection for one run and one event (A-MEDIAS, section 7.3); which of both is quicker, the number of runs that a batch
begins tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from foretell.arrays import Words
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.kernels.layout import EDGE_CODE, EDGE_CODE_STOP, EDGE_PREDICATE, NONE
from foretell.machine.kernels.opcodes import Op
from foretell.plan.expressions import Disjunction, EveryNth, Lagged, ProfileSatisfied, RowSelected, event_type
from foretell.plan.lower.bytecode import Code, LinkedCode, Operand, link
from foretell.plan.lower.condition_costs import TEXT, nanoseconds
from foretell.plan.lower.expression_compiler import compile_expression
from foretell.plan.lower.ir import SymbolTable
from foretell.records import record

#: The time of the interpreter for the condition of an edge, in nanoseconds.
LATE_GUARD = 25.0


@record
class LateGuards:
    """The `edges` with the guards of later steps as code: their `predicates` need no flags then.

    `nanoseconds` is the time of their evaluation for whole batches, for an event; `fan` is how many edges a run meets.
    """

    edges: Words
    predicates: frozenset[int]
    nanoseconds: float
    fan: int


@record
class LateGuardCompiler:
    """Compiles predicates to code over the columns of a batch, which become columns of the NFA."""

    subscription: CheckedSubscription
    symbols: SymbolTable

    def code(self, predicate: Sequence[tree.Expression], rest: Code | None) -> Code:
        """The code of a predicate, and of the rest of a guard."""
        condition = reduce(lambda left, right: tree.Binary("AND", left, right), predicate)
        code = compile_expression(condition, self._operand, self.symbols.text_code)
        if rest is None:
            return code
        joined = link([code, rest]).code
        ops = np.concatenate([joined.ops, np.array([[Op.AND, 0, 0]], np.int32)])
        return replace(joined, ops=ops, depth=max(code.depth, rest.depth + 1))

    def _operand(self, expression: tree.Expression) -> Operand | None:
        match expression:
            case Lagged(expression=inner):
                kind = event_type(self.subscription, inner)
            case tree.Attribute() | tree.TimeOf() | tree.StreamOf():
                kind = event_type(self.subscription, expression)
            case _:
                return None
        columns = self.symbols.slot_table.columns
        return Operand("column", columns.setdefault(expression, len(columns)), kind)


def compilable(predicate: Sequence[tree.Expression]) -> bool:
    """Whether the interpreter may evaluate a predicate: functions of texts are better called for distinct texts."""
    has_memory = any(isinstance(c, Disjunction | EveryNth | ProfileSatisfied | RowSelected) for c in predicate)
    return bool(predicate) and not has_memory and nanoseconds(predicate) < TEXT


def late_edges(
    edges: Words,
    linked: LinkedCode,
    codes: Mapping[int, int],
    predicates: Sequence[Sequence[tree.Expression]],
    fan: int,
) -> LateGuards:
    """The edges, some with the code of that number in place of their guards."""
    late = edges.copy()
    for edge, number in codes.items():
        late[edge, [EDGE_CODE, EDGE_CODE_STOP]] = linked.starts[number], linked.stops[number]
        late[edge, EDGE_PREDICATE] = NONE
    replaced = set(edges[list(codes), EDGE_PREDICATE].astype(int).tolist())
    needed = set(late[:, EDGE_PREDICATE].astype(int).tolist())
    unneeded = frozenset(replaced - needed)
    return LateGuards(late, unneeded, sum(nanoseconds(predicates[p]) + 1 for p in unneeded), fan)
