"""Deferral: negations and counts that only the finished match can decide, as they name a step that is bound later."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.events.types import Type
from foretell.language import tree
from foretell.plan.condition_scope import is_relative
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.occurrences import every_nth
from foretell.plan.lower.registers import Register, RegisterKind
from foretell.plan.nfa.automaton import State, references
from foretell.plan.nfa.terms import Interleaving, Leaf


class Deferral:
    """Collects the deferred steps as lowering comes upon them. `counts` are the a[i] among them.

    Each has a register with the position after which the finished match looks for its events.
    """

    def __init__(self, context: LoweringContext) -> None:
        self.context = context
        self.steps: dict[str, None] = {}
        self.counts = dict.fromkeys(leaf for leaf, state in self._numbered() if self._is_deferred_count(leaf, state))
        for leaf in self.counts:
            self.defer(leaf.step)

    def defer(self, step: str) -> None:
        self.steps[step] = None
        self.context.allocator.slot(Register(RegisterKind.GAP_START, step), Type.INT)

    @property
    def counts_in_lane(self) -> bool:
        """Whether a deferred a[i] counts in the whole lane, not in a gap of the match."""
        return any(not leaf.after_previous for leaf in self.counts)

    def is_deferred_negation(self, step: str, state: State) -> bool:
        """Whether a negated step names a step or variable that may be bound after the gap.

        Beside `&`, one that names the event before the gap is deferred too: the kernel knows only the event bound last,
        which need not be that one.
        """
        conditions = self.context.subscription.steps[step].conditions
        if isinstance(state.term, Interleaving) and any(is_relative(condition) for condition in conditions):
            return True
        return self._names_later(conditions, state, frozenset())

    def _numbered(self) -> Iterator[tuple[Leaf, State]]:
        """Every a[i] with every state that waits for it."""
        for edge in self.context.automaton.edges:
            if edge.leaf.index:
                yield edge.leaf, self.context.state(edge.source)

    def _is_deferred_count(self, leaf: Leaf, state: State) -> bool:
        """Whether an a[i] counts by values that only the finished match has.

        A variable that it binds itself differs for each of its events, and beside `&` a step that it names may come
        later. Where no event precedes it counts in the whole lane, and there only by its own event.
        """
        if not leaf.after_previous:
            return every_nth(self.context, leaf) is None
        return self._names_later(self.context.subscription.steps[leaf.step].counted, state, frozenset({leaf.step}))

    def _names_later(self, conditions: tuple[tree.Expression, ...], state: State, except_steps: frozenset[str]) -> bool:
        """Whether conditions name a step, or a variable of a step, that may be bound after a state."""
        later, names = self.context.automaton.reachable_steps(state), references(conditions)
        return bool(names.steps & later - except_steps) or any(
            variable not in state.variables and self.context.subscription.binding_steps(variable) & later
            for variable in names.variables
        )
