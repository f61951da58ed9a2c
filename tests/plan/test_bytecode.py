"""Compiled expressions, run by the kernel's interpreter, against the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretell.events.types import Scalar, Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.tree import Attribute, Binary, Call, Expression
from foretell.language.type_check import Scope
from foretell.machine.exec.batch_columns import bytecode
from foretell.machine.kernels import arithmetic, interpreter
from foretell.machine.kernels.structs import Values
from foretell.machine.kernels.texts import SIZE_BITS, SIZE_MASK
from foretell.plan.lower.bytecode import Code, Operand, link, listing
from foretell.plan.lower.expression_compiler import compile_expression
from foretell.reference.expressions import Frame, moment
from tests.filter.test_columns import (
    BEYOND_THE_REFERENCE,
    FLOATS,
    INTS,
    LENGTHS,
    MOMENTS,
    TEXTS,
    TYPES,
    BeyondReferenceError,
    event,
    expected,
    expressions,
    perhaps,
)

PARAMETERS = {f"p_{kind.value}": kind for kind in set(TYPES.values())}
THIS, BOUND = tree.This(), tree.BoundEvent("a")

#: Every leaf, with the operand that the planner would give it.
PLACES: Mapping[Expression, Operand] = {
    **{Attribute(THIS, name): Operand("column", i, kind) for i, (name, kind) in enumerate(TYPES.items())},
    **{Attribute(BOUND, name): Operand("slot", i, kind) for i, (name, kind) in enumerate(TYPES.items())},
    **{tree.Parameter(name): Operand("parameter", i, kind) for i, (name, kind) in enumerate(PARAMETERS.items())},
    tree.TimeOf(THIS): Operand("column", len(TYPES), Type.TIMESTAMP),
    tree.TimeOf(BOUND): Operand("slot", len(TYPES), Type.TIMESTAMP),
    tree.Elapsed(): Operand("slot", len(TYPES) + 1, Type.DURATION),
}
SCOPE = Scope(
    TYPES, ("s",), Type.TIMESTAMP, steps=frozenset({"a"}), parameters=PARAMETERS, variables={}, has_match=True
)


@dataclass(frozen=True)
class Inputs:
    """The inputs of one evaluation: the current event, the event bound to `a`, and the parameters."""

    this: Mapping[str, Scalar]
    this_time: int
    bound: Mapping[str, Scalar] | None
    bound_time: int
    parameters: Mapping[str, Scalar]

    def frame(self) -> Frame:
        this = event(self.this, self.this_time)
        bound = None if self.bound is None else event(self.bound, self.bound_time)
        parameters = {
            name: moment(int(found)) if PARAMETERS[name] is Type.TIMESTAMP and found is not None else found
            for name, found in self.parameters.items()
        }
        seen = [] if bound is None else [bound]
        return Frame(TYPES, Type.TIMESTAMP, this, first=bound, last=this, seen=lambda _: seen, parameters=parameters)

    def at(self, leaf: Expression) -> Scalar:
        """The value of a leaf's operand."""
        match leaf:
            case Attribute(event=tree.This(), name=name):
                return self.this[name]
            case tree.TimeOf(event=tree.This()):
                return self.this_time
            case tree.Parameter(name=name):
                return self.parameters[name]
            case Call(function=function, arguments=(text,)):
                found = self.at(text)
                return None if found is None else getattr(str(found), function)()
            case _ if self.bound is None:
                return None
            case Attribute(name=name):
                return self.bound[name]
            case tree.TimeOf():
                return self.bound_time
            case tree.Elapsed():
                return self.this_time - self.bound_time
        raise AssertionError(leaf)


ATTRIBUTES = st.fixed_dictionaries({name: perhaps(kind) for name, kind in TYPES.items()})
GIVEN = st.fixed_dictionaries({name: perhaps(kind) for name, kind in PARAMETERS.items()})
INPUTS = st.lists(
    st.builds(Inputs, ATTRIBUTES, MOMENTS, st.none() | ATTRIBUTES, MOMENTS, GIVEN), min_size=1, max_size=5
)


# ── running a code ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class OperandMatrices:
    """The values of one kind of operand: as floats, as integers, and whether NULL."""

    floats: Any
    ints: Any
    nulls: Any

    @classmethod
    def filled(cls, rows: int, places: int) -> OperandMatrices:
        # A NULL holds a value that would change results if it were read.
        shape = (rows, places)
        return cls(np.full(shape, np.nan), np.full(shape, -1, np.int64), np.ones(shape, np.uint8))

    def put(self, row: int, index: int, found: Scalar, strings: StringDictionary) -> None:
        if found is None:
            return
        self.nulls[row, index] = 0
        if isinstance(found, float):
            self.floats[row, index] = found
        else:
            self.ints[row, index] = strings.code(found) if isinstance(found, str) else found

    def by_operand(self) -> tuple[Any, Any, Any]:
        return tuple(np.ascontiguousarray(a.T) for a in (self.floats, self.ints, self.nulls))  # type: ignore[return-value]

    def by_row(self) -> tuple[Any, Any, Any]:
        return self.floats, self.ints, self.nulls


