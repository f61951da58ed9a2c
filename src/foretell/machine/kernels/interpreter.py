"""The stack machine for conditions that compare with bound events: what `foretell.plan.lower.bytecode` compiles, run.

Operations are typed, so a value is looked for only where its type has it: in the matrix of floats or in that of
integers, at the same place, with a third matrix that says whether it is NULL. Nothing is allocated here.

Everything agrees with `foretell.reference.expressions` to the value. Where floats would be off (a quotient of long
integers, a length of time scaled), 64-bit integers and long division give what Python's exact arithmetic gives.

An array is some seven numbers to a callee, so a call with all of these costs more than most conditions (30 ns): LLVM is
told to inline `run_code` where it is called. Then `price > a.price` takes 7 ns and each further operation about 2, in
a loop over a million rows; the same comparison written out in the loop takes 5.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import Array
from foretell.machine.kernels.opcodes import Op
from foretell.machine.kernels.structs import Bytecode, Values

Word: TypeAlias = Any  # an int64 or a uint64, of which mypy knows too little

LEAST = -(2**63)
LEAST_MICROS = -62_135_596_800_000_000  # year 1
LAST_MICROS = 253_402_300_799_999_999  # year 9999
EXACT = 2**53  # up to here every integer is a float
PERCENT, UNDERSCORE = ord("%"), ord("_")

# Numba takes an int and a uint64 to a float: every number beside an unsigned one is unsigned too.
U0, U1, U63 = np.uint64(0), np.uint64(1), np.uint64(63)
U32, LOW32 = np.uint64(32), np.uint64(2**32 - 1)
U55, TOP = np.uint64(2**55), np.uint64(2**63)


@inlined
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
        elif op == Op.COMPARE_STRING:
            top -= 1
            stack_null[top] |= stack_null[top + 1]
            if stack_null[top] == 0:
                order = compare_texts(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
                stack_i[top] = _among(order, 0, argument)
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
            stack_null[top] |= stack_null[top + 1] | _product_wraps(left, right)
        elif op == Op.DIVIDE_I:
            top -= 1
            stack_null[top] |= stack_null[top + 1] | (stack_i[top + 1] == 0)
            if stack_null[top] == 0:
                stack_f[top] = quotient(stack_i[top], stack_i[top + 1])
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
        elif op == Op.SCALE_F:
            top -= 1
            stack_null[top] |= stack_null[top + 1]
            if stack_null[top] == 0:
                stack_i[top], fits = scaled(stack_i[top], stack_f[top + 1])
                stack_null[top] = not fits
        elif op == Op.SHRINK_F:
            top -= 1
            stack_null[top] |= stack_null[top + 1] | (stack_f[top + 1] == 0.0)
            if stack_null[top] == 0:
                stack_i[top], fits = shrunk(stack_i[top], stack_f[top + 1])
                stack_null[top] = not fits
        elif op == Op.SHRINK_I:
            top -= 1
            stack_null[top] |= stack_null[top + 1] | (stack_i[top + 1] == 0)
            if stack_null[top] == 0:
                stack_i[top], fits = shrunk_by_whole(stack_i[top], stack_i[top + 1])
                stack_null[top] = not fits

        # ── texts ──
        elif op == Op.LIKE:
            top -= 1
            stack_null[top] |= stack_null[top + 1]
            if stack_null[top] == 0:
                stack_i[top] = is_like(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
        elif op == Op.CONTAINS:
            top -= 1
            stack_null[top] |= stack_null[top + 1]
            if stack_null[top] == 0:
                stack_i[top] = contains(stack_i[top], stack_i[top + 1], code.text_offsets, code.text_bytes)
        elif stack_null[top] == 0:  # of one text
            if op == Op.LENGTH:
                stack_i[top] = length(stack_i[top], code.text_offsets, code.text_bytes)
            elif op == Op.LOWER:
                stack_i[top] = code.text_cases[stack_i[top], 0]
            elif op == Op.UPPER:
                stack_i[top] = code.text_cases[stack_i[top], 1]


@inlined
def _among(left: float, right: float, outcomes: int) -> int:
    """Whether less (1), equal (2) or greater (4) is among the outcomes."""
    # Without branches: which of two prices is greater is just what a processor cannot guess.
    outcome = int(left < right) | int(left == right) << 1 | int(left > right) << 2
    return int((outcome & outcomes) != 0)


# ── Integers ───────────────────────────────────────────────────────────────────────────────────────────────────────


@inlined
def _product_wraps(left: int, right: int) -> bool:
    # The float is near enough: no wrap leaves the sign as it is, one turns it, and beyond that the size alone tells.
    near = float(left) * float(right)
    size = abs(near)
    return (size > 1.5 * 2.0**63) | ((size > 2.0**62) & ((left * right < 0) != (near < 0)))


@kernel
def remainder(left: int, right: int) -> int:
    """With the sign of the dividend. The least integer by -1 would trap the processor."""
    if right == -1:
        return 0
    rest = left % right
    return rest - right if rest != 0 and (left < 0) != (right < 0) else rest


@kernel
def quotient(left: int, right: int) -> float:
    """The float nearest to the quotient of two integers; `right` is not 0."""
    if -EXACT <= left <= EXACT and -EXACT <= right <= EXACT:
        return left / right
    if left == 0:
        return 0.0
    # 56 bits or more and one that says whether anything was left over: enough to round once, and rightly.
    above, below = _size(left), _size(right)
    bits = above // below
    rest = above - bits * below
    shift = 0
    while bits < U55:
        rest += rest
        bits += bits
        if rest >= below:
            rest -= below
            bits += U1
        shift += 1
    if rest != U0:
        bits |= U1
    found = math.ldexp(float(bits), -shift)
    return -found if (left < 0) != (right < 0) else found


@inlined
def _size(number: int) -> Word:
    return np.uint64(-number) if number < 0 else np.uint64(number)


# ── Lengths of time: exact, then rounded to the microsecond, from half-way to the even one ─────────────────────────


@inlined
def _surely_rounded(near: float) -> bool:
    """Whether a float that is off by less than 2**-50 of itself rounds as the exact number would."""
    return bool(0.5 - abs(near - np.rint(near)) > abs(near) * 2.0**-50)


@inlined
def _signed(size: Word, negative: bool) -> tuple[Word, bool]:
    if negative:
        return -np.int64(size), size <= TOP
    return np.int64(size), size < TOP


@kernel
def scaled(micros: int, factor: float) -> tuple[Word, bool]:
    """`micros` times `factor`, and whether that fits."""
    near = micros * factor
    if _surely_rounded(near):
        return np.int64(np.rint(near)), True
    if not math.isfinite(factor) or abs(near) > 2.0**64:
        return 0, False
    digits, exponent = _digits(factor)
    high, low = _product(_size(micros), digits)
    half, more = U0, U0
    if exponent < -120:  # the product has at most 117 bits
        return 0, True
    for _ in range(-exponent):
        more |= half
        half = low & U1
        low = (low >> U1) | ((high & U1) << U63)
        high >>= U1
    for _ in range(exponent):
        high += high + (low >> U63)
        low += low
    low += half & (more | (low & U1))
    if high != U0:
        return 0, False
    return _signed(low, (micros < 0) != (factor < 0))


@kernel
def shrunk(micros: int, factor: float) -> tuple[Word, bool]:
    """`micros` by `factor`, which is not 0, and whether that fits."""
    near = micros / factor
    if math.isfinite(factor) and _surely_rounded(near):
        return np.int64(np.rint(near)), True
    if not math.isfinite(factor) or abs(near) > 2.0**64:
        return 0, False
    below, exponent = _digits(factor)
    for _ in range(exponent):
        if below >= TOP:
            return 0, True  # at most half a microsecond, and that goes to the even 0
        below += below
    above = _size(micros)
    bits = above // below
    rest = above - bits * below
    for _ in range(-exponent):
        if bits >= TOP:
            return 0, False
        rest += rest
        bits += bits
        if rest >= below:
            rest -= below
            bits += U1
    return _signed(_rounded(bits, rest, below), (micros < 0) != (factor < 0))


@kernel
def shrunk_by_whole(micros: int, divisor: int) -> tuple[Word, bool]:
    """`micros` by `divisor`, which is not 0, and whether that fits."""
    above, below = _size(micros), _size(divisor)
    bits = above // below
    rest = above - bits * below
    return _signed(_rounded(bits, rest, below), (micros < 0) != (divisor < 0))


@inlined
def _rounded(bits: Word, rest: Word, below: Word) -> Word:
    """A quotient with its remainder, rounded half to even."""
    lacking = below - rest
    if rest > lacking or (rest == lacking and bits & U1):
        return bits + U1
    return bits


@inlined
def _digits(factor: float) -> tuple[Word, int]:
    """The float's size as a whole number times a power of two."""
    part, exponent = math.frexp(abs(factor))
    return np.uint64(part * 2.0**53), exponent - 53


