"""The parts of a pattern that are machines of their own where its whole machine is too large (P-ToPSS 5.2.3).

A sequence is cut into *segments*: a `&` is one, a `|` is one, and what stands between such. The sides of `&` and the
branches of `|` are the *parts* of their segment; what stands between is one part. A state of the whole machine stands
for one of each part's: of a side of `&`, which forgets what events of the other sides have changed; of a branch, the
state itself where it has been entered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import step_shapes
from foretell.plan.nfa.automaton import Automaton, Edge
from foretell.plan.nfa.derivatives import Done
from foretell.plan.nfa.state_bits import BITS, bits_by_distance

#: Of a part's word: the part is done. The bit below it is for whoever looks at all parts together.
DONE = 1 << 63
_FOR_STATES = 62

#: Where a part begins and ends.
_BEGIN, _END = -2, -3


@dataclass(frozen=True)
class Segment:
    """The parts from `first` to before `stop`: every one of them has to be done, or one of them."""

    every: bool
    first: int
    stop: int


@dataclass(frozen=True)
class Parts:
    """`steps` are those of each part, `bits[s, p]` the bit of part p that a partial match at state s has, and `entries`
    the word of each part when its segment begins. `shares[s, p]`: whether something of part p is bound at state s."""

    segments: tuple[Segment, ...]
    steps: tuple[frozenset[str], ...]
    bits: NDArray[np.uint64]
    entries: tuple[int, ...]
    shares: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.steps)


def parts_of(checked: CheckedSubscription, automaton: Automaton) -> Parts | None:
    """None where all states have bits of their own, where a pattern has no `&` or `|` on its way, or where it is not
    certain where one ends."""
    if sum(not isinstance(state.term, Done) for state in automaton.states) <= BITS:
        return None
    cut = list(_cut(checked.pattern))
    if all(len(patterns) < 2 for _, patterns in cut):
        return None
    steps = [[_steps(pattern) for pattern in patterns] for _, patterns in cut]
    machine = _Machine(automaton, [frozenset().union(*some) for some in steps])
    if not machine.is_certain:
        return None
    segments, columns, entries, first = [], [], [], 0
    for number, ((every, _), some) in enumerate(zip(cut, steps, strict=True)):
        for mine in some:
            bits, entry = machine.side(number, mine) if every else machine.branch(number, mine)
            columns.append(bits)
            entries.append(entry)
        segments.append(Segment(every, first, first + len(some)))
        first += len(some)
    every_step = tuple(mine for some in steps for mine in some)
    shares = np.array([[bool(state.bound & mine) for mine in every_step] for state in automaton.states])
    return Parts(tuple(segments), every_step, np.stack(columns, axis=1), tuple(entries), shares)


def _cut(pattern: tree.Pattern) -> Iterator[tuple[bool, Sequence[tree.Pattern]]]:
    """Segments: whether all parts are needed, and the parts."""
    between: list[tree.Pattern] = []
    in_order = [part.pattern for part in pattern.parts] if isinstance(pattern, tree.Sequence) else [pattern]
    if isinstance(pattern, tree.Sequence) and pattern.absent:
        in_order = [pattern]  # time alone completes it
    for one in in_order:
        if isinstance(one, tree.Conjunction | tree.Alternation):
            if between:
                yield False, [tree.sequence(tuple(tree.SequencePart(p) for p in between))]
            between = []
            yield (True, one.sides) if isinstance(one, tree.Conjunction) else (False, one.branches)
        else:
            between.append(one)
    if between:
        yield False, [tree.sequence(tuple(tree.SequencePart(p) for p in between))]


def _steps(pattern: tree.Pattern) -> frozenset[str]:
    return frozenset(shape.name for shape in step_shapes(pattern) if not shape.negated)


class _Machine:
    """An automaton whose states know at which segment they are; the beginning is the state -1."""

    def __init__(self, automaton: Automaton, segments: Sequence[frozenset[str]]) -> None:
        self.segments, self.edges = segments, automaton.edges
        self.bound = {number: state.bound for number, state in enumerate(automaton.states)}
        self.bound[-1] = frozenset()
        self.done = {number for number, state in enumerate(automaton.states) if isinstance(state.term, Done)}
        self.before: dict[int, list[Edge]] = defaultdict(list)
        for edge in automaton.edges:
            self.before[edge.target].append(edge)
        self.left, self.at = self._distances(), self._positions()

    def _distances(self) -> dict[int, int]:
        """The fewest events until a match."""
        left, todo = dict.fromkeys(self.done, 0), list(self.done)
        for state in todo:
            for edge in self.before[state]:
                if _source(edge) not in left:
                    left[_source(edge)] = left[state] + 1
                    todo.append(_source(edge))
        return left

    def _positions(self) -> dict[int, int]:
        """The first segment of which something may still be bound."""
        later: dict[int, set[int]] = {state: set() for state in self.bound}
        number = {step: i for i, some in enumerate(self.segments) for step in some}
        todo = list(self.bound)
        while todo:
            state = todo.pop()
            for edge in self.before[state]:
                source = _source(edge)
                more = later[state] | {number[edge.leaf.step]}
                if not more <= later[source]:
                    later[source] |= more
                    todo.append(source)
        return {state: min(some, default=len(self.segments)) for state, some in later.items()}

    @property
    def is_certain(self) -> bool:
        """Whether every event is bound in the segment at which its partial match is, and none is left out."""
        return all(
            edge.leaf.step in self.segments[self.at[_source(edge)]]
            and self.at[edge.target] - self.at[_source(edge)] in (0, 1)
            for edge in self.edges
        )

    def side(self, segment: int, steps: frozenset[str]) -> tuple[NDArray[np.uint64], int]:
        """The bits of a side of `&`, and of its beginning: states that only events of other sides part are one."""
        one = {state: state for state in (*self.bound, _BEGIN, _END)}

        def found(state: int) -> int:
            while one[state] != state:
                one[state] = state = one[one[state]]
            return state

        mine = [edge for edge in self.edges if self.at[_source(edge)] == segment]
        ways = [(_source(edge), _END if self.at[edge.target] > segment else edge.target) for edge in mine]
        for state in self._entries(segment):
            one[found(state)] = found(_BEGIN)
        for edge, (source, target) in zip(mine, ways, strict=True):
            if edge.leaf.step not in steps:
                one[found(source)] = found(target)
        before: dict[int, list[int]] = defaultdict(list)
        for source, target in ways:
            before[found(target)].append(found(source))
        left, todo = {found(_END): 0}, [found(_END)]
        for state in todo:
            for source in before[state]:
                if source not in left:
                    left[source] = left[state] + 1
                    todo.append(source)
        of = {state: found(state) for state in self.bound if self.at[state] == segment}
        passed = [state for state in self.bound if self.at[state] > segment]
        return self._bits(segment, {**of, _BEGIN: found(_BEGIN), **dict.fromkeys(passed, found(_END))}, left)

    def branch(self, segment: int, steps: frozenset[str]) -> tuple[NDArray[np.uint64], int]:
        """The bits of a branch of `|`, and of its beginning: a state at which it is not entered has none."""
        mine = [state for state, bound in self.bound.items() if bound & steps and self.at[state] >= segment]
        of = {state: state if self.at[state] == segment else _END for state in mine}
        entries = self._entries(segment)
        left = {**self.left, _END: 0, _BEGIN: min(self.left[state] for state in entries)}
        return self._bits(segment, {**of, **dict.fromkeys([*entries, _BEGIN], _BEGIN)}, left)

    def _entries(self, segment: int) -> list[int]:
        """The states at which a segment begins."""
        return [s for s in self.bound if self.at[s] == segment and not self.bound[s] & self.segments[segment]]

    def _bits(self, segment: int, of: dict[int, int], left: dict[int, int]) -> tuple[NDArray[np.uint64], int]:
        """`of` has for states what they are for the part, `left` how far that is from its end."""
        begin = of[_BEGIN]
        # Nothing of a pattern is also without any partial match: where it begins, that says nothing.
        waiting = {one: left[one] for one in set(of.values()) if left.get(one) and (segment or one != begin)}
        bit = {**bits_by_distance(waiting, _FOR_STATES), **{one: DONE for one in of.values() if left.get(one) == 0}}
        found = np.zeros(len(self.bound) - 1, np.uint64)
        for state, one in of.items():
            if state >= 0 and state not in self.done:
                found[state] = bit.get(one, 0)
        return found, bit.get(begin, 0)


def _source(edge: Edge) -> int:
    return -1 if edge.source is None else edge.source
