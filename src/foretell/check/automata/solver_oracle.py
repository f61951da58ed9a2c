"""The solver's answers about conditions on one event, as automata ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from foretell.check.answer import Truth
from foretell.check.automata.alphabet import Example, Feasibility
from foretell.check.deadline import Deadline
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement

if TYPE_CHECKING:
    from foretell.check.conditions.solver import ConditionSolver

#: The seconds that one question may take.
_EACH = 1.0


class SolverOracle:
    """Answers for the events of one statement. Conditions that compare attributes with constants never ask it."""

    def __init__(self, statement: CheckedStatement, program: CheckedProgram, deadline: Deadline) -> None:
        self._statement, self._program, self._deadline = statement, program, deadline

    @cached_property
    def _solver(self) -> ConditionSolver:
        # z3 takes 0.2 s to load, and most statements do without.
        from foretell.check.conditions.solver import ConditionSolver

        return ConditionSolver(self._statement, self._program)

    @cached_property
    def _is_typed(self) -> bool:
        """Whether all streams are declared: of others each statement assumes types of its own."""
        schemas = [self._program.streams.get(str(name)) for name in self._statement.tree.streams]
        return all(schema is not None and not schema.open for schema in schemas)

    def feasibility(self, holding: Sequence[tree.Expression], failing: Sequence[tree.Expression]) -> Feasibility:
        if not self._is_typed or self._deadline.is_over:
            return Feasibility(Truth.UNKNOWN)
        found = self._solver.satisfiable(tuple(holding), tuple(failing), self._deadline.part(_EACH))
        if found.event is None:
            return Feasibility(found.truth)
        return Feasibility(found.truth, Example(found.event.stream, found.event.attributes))

    def implies(self, condition: tree.Expression, consequence: tree.Expression) -> bool:
        """Whether the consequence is true of an event whenever the condition is, whatever else they name."""
        if not self._is_typed or self._deadline.is_over:
            return False
        return self._solver.implies(condition, consequence, self._deadline.part(_EACH)) is Truth.YES
