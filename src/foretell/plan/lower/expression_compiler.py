"""Compilation of expressions to bytecode: conditions that compare with bound events, or compute registers.

The compiler types every operation, so that the kernel need not.

>>> from foretell.plan.lower.bytecode import listing
>>> price = tree.Attribute(tree.This(), "price")
>>> bound = tree.Attribute(tree.BoundEvent("a"), "price")
>>> operands = {price: Operand("column", 3, Type.FLOAT), bound: Operand("slot", 0, Type.FLOAT)}
>>> print(listing(compile_expression(tree.Binary(">", price, bound), operands.get, len)))
COMPARE_COLUMN_SLOT_F 28 0
>>> twice = tree.Binary("*", tree.Literal(2), bound)
>>> print(listing(compile_expression(tree.Binary(">", price, twice), operands.get, len)))
LOAD_COLUMN_F 3 0
CONST_I 0 0
INT_TO_FLOAT 0 0
LOAD_SLOT_F 0 0
MULTIPLY_F 0 0
COMPARE_F 4 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

import numpy as np

from foretell.events.time_zones import zone_offsets
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.functions import CALENDAR_FIELDS
from foretell.language.tree import Expression
from foretell.machine.kernels.opcodes import Op
from foretell.plan.lower.bytecode import Code, Instructions, Operand, stack_depth
from foretell.plan.lower.text_functions import TextFunction, constants_of, pushed_down
from foretell.plan.lower.typed_code import (
    NULL_CODE,
    OUTCOMES,
    TypedCode,
    arithmetic_code,
    as_float,
    coalesce_code,
    comparison_code,
    instruction,
    is_float,
    negated_if,
    of_one_type,
    short_circuit,
    signed_code,
)
from foretell.records import record


def compile_expression(
    expression: Expression, resolve: Callable[[Expression], Operand | None], code_of: Callable[[str], int]
) -> Code:
    """The code that leaves an expression's value on the stack.

    `resolve` gives the operand of a sub-expression, or None where it has to be computed. The compiler tries it from the
    outside in, so that it loads the largest sub-expressions that have operands. `code_of` gives the code of a string.
    """
    compiler = _ExpressionCompiler(resolve, code_of)
    return compiler.assemble(compiler.value(expression).ops)


@record
class _ExpressionCompiler:
    resolve: Callable[[Expression], Operand | None]
    code_of: Callable[[str], int]
    floats: dict[str, int] = field(default_factory=dict)  # by their exact text: 0.0 and -0.0 are two constants
    ints: dict[int, int] = field(default_factory=dict)
    tables: list[int] = field(default_factory=list)  # of zones; they come after the integers
    text_functions: dict[TextFunction, int] = field(default_factory=dict)

    def assemble(self, ops: Instructions) -> Code:
        located = np.array(ops, np.int32).reshape(-1, 3)
        located[located[:, 0] == Op.LOCAL_TIME, 1] += len(self.ints)
        return Code(
            located,
            np.array([float.fromhex(text) for text in self.floats], np.float64),
            np.array([*self.ints, *self.tables], np.int64),
            stack_depth(ops),
            tuple(self.text_functions),
        )

    def value(self, expression: Expression) -> TypedCode:
        operand = self.resolve(expression)
        if operand is not None:
            return TypedCode(instruction(_LOADS[operand.kind, is_float(operand.type)], operand.index), operand.type)
        match expression:
            case tree.Literal(value=literal):
                return self.literal(literal)
            case tree.Span(micros=micros):
                return self.integer(micros, Type.DURATION)
            case tree.Moment(micros=micros):
                return self.integer(micros, Type.TIMESTAMP)
            case tree.Unary(operator="NOT", operand=inner):
                return TypedCode(self.value(inner).ops + instruction(Op.NOT), Type.BOOL)
            case tree.Unary(operand=inner):
                return signed_code(self.value(inner), Op.NEGATE_I, Op.NEGATE_F)
            case tree.Binary():
                return self.binary(expression)
            case tree.In():
                return self.is_in(expression)
            case tree.Between():
                return self.between(expression)
            case tree.Like(value=text, pattern=pattern, negated=negated):
                return negated_if(self.on_strings(Op.LIKE, Type.BOOL, (text, pattern)), negated)
            case tree.IsNull(value=inner, negated=negated):
                return negated_if(TypedCode(self.value(inner).ops + instruction(Op.IS_NULL), Type.BOOL), negated)
            case tree.Case():
                return self.case(expression)
            case tree.Call(function=function, arguments=arguments):
                return self.call(expression, function, arguments)
        raise AssertionError(expression)

    # ── constants ──

    def literal(self, value: bool | int | float | str | None) -> TypedCode:
        match value:
            case None:
                return NULL_CODE
            case bool():
                return self.integer(int(value), Type.BOOL)
            case int():
                return self.integer(value, Type.INT)
            case float():
                return TypedCode(instruction(Op.CONST_F, self.float_number(value)), Type.FLOAT)
        return self.integer(self.code_of(value), Type.STRING)

    def integer(self, value: int, kind: Type) -> TypedCode:
        return TypedCode(instruction(Op.CONST_I, self.integer_number(value)), kind)

    def float_number(self, value: float) -> int:
        return self.floats.setdefault(value.hex(), len(self.floats))

    def integer_number(self, value: int) -> int:
        return self.ints.setdefault(value, len(self.ints))

    # ── conditions ──

    def binary(self, binary: tree.Binary) -> TypedCode:
        if binary.operator in OUTCOMES:
            fused = self.fused_comparison(binary)
            return fused or comparison_code(binary.operator, self.value(binary.left), self.value(binary.right))
        left, right = self.value(binary.left), self.value(binary.right)
        if binary.operator == "AND":
            return TypedCode(short_circuit(Op.SKIP_IF_FALSE, left.ops, right.ops + instruction(Op.AND)), Type.BOOL)
        if binary.operator == "OR":
            return TypedCode(short_circuit(Op.SKIP_IF_TRUE, left.ops, right.ops + instruction(Op.OR)), Type.BOOL)
        return arithmetic_code(binary.operator, left, right)

    def fused_comparison(self, binary: tree.Binary) -> TypedCode | None:
        """One operation for the commonest condition: a column against a slot or parameter of the same type."""
        left, right, sign = self.resolve(binary.left), self.resolve(binary.right), binary.operator
        if left is None or right is None:
            return None
        if right.kind == "column":
            left, right, sign = right, left, tree.MIRRORED_COMPARISON[sign]
        op = _FUSED_COMPARISONS.get((left.kind, right.kind, is_float(left.type)))
        ordered_texts = left.type is Type.STRING and sign not in ("=", "<>")
        if op is None or left.type is not right.type or left.type is Type.NULL or ordered_texts:
            return None
        return TypedCode(instruction(op, left.index * 8 + OUTCOMES[sign], right.index), Type.BOOL)

    def is_in(self, node: tree.In) -> TypedCode:
        """Compares each option with a copy of the value; in between the stack holds the value and the result so far."""
        value = self.value(node.value)
        ops = value.ops + self.integer(0, Type.BOOL).ops
        for option in node.options:
            equal = comparison_code("=", replace(value, ops=instruction(Op.PICK, 1)), self.value(option)).ops
            ops = short_circuit(Op.SKIP_IF_TRUE, ops, equal + instruction(Op.OR))
        return negated_if(TypedCode(ops + instruction(Op.NIP), Type.BOOL), node.negated)

    def between(self, node: tree.Between) -> TypedCode:
        value = self.value(node.value)
        above = comparison_code(">=", replace(value, ops=instruction(Op.PICK, 0)), self.value(node.low)).ops
        below = comparison_code("<=", replace(value, ops=instruction(Op.PICK, 1)), self.value(node.high)).ops
        inside = short_circuit(Op.SKIP_IF_FALSE, above, below + instruction(Op.AND))
        return negated_if(TypedCode(value.ops + inside + instruction(Op.NIP), Type.BOOL), node.negated)

    def case(self, case: tree.Case) -> TypedCode:
        """Each branch skips itself unless its condition is true, and all that follow it once it has its value."""
        *values, otherwise = of_one_type([self.value(result) for result in case.results])
        ops = otherwise.ops
        for condition, value in zip(reversed(case.conditions), reversed(values), strict=True):
            branch = value.ops + instruction(Op.SKIP, len(ops))
            ops = self.value(condition).ops + instruction(Op.SKIP_UNLESS, len(branch)) + branch + ops
        return TypedCode(ops, otherwise.type, any(result.sliced for result in (*values, otherwise)))

    # ── functions ──

    def call(self, call: tree.Call, function: str, arguments: tuple[Expression, ...]) -> TypedCode:
        match function:
            case "coalesce":
                return coalesce_code([self.value(a) for a in arguments])
            case "abs":
                return signed_code(self.value(arguments[0]), Op.ABSOLUTE_I, Op.ABSOLUTE_F)
            case "length":
                return self.on_strings(Op.LENGTH, Type.INT, arguments)
            case "lower" | "upper" | "regexp_like" | "substr":
                return self.text_function(call)
            case "round":
                return self.round(arguments)
        if function in _TEXT_TESTS:
            return self.on_strings(_TEXT_TESTS[function], Type.BOOL, arguments)
        if function in CALENDAR_FIELDS:
            return self.calendar_field(function, arguments)
        return self.mathematics(function, [self.value(a) for a in arguments])

    def mathematics(self, function: str, numbers: list[TypedCode]) -> TypedCode:
        if function in ("floor", "ceil"):
            rounds = (
                instruction(Op.FLOOR_F if function == "floor" else Op.CEILING_F) if is_float(numbers[0].type) else ()
            )
            return TypedCode(numbers[0].ops + rounds, Type.INT)
        ops = tuple(op for number in numbers for op in as_float(number).ops)
        return TypedCode(ops + instruction(_MATHEMATICS[function]), Type.FLOAT)

    def round(self, arguments: tuple[Expression, ...]) -> TypedCode:
        number = self.value(arguments[0])
        digits = constants_of(arguments[1:]) or (0,)
        assert isinstance(digits[0], int)
        unit = 10 ** abs(digits[0])
        if is_float(number.type):
            op = instruction(Op.ROUND_F, self.float_number(float(unit)), int(digits[0] >= 0))
            return TypedCode(number.ops + op, Type.FLOAT)
        ops = instruction(Op.ROUND_I, self.integer_number(unit)) if digits[0] < 0 else ()
        return TypedCode(number.ops + ops, number.type)

    def calendar_field(self, function: str, arguments: tuple[Expression, ...]) -> TypedCode:
        time = self.value(arguments[0]).ops
        for zone in constants_of(arguments[1:]) or ():
            time += self.local_time(str(zone))
        return TypedCode(time + instruction(Op.CALENDAR_FIELD, CALENDAR_FIELDS.index(function)), Type.INT)

    def local_time(self, zone: str) -> Instructions:
        """The table of a zone is laid out as foretell.machine.kernels.calendar_fields.local_time reads it."""
        offsets = zone_offsets(zone)
        at = len(self.tables)
        instants = offsets.instants.tolist()
        self.tables.extend([offsets.rule_start, offsets.period, *instants, *offsets.offsets.tolist()])
        return instruction(Op.LOCAL_TIME, at, len(instants))

    def on_strings(self, op: Op, kind: Type, texts: Iterable[Expression]) -> TypedCode:
        ops = tuple(op for text in texts for op in self.value(text).ops)
        return TypedCode(ops + instruction(op), kind)

    def text_function(self, call: tree.Call) -> TypedCode:
        """A function of one text, pushed down to constants and columns as far as possible.

        For code that leaves it to the kernel, its result for every string of the dictionary is computed.
        """
        pushed = pushed_down(call)
        if pushed != call:
            return self.value(pushed)
        text = self.value(call.arguments[0])
        constants = constants_of(call.arguments[1:])
        if constants is None:
            return self.substring(text, call.arguments[1:])
        number = self.text_functions.setdefault(TextFunction(call.function, constants), len(self.text_functions))
        intern = instruction(Op.INTERN) if text.sliced else ()
        kind = Type.BOOL if call.function == "regexp_like" else Type.STRING
        return TypedCode(text.ops + intern + instruction(Op.TEXT_FUNCTION, number), kind)

    def substring(self, text: TypedCode, places: tuple[Expression, ...]) -> TypedCode:
        """A part of a text whose place is not the same for all texts: a slice of the text, without a code."""
        start, *counts = (self.value(place) for place in places)
        count = counts[0] if counts else self.integer(0, Type.INT)
        cut = instruction(Op.SUBSTRING, int(not counts))
        return TypedCode(text.ops + start.ops + count.ops + cut, Type.STRING, sliced=True)


_LOADS: Mapping[tuple[str, bool], Op] = {
    ("column", True): Op.LOAD_COLUMN_F,
    ("column", False): Op.LOAD_COLUMN_I,
    ("slot", True): Op.LOAD_SLOT_F,
    ("slot", False): Op.LOAD_SLOT_I,
    ("parameter", True): Op.LOAD_PARAMETER_F,
    ("parameter", False): Op.LOAD_PARAMETER_I,
}
_FUSED_COMPARISONS: Mapping[tuple[str, str, bool], Op] = {
    ("column", "slot", True): Op.COMPARE_COLUMN_SLOT_F,
    ("column", "slot", False): Op.COMPARE_COLUMN_SLOT_I,
    ("column", "parameter", True): Op.COMPARE_COLUMN_PARAMETER_F,
    ("column", "parameter", False): Op.COMPARE_COLUMN_PARAMETER_I,
}


_TEXT_TESTS = {"contains": Op.CONTAINS, "starts_with": Op.STARTS_WITH, "ends_with": Op.ENDS_WITH}
_MATHEMATICS = {"sqrt": Op.SQUARE_ROOT_F, "exp": Op.EXPONENTIAL_F, "ln": Op.LOGARITHM_F, "pow": Op.POWER_F}