@inlined
def _product(left: Word, right: Word) -> tuple[Word, Word]:
    """All 128 bits of a product, in two halves."""
    left_high, left_low = left >> U32, left & LOW32
    right_high, right_low = right >> U32, right & LOW32
    middle = left_high * right_low + ((left_low * right_low) >> U32)
    carry = left_low * right_high + (middle & LOW32)
    return left_high * right_high + (middle >> U32) + (carry >> U32), left * right


# ── Texts: UTF-8 in one heap ───────────────────────────────────────────────────────────────────────────────────────


@kernel
def compare_texts(left: int, right: int, offsets: Array, data: Array) -> int:
    """Less than, equal to or greater than 0; bytes of UTF-8 have the order of their code points."""
    a, b = offsets[left], offsets[right]
    a_end, b_end = offsets[left + 1], offsets[right + 1]
    while a < a_end and b < b_end:
        if data[a] != data[b]:
            return -1 if data[a] < data[b] else 1
        a += 1
        b += 1
    return int((a_end - a) - (b_end - b))


@kernel
def contains(text: int, part: int, offsets: Array, data: Array) -> bool:
    """No code point's bytes begin inside another's, so bytes can be compared."""
    begin, size = offsets[part], offsets[part + 1] - offsets[part]
    for at in range(offsets[text], offsets[text + 1] - size + 1):
        same = 0
        while same < size and data[at + same] == data[begin + same]:
            same += 1
        if same == size:
            return True
    return False


