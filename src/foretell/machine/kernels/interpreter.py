"""The stack machine for conditions that compare with bound events: what `foretell.plan.lower.bytecode` compiles, run.

Operations are typed, so a value is looked for only where its type has it: in the matrix of floats or in that of
integers, at the same place, with a third matrix that says whether it is NULL. Nothing is allocated here.

Everything agrees with `foretell.reference.expressions` to the value.

An array is some seven numbers to a callee, so a call with all of these costs more than most conditions (30 ns): LLVM is
told to inline `run_code` where it is called. Then `price > a.price` takes 7 ns and each further operation about 2, in
a loop over a million rows; the same comparison written out in the loop takes 5.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.machine.kernels.arithmetic import LEAST, product_wraps, remainder
from foretell.machine.kernels.decorators import expanded, inlined
from foretell.machine.kernels.functions import run_function
from foretell.machine.kernels.opcodes import Op
from foretell.machine.kernels.structs import Bytecode, Values

LEAST_MICROS = -62_135_596_800_000_000  # year 1
LAST_MICROS = 253_402_300_799_999_999  # year 9999


@expanded
def holds(
    start: int, stop: int, code: Bytecode, columns: Values, row: int, registers: Values, run: int, parameters: Values,
    parameter_row: int, stack: Values,
) -> bool:  # fmt: skip
    """Whether the condition in `code.ops[start:stop]` is true, and not NULL. No operations at all hold."""
    if start == stop:
        return True
    run_code(start, stop, code, columns, row, registers, run, parameters, parameter_row, stack)
    return bool((stack.nulls[0] == 0) & (stack.integers[0] != 0))


@inlined
def run_code(
    start: int, stop: int, code: Bytecode, columns: Values, row: int, registers: Values, run: int, parameters: Values,
    parameter_row: int, stack: Values,
) -> None:  # fmt: skip
    """Run `code.ops[start:stop]`; the value is then at 0 of the stack, in the array of its type.

    An operation may compute on a value that is NULL, and means nothing, as long as its result is NULL.
    """
    ops = code.ops
    (stack_f, stack_i, stack_null) = stack
    top = -1
    at = start
    while at < stop:
        op = ops[at, 0]
        argument = ops[at, 1]
        at += 1

        # ── whole conditions ──
        if op == Op.COMPARE_COLUMN_SLOT_F:
            top += 1
            other = ops[at - 1, 2]
            column = argument >> 3
            stack_i[top] = _among(columns.floats[column, row], registers.floats[run, other], argument & 7)
            stack_null[top] = columns.nulls[column, row] | registers.nulls[run, other]
        elif op == Op.COMPARE_COLUMN_SLOT_I:
            top += 1
            other = ops[at - 1, 2]
            column = argument >> 3
            stack_i[top] = _among(columns.integers[column, row], registers.integers[run, other], argument & 7)
            stack_null[top] = columns.nulls[column, row] | registers.nulls[run, other]
        elif op == Op.COMPARE_COLUMN_PARAMETER_F:
            top += 1
            other = ops[at - 1, 2]
            column = argument >> 3
            stack_i[top] = _among(columns.floats[column, row], parameters.floats[parameter_row, other], argument & 7)
            stack_null[top] = columns.nulls[column, row] | parameters.nulls[parameter_row, other]
        elif op == Op.COMPARE_COLUMN_PARAMETER_I:
            top += 1
            other = ops[at - 1, 2]
            column = argument >> 3
            stack_i[top] = _among(
                columns.integers[column, row], parameters.integers[parameter_row, other], argument & 7
            )
            stack_null[top] = columns.nulls[column, row] | parameters.nulls[parameter_row, other]

        # ── loads ──
        elif op == Op.LOAD_COLUMN_F:
            top += 1
            stack_f[top] = columns.floats[argument, row]
            stack_null[top] = columns.nulls[argument, row]
        elif op == Op.LOAD_COLUMN_I:
            top += 1
            stack_i[top] = columns.integers[argument, row]
            stack_null[top] = columns.nulls[argument, row]
        elif op == Op.LOAD_SLOT_F:
            top += 1
            stack_f[top] = registers.floats[run, argument]
            stack_null[top] = registers.nulls[run, argument]
        elif op == Op.LOAD_SLOT_I:
            top += 1
            stack_i[top] = registers.integers[run, argument]
            stack_null[top] = registers.nulls[run, argument]
        elif op == Op.LOAD_PARAMETER_F:
            top += 1
            stack_f[top] = parameters.floats[parameter_row, argument]
            stack_null[top] = parameters.nulls[parameter_row, argument]
        elif op == Op.LOAD_PARAMETER_I:
            top += 1
            stack_i[top] = parameters.integers[parameter_row, argument]
            stack_null[top] = parameters.nulls[parameter_row, argument]
        elif op == Op.CONST_F:
            top += 1
            stack_f[top] = code.floats[argument]
            stack_null[top] = 0
        elif op == Op.CONST_I:
            top += 1
            stack_i[top] = code.integers[argument]
            stack_null[top] = 0
        elif op == Op.NULL:
            top += 1
            stack_null[top] = 1
        elif op == Op.PICK:
            top += 1
            stack_f[top] = stack_f[top - 1 - argument]
            stack_i[top] = stack_i[top - 1 - argument]
            stack_null[top] = stack_null[top - 1 - argument]
        elif op == Op.NIP:
            top -= 1
            stack_f[top] = stack_f[top + 1]
            stack_i[top] = stack_i[top + 1]
            stack_null[top] = stack_null[top + 1]

        # ── truth ──
        elif op == Op.COMPARE_F:
            top -= 1
            stack_i[top] = _among(stack_f[top], stack_f[top + 1], argument)
            stack_null[top] |= stack_null[top + 1]
        elif op == Op.COMPARE_I:
            top -= 1
            stack_i[top] = _among(stack_i[top], stack_i[top + 1], argument)
            stack_null[top] |= stack_null[top + 1]
        elif op == Op.NOT:
            stack_i[top] = 1 if stack_i[top] == 0 else 0
        elif op == Op.AND:
            top -= 1
            left_false = stack_null[top] == 0 and stack_i[top] == 0
            right_false = stack_null[top + 1] == 0 and stack_i[top + 1] == 0
            stack_i[top] = 0 if left_false or right_false else 1
            stack_null[top] = 0 if left_false or right_false else stack_null[top] | stack_null[top + 1]
        elif op == Op.OR:
            top -= 1
            left_true = stack_null[top] == 0 and stack_i[top] != 0
            right_true = stack_null[top + 1] == 0 and stack_i[top + 1] != 0
            stack_i[top] = 1 if left_true or right_true else 0
            stack_null[top] = 0 if left_true or right_true else stack_null[top] | stack_null[top + 1]
        elif op == Op.IS_NULL:
            stack_i[top] = stack_null[top]
            stack_null[top] = 0
        elif op == Op.SKIP_IF_FALSE:
            if stack_null[top] == 0 and stack_i[top] == 0:
                at += argument
        elif op == Op.SKIP_IF_TRUE:
            if stack_null[top] == 0 and stack_i[top] != 0:
                at += argument
        elif op == Op.SKIP_IF_PRESENT:
            if stack_null[top] == 0:
                at += argument
        elif op == Op.COALESCE:
            top -= 1
            if stack_null[top] != 0:
                stack_f[top] = stack_f[top + 1]
                stack_i[top] = stack_i[top + 1]
                stack_null[top] = stack_null[top + 1]

        # ── floats: what is calculated is finite, or NULL ──
        elif op == Op.INT_TO_FLOAT:
            stack_f[top] = float(stack_i[top])
        elif op == Op.ADD_F:
            top -= 1
            stack_f[top] = stack_f[top] + stack_f[top + 1]
            stack_null[top] |= stack_null[top + 1] | (not math.isfinite(stack_f[top]))
        elif op == Op.SUBTRACT_F:
            top -= 1
            stack_f[top] = stack_f[top] - stack_f[top + 1]
            stack_null[top] |= stack_null[top + 1] | (not math.isfinite(stack_f[top]))
        elif op == Op.MULTIPLY_F:
            top -= 1
            stack_f[top] = stack_f[top] * stack_f[top + 1]
            stack_null[top] |= stack_null[top + 1] | (not math.isfinite(stack_f[top]))
        elif op == Op.DIVIDE_F:
            top -= 1
            stack_f[top] = stack_f[top] / stack_f[top + 1]
            stack_null[top] |= stack_null[top + 1] | (not math.isfinite(stack_f[top])) | (stack_f[top + 1] == 0.0)
        elif op == Op.REMAINDER_F:
            top -= 1
            stack_f[top] = np.fmod(stack_f[top], stack_f[top + 1])
            stack_null[top] |= stack_null[top + 1] | (not math.isfinite(stack_f[top])) | (stack_f[top + 1] == 0.0)
        elif op == Op.NEGATE_F:
            stack_f[top] = -stack_f[top]
            stack_null[top] |= not math.isfinite(stack_f[top])
        elif op == Op.ABSOLUTE_F:
            stack_f[top] = abs(stack_f[top])
            stack_null[top] |= not math.isfinite(stack_f[top])

        # ── integers: what does not fit is NULL ──
        elif op == Op.ADD_I:
            top -= 1
            left, right = stack_i[top], stack_i[top + 1]
            total = left + right
            stack_i[top] = total
            stack_null[top] |= stack_null[top + 1] | (((left ^ total) & (right ^ total)) < 0)
        elif op == Op.SUBTRACT_I:
            top -= 1
            left, right = stack_i[top], stack_i[top + 1]
            rest = left - right
            stack_i[top] = rest
            stack_null[top] |= stack_null[top + 1] | (((left ^ right) & (left ^ rest)) < 0)
        elif op == Op.MULTIPLY_I:
            top -= 1
            left, right = stack_i[top], stack_i[top + 1]
            stack_i[top] = left * right
            stack_null[top] |= stack_null[top + 1] | product_wraps(left, right)
        elif op == Op.REMAINDER_I:
            top -= 1
            stack_null[top] |= stack_null[top + 1] | (stack_i[top + 1] == 0)
            if stack_null[top] == 0:
                stack_i[top] = remainder(stack_i[top], stack_i[top + 1])
        elif op == Op.NEGATE_I:
            stack_null[top] |= stack_i[top] == LEAST
            stack_i[top] = -stack_i[top]
        elif op == Op.ABSOLUTE_I:
            stack_null[top] |= stack_i[top] == LEAST
            stack_i[top] = abs(stack_i[top])

        # ── times ──
        elif op == Op.IN_CALENDAR:
            stack_null[top] |= (stack_i[top] < LEAST_MICROS) | (stack_i[top] > LAST_MICROS)

        # ── choices ──
        elif op == Op.SKIP:
            at += argument
        elif op == Op.SKIP_UNLESS:
            top -= 1
            if stack_null[top + 1] != 0 or stack_i[top + 1] == 0:
                at += argument

        # ── functions ──
        else:
            top = run_function(op, argument, ops[at - 1, 2], code, stack, top)


@inlined
def _among(left: float, right: float, outcomes: int) -> int:
    """Whether less (1), equal (2) or greater (4) is among the outcomes."""
    # Without branches: which of two prices is greater is just what a processor cannot guess.
    outcome = int(left < right) | int(left == right) << 1 | int(left > right) << 2
    return int((outcome & outcomes) != 0)
