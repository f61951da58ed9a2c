"""Decomposition of a pattern into parts with an automaton each, where the whole has too many states (P-ToPSS 5.2.3).

A sequence is cut into *segments*: a `&` is one, a `|` is one, and so is a run of steps between such. The sides of `&`
and the branches of `|` are the *parts* of their segment; steps between are one part. A state of the whole automaton
maps to a state of each part: for a side of `&`, states that differ only by events of other sides are merged; for a
branch, the state stays itself if it is inside that branch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import step_shapes
from foretell.plan.nfa.automaton import Automaton, Edge
from foretell.plan.nfa.state_bits import BITS, bits_by_distance
from foretell.plan.nfa.step_sets import NO_STEPS
from foretell.plan.nfa.terms import Done
from foretell.records import record

#: The bit of a part's word that says that the part is done. The bit below it is left to the forecaster.
DONE = 1 << 63
_STATE_BITS = 62

#: The state before the match's first event, and the states in which a part begins and ends.
_INITIAL, _BEGIN, _END = -1, -2, -3


@record
class Segment:
    """The parts from `first` to before `stop`. All of them must be done (`every`), or one of them."""

    every: bool
    first: int
    stop: int


@record
class Decomposition:
    """The parts of a pattern.

    | field | holds |
    | --- | --- |
    | segments | the segments in their order |
    | steps | for each part, its steps |
    | bits | `bits[s, p]`: the bit of part p for a run at state s |
    | entries | for each part, its word when its segment begins |
    | shares | `shares[s, p]`: whether an event of part p is bound at state s |
    """

    segments: tuple[Segment, ...]
    steps: tuple[frozenset[str], ...]
    bits: NDArray[np.uint64]
    entries: tuple[int, ...]
    shares: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.steps)


def decompose(checked: CheckedSubscription, automaton: Automaton) -> Decomposition | None:
    """The decomposition of a pattern; None where all states have bits of their own, where no segment is a `&` or `|`,
    where events of different segments may alternate, or where counters take the place of states."""
    if automaton.compact or sum(not isinstance(state.term, Done) for state in automaton.states) <= BITS:
        return None
    cut = list(_cut(checked.pattern))
    if all(len(patterns) < 2 for _, patterns in cut):
        return None
    steps = [[_steps(pattern) for pattern in patterns] for _, patterns in cut]
    segmented = _SegmentedAutomaton(automaton, [frozenset().union(*of_segment) for of_segment in steps])
    if not segmented.is_in_order:
        return None
    segments, columns, entries, first = [], [], [], 0
    for number, ((every, _), of_segment) in enumerate(zip(cut, steps, strict=True)):
        for of_part in of_segment:
            bits, entry = segmented.side(number, of_part) if every else segmented.branch(number, of_part)
            columns.append(bits)
            entries.append(entry)
        segments.append(Segment(every, first, first + len(of_segment)))
        first += len(of_segment)
    part_steps = tuple(of_part for of_segment in steps for of_part in of_segment)
    shares = np.array([[bool(state.bound & of_part) for of_part in part_steps] for state in automaton.states])
    return Decomposition(tuple(segments), part_steps, np.stack(columns, axis=1), tuple(entries), shares)


def _cut(pattern: tree.Pattern) -> Iterator[tuple[bool, Sequence[tree.Pattern]]]:
    """The segments of a pattern: whether all parts must be done, and the parts."""
    between: list[tree.Pattern] = []
    in_order = [part.pattern for part in pattern.parts] if isinstance(pattern, tree.Sequence) else [pattern]
    if isinstance(pattern, tree.Sequence) and pattern.absent:
        in_order = [pattern]  # time alone completes it
    for member in in_order:
        if isinstance(member, tree.Conjunction | tree.Alternation):
            if between:
                yield False, [tree.sequence(tuple(tree.SequencePart(p) for p in between))]
            between = []
            yield (True, member.sides) if isinstance(member, tree.Conjunction) else (False, member.branches)
        else:
            between.append(member)
    if between:
        yield False, [tree.sequence(tuple(tree.SequencePart(p) for p in between))]


def _steps(pattern: tree.Pattern) -> frozenset[str]:
    return frozenset(shape.name for shape in step_shapes(pattern) if not shape.negated)


class _SegmentedAutomaton:
    """An automaton with the segment (`at`) and the distance to a match (`left`) of each state."""

    def __init__(self, automaton: Automaton, segments: Sequence[frozenset[str]]) -> None:
        self.segments, self.edges = segments, automaton.edges
        self.bound = {number: state.bound for number, state in enumerate(automaton.states)}
        self.bound[_INITIAL] = NO_STEPS
        self.done = {number for number, state in enumerate(automaton.states) if isinstance(state.term, Done)}
        self.before: dict[int, list[Edge]] = defaultdict(list)
        for edge in automaton.edges:
            self.before[edge.target].append(edge)
        self.left, self.at = self._distances(), self._positions()

    def _distances(self) -> dict[int, int]:
        """For each state, the fewest events to a match."""
        left, todo = dict.fromkeys(self.done, 0), list(self.done)
        for state in todo:
            for edge in self.before[state]:
                if _source(edge) not in left:
                    left[_source(edge)] = left[state] + 1
                    todo.append(_source(edge))
        return left

    def _positions(self) -> dict[int, int]:
        """For each state, the first segment of which a step may still be bound."""
        later: dict[int, set[int]] = {state: set() for state in self.bound}
        number = {step: i for i, steps in enumerate(self.segments) for step in steps}
        todo = list(self.bound)
        while todo:
            state = todo.pop()
            for edge in self.before[state]:
                source = _source(edge)
                more = later[state] | {number[edge.leaf.step]}
                if not more <= later[source]:
                    later[source] |= more
                    todo.append(source)
        return {state: min(segments, default=len(self.segments)) for state, segments in later.items()}

    @property
    def is_in_order(self) -> bool:
        """Whether every edge binds a step of its source's segment, and no segment is left out."""
        return all(
            edge.leaf.step in self.segments[self.at[_source(edge)]]
            and self.at[edge.target] - self.at[_source(edge)] in (0, 1)
            for edge in self.edges
        )

    def side(self, segment: int, steps: frozenset[str]) -> tuple[NDArray[np.uint64], int]:
        """The bits of a side of `&`, and of its beginning. States that differ only by events of other sides are merged
        (union-find)."""
        parent = {state: state for state in (*self.bound, _BEGIN, _END)}

        def root(state: int) -> int:
            while parent[state] != state:
                parent[state] = state = parent[parent[state]]
            return state

        edges = [edge for edge in self.edges if self.at[_source(edge)] == segment]
        ends = [(_source(edge), _END if self.at[edge.target] > segment else edge.target) for edge in edges]
        for state in self._entries(segment):
            parent[root(state)] = root(_BEGIN)
        for edge, (source, target) in zip(edges, ends, strict=True):
            if edge.leaf.step not in steps:
                parent[root(source)] = root(target)
        before: dict[int, list[int]] = defaultdict(list)
        for source, target in ends:
            before[root(target)].append(root(source))
        left, todo = {root(_END): 0}, [root(_END)]
        for state in todo:
            for source in before[state]:
                if source not in left:
                    left[source] = left[state] + 1
                    todo.append(source)
        merged = {state: root(state) for state in self.bound if self.at[state] == segment}
        passed = [state for state in self.bound if self.at[state] > segment]
        return self._bits(segment, {**merged, _BEGIN: root(_BEGIN), **dict.fromkeys(passed, root(_END))}, left)

    def branch(self, segment: int, steps: frozenset[str]) -> tuple[NDArray[np.uint64], int]:
        """The bits of a branch of `|`, and of its beginning. A state outside of the branch has none."""
        inside = [state for state, bound in self.bound.items() if bound & steps and self.at[state] >= segment]
        states = {state: state if self.at[state] == segment else _END for state in inside}
        entries = self._entries(segment)
        left = {**self.left, _END: 0, _BEGIN: min(self.left[state] for state in entries)}
        return self._bits(segment, {**states, **dict.fromkeys([*entries, _BEGIN], _BEGIN)}, left)

    def _entries(self, segment: int) -> list[int]:
        """The states at which a segment begins."""
        return [s for s in self.bound if self.at[s] == segment and not self.bound[s] & self.segments[segment]]

    def _bits(self, segment: int, part_states: dict[int, int], left: dict[int, int]) -> tuple[NDArray[np.uint64], int]:
        """The bit of each state, by its state in the part, and the bit of the part's beginning. `left` has the distance
        of each state of the part from the part's end."""
        begin = part_states[_BEGIN]
        # The beginning of the pattern has no bit: it is there without any run.
        waiting = {s: left[s] for s in set(part_states.values()) if left.get(s) and (segment or s != begin)}
        bit = bits_by_distance(waiting, _STATE_BITS)
        bit |= {state: DONE for state in part_states.values() if left.get(state) == 0}
        bits = np.zeros(len(self.bound) - 1, np.uint64)
        for state, part_state in part_states.items():
            if state >= 0 and state not in self.done:
                bits[state] = bit.get(part_state, 0)
        return bits, bit.get(begin, 0)


def _source(edge: Edge) -> int:
    return _INITIAL if edge.source is None else edge.source