def operands() -> tuple[dict[Expression, Operand], Callable[[Expression], Operand | None]]:
    """The operands of the leaves; `lower` of a leaf gets an operand too, as from the planner, `upper` does not."""
    places = dict(PLACES)
    counts = {"column": 30, "slot": 30, "parameter": 30}

    def operand(expression: Expression) -> Operand | None:
        match expression:
            case Call(function="lower", arguments=(text,)) if (inside := operand(text)) is not None:
                if expression not in places:
                    places[expression] = Operand(inside.kind, counts[inside.kind], Type.STRING)
                    counts[inside.kind] += 1
        return places.get(expression)

    return places, operand


def run_all(
    code: Code,
    start: int,
    stop: int,
    places: Mapping[Expression, Operand],
    inputs: Sequence[Inputs],
    strings: StringDictionary,
) -> list[tuple[Any, Any, bool, bool]]:
    """For each of `inputs`: the result as a float, as an integer, whether NULL, and whether it holds."""
    count = len(inputs)
    width = 1 + max(place.index for place in places.values())
    kinds: tuple[Literal["column", "slot", "parameter"], ...] = ("column", "slot", "parameter")
    matrices = {kind: OperandMatrices.filled(count, width) for kind in kinds}
    for i, row_inputs in enumerate(inputs):
        for leaf, place in places.items():
            # Each kind of operand has its own rows.
            row = (i + kinds.index(place.kind)) % count
            matrices[place.kind].put(row, place.index, row_inputs.at(leaf), strings)
    stack = Values(np.full(code.depth, np.nan), np.full(code.depth, -1, np.int64), np.zeros(code.depth, np.uint8))
    found = []
    for i in range(count):
        arguments = (
            *(start, stop, bytecode(code, strings)),
            *(Values(*matrices["column"].by_operand()), i),
            *(Values(*matrices["slot"].by_row()), (i + 1) % count),
            *(Values(*matrices["parameter"].by_row()), (i + 2) % count),
            stack,
        )
        holds = interpreter.holds(*arguments)
        interpreter.run_code(*arguments)
        found.append((stack[0][0].item(), stack[1][0].item(), bool(stack[2][0]), holds))
    return found


def check(expression: Expression, inputs: Sequence[Inputs], before: Sequence[Expression] = ()) -> None:
    """The code, linked after others, gives the result of the reference."""
    strings = StringDictionary()
    places, operand = operands()
    codes = [compile_expression(values, operand, strings.code) for values in (*before, expression)]
    linked = link(codes)
    assert linked.code.depth <= max(len(code.ops) for code in codes)
    results = run_all(linked.code, int(linked.starts[-1]), int(linked.stops[-1]), places, inputs, strings)
    for values, (as_float, as_int, null, holds) in zip(inputs, results):
        try:
            wanted = expected(expression, values.frame(), SCOPE)
        except BeyondReferenceError:
            continue
        assert null == (wanted is None)
        assert holds == (wanted is True) or not isinstance(wanted, bool | None)
        if isinstance(wanted, str):
            assert _text(as_int, strings) == wanted
        elif wanted is not None:
            assert (as_float if isinstance(wanted, float) else as_int) == wanted


def _text(code: int, strings: StringDictionary) -> str:
    """The text of a code, or of a slice of another text."""
    if code >= 0:
        return strings.text(code)
    start, size = ~code >> SIZE_BITS, ~code & SIZE_MASK
    return bytes(strings.data[start : start + size]).decode()


# ── the tests ──────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _anything() -> st.SearchStrategy[Expression]:
    leaves: dict[Type, list[Expression]] = {}
    for leaf, place in PLACES.items():
        leaves.setdefault(place.type, []).append(leaf)
    return expressions(leaves, 3)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_kernel_agrees_with_the_reference(data: st.DataObject) -> None:
    check(data.draw(_anything()), data.draw(INPUTS), data.draw(st.lists(_anything(), max_size=2)))


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(PLACES)), st.sampled_from(list(PLACES)), st.sampled_from(("=", "<>", "<", ">=")), INPUTS)
def test_fused_comparisons(left: Expression, right: Expression, sign: str, inputs: list[Inputs]) -> None:
    kinds = {PLACES[left].type, PLACES[right].type}
    if len(kinds) == 1 or kinds == {Type.INT, Type.FLOAT}:
        check(Binary(sign, left, right), inputs)


