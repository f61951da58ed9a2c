"""Conditions that compare with bound events, as a flat program for the kernel's stack machine.

The compiler types every operation, so that the kernel need not ask. `foretell.machine.kernels.opcodes` says what each
operation does.

>>> price = tree.Attribute(tree.This(), "price")
>>> bound = tree.Attribute(tree.Bound("a"), "price")
>>> places = {price: Operand("column", 3, Type.FLOAT), bound: Operand("slot", 0, Type.FLOAT)}
>>> print(listing(compile_expression(tree.Binary(">", price, bound), places.get, len)))
COMPARE_COLUMN_SLOT_F 28 0
>>> twice = tree.Binary("*", tree.Literal(2), bound)
>>> print(listing(compile_expression(tree.Binary(">", price, twice), places.get, len)))
LOAD_COLUMN_F 3 0
CONST_I 0 0
INT_TO_FLOAT 0 0
LOAD_SLOT_F 0 0
MULTIPLY_F 0 0
COMPARE_F 4 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.tree import Expression
from foretell.machine.kernels.opcodes import Op

#: A comparison is the set of outcomes for which it is true: 1 less, 2 equal, 4 greater.
OUTCOMES: Mapping[str, int] = {"=": 2, "<>": 5, "<": 1, "<=": 3, ">": 4, ">=": 6}


@dataclass(frozen=True)
class Operand:
    """Where the value of a sub-expression lies: in a column of the batch, a slot of the instance, a parameter."""

    kind: Literal["column", "slot", "parameter"]
    index: int
    type: Type


@dataclass(frozen=True)
class Code:
    """A program: one row of `ops` for each operation, its argument and second argument.

    `depth` is how high the stack grows. Jumps are relative and constants have numbers of their own, so that many
    codes can lie behind one another (`link`).
    """

    ops: NDArray[np.int32]
    constants_f: NDArray[np.float64]
    constants_i: NDArray[np.int64]
    depth: int

    @property
    def recases(self) -> bool:
        """Whether it asks for the lower or upper case of texts that only the kernel knows."""
        return bool(np.isin(self.ops[:, 0], (Op.LOWER, Op.UPPER)).any())


@dataclass(frozen=True)
class Linked:
    """Many codes as one: the i-th is `ops[starts[i]:stops[i]]`."""

    code: Code
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def compile_expression(
    expression: Expression, operand: Callable[[Expression], Operand | None], code_of: Callable[[str], int]
) -> Code:
    """The code that leaves an expression's value on the stack.

    `operand` is asked of every sub-expression from the outside in, so that the largest that lie somewhere are taken as
    they are; `code_of` gives a string's code. The types of all else follow from the operands'.
    """
    compiler = _Compiler(operand, code_of)
    return compiler.assemble(compiler.value(expression).ops)


def rebase(code: Code, floats: int, ints: int) -> NDArray[np.int32]:
    """The operations for constants that stand behind `floats` and `ints` others."""
    ops = code.ops.copy()
    ops[ops[:, 0] == Op.CONST_F, 1] += floats
    ops[ops[:, 0] == Op.CONST_I, 1] += ints
    return ops


def link(codes: Sequence[Code]) -> Linked:
    """All codes behind one another, with their constants."""
    floats = accumulate((len(c.constants_f) for c in codes), initial=0)
    ints = accumulate((len(c.constants_i) for c in codes), initial=0)
    ends = np.array([0, *accumulate(len(c.ops) for c in codes)], np.int64)
    together = Code(
        np.concatenate([_no_ops(), *(rebase(c, f, i) for c, f, i in zip(codes, floats, ints))]),
        np.concatenate([np.empty(0, np.float64), *(c.constants_f for c in codes)]),
        np.concatenate([np.empty(0, np.int64), *(c.constants_i for c in codes)]),
        max((c.depth for c in codes), default=0),
    )
    return Linked(together, ends[:-1], ends[1:])


def listing(code: Code) -> str:
    """The operations by name, one a line."""
    return "\n".join(f"{Op(op).name} {first} {second}" for op, first, second in code.ops.tolist())


def _no_ops() -> NDArray[np.int32]:
    return np.empty((0, 3), np.int32)


# ── The compiler ───────────────────────────────────────────────────────────────────────────────────────────────────

_Ops: TypeAlias = tuple[tuple[Op, int, int], ...]


@dataclass(frozen=True)
class _Typed:
    """Operations that leave one value on the stack, and its type."""

    ops: _Ops
    type: Type


def _op(op: Op, argument: int = 0, argument2: int = 0) -> _Ops:
    return ((op, argument, argument2),)


_NULL = _Typed(_op(Op.NULL), Type.NULL)


@dataclass(frozen=True)
class _Compiler:
    operand: Callable[[Expression], Operand | None]
    code_of: Callable[[str], int]
    floats: dict[str, int] = field(default_factory=dict)  # by their exact text: 0.0 and -0.0 are two constants
    ints: dict[int, int] = field(default_factory=dict)

    def assemble(self, ops: _Ops) -> Code:
        return Code(
            np.array(ops, np.int32).reshape(-1, 3),
            np.array([float.fromhex(text) for text in self.floats], np.float64),
            np.array(list(self.ints), np.int64),
            _depth(ops),
        )

    def value(self, expression: Expression) -> _Typed:
        place = self.operand(expression)
        if place is not None:
            return _Typed(_op(_LOADS[place.kind, _is_float(place.type)], place.index), place.type)
        match expression:
            case tree.Literal(value=literal):
                return self.literal(literal)
            case tree.Span(micros=micros):
                return self.integer(micros, Type.DURATION)
            case tree.Moment(micros=micros):
                return self.integer(micros, Type.TIMESTAMP)
            case tree.Unary(operator="NOT", operand=inner):
                return _Typed(self.value(inner).ops + _op(Op.NOT), Type.BOOL)
            case tree.Unary(operand=inner):
                return _signed(self.value(inner), Op.NEGATE_I, Op.NEGATE_F)
            case tree.Binary():
                return self.binary(expression)
            case tree.In():
                return self.is_in(expression)
            case tree.Between():
                return self.between(expression)
            case tree.Like(value=text, pattern=pattern, negated=negated):
                return _perhaps_not(self.on_texts(Op.LIKE, Type.BOOL, (text, pattern)), negated)
            case tree.IsNull(value=inner, negated=negated):
                return _perhaps_not(_Typed(self.value(inner).ops + _op(Op.IS_NULL), Type.BOOL), negated)
            case tree.Call(function=function, arguments=arguments):
                return self.call(expression, function, arguments)
        raise AssertionError(expression)

    # ── constants ──

    def literal(self, value: bool | int | float | str | None) -> _Typed:
        match value:
            case None:
                return _NULL
            case bool():
                return self.integer(int(value), Type.BOOL)
            case int():
                return self.integer(value, Type.INT)
            case float():
                return _Typed(_op(Op.CONST_F, self.floats.setdefault(value.hex(), len(self.floats))), Type.FLOAT)
        return self.integer(self.code_of(value), Type.STRING)

    def integer(self, value: int, kind: Type) -> _Typed:
        return _Typed(_op(Op.CONST_I, self.ints.setdefault(value, len(self.ints))), kind)

    # ── conditions ──

    def binary(self, binary: tree.Binary) -> _Typed:
        if binary.operator in OUTCOMES:
            whole = self.whole_comparison(binary)
            return whole or _compared(binary.operator, self.value(binary.left), self.value(binary.right))
        left, right = self.value(binary.left), self.value(binary.right)
        if binary.operator == "AND":
            return _Typed(_unless(Op.SKIP_IF_FALSE, left.ops, right.ops + _op(Op.AND)), Type.BOOL)
        if binary.operator == "OR":
            return _Typed(_unless(Op.SKIP_IF_TRUE, left.ops, right.ops + _op(Op.OR)), Type.BOOL)
        return _arithmetic(binary.operator, left, right)

    def whole_comparison(self, binary: tree.Binary) -> _Typed | None:
        """The commonest condition in one operation: a column against a slot or parameter of the same type."""
        left, right, sign = self.operand(binary.left), self.operand(binary.right), binary.operator
        if left is None or right is None:
            return None
        if right.kind == "column":
            left, right, sign = right, left, tree.MIRRORED_COMPARISON[sign]
        op = _WHOLE.get((left.kind, right.kind, _is_float(left.type)))
        ordered_texts = left.type is Type.STRING and sign not in ("=", "<>")
        if op is None or left.type is not right.type or left.type is Type.NULL or ordered_texts:
            return None
        return _Typed(_op(op, left.index * 8 + OUTCOMES[sign], right.index), Type.BOOL)

    def is_in(self, node: tree.In) -> _Typed:
        """The value, then under way `value found`: each option is compared with a copy of the value."""
        value = self.value(node.value)
        ops = value.ops + self.integer(0, Type.BOOL).ops
        for option in node.options:
            equal = _compared("=", _Typed(_op(Op.PICK, 1), value.type), self.value(option)).ops
            ops = _unless(Op.SKIP_IF_TRUE, ops, equal + _op(Op.OR))
        return _perhaps_not(_Typed(ops + _op(Op.NIP), Type.BOOL), node.negated)

    def between(self, node: tree.Between) -> _Typed:
        value = self.value(node.value)
        above = _compared(">=", _Typed(_op(Op.PICK, 0), value.type), self.value(node.low)).ops
        below = _compared("<=", _Typed(_op(Op.PICK, 1), value.type), self.value(node.high)).ops
        inside = _unless(Op.SKIP_IF_FALSE, above, below + _op(Op.AND))
        return _perhaps_not(_Typed(value.ops + inside + _op(Op.NIP), Type.BOOL), node.negated)

    # ── functions ──

    def call(self, call: tree.Call, function: str, arguments: tuple[Expression, ...]) -> _Typed:
        match function:
            case "coalesce":
                return _coalesced([self.value(a) for a in arguments])
            case "abs":
                return _signed(self.value(arguments[0]), Op.ABSOLUTE_I, Op.ABSOLUTE_F)
            case "contains":
                return self.on_texts(Op.CONTAINS, Type.BOOL, arguments)
            case "length":
                return self.on_texts(Op.LENGTH, Type.INT, arguments)
        return self.recased(call)

    def on_texts(self, op: Op, kind: Type, texts: Iterable[Expression]) -> _Typed:
        ops = tuple(one for text in texts for one in self.value(text).ops)
        return _Typed(ops + _op(op), kind)

    def recased(self, call: tree.Call) -> _Typed:
        """`lower` and `upper` go down to what makes strings before the kernel runs, as far as that goes.

        A program that asks the kernel itself has both cases of every string worked out.
        """
        constant = _folded(call)
        if constant is not None:
            return self.literal(constant)
        leaves = list(_recased_leaves(call))
        if leaves == [call]:
            return self.on_texts(Op.LOWER if call.function == "lower" else Op.UPPER, Type.STRING, call.arguments)
        return _coalesced([self.value(leaf) for leaf in leaves])


def _folded(text: Expression) -> str | None:
    match text:
        case tree.Literal(value=str(value)):
            return value
        case tree.Call(function="lower" | "upper" as function, arguments=(inner,)):
            found = _folded(inner)
            return None if found is None else found.lower() if function == "lower" else found.upper()
    return None


def _recased_leaves(text: Expression) -> Iterator[Expression]:
    """The texts of which the first present is meant: a `coalesce` inside comes to the outside."""
    match text:
        case tree.Call(function="coalesce", arguments=arguments):
            for argument in arguments:
                yield from _recased_leaves(argument)
        case tree.Call(function="lower" | "upper" as function, arguments=(inner,)):
            yield from (tree.Call(function, (leaf,)) for leaf in _recased_leaves(inner) if leaf != tree.Literal(None))
        case _:
            yield text


_LOADS: Mapping[tuple[str, bool], Op] = {
    ("column", True): Op.LOAD_COLUMN_F,
    ("column", False): Op.LOAD_COLUMN_I,
    ("slot", True): Op.LOAD_SLOT_F,
    ("slot", False): Op.LOAD_SLOT_I,
    ("parameter", True): Op.LOAD_PARAMETER_F,
    ("parameter", False): Op.LOAD_PARAMETER_I,
}
_WHOLE: Mapping[tuple[str, str, bool], Op] = {
    ("column", "slot", True): Op.COMPARE_COLUMN_SLOT_F,
    ("column", "slot", False): Op.COMPARE_COLUMN_SLOT_I,
    ("column", "parameter", True): Op.COMPARE_COLUMN_PARAMETER_F,
    ("column", "parameter", False): Op.COMPARE_COLUMN_PARAMETER_I,
}


def _is_float(kind: Type) -> bool:
    return kind is Type.FLOAT


def _as_float(typed: _Typed) -> _Typed:
    return _Typed(typed.ops + _op(Op.INT_TO_FLOAT), Type.FLOAT) if typed.type is Type.INT else typed


def _perhaps_not(truth: _Typed, negated: bool) -> _Typed:
    return _Typed(truth.ops + _op(Op.NOT), Type.BOOL) if negated else truth


def _unless(skip: Op, settled: _Ops, otherwise: _Ops) -> _Ops:
    """Where the first part settles it, the second is not asked."""
    return settled + _op(skip, len(otherwise)) + otherwise


def _compared(sign: str, left: _Typed, right: _Typed) -> _Typed:
    """Also with NULL, as whose value the kernel compares what happens to lie there: the result is NULL anyway."""
    op = Op.COMPARE_I
    if Type.FLOAT in (left.type, right.type):
        left, right, op = _as_float(left), _as_float(right), Op.COMPARE_F
    elif Type.STRING in (left.type, right.type) and sign not in ("=", "<>"):
        op = Op.COMPARE_STRING
    return _Typed(left.ops + right.ops + _op(op, OUTCOMES[sign]), Type.BOOL)


def _coalesced(arguments: Sequence[_Typed]) -> _Typed:
    known = [a for a in arguments if a.type is not Type.NULL]
    if not known:
        return _NULL
    if any(a.type is Type.FLOAT for a in known):
        known = [_as_float(a) for a in known]
    ops = known[0].ops
    for other in known[1:]:
        ops = _unless(Op.SKIP_IF_PRESENT, ops, other.ops + _op(Op.COALESCE))
    return _Typed(ops, known[0].type)


def _signed(number: _Typed, on_ints: Op, on_floats: Op) -> _Typed:
    if number.type is Type.NULL:
        return number
    return _Typed(number.ops + _op(on_floats if _is_float(number.type) else on_ints), number.type)


# ── Arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────────────

_ON_FLOATS = {"+": Op.ADD_F, "-": Op.SUBTRACT_F, "*": Op.MULTIPLY_F, "/": Op.DIVIDE_F, "%": Op.REMAINDER_F}
_ON_INTS = {"+": Op.ADD_I, "-": Op.SUBTRACT_I, "*": Op.MULTIPLY_I, "/": Op.DIVIDE_I, "%": Op.REMAINDER_I}


def _arithmetic(sign: str, left: _Typed, right: _Typed) -> _Typed:
    kinds = (left.type, right.type)
    if Type.NULL in kinds:
        return _NULL
    if Type.DURATION in kinds or Type.TIMESTAMP in kinds:
        return _time_arithmetic(sign, left, right)
    if Type.FLOAT in kinds:
        return _Typed(_as_float(left).ops + _as_float(right).ops + _op(_ON_FLOATS[sign]), Type.FLOAT)
    return _Typed(left.ops + right.ops + _op(_ON_INTS[sign]), Type.FLOAT if sign == "/" else Type.INT)


def _time_arithmetic(sign: str, left: _Typed, right: _Typed) -> _Typed:
    plain = left.ops + right.ops
    match left.type, sign, right.type:
        case (Type.DURATION, "/", Type.DURATION):
            return _Typed(plain + _op(Op.DIVIDE_I), Type.FLOAT)
        case (Type.DURATION, "/", _):
            return _Typed(plain + _op(Op.SHRINK_F if _is_float(right.type) else Op.SHRINK_I), Type.DURATION)
        case (Type.DURATION, "*", _):
            return _Typed(plain + _op(Op.SCALE_F if _is_float(right.type) else Op.MULTIPLY_I), Type.DURATION)
        case (_, "*", Type.DURATION):
            return _time_arithmetic(sign, right, left)
        case (Type.TIMESTAMP, "-", Type.TIMESTAMP) | (Type.DURATION, "+" | "-", Type.DURATION):
            return _Typed(plain + _op(_ON_INTS[sign]), Type.DURATION)
    return _Typed(plain + _op(_ON_INTS[sign]) + _op(Op.IN_CALENDAR), Type.TIMESTAMP)


# ── The height of the stack ────────────────────────────────────────────────────────────────────────────────────────

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
        Op.LOWER,
        Op.UPPER,
    }
    | {Op.NEGATE_I, Op.ABSOLUTE_I, Op.INT_TO_FLOAT, Op.NEGATE_F, Op.ABSOLUTE_F}
)


def _depth(ops: _Ops) -> int:
    """The most values at one time; all other operations take two and leave one. A skip only ever leaves less."""
    heights = accumulate(1 if op in _PUSHING else 0 if op in _LEVEL else -1 for op, _, _ in ops)
    return max(heights, default=0)
