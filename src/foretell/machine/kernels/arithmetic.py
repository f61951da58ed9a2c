"""Exact arithmetic of 64-bit integers and of lengths of time, as Python's gives it.

Where floats would be off (a quotient of long integers, a length of time scaled), long division does it.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from foretell.machine.kernels.decorators import inlined, kernel

Word: TypeAlias = Any  # an int64 or a uint64, of which mypy knows too little

LEAST = -(2**63)
EXACT = 2**53  # up to here every integer is a float

# Numba takes an int and a uint64 to a float: every number beside an unsigned one is unsigned too.
U0, U1, U63 = np.uint64(0), np.uint64(1), np.uint64(63)
U32, LOW32 = np.uint64(32), np.uint64(2**32 - 1)
U55, TOP = np.uint64(2**55), np.uint64(2**63)


@inlined
def product_wraps(left: int, right: int) -> bool:
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
