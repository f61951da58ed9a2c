"""The lowered program: an NFA as flat arrays for the kernel, and the steps after the kernel for each subscription."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from foretell.arrays import Flags, Ints, Words
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import has_trailing_negation
from foretell.machine.kernels.layout import EDGE_FINAL, EDGE_TARGET, NONE, STATE_KEY
from foretell.machine.kernels.structs import NfaTables
from foretell.plan.expressions import Disjunction, EveryNth, Lagged
from foretell.plan.lower.bytecode import LinkedCode
from foretell.plan.lower.post_match import PostMatchPlan, post_match_plan
from foretell.plan.lower.registers import Register
from foretell.plan.lower.start_profiles import StartProfiles
from foretell.plan.match_selection import MatchSelection, match_selection
from foretell.plan.nfa.automaton import Automaton
from foretell.plan.result_schema import ResultSchema, result_schema
from foretell.records import record

if TYPE_CHECKING:
    from foretell.plan.lower.late_guards import LateGuards
    from foretell.plan.lower.row_levels import RowLevels
    from foretell.plan.strategy import KernelDecision

#: An expression about one event.
EventExpression: TypeAlias = tree.Expression


@record
class RunExpiry:
    """A run at `state` expires `amount` after the time in `slot`, or after it began (None)."""

    state: int
    slot: int | None
    amount: int | float


@record
class SubscriptionPlan:
    """One subscription: what is asked of its finished matches.

    `finals` says where a match has the registers that are asked for afterwards, in the kernel's output; `deferred` are
    negated steps that name what is bound after their gap, and a[i] that count by it; `leading` are the negated steps
    before the match's first event. `trailing` are those after its last event that LAST has to wait for, with the states
    of their matches (`match_selection.compares_windows`). With `remembers`, an a[i] counts in the whole lane by what
    only a match knows. `first` and `last` are the steps of the events that every match begins and ends with, where
    there are such: where those are is known without a register. `expiries` refer to the states of an NFA of its own.
    """

    subscription: CheckedSubscription
    automaton: Automaton
    finals: dict[Register, int]
    leading: tuple[str, ...]
    deferred: tuple[str, ...]
    trailing: Mapping[str, frozenset[int]] = field(default_factory=dict)
    remembers: bool = False
    first: str | None = None
    last: str | None = None
    expiries: tuple[RunExpiry, ...] = ()

    @cached_property
    def post_match(self) -> PostMatchPlan:
        return post_match_plan(self)

    @property
    def name(self) -> str:
        return self.subscription.name

    @property
    def shown_name(self) -> str:
        """The name in messages: names of hidden patterns begin with that of their statement, and a NUL."""
        return self.name.replace("\0", "")

    @cached_property
    def schema(self) -> ResultSchema:
        return result_schema(self.subscription)

    @cached_property
    def selection(self) -> MatchSelection:
        """FIRST, LAST and AFTER MATCH."""
        return match_selection(self.subscription, ambiguous=self.ambiguous)

    def variables_bound_to(self, expressions: Iterable[tree.Expression]) -> tuple[tuple[str, ...], ...]:
        """The variables that steps bind to each of some expressions."""
        binders = [binder for step in self.subscription.steps.values() for binder in step.binders]
        return tuple(tuple(name for name, value in binders if value == expression) for expression in expressions)

    @property
    def waits(self) -> bool:
        """Whether time completes matches."""
        return has_trailing_negation(self.subscription.pattern)

    @cached_property
    def wants_longest(self) -> bool:
        """Whether AFTER MATCH LONGEST chooses among the matches as the kernel finds them: no other rule and no
        condition comes between."""
        asked = self.automaton.final or self.leading or self.deferred or self.subscription.tree.having is not None
        return self.selection.after_match.longest and not self.selection.choices and not asked

    @property
    def steps(self) -> tuple[str, ...]:
        return self.subscription.positive

    @property
    def ambiguous(self) -> bool:
        """Whether the same events may be bound to the same steps in two ways: two edges bind one leaf at one state."""
        leaving = [(edge.source, edge.leaf.step) for edge in self.automaton.edges]
        return len(set(leaving)) < len(leaving)

    @property
    def chains(self) -> bool:
        """Whether events of repeated steps, or gaps, are kept in chains."""
        return any(s.shape.repeated for s in self.subscription.steps.values()) or bool(self.deferred)


@record
class CompiledNfa:
    """A compiled pattern, or several that share states: the tables that kernels run, and what they need of each batch.

    Kernels compare the values of `columns` and `predicates` of each event, evaluated for the whole batch. A run has so
    many `slots`, of which `positions` hold positions of events, `texts` codes of strings and `lists` numbers of lists
    of runs. `owners` has for each state the number of the
    subscription that it is a match of, or -1; `members` those that go through it, none where it is dead. In an NFA that
    `waits`, time completes matches; one that `chains` keeps the events of repeated steps, or gaps. `process_key` is the
    column that tells processes of a lane apart for observers, or NONE. `rows` are the levels of the rows of a template
    that it serves by their profiles. With `late` guards, later steps may be evaluated when a run asks; `starts` are the
    conditions of edges that runs begin along, as far as an index may have them.
    """

    tables: NfaTables
    code: LinkedCode
    columns: tuple[EventExpression, ...]
    predicates: tuple[tuple[EventExpression, ...], ...]
    slots: int
    positions: tuple[int, ...]
    texts: tuple[int, ...]
    lists: tuple[int, ...]
    owners: Ints
    members: tuple[frozenset[int], ...]
    kernel: KernelDecision
    waits: bool
    chains: bool
    time: Type
    process_key: int
    rows: RowLevels | None = None
    late: LateGuards | None = None
    starts: tuple[StartProfiles, ...] = ()

    @property
    def has_process_key(self) -> bool:
        return self.process_key != int(NONE)

    @property
    def strict(self) -> bool:
        """Whether only the very next event can be bound."""
        return self.kernel.kernel.value.next_only

    @property
    def lockstep(self) -> bool:
        """Whether the lockstep kernel runs it."""
        return self.kernel.kernel.value.lockstep

    @property
    def states(self) -> int:
        return len(self.owners)

    @cached_property
    def waiting(self) -> Words:
        """The states that runs wait at, the last one first."""
        edges = self.tables.edges
        return np.unique(edges[edges[:, EDGE_FINAL] == 0, EDGE_TARGET])[::-1].copy()

    @property
    def alive(self) -> Flags:
        """The states that an active subscription goes through."""
        return np.array([bool(members) for members in self.members], np.bool_)

    @property
    def finals(self) -> int:
        return len(self.tables.finals)

    @cached_property
    def lagged(self) -> set[Lagged]:
        """The columns of earlier events of the lane that predicates and late guards compare with."""
        # What a union names, the predicates name that it unites.
        nodes = (n for p in self.predicates for c in p if not isinstance(c, Disjunction) for n in c.walk())
        return {n for n in (*nodes, *self.columns) if isinstance(n, Lagged)}

    @cached_property
    def counted(self) -> tuple[EveryNth, ...]:
        """The conditions that count events of a lane, each once."""
        return tuple(dict.fromkeys(_counted(self.predicates)))

    def key(self, state: int) -> tree.Expression | None:
        """The column by which an event finds the runs of a state."""
        column = int(self.tables.states[state, STATE_KEY])
        return None if column == NONE else self.columns[column]


def _counted(predicates: Iterable[tuple[EventExpression, ...]]) -> Iterator[EveryNth]:
    for predicate in predicates:
        for condition in predicate:
            if isinstance(condition, EveryNth):
                yield condition
            elif isinstance(condition, Disjunction):
                yield from _counted(condition.predicates)
