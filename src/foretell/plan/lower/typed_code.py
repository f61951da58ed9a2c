"""Code with the type of its value, and the operators that join such codes. The types decide the operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foretell.events.types import Type
from foretell.machine.kernels.opcodes import Op
from foretell.plan.lower.bytecode import Instructions
from foretell.records import record

#: A comparison is the set of outcomes for which it is true: 1 less, 2 equal, 4 greater.
OUTCOMES: Mapping[str, int] = {"=": 2, "<>": 5, "<": 1, "<=": 3, ">": 4, ">=": 6}


@record
class TypedCode:
    """Operations that leave one value on the stack, and its type."""

    ops: Instructions
    type: Type
    sliced: bool = False  # whether it may be a text that was cut out of another, and has no code


def instruction(op: Op, argument: int = 0, argument2: int = 0) -> Instructions:
    return ((op, argument, argument2),)


NULL_CODE = TypedCode(instruction(Op.NULL), Type.NULL)


def is_float(kind: Type) -> bool:
    return kind is Type.FLOAT


def as_float(typed: TypedCode) -> TypedCode:
    return TypedCode(typed.ops + instruction(Op.INT_TO_FLOAT), Type.FLOAT) if typed.type is Type.INT else typed


def negated_if(truth: TypedCode, negated: bool) -> TypedCode:
    return TypedCode(truth.ops + instruction(Op.NOT), Type.BOOL) if negated else truth


def short_circuit(skip: Op, settled: Instructions, otherwise: Instructions) -> Instructions:
    """Skips the second part where the first part decides."""
    return settled + instruction(skip, len(otherwise)) + otherwise


def comparison_code(sign: str, left: TypedCode, right: TypedCode) -> TypedCode:
    """A comparison. With NULL the kernel compares any value that lies there: the result is NULL all the same."""
    op = Op.COMPARE_I
    if Type.FLOAT in (left.type, right.type):
        left, right, op = as_float(left), as_float(right), Op.COMPARE_F
    elif Type.STRING in (left.type, right.type) and (sign not in ("=", "<>") or left.sliced or right.sliced):
        op = Op.COMPARE_STRING
    return TypedCode(left.ops + right.ops + instruction(op, OUTCOMES[sign]), Type.BOOL)


def coalesce_code(arguments: Sequence[TypedCode]) -> TypedCode:
    typed = of_one_type([argument for argument in arguments if argument.type is not Type.NULL])
    if not typed:
        return NULL_CODE
    ops = typed[0].ops
    for other in typed[1:]:
        ops = short_circuit(Op.SKIP_IF_PRESENT, ops, other.ops + instruction(Op.COALESCE))
    return TypedCode(ops, typed[0].type, any(argument.sliced for argument in typed))


def of_one_type(codes: list[TypedCode]) -> list[TypedCode]:
    """The codes in the type that their values have in common: a NULL in that of the others, an INT as a FLOAT."""
    kinds = [code.type for code in codes if code.type is not Type.NULL]
    if not kinds:
        return codes
    kind = Type.FLOAT if Type.FLOAT in kinds else kinds[0]
    typed = [replace(code, type=kind) if code.type is Type.NULL else code for code in codes]
    return [as_float(code) for code in typed] if is_float(kind) else typed


def signed_code(number: TypedCode, on_ints: Op, on_floats: Op) -> TypedCode:
    if number.type is Type.NULL:
        return number
    return TypedCode(number.ops + instruction(on_floats if is_float(number.type) else on_ints), number.type)


# ── Arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ON_FLOATS = {"+": Op.ADD_F, "-": Op.SUBTRACT_F, "*": Op.MULTIPLY_F, "/": Op.DIVIDE_F, "%": Op.REMAINDER_F}
_ON_INTS = {"+": Op.ADD_I, "-": Op.SUBTRACT_I, "*": Op.MULTIPLY_I, "/": Op.DIVIDE_I, "%": Op.REMAINDER_I}


def arithmetic_code(sign: str, left: TypedCode, right: TypedCode) -> TypedCode:
    kinds = (left.type, right.type)
    if Type.NULL in kinds:
        return NULL_CODE
    if Type.DURATION in kinds or Type.TIMESTAMP in kinds:
        return _time_arithmetic(sign, left, right)
    if Type.FLOAT in kinds:
        return TypedCode(as_float(left).ops + as_float(right).ops + instruction(_ON_FLOATS[sign]), Type.FLOAT)
    return TypedCode(left.ops + right.ops + instruction(_ON_INTS[sign]), Type.FLOAT if sign == "/" else Type.INT)


def _time_arithmetic(sign: str, left: TypedCode, right: TypedCode) -> TypedCode:
    plain = left.ops + right.ops
    match left.type, sign, right.type:
        case (Type.DURATION, "/", Type.DURATION):
            return TypedCode(plain + instruction(Op.DIVIDE_I), Type.FLOAT)
        case (Type.DURATION, "/", _):
            return TypedCode(plain + instruction(Op.SHRINK_F if is_float(right.type) else Op.SHRINK_I), Type.DURATION)
        case (Type.DURATION, "*", _):
            return TypedCode(plain + instruction(Op.SCALE_F if is_float(right.type) else Op.MULTIPLY_I), Type.DURATION)
        case (_, "*", Type.DURATION):
            return _time_arithmetic(sign, right, left)
        case (Type.TIMESTAMP, "-", Type.TIMESTAMP) | (Type.DURATION, "+" | "-", Type.DURATION):
            return TypedCode(plain + instruction(_ON_INTS[sign]), Type.DURATION)
    return TypedCode(plain + instruction(_ON_INTS[sign]) + instruction(Op.IN_CALENDAR), Type.TIMESTAMP)
