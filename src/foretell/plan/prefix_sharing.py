"""One machine for many subscriptions: what begins alike is one (P-ToPSS section 4.3).

Two states are equivalent where they wait alike and are reached by the same edges from equivalent states: a partial
match at the one is a partial match at the other. They are found by going along equal edges from the beginning, and by
taking back every pair that something else leads to as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.flatten import SharedEdge, SharedState, machine_of
from foretell.plan.lower.ir import CHAINED, Lowered, LoweredEdge, Numbers
from foretell.plan.lower.nfa import lower
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan

#: A machine takes subscriptions until it has so many states: the kernel looks at all of them on each event.
MOST_STATES = 64


@dataclass
class SharedNfa:
    """A machine that subscriptions join and leave. The numbers of states and slots never change."""

    code_of: Callable[[str], int]
    simultaneous: bool
    time: Type
    keyed: bool = True
    numbers: Numbers = field(init=False)
    states: list[SharedState] = field(default_factory=list)
    edges: list[SharedEdge] = field(default_factory=list)
    members: dict[int, SubscriptionPlan] = field(default_factory=dict)
    slots: dict[int, frozenset[int]] = field(default_factory=dict)
    finals: dict[int, int] = field(default_factory=dict)
    strict: bool = True
    chains: bool = False
    _next: int = 0

    def __post_init__(self) -> None:
        self.numbers = Numbers(self.code_of)

    @property
    def full(self) -> bool:
        return len(self.states) >= MOST_STATES

    def add(
        self,
        subscription: CheckedSubscription,
        parameters: Mapping[str, Type] | None = None,
        *,
        selected: bool = False,
    ) -> tuple[int, SubscriptionPlan]:
        """A subscription more: its number in the machine, and what is asked of its matches."""
        numbers = self.numbers.copied()
        lowered = lower(subscription, numbers, parameters, selected=selected, keyed=self.keyed)
        self.numbers = numbers
        number, self._next = self._next, self._next + 1
        pairs = self._equivalent(lowered) if self.members and is_shareable(lowered) else {}
        self.slots[number] = frozenset(lowered.registers.values())
        self._join(number, lowered, pairs)
        slots = [lowered.registers[r] for r in lowered.finals]
        for slot in slots:
            self.finals.setdefault(slot, len(self.finals))
        program = replace(lowered.program, finals={r: self.finals[s] for r, s in zip(lowered.finals, slots)})
        self.members[number] = program
        self.chains |= program.chains
        return number, program

    def remove(self, number: int) -> None:
        """A subscription less. What only it went through is dead."""
        del self.members[number], self.slots[number]
        for state in self.states:
            state.members.discard(number)
        self.edges = [e for e in self.edges if e.members - {number}]
        for edge in self.edges:
            edge.members.discard(number)

    def machine(self) -> CompiledNfa:
        return machine_of(self)

    def shared_by_several(self) -> int:
        """How many states serve more than one subscription."""
        return sum(len(state.members) > 1 for state in self.states)

    # ── equivalent states ──

    def _equivalent(self, lowered: Lowered) -> dict[int, int]:
        """The subscription's states that are states of the machine already."""
        pairs: dict[int, int] = {}
        todo: list[int | None] = [None]
        while todo:
            mine = todo.pop()
            theirs = None if mine is None else pairs[mine]
            for edge in (e for e in lowered.edges if e.source == mine and e.target not in pairs):
                for other in (e for e in self.edges if e.source == theirs):
                    if (
                        other.target not in pairs.values()
                        and self._waits_alike(lowered, edge.target, other.target)
                        and self._is_same(lowered, edge, other)
                    ):
                        pairs[edge.target] = other.target
                        todo.append(edge.target)
                        break
        while wrong := [m for m in pairs if not self._reached_alike(lowered, m, pairs)]:
            for one in wrong:
                del pairs[one]
        return pairs

    def _waits_alike(self, lowered: Lowered, mine: int, theirs: int) -> bool:
        waiting = lowered.states[mine]
        return not waiting.final and waiting == self.states[theirs].waiting and bool(self.states[theirs].members)

    def _reached_alike(self, lowered: Lowered, state: int, pairs: dict[int, int]) -> bool:
        """Whether each edge to a state has its equal to the other one of the pair, and nothing else leads there."""
        theirs = [e for e in self.edges if e.target == pairs[state]]
        for edge in (e for e in lowered.edges if e.target == state):
            if edge.source is not None and edge.source not in pairs:
                return False
            source = None if edge.source is None else pairs[edge.source]
            same = next((e for e in theirs if e.source == source and self._is_same(lowered, edge, e)), None)
            if same is None:
                return False
            theirs.remove(same)
        return not theirs

    def _is_same(self, lowered: Lowered, edge: LoweredEdge, other: SharedEdge) -> bool:
        """Whether an edge asks the same and keeps the same, as far as both sides know the slots."""
        if (edge.thread, edge.judged) != (other.thread, other.judged):
            return False
        mine = set(lowered.registers.values()) | {CHAINED}
        theirs = set().union(*(self.slots[m] for m in other.members)) | {CHAINED}
        return {u for u in edge.updates if u.slot in theirs} == {u for u in other.updates if u.slot in mine}

    def _join(self, number: int, lowered: Lowered, pairs: dict[int, int]) -> None:
        within = lowered.program.subscription.within
        places = dict(pairs)
        for i, waiting in enumerate(lowered.states):
            if i not in places:
                places[i] = len(self.states)
                self.states.append(SharedState(waiting, owner=number if waiting.final or waiting.waits else -1))
            state = self.states[places[i]]
            state.members.add(number)
            state.reach(within)
            self.strict &= waiting.strict
        for edge in lowered.edges:
            source, target = None if edge.source is None else places[edge.source], places[edge.target]
            there = (e for e in self.edges if e.source == source and e.target == target and number not in e.members)
            known = None
            if edge.target in pairs:
                known = next(e for e in there if self._is_same(lowered, edge, e))
            else:
                known = SharedEdge(source, target, edge.thread, edge.judged)
                self.edges.append(known)
            known.members.add(number)
            known.updates.update(dict.fromkeys(edge.updates))


def is_shareable(lowered: Lowered) -> bool:
    """Whether a subscription may share states: what counts, or looks back into gaps, keeps its own."""
    program = lowered.program
    counts = any(waiting.ticks or waiting.waits for waiting in lowered.states)
    return not counts and not program.leading and not program.deferred and program.subscription.tree.table is None
