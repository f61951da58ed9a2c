"""Prefix sharing: one NFA for many subscriptions, whose equivalent states are merged (P-ToPSS section 4.3).

Two states are equivalent where they wait alike and the same edges lead to them from equivalent states: a partial match
at one is a partial match at the other. The search follows equal edges from the start, then drops every pair that
another edge leads to as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property

from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.flatten import flatten
from foretell.plan.lower.ir import CHAINED, Guard, LoweredEdge, LoweredNfa, RegisterUpdate, SymbolTable, WaitingState
from foretell.plan.lower.nfa import lower_nfa
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.records import record

#: An NFA takes any subscriptions until it has so many states, since the kernel visits each of them on every event.
#: Where every operator is `,`, it visits runs alone, and finds starts by an index.
MOST_STATES, MOST_STRICT_STATES = 64, 512

#: It takes those that begin like one of its own until it has so many: elsewhere their common states would be visited
#: twice. A change of an NFA flattens all its states, which takes 8 µs each.
MOST_ALIKE = 1_024


@record
class SharedState:
    """A state with the numbers of the subscriptions that go through it; `owner` is the one it is a match of, or -1."""

    waiting: WaitingState
    owner: int
    members: frozenset[int] = frozenset()
    within: int | float = 0

    def joined_by(self, number: int, within: int | float | None) -> SharedState:
        """The state with one more subscription. A run is kept for the longest window of those that wait here."""
        longest = -1 if within is None or self.within < 0 else max(self.within, within)
        return replace(self, members=self.members | {number}, within=longest)


@record
class SharedEdge:
    """An edge with the numbers of the subscriptions that take it, and the register updates of all of them."""

    source: int | None
    target: int
    thread: int
    guard: Guard
    updates: tuple[RegisterUpdate, ...] = ()
    members: frozenset[int] = frozenset()

    def joined_by(self, number: int, updates: tuple[RegisterUpdate, ...]) -> SharedEdge:
        """The edge with one more subscription."""
        merged = tuple(dict.fromkeys((*self.updates, *updates)))
        return replace(self, members=self.members | {number}, updates=merged)


@record
class SharedNfa:
    """An immutable NFA of one or more subscriptions; `joined_by` and `without` give the next one.

    The numbers of states, slots and subscriptions never change: snapshots of runs refer to them.
    Without `keyed` no state is indexed by a key. `parameters` are the columns of the FOR EACH table whose rows one
    executor serves, by their profiles.
    """

    symbols: SymbolTable
    simultaneous: bool
    time: Type
    keyed: bool = True
    states: tuple[SharedState, ...] = ()
    edges: tuple[SharedEdge, ...] = ()
    members: Mapping[int, SubscriptionPlan] = field(default_factory=dict)
    slots: Mapping[int, frozenset[int]] = field(default_factory=dict)
    finals: Mapping[int, int] = field(default_factory=dict)
    strict: bool = True
    chains: bool = False
    next_number: int = 0
    parameters: Mapping[str, Type] | None = None

    @classmethod
    def empty(cls, code_of: Callable[[str], int], simultaneous: bool, time: Type, *, keyed: bool = True) -> SharedNfa:
        """An NFA without subscriptions; `code_of` gives the codes of strings."""
        return cls(SymbolTable(code_of), simultaneous, time, keyed)

    @property
    def full(self) -> bool:
        return len(self.states) >= (MOST_STRICT_STATES if self.strict else MOST_STATES)

    @property
    def full_for_like(self) -> bool:
        """Whether it takes no subscriptions any more, not even those that begin like one of its own."""
        return len(self.states) >= MOST_ALIKE

    @cached_property
    def compiled(self) -> CompiledNfa:
        """The NFA as the flat arrays that kernels read."""
        return flatten(self)

    @property
    def shared_states(self) -> int:
        """The number of states that serve more than one subscription."""
        return sum(len(state.members) > 1 for state in self.states)

    def coded_by(self, code_of: Callable[[str], int]) -> SharedNfa:
        """The NFA as one of a runtime that gives strings the same codes."""
        return (
            replace(self, symbols=replace(self.symbols, code_of=code_of)) if code_of != self.symbols.code_of else self
        )

    def joined_by(
        self,
        subscription: CheckedSubscription,
        parameters: Mapping[str, Type] | None = None,
        *,
        selected: bool = False,
        profiled: bool = False,
        edges: int = MOST_EDGES,
    ) -> tuple[SharedNfa, int]:
        """The NFA with one more subscription, and the number of that subscription in it."""
        symbols = self.symbols.copy()
        ways = {"selected": selected, "profiled": profiled, "keyed": self.keyed}
        lowered = lower_nfa(subscription, symbols, parameters, edges=edges, **ways)
        number = self.next_number
        assert not self.members or _is_shareable(lowered), "plan.strategy gives such a subscription its own NFA"
        pairs = self._equivalent(lowered) if self.members else {}
        states, merged_edges = self._merged(number, lowered, pairs)
        finals = dict(self.finals)
        slots = [lowered.slots[register] for register in lowered.finals]
        for slot in slots:
            finals.setdefault(slot, len(finals))
        places = {register: finals[slot] for register, slot in zip(lowered.finals, slots, strict=True)}
        plan = replace(lowered.program, finals=places)
        joined = replace(
            self,
            symbols=symbols,
            states=states,
            edges=merged_edges,
            members={**self.members, number: plan},
            slots={**self.slots, number: frozenset(lowered.slots.values())},
            finals=finals,
            strict=self.strict and all(waiting.strict for waiting in lowered.states),
            chains=self.chains or plan.chains,
            next_number=number + 1,
            parameters=parameters if profiled else None,
        )
        return joined, number

    def without(self, number: int) -> SharedNfa:
        """The NFA with one subscription less. States that served it alone are dead, and keep their numbers."""
        gone = {number}
        return replace(
            self,
            states=tuple(replace(s, members=s.members - gone) if number in s.members else s for s in self.states),
            edges=tuple(
                replace(e, members=e.members - gone) if number in e.members else e
                for e in self.edges
                if e.members != gone
            ),
            members={n: plan for n, plan in self.members.items() if n != number},
            slots={n: slots for n, slots in self.slots.items() if n != number},
        )

    # ── equivalent states ──

    def _equivalent(self, lowered: LoweredNfa) -> dict[int, int]:
        """Pairs of a state of the subscription and the state of this NFA that it is equivalent to."""
        pairs: dict[int, int] = {}
        todo: list[int | None] = [None]
        known: defaultdict[tuple[int | None, int, int], list[SharedEdge]] = defaultdict(list)
        for shared in self.edges:
            known[shared.source, shared.guard.predicate, shared.guard.code].append(shared)
        while todo:
            source = todo.pop()
            shared_source = None if source is None else pairs[source]
            for edge in (e for e in lowered.edges if e.source == source and e.target not in pairs):
                for shared in known.get((shared_source, edge.guard.predicate, edge.guard.code), ()):
                    if (
                        shared.target not in pairs.values()
                        and self._waits_alike(lowered, edge.target, shared.target)
                        and self._is_same(lowered, edge, shared)
                    ):
                        pairs[edge.target] = shared.target
                        todo.append(edge.target)
                        break
        while wrong := [state for state in pairs if not self._reached_alike(lowered, state, pairs)]:
            for state in wrong:
                del pairs[state]
        return pairs

    def _waits_alike(self, lowered: LoweredNfa, state: int, shared: int) -> bool:
        waiting = lowered.states[state]
        return not waiting.final and waiting == self.states[shared].waiting and bool(self.states[shared].members)

    def _reached_alike(self, lowered: LoweredNfa, state: int, pairs: dict[int, int]) -> bool:
        """Whether each edge to a state has an equal edge to its pair, and no other edge leads there."""
        left = [e for e in self.edges if e.target == pairs[state]]
        for edge in (e for e in lowered.edges if e.target == state):
            if edge.source is not None and edge.source not in pairs:
                return False
            source = None if edge.source is None else pairs[edge.source]
            same = next((e for e in left if e.source == source and self._is_same(lowered, edge, e)), None)
            if same is None:
                return False
            left.remove(same)
        return not left

    def _is_same(self, lowered: LoweredNfa, edge: LoweredEdge, shared: SharedEdge) -> bool:
        """Whether two edges have the same guard and the same updates of the slots that both sides know."""
        if (edge.thread, edge.guard) != (shared.thread, shared.guard):
            return False
        own_slots = set(lowered.slots.values()) | {CHAINED}
        shared_slots = set().union(*(self.slots[member] for member in shared.members)) | {CHAINED}
        return {u for u in edge.updates if u.slot in shared_slots} == {u for u in shared.updates if u.slot in own_slots}

    def _merged(
        self, number: int, lowered: LoweredNfa, pairs: Mapping[int, int]
    ) -> tuple[tuple[SharedState, ...], tuple[SharedEdge, ...]]:
        """The states and edges of both: those of `pairs` are one."""
        states, edges, places = list(self.states), list(self.edges), dict(pairs)
        within = lowered.program.subscription.within
        for i, waiting in enumerate(lowered.states):
            if i not in places:
                places[i] = len(states)
                states.append(SharedState(waiting, owner=number if waiting.final or waiting.waits else -1))
            states[places[i]] = states[places[i]].joined_by(number, within)
        for edge in lowered.edges:
            source, target = None if edge.source is None else places[edge.source], places[edge.target]
            at = len(edges)
            if edge.target in pairs:
                at = next(
                    i
                    for i, e in enumerate(edges)
                    if (e.source, e.target) == (source, target)
                    and number not in e.members
                    and self._is_same(lowered, edge, e)
                )
            else:
                edges.append(SharedEdge(source, target, edge.thread, edge.guard))
            edges[at] = edges[at].joined_by(number, edge.updates)
        return tuple(states), tuple(edges)


def _is_shareable(lowered: LoweredNfa) -> bool:
    """Whether a subscription's states may serve others: a step that counts, or looks back into gaps, forbids it."""
    program = lowered.program
    counts = any(waiting.counters or waiting.waits for waiting in lowered.states)
    looks_back = program.leading or program.deferred or program.trailing
    return not counts and not looks_back and program.subscription.tree.table is None
