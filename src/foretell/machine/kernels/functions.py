"""Operations that conditions rarely need: mathematical functions, durations, calendars, texts.

The interpreter calls them with the whole stack, so that its own loop, which is inlined in every kernel, stays short.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.machine.kernels.arithmetic import LEAST, quotient, scaled, shrunk, shrunk_by_whole
from foretell.machine.kernels.calendar_fields import calendar_field, local_time
from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.opcodes import Op
from foretell.machine.kernels.structs import Bytecode, Values
from foretell.machine.kernels.texts import (
    code_of_slice,
    compare_texts,
    contains,
    ends_with,
    is_like,
    length,
    starts_with,
    substring,
)

LEAST_MICROS = -62_135_596_800_000_000  # year 1
LAST_MICROS = 253_402_300_799_999_999  # year 9999
MOST_COUNT = 2.0**52  # up to here every float has a half between it and the next whole number


@kernel
def unneeded_function(op: int, argument: int, argument2: int, code: Bytecode, stack: Values, top: int) -> int:
    """In place of `run_function` for plans without functions."""
    if op >= 0:
        raise ValueError("the kernel was compiled without functions, which a condition needs")
    return top


@kernel
def run_function(op: int, argument: int, argument2: int, code: Bytecode, stack: Values, top: int) -> int:
    """Apply an operation to the values on top of the stack; returns the new top."""
    (stack_f, stack_i, stack_null) = stack
    for _ in range(_taken(op)):
        top -= 1
        stack_null[top] |= stack_null[top + 1]
    if stack_null[top] != 0:
        return top

    # ── numbers ──
    if op == Op.SQUARE_ROOT_F:
        stack_f[top] = math.sqrt(stack_f[top])
        stack_null[top] = not math.isfinite(stack_f[top])
    elif op == Op.EXPONENTIAL_F:
        stack_f[top] = math.exp(stack_f[top])
        stack_null[top] = not math.isfinite(stack_f[top])
    elif op == Op.LOGARITHM_F:
        stack_f[top] = math.log(stack_f[top])
        stack_null[top] = not math.isfinite(stack_f[top])
    elif op == Op.POWER_F:
        stack_f[top] = math.pow(stack_f[top], stack_f[top + 1])
        stack_null[top] = not math.isfinite(stack_f[top])
    elif op == Op.FLOOR_F or op == Op.CEILING_F:
        whole = np.floor(stack_f[top]) if op == Op.FLOOR_F else np.ceil(stack_f[top])
        stack_null[top] = not (-(2.0**63) <= whole < 2.0**63)
        if stack_null[top] == 0:
            stack_i[top] = np.int64(whole)
    elif op == Op.ROUND_F:
        stack_f[top] = _rounded_float(stack_f[top], code.floats[argument], argument2)
        stack_null[top] = not math.isfinite(stack_f[top])
    elif op == Op.ROUND_I:
        stack_i[top], fits = _rounded_integer(stack_i[top], code.integers[argument])
        stack_null[top] = not fits
    elif op == Op.DIVIDE_I:
        stack_null[top] = stack_i[top + 1] == 0
        if stack_null[top] == 0:
            stack_f[top] = quotient(stack_i[top], stack_i[top + 1])

    # ── times ──
    elif op == Op.SCALE_F:
        stack_i[top], fits = scaled(stack_i[top], stack_f[top + 1])
        stack_null[top] = not fits
    elif op == Op.SHRINK_F:
        stack_null[top] = stack_f[top + 1] == 0.0
        if stack_null[top] == 0:
            stack_i[top], fits = shrunk(stack_i[top], stack_f[top + 1])
            stack_null[top] = not fits
    elif op == Op.SHRINK_I:
        stack_null[top] = stack_i[top + 1] == 0
        if stack_null[top] == 0:
            stack_i[top], fits = shrunk_by_whole(stack_i[top], stack_i[top + 1])
            stack_null[top] = not fits
    elif op == Op.LOCAL_TIME:
        local = local_time(stack_i[top], argument, argument2, code.integers)
        stack_i[top] = local
        stack_null[top] = (local < LEAST_MICROS) | (local > LAST_MICROS)
    elif op == Op.CALENDAR_FIELD:
        stack_i[top] = calendar_field(stack_i[top], argument)

    # ── texts ──
    elif op == Op.COMPARE_STRING:
        order = compare_texts(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
        stack_i[top] = (argument & (1 if order < 0 else 4 if order > 0 else 2)) != 0
    elif op == Op.LIKE:
        stack_i[top] = is_like(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
    elif op == Op.CONTAINS:
        stack_i[top] = contains(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
    elif op == Op.LENGTH:
        stack_i[top] = length(stack_i[top], code.text_offsets, code.text_bytes)
    elif op == Op.STARTS_WITH:
        stack_i[top] = starts_with(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
    elif op == Op.ENDS_WITH:
        stack_i[top] = ends_with(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
    elif op == Op.SUBSTRING:
        start, count = stack_i[top + 1], stack_i[top + 2]
        stack_i[top] = substring(stack_i[top], start, count, argument != 0, code.text_offsets, code.text_bytes)
    elif op == Op.INTERN:
        if stack_i[top] < 0:
            stack_i[top] = code_of_slice(stack_i[top], code.text_order, code.text_offsets, code.text_bytes)
    elif op == Op.TEXT_FUNCTION:
        stack_i[top] = code.text_functions[stack_i[top], argument]
    return top


@inlined
def _taken(op: int) -> int:
    """How many values an operation takes from the stack besides the one that it replaces."""
    if op == Op.SUBSTRING:
        return 2
    if op == Op.DIVIDE_I or op == Op.SCALE_F or op == Op.SHRINK_F or op == Op.SHRINK_I or op == Op.POWER_F:
        return 1
    if op == Op.COMPARE_STRING or op == Op.LIKE or op == Op.CONTAINS or op == Op.STARTS_WITH or op == Op.ENDS_WITH:
        return 1
    return 0


@inlined
def _rounded_float(number: float, unit: float, decimals: int) -> float:
    """The whole number of units nearest to a number; half a unit is the float nearest to it (decision 0002)."""
    size = abs(number)
    count = size * unit if decimals else size / unit
    if not count < MOST_COUNT:
        return number
    whole = np.floor(count)
    half = (2.0 * whole + 1.0) / (2.0 * unit) if decimals else (whole + 0.5) * unit
    if size >= half:
        whole += 1.0
    return float(np.copysign(whole / unit if decimals else whole * unit, number) + 0.0)


@inlined
def _rounded_integer(number: int, unit: int) -> tuple[int, bool]:
    """The multiple of `unit` nearest to a number, half away from 0, and whether it fits."""
    rest = number % unit
    if rest != 0 and number < 0:
        rest -= unit
    lower = number - rest
    if abs(rest) < unit // 2:
        return lower, True
    if number < 0:
        return lower - unit, lower >= LEAST + unit
    return lower + unit, lower <= -(LEAST + 1) - unit
