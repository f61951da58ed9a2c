"""Opcodes of the stack machine that evaluates guards: `foretell.machine.kernels.interpreter` runs them.

Opcodes are typed: one that ends in `F` takes floats, one that ends in `I` integers (INT, and also BOOL, TIMESTAMP and
DURATION in microseconds, STRING codes).
"""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """The operations. `… a b → c` is what they take from the stack, the top last, and what they leave."""

    # What lies somewhere: the argument says where.
    LOAD_COLUMN_F = 0  # → a
    LOAD_COLUMN_I = 1
    LOAD_SLOT_F = 2
    LOAD_SLOT_I = 3
    LOAD_PARAMETER_F = 4
    LOAD_PARAMETER_I = 5
    CONST_F = 6
    CONST_I = 7
    NULL = 8  # → NULL
    PICK = 9  # … → what lies `argument` below the top, once more
    NIP = 10  # a b → b

    # Whole conditions in one: `argument` is column * 8 + outcomes, `argument2` the slot or parameter.
    COMPARE_COLUMN_SLOT_F = 11
    COMPARE_COLUMN_SLOT_I = 12
    COMPARE_COLUMN_PARAMETER_F = 13
    COMPARE_COLUMN_PARAMETER_I = 14

    # Truth.
    COMPARE_F = 15  # a b → whether their order is among the outcomes in `argument`
    COMPARE_I = 16
    COMPARE_STRING = 17
    NOT = 18
    AND = 19
    OR = 20
    IS_NULL = 21
    SKIP_IF_FALSE = 22  # goes `argument` operations further where the top, which stays, is false (not NULL)
    SKIP_IF_TRUE = 23
    SKIP_IF_PRESENT = 24  # the same where it is not NULL
    COALESCE = 25  # a b → b where a is NULL, else a

    # Integers. What does not fit 64 bits is NULL.
    ADD_I = 26
    SUBTRACT_I = 27
    MULTIPLY_I = 28
    DIVIDE_I = 29  # a b → the FLOAT nearest to the quotient
    REMAINDER_I = 30
    NEGATE_I = 31
    ABSOLUTE_I = 32
    INT_TO_FLOAT = 33

    # Floats. A result that is not finite is NULL.
    ADD_F = 34
    SUBTRACT_F = 35
    MULTIPLY_F = 36
    DIVIDE_F = 37
    REMAINDER_F = 38
    NEGATE_F = 39
    ABSOLUTE_F = 40

    # Times.
    IN_CALENDAR = 41  # a TIMESTAMP outside of years 1 to 9999 becomes NULL
    SCALE_F = 42  # a DURATION and a FLOAT → a DURATION, rounded half to even
    SHRINK_F = 43  # … by a FLOAT
    SHRINK_I = 44  # … by an INT

    # Texts: by their codes, or as slices of other texts.
    LIKE = 45
    CONTAINS = 46
    LENGTH = 47

    # Choices.
    SKIP = 48  # goes `argument` operations further: they would have put another value in place of the top
    SKIP_UNLESS = 49  # a → ; goes `argument` operations further unless a is true

    # What foretell.machine.kernels.functions does. A NULL makes the result NULL.
    SQUARE_ROOT_F = 50
    EXPONENTIAL_F = 51
    LOGARITHM_F = 52
    POWER_F = 53  # a b → a to the power of b
    FLOOR_F = 54  # a FLOAT → an INT
    CEILING_F = 55
    ROUND_F = 56  # to the unit that is constant `argument`, or with `argument2` to its inverse
    ROUND_I = 57  # to the unit that is constant `argument`
    LOCAL_TIME = 58  # in the zone whose table of `argument2` changes begins with constant `argument`
    CALENDAR_FIELD = 59  # field number `argument` of a TIMESTAMP
    STARTS_WITH = 60
    ENDS_WITH = 61
    SUBSTRING = 62  # a text, a start, a count → a slice; with `argument` to the end, whatever the count
    INTERN = 63  # a slice → its code
    TEXT_FUNCTION = 64  # a code → what function number `argument` gives for it


#: The operations of foretell.machine.kernels.functions.
FUNCTIONS = frozenset(
    {Op.COMPARE_STRING, Op.DIVIDE_I, Op.SCALE_F, Op.SHRINK_F, Op.SHRINK_I, Op.LIKE, Op.CONTAINS, Op.LENGTH}
    | {op for op in Op if op >= Op.SQUARE_ROOT_F}
)
