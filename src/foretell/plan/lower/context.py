"""The objects that every stage of the lowering of one subscription uses."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.guards import GuardCompiler
from foretell.plan.lower.operands import EvaluationContext
from foretell.plan.lower.registers import MATCH_START, RegisterAllocator
from foretell.plan.lower.scope_registers import ScopeRegisters
from foretell.plan.nfa.automaton import INITIAL, Automaton, State, references
from foretell.plan.nfa.terms import Interleaving, Wait
from foretell.records import record


@record
class LoweringContext:
    """A subscription, its automaton, and the allocators and compilers that number its parts.

    Its methods give the contexts in which the conditions of steps, negated steps and operators are evaluated.
    """

    subscription: CheckedSubscription
    automaton: Automaton
    allocator: RegisterAllocator
    guards: GuardCompiler
    scopes: ScopeRegisters

    def state(self, number: int | None) -> State:
        """A state by its number; None is the state before the first event."""
        return INITIAL if number is None else self.automaton.states[number]

    def of_step(
        self,
        step: str,
        source: int | None,
        binds: Mapping[str, tree.Expression] | None = None,
        *,
        owner: str | None = None,
    ) -> EvaluationContext:
        """The current event is tried for `step`, in a run at `source`. The condition is that of `owner`."""
        bound = self.state(source).bound
        return EvaluationContext(self.allocator, owner or step, step, bound, binds or {}, begins=source is None)

    def of_negation(self, step: str, state: State) -> EvaluationContext:
        """The current event is tried for a negated step."""
        return EvaluationContext(self.allocator, step, None, state.bound)

    def of_operator(self, state: State, wait: Wait, around: tuple[Interleaving, ...]) -> EvaluationContext:
        """The θ of an operator. In a side of `&` it sees the events of its own thread, and those before the `&`."""
        if not around:
            return EvaluationContext(self.allocator, None, None, state.bound)
        scopes = self.scopes.enclosing(wait.name)[: len(around)]
        unanchored = sum(1 for _ in takewhile(lambda interleaving: not interleaving.anchored, around))
        start = self.scopes.start(scopes[unanchored - 1], unanchored) if unanchored else MATCH_START
        operator = wait.connector.operator
        named = references([operator.condition]).variables if isinstance(operator, tree.FirstWhere) else ()
        variables = self.scopes.visible_variables(scopes, sorted(named))
        sides = self.scopes.other_sides(scopes)
        return EvaluationContext(
            self.allocator,
            None,
            None,
            state.bound,
            thread=wait.name,
            start=start,
            variables=variables,
            sides=sides,
        )
