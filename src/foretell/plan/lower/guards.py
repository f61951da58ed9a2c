"""Compilation of conditions to guards: the static part becomes a predicate of the filter, the rest bytecode.

A condition about the current event alone is *static*: the filter evaluates it for whole batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

import numpy as np

from foretell.language import tree
from foretell.machine.kernels.opcodes import Op
from foretell.plan.condition_scope import has_parameter, is_static
from foretell.plan.expressions import EveryNth, ProfileSatisfied
from foretell.plan.lower.bytecode import Operand, link
from foretell.plan.lower.expression_compiler import compile_expression
from foretell.plan.lower.ir import NO_CODE, Guard, SymbolTable
from foretell.plan.lower.operands import EvaluationContext
from foretell.records import record


@record
class GuardCompiler:
    """Compiles conditions; predicates and code get their numbers from the symbol table.

    With `profiled` one executor serves all rows of a template: static conditions with parameters are no code, but make
    the profiles of rows, which an index answers for whole batches.
    """

    symbols: SymbolTable
    profiled: bool = False

    def guard(self, conditions: Iterable[tree.Expression], context: EvaluationContext) -> Guard:
        """The guard that holds where all conditions do."""
        static: list[tree.Expression] = []
        rest: list[tree.Expression] = []
        asked: list[tree.Expression] = []
        for condition in self._parts(conditions):
            if isinstance(condition, EveryNth) or is_static(condition):
                static.append(condition)
            elif self.profiled and is_static(condition, given=tree.Parameter):
                asked.append(condition)
            else:
                rest.append(condition)
        profile, code = self.symbols.add_profile(asked), NO_CODE
        if profile >= 0:
            static.append(ProfileSatisfied(profile))
        predicate = self.symbols.add_predicate(static)
        if rest:
            code = self.compile(reduce(lambda left, right: tree.Binary("AND", left, right), rest), context)
        return Guard(predicate, code, profile)

    def _parts(self, conditions: Iterable[tree.Expression]) -> Iterable[tree.Expression]:
        """The conditions, those with parameters taken apart."""
        if not self.profiled:
            return conditions
        return [part for c in conditions for part in (tree.conjuncts(c) if has_parameter(c) else (c,))]

    def compile(self, expression: tree.Expression, context: EvaluationContext) -> int:
        """The number of the code that computes an expression."""
        reads: set[int] = set()

        def resolve(part: tree.Expression) -> Operand | None:
            operand = context.resolve(part)
            if operand is not None and operand.kind == "slot":
                reads.add(operand.index)
            return operand

        code = compile_expression(context.desugar(expression), resolve, self.symbols.text_code)
        return self.symbols.add_code(code, frozenset(reads))

    def conjunction(self, left: int, right: int) -> int:
        """The number of the code that is true where two codes are."""
        first, second = self.symbols.codes[left], self.symbols.codes[right]
        linked = link([first, second])
        ops = np.concatenate([linked.code.ops, np.array([[Op.AND, 0, 0]], np.int32)])
        depth = max(first.depth, second.depth + 1)
        code = replace(linked.code, ops=ops, depth=depth)
        return self.symbols.add_code(code, self.symbols.reads[left] | self.symbols.reads[right])

    def read(self, operand: Operand) -> int:
        """The number of the code that reads a slot."""
        code = compile_expression(tree.Literal(None), lambda _: operand, self.symbols.text_code)
        return self.symbols.add_code(code, frozenset({operand.index}))

    def constant(self, value: int | None) -> int:
        """The number of the code of a constant."""
        code = compile_expression(tree.Literal(value), lambda _: None, self.symbols.text_code)
        return self.symbols.add_code(code, frozenset())