def test_a_column_against_a_slot_is_one_operation() -> None:
    operand = operands()[1]
    price, bound = Attribute(THIS, "x"), Attribute(BOUND, "x")
    for condition in (Binary("<", price, bound), Binary(">", bound, price)):
        assert listing(compile_expression(condition, operand, len)) == "COMPARE_COLUMN_SLOT_F 25 3"
    same = Binary("=", Attribute(THIS, "s"), Attribute(BOUND, "s"))
    assert listing(compile_expression(same, operand, len)) == "COMPARE_COLUMN_SLOT_I 42 5"


def test_operands_are_resolved_from_the_outside_in() -> None:
    whole = Binary("*", Attribute(THIS, "x"), tree.Literal(2))
    condition = Binary(">", whole, Attribute(BOUND, "x"))
    resolved: list[Expression] = []

    def operand(expression: Expression) -> Operand | None:
        resolved.append(expression)
        return Operand("column", 7, Type.FLOAT) if expression == whole else PLACES.get(expression)

    assert listing(compile_expression(condition, operand, len)) == "COMPARE_COLUMN_SLOT_F 60 3"
    assert resolved == [condition, whole, Attribute(BOUND, "x")]


def test_an_empty_code_holds() -> None:
    nothing = link([]).code
    places: dict[Expression, Operand] = {Attribute(THIS, "n"): Operand("column", 0, Type.INT)}
    values = Inputs({"n": 1}, 0, None, 0, {})
    stacked = Code(nothing.ops, nothing.constants_f, nothing.constants_i, 1)
    assert run_all(stacked, 0, 0, places, [values], StringDictionary())[0][3] is True


@pytest.mark.parametrize(("expression", "wanted"), [case[1:] for case in BEYOND_THE_REFERENCE])
def test_what_the_decisions_say_beyond_the_reference(expression: Expression, wanted: Scalar) -> None:
    code = compile_expression(expression, lambda _: None, len)
    values = Inputs(dict.fromkeys(TYPES), 0, None, 0, dict.fromkeys(PARAMETERS))
    ((as_float, as_int, null, _),) = run_all(code, 0, len(code.ops), PLACES, [values], StringDictionary())
    assert null == (wanted is None)
    assert null or (as_float if isinstance(wanted, float) else as_int) == wanted


# ── the exact arithmetic by itself ──


@settings(max_examples=2000, deadline=None)
@given(INTS, INTS)
def test_quotients_are_rounded_once(left: int, right: int) -> None:
    if right:
        assert arithmetic.quotient(left, right) == left / right


@settings(max_examples=2000, deadline=None)
@given(LENGTHS, FLOATS | st.integers(-1000, 1000).map(lambda n: n + 0.5) | st.floats(1e-6, 1e6), INTS)
def test_durations_are_scaled_exactly(micros: int, factor: float, whole: int) -> None:
    _check_duration(arithmetic.scaled(micros, factor), Binary("*", tree.Span(micros, "us"), tree.Literal(factor)))
    if factor:
        _check_duration(arithmetic.shrunk(micros, factor), Binary("/", tree.Span(micros, "us"), tree.Literal(factor)))
    if whole:
        _check_duration(
            arithmetic.shrunk_by_whole(micros, whole), Binary("/", tree.Span(micros, "us"), tree.Literal(whole))
        )


def _check_duration(found: tuple[int, bool], expression: Expression) -> None:
    try:
        wanted = expected(expression, Frame({}, Type.TIMESTAMP), SCOPE)
    except BeyondReferenceError:
        wanted = None
    assert (found[0] if found[1] else None) == wanted


@settings(max_examples=1000, deadline=None)
@given(TEXTS, TEXTS | st.text("aé漢%_", max_size=5))
def test_strings_in_the_heap(left: str, right: str) -> None:
    inputs = [Inputs({**dict.fromkeys(TYPES), "s": left}, 0, {"s": right}, 0, {})]
    strings = StringDictionary()
    places: dict[Expression, Operand] = {
        Attribute(THIS, "s"): Operand("column", 0, Type.STRING),
        Attribute(BOUND, "s"): Operand("slot", 0, Type.STRING),
    }
    text, other = places
    for expression in (
        tree.Like(text, other),
        Call("contains", (text, other)),
        Binary("<", text, other),
        Binary("<=", text, other),
    ):
        code = compile_expression(expression, places.get, strings.code)
        ((_, _, _, holds),) = run_all(code, 0, len(code.ops), places, inputs, strings)
        assert holds == expected(expression, inputs[0].frame(), SCOPE)