@kernel
def is_like(text: int, pattern: int, offsets: Array, data: Array) -> bool:
    """Where what follows a % does not fit, the % takes one code point more; only the latest % need ever do so."""
    at, end = offsets[text], offsets[text + 1]
    wanted, last = offsets[pattern], offsets[pattern + 1]
    retry_at, retry_wanted = -1, -1
    while at < end:
        if wanted < last and data[wanted] == PERCENT:
            retry_at, retry_wanted = at, wanted + 1
            wanted += 1
        elif wanted < last and data[wanted] == UNDERSCORE:
            at = _next_code_point(at, end, data)
            wanted += 1
        elif wanted < last and data[wanted] == data[at]:
            at += 1
            wanted += 1
        elif retry_wanted >= 0:
            retry_at = _next_code_point(retry_at, end, data)
            at, wanted = retry_at, retry_wanted
        else:
            return False
    while wanted < last and data[wanted] == PERCENT:
        wanted += 1
    return bool(wanted == last)


@inlined
def _next_code_point(at: int, end: int, data: Array) -> int:
    at += 1
    while at < end and data[at] & 0xC0 == 0x80:
        at += 1
    return at


@kernel
def length(text: int, offsets: Array, data: Array) -> int:
    """In code points."""
    count = 0
    for at in range(offsets[text], offsets[text + 1]):
        if data[at] & 0xC0 != 0x80:
            count += 1
    return count
