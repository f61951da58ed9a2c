"""Conditions in numbers: what is about the event alone becomes a predicate of the filter, the rest code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from foretell.language import tree
from foretell.machine.kernels.opcodes import Op
from foretell.plan.condition_scope import is_static
from foretell.plan.expressions import EveryNth
from foretell.plan.lower.bytecode import Code, Operand, compile_expression, link
from foretell.plan.lower.ir import NO_CODE, Guard, Numbers
from foretell.plan.lower.registers import Viewpoint


@dataclass(frozen=True)
class ConditionSplit:
    numbers: Numbers

    def split(self, conditions: Iterable[tree.Expression], view: Viewpoint) -> Guard:
        static: list[tree.Expression] = []
        compared: list[tree.Expression] = []
        for condition in conditions:
            answered = isinstance(condition, EveryNth) or is_static(condition)
            (static if answered else compared).append(condition)
        return Guard(self.numbers.predicate(static), self._code(compared, view))

    def _code(self, conditions: list[tree.Expression], view: Viewpoint) -> int:
        if not conditions:
            return NO_CODE
        together = conditions[0]
        for condition in conditions[1:]:
            together = tree.Binary("AND", together, condition)
        return self.compiled(together, view)

    def compiled(self, expression: tree.Expression, view: Viewpoint) -> int:
        reads: set[int] = set()

        def operand(part: tree.Expression) -> Operand | None:
            found = view.operand(part)
            if found is not None and found.kind == "slot":
                reads.add(found.index)
            return found

        code = compile_expression(view.spelled(expression), operand, self.numbers.code_of)
        return self.numbers.coded(code, frozenset(reads))

    def both(self, one: int, other: int) -> int:
        """Two codes that must both hold, as one."""
        first, second = self.numbers.codes[one], self.numbers.codes[other]
        linked = link([first, second])
        ops = np.concatenate([linked.code.ops, np.array([[Op.AND, 0, 0]], np.int32)])
        depth = max(first.depth, second.depth + 1)
        code = Code(ops, linked.code.constants_f, linked.code.constants_i, depth)
        return self.numbers.coded(code, self.numbers.reads[one] | self.numbers.reads[other])

    def constant(self, value: int | None) -> int:
        """The code of a constant."""
        code = compile_expression(tree.Literal(value), lambda _: None, self.numbers.code_of)
        return self.numbers.coded(code, frozenset())
