"""Bytecode: the flat program of the kernel's stack machine (foretell.machine.kernels.opcodes has the operations)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.machine.kernels.opcodes import Op
from foretell.plan.lower.text_functions import TextFunction
from foretell.records import record

#: Operations, each with its two arguments.
Instructions: TypeAlias = tuple[tuple[Op, int, int], ...]


@record
class Operand:
    """The place of a value: a column of the batch, a slot of the run, or a parameter of the FOR EACH row."""

    kind: Literal["column", "slot", "parameter"]
    index: int
    type: Type


@record
class Code:
    """A program: `ops` has a row for each operation, with its two arguments.

    `depth` is the largest height of the stack. Jumps are relative, and constants and functions of texts go by their
    numbers in this code, so that codes can be concatenated (`link`).
    """

    ops: NDArray[np.int32]
    constants_f: NDArray[np.float64]
    constants_i: NDArray[np.int64]
    depth: int
    text_functions: tuple[TextFunction, ...] = ()

    @cached_property
    def interns(self) -> bool:
        """Whether it looks for the codes of texts that it cuts out of others."""
        return bool((self.ops[:, 0] == Op.INTERN).any())


@record
class LinkedCode:
    """Codes concatenated to one: the i-th is `ops[starts[i]:stops[i]]`."""

    code: Code
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def link(codes: Sequence[Code]) -> LinkedCode:
    """Concatenates codes and their constants."""
    floats = accumulate((len(code.constants_f) for code in codes), initial=0)
    ints = accumulate((len(code.constants_i) for code in codes), initial=0)
    functions = tuple(dict.fromkeys(function for code in codes for function in code.text_functions))
    ends = np.array([0, *accumulate(len(code.ops) for code in codes)], np.int64)
    no_ops = np.empty((0, 3), np.int32)
    linked = Code(
        np.concatenate([no_ops, *(_relocated(code, f, i, functions) for code, f, i in zip(codes, floats, ints))]),
        np.concatenate([np.empty(0, np.float64), *(code.constants_f for code in codes)]),
        np.concatenate([np.empty(0, np.int64), *(code.constants_i for code in codes)]),
        max((code.depth for code in codes), default=0),
        functions,
    )
    return LinkedCode(linked, ends[:-1], ends[1:])


def _relocated(code: Code, floats: int, ints: int, functions: Sequence[TextFunction]) -> NDArray[np.int32]:
    """The operations of a code whose constants come after `floats` and `ints` others."""
    ops = code.ops.copy()
    # The guards of a large statement are linked thousands of times.
    if floats:
        ops[_NAMES_FLOAT[ops[:, 0]], 1] += floats
    if ints:
        ops[_NAMES_INT[ops[:, 0]], 1] += ints
    if code.text_functions:
        calls = ops[:, 0] == Op.TEXT_FUNCTION
        numbers = np.array([functions.index(function) for function in code.text_functions], np.int32)
        ops[calls, 1] = numbers[ops[calls, 1]]
    return ops


#: The operations whose first argument is the number of a constant.
_NAMES_FLOAT = np.isin(np.arange(max(Op) + 1), (Op.CONST_F, Op.ROUND_F))
_NAMES_INT = np.isin(np.arange(max(Op) + 1), (Op.CONST_I, Op.ROUND_I, Op.LOCAL_TIME))


def listing(code: Code) -> str:
    """The operations by name, one a line."""
    return "\n".join(f"{Op(op).name} {first} {second}" for op, first, second in code.ops.tolist())


_PUSHING = frozenset(
    {op for op in Op if op.name.startswith(("LOAD_", "CONST_", "COMPARE_COLUMN_"))} | {Op.NULL, Op.PICK}
)
_LEVEL = frozenset(
    {
        Op.NOT,
        Op.IS_NULL,
        Op.SKIP_IF_FALSE,
        Op.SKIP_IF_TRUE,
        Op.SKIP_IF_PRESENT,
        Op.IN_CALENDAR,
        Op.LENGTH,
    }
    | {Op.NEGATE_I, Op.ABSOLUTE_I, Op.INT_TO_FLOAT, Op.NEGATE_F, Op.ABSOLUTE_F}
    | {Op.SQUARE_ROOT_F, Op.EXPONENTIAL_F, Op.LOGARITHM_F, Op.FLOOR_F, Op.CEILING_F, Op.ROUND_F, Op.ROUND_I}
    | {Op.LOCAL_TIME, Op.CALENDAR_FIELD, Op.INTERN, Op.TEXT_FUNCTION}
)


def stack_depth(instructions: Instructions) -> int:
    """The largest height of the stack. The operations not listed take two values and leave one; a skip leaves less.

    After SKIP the height is as it was before the value that SKIP keeps: another one comes in its place.
    """
    return max(accumulate(_height_change(op) for op, _, _ in instructions), default=0)


def _height_change(op: Op) -> int:
    return 1 if op in _PUSHING else 0 if op in _LEVEL else -2 if op is Op.SUBSTRING else -1
