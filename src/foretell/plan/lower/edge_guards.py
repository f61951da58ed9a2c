"""Lowering of the guards of edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from functools import cached_property

from foretell.language import tree
from foretell.plan.condition_scope import has_parameter, is_static
from foretell.plan.expressions import BoundPosition, CounterValue, RowSelected
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.deferral import Deferral
from foretell.plan.lower.ir import NO_CODE, Guard
from foretell.plan.lower.occurrences import count_condition
from foretell.plan.nfa.automaton import Condition, Edge
from foretell.plan.nfa.counters import CounterTest, StepBound, Test
from foretell.plan.nfa.lag_rewrite import lagged
from foretell.plan.nfa.terms import threads
from foretell.records import record


@record
class EdgeGuards:
    """Lowers the guards of edges.

    With `selected`, the filter decides which rows of a template a first event selects, in place of its conditions on
    parameters. `distances` has for each state how far back in the lane the events of steps lie (plan.nfa.lag_rewrite).
    """

    context: LoweringContext
    deferral: Deferral
    selected: bool
    distances: Mapping[int | None, Mapping[str, int]]
    _known: dict[Hashable, Guard] = field(default_factory=dict)
    _waiting: dict[int, int] = field(default_factory=dict)
    _conjunctions: dict[tuple[int, int], int] = field(default_factory=dict)

    def guard(self, edge: Edge) -> Guard:
        """The guard of an edge. Edges of different states that bind a step alike have the same."""
        seen = self.context.state(edge.source).bound & self._first_named
        distances = tuple(sorted(self.distances.get(edge.source, {}).items()))
        asked = edge.leaf, edge.conditions, edge.binds, edge.agrees, edge.tests, self._of_operator(edge)
        key = asked, edge.source is None, seen.mask, distances
        if key not in self._known:
            self._known[key] = self._guard(edge)
        return self._known[key]

    @cached_property
    def _first_named(self) -> frozenset[str]:
        """The steps of whose first event some condition asks: whether they are bound changes what it compares with."""
        steps = self.context.subscription.steps.values()
        expressions = (e for step in steps for e in (*step.conditions, *(value for _, value in step.binders)))
        return frozenset(str(n.step) for e in expressions for n in e.walk() if isinstance(n, tree.FirstOf))

    def _guard(self, edge: Edge) -> Guard:
        step = edge.leaf.step
        context = self.context.of_step(step, edge.source, dict(edge.binds))
        guard = self.context.guards.guard(self._conditions(edge), context)
        code = guard.code
        for condition in (c for c in edge.conditions if c.owner != step):
            more = self._of_earlier_step(condition, edge)
            code = more if code == NO_CODE else self._conjunction(code, more)
        return Guard(guard.predicate, code, guard.profile)

    def _of_earlier_step(self, condition: Condition, edge: Edge) -> int:
        """The code of a condition that had to wait for this edge. Where it names nothing that the edge binds, it is the
        same for all edges: of a thousand alternatives each may be the one that comes next."""
        step, binds = edge.leaf.step, dict(edge.binds)
        alike = edge.source is not None and step not in condition.names.steps
        alike = alike and binds.keys().isdisjoint(condition.names.variables)
        if alike and condition.number in self._waiting:
            return self._waiting[condition.number]
        context = self.context.of_step(step, edge.source, binds, owner=condition.owner)
        code = self.context.guards.compile(condition.expression, context)
        if alike:
            self._waiting[condition.number] = code
        return code

    def _conjunction(self, left: int, right: int) -> int:
        if (left, right) not in self._conjunctions:
            self._conjunctions[left, right] = self.context.guards.conjunction(left, right)
        return self._conjunctions[left, right]

    def _conditions(self, edge: Edge) -> list[tree.Expression]:
        """The conditions of the step that an edge binds."""
        conditions = [self._by_lag(c.expression, edge) for c in edge.conditions if c.owner == edge.leaf.step]
        if self.selected and edge.source is None:
            conditions = [*(c for c in conditions if not has_parameter(c)), RowSelected()]
        if any(map(_makes_profile, conditions)):
            conditions += self._of_operator(edge)
        conditions += [tree.Binary("=", tree.Variable(variable), value) for variable, value in edge.agrees]
        conditions += [tree.IsNull(value, negated=True) for _, value in edge.binds]
        if edge.leaf.index and edge.leaf not in self.deferral.counts:
            conditions.append(count_condition(self.context, edge.leaf))
        return [*conditions, *map(_test, edge.tests)]

    def _of_operator(self, edge: Edge) -> tuple[tree.Expression, ...]:
        """The conditions of the operator's θ that make profiles of rows. An event bound under it satisfies them, so
        that fewer rows come into question for the step."""
        if not self.context.guards.profiled or edge.source is None or edge.thread < 0:
            return ()
        match threads(self.context.state(edge.source).term)[edge.thread].operator:
            case tree.FirstWhere(condition=condition):
                return tuple(filter(_makes_profile, tree.conjuncts(condition)))
        return ()

    def _by_lag(self, condition: tree.Expression, edge: Edge) -> tree.Expression:
        """A condition with bound events as earlier events of the lane, if that makes it static."""
        distances = self.distances.get(edge.source)
        if distances is None or is_static(condition):
            return condition
        rewritten = lagged(condition, edge.leaf.step, distances)
        return rewritten if rewritten is not None and is_static(rewritten) else condition


def _makes_profile(condition: tree.Expression) -> bool:
    """Whether a condition is about the current event and parameters."""
    return has_parameter(condition) and is_static(condition, given=tree.Parameter)


def _test(test: Test) -> tree.Expression:
    """The condition that a counter passes a test."""
    if isinstance(test, CounterTest):
        return tree.Binary(">=" if test.at_least else "<", CounterValue(test.counter), tree.Literal(test.value))
    return tree.IsNull(BoundPosition(test.step), negated=isinstance(test, StepBound))
