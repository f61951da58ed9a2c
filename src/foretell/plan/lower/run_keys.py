"""Keys of indexes of runs: an equality with a bound value that all events have in common for which a state waits.

An index makes PER implicit (P-ToPSS's `ip = $x`, AYAC's hashed queues), and is Cayuga's index of affected instances
where `;{name = a.name}` says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foretell.language import tree
from foretell.plan.condition_scope import is_static
from foretell.plan.expressions import IndexKey, about_current_event
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.deferral import Deferral
from foretell.plan.lower.ir import RunKey
from foretell.plan.lower.operands import EvaluationContext
from foretell.plan.lower.registers import Register, RegisterKind
from foretell.plan.nfa.automaton import State
from foretell.plan.nfa.terms import Connector
from foretell.records import record


@record
class WaitingThread:
    """A thread of a state: a step that it waits for, its connector, and the context of its θ."""

    name: str
    connector: Connector
    context: EvaluationContext


@record
class KeyEquality:
    """An expression about the current event, and the register that it must equal."""

    expression: tree.Expression
    register: Register


@record
class RunKeys:
    """Finds the keys of states."""

    context: LoweringContext
    deferral: Deferral

    def key(self, number: int, state: State, threads: list[WaitingThread]) -> RunKey | None:
        """The key by which the runs at a state can be found; None where an event without it may concern them."""
        equalities = list(self._equalities_of_each(number, state, threads))
        common = [e for e in equalities[0] if all(e in others for others in equalities)] if equalities else []
        if not common:
            return None
        allocator = self.context.allocator
        kind = allocator.types[common[0].register]
        column = allocator.column(IndexKey(common[0].expression, kind))
        return RunKey(column, allocator.slot(common[0].register.index_key, kind))

    def _equalities_of_each(
        self, number: int, state: State, threads: list[WaitingThread]
    ) -> Iterator[dict[KeyEquality, None]]:
        """The equalities of each θ, each negated step and each edge through which an event may concern the state."""
        steps = self.context.subscription.steps
        for thread in threads:
            if isinstance(thread.connector.operator, tree.Next):
                yield {}  # every event concerns it
                return
            if isinstance(thread.connector.operator, tree.FirstWhere):
                yield self._equalities(tree.conjuncts(thread.connector.operator.condition), thread.context, state)
            for step in thread.connector.absent:
                if not self.deferral.is_deferred_negation(step, state):
                    yield self._equalities(steps[step].conditions, self.context.of_negation(step, state), state)
        for edge in self.context.automaton.leaving(number):
            if edge.thread < 0 or not isinstance(threads[edge.thread].connector.operator, tree.FirstWhere):
                context = self.context.of_step(edge.leaf.step, number, dict(edge.binds))
                conditions = [c.expression for c in edge.conditions if c.owner == edge.leaf.step]
                conditions += [tree.Binary("=", tree.Variable(v), e) for v, e in edge.agrees]
                yield self._equalities(conditions, context, state)

    def _equalities(
        self, conditions: Iterable[tree.Expression], context: EvaluationContext, state: State
    ) -> dict[KeyEquality, None]:
        """The equalities of a column with a register of the same type among conditions."""
        equalities: dict[KeyEquality, None] = {}
        for condition in conditions:
            if not (isinstance(condition, tree.Binary) and condition.operator == "="):
                continue  # nor is it one without its sugar, which takes long where it is large
            match context.desugar(condition):
                case tree.Binary(operator="=", left=left, right=right):
                    for event, bound in ((left, right), (right, left)):
                        register = self._constant_register(context, bound, state)
                        if register is None or not is_static(about_current_event(event)):
                            continue
                        operand = context.resolve(event)
                        if operand is None or operand.kind != "column":
                            continue
                        if operand.type is self.context.allocator.types[register]:
                            equalities[KeyEquality(about_current_event(event), register)] = None
        return equalities

    def _constant_register(
        self, context: EvaluationContext, expression: tree.Expression, state: State
    ) -> Register | None:
        """The register of an expression, if every run at a state has its value and that does not change while it waits.

        A register that is not bound yet has no list of runs: its slot holds what another run left there.
        """
        operand = context.resolve(expression)
        if operand is None or operand.kind != "slot":
            return None
        register = self.context.allocator.registers[operand.index]
        if register.kind is RegisterKind.VARIABLE:
            steps = self.context.subscription.steps.values()
            values = [value for step in steps for name, value in step.binders if name == register.name]
            is_constant = register.name in state.variables and all(is_static(value) for value in values)
            return register if is_constant else None
        is_event = register.kind in (RegisterKind.FIRST, RegisterKind.LAST)
        return register if is_event and register.name in state.bound else None
