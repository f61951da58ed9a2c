"""Levels of rows: how one executor serves rows of a template that differ at any step.

The rows are sorted by their profiles and parameters in the order in which a run meets these, as the paths of a trie
(filter.row_trie): a run carries an interval of rows, which agree on all that it has met. Where a state or an edge asks
of something on which they may differ, the edge that leads there has a copy of the run for each of the next rows that
agree. So rows have a run in common until they differ (Cayuga's merged states, section 3.2).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from foretell.arrays import Words
from foretell.machine.kernels.layout import NEXT, NONE, WHERE
from foretell.machine.kernels.opcodes import Op
from foretell.plan.lower.ir import Guard
from foretell.plan.shapes import WaitShape
from foretell.plan.strategy import Decision, choose_run_index
from foretell.plan.template_profiles import SiteConditions, profile_conditions
from foretell.records import record

if TYPE_CHECKING:
    from foretell.plan.prefix_sharing import SharedEdge, SharedNfa


@record
class RowLevel:
    """A level of the trie: rows on it agree on the profile of a site or, where that is -1, on parameters."""

    site: int
    parameters: tuple[str, ...]


@record
class RowLevels:
    """The levels of the rows of an NFA. `sites` have the conditions of which profiles are made, `descents` a row for
    each edge, `waits` one for each state (machine.kernels.layout); `index` is the choice of how an event finds runs."""

    sites: tuple[SiteConditions, ...]
    levels: tuple[RowLevel, ...]
    descents: Words
    waits: Words
    index: Decision[Mapping[int, int]]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The columns of the table by which rows are sorted."""
        return tuple(dict.fromkeys(name for level in self.levels for name in level.parameters))


def row_levels(shared: SharedNfa, edges: Sequence[SharedEdge]) -> RowLevels | None:
    """The levels of the rows that an NFA serves by their profiles; None where it does not."""
    if shared.parameters is None:
        return None
    (member,) = shared.members.values()
    sites = tuple(
        profile_conditions(member.subscription, conditions, shared.parameters) for conditions in shared.symbols.profiles
    )
    return _RowLevelling(shared, edges, sites).levels()


@dataclass
class _RowLevelling:
    shared: SharedNfa
    edges: Sequence[SharedEdge]
    sites: tuple[SiteConditions, ...]
    keys: dict[RowLevel, int] = field(default_factory=dict)

    def levels(self) -> RowLevels:
        asked_at, asked_by = self._asked()
        depths = self._depths(asked_at, asked_by)
        descents = np.full((len(self.edges), 2), NONE, np.uint64)
        for number, edge in enumerate(self.edges):
            source = 0 if edge.source is None else depths[edge.source]
            if depths[edge.target] > source:
                descents[number, 0] = depths[edge.target]
            if edge.guard.profile >= 0 and self.keys[self._of_site(edge.guard.profile)] == source:
                descents[number, 1] = source + 1
        index = choose_run_index(
            {n: self._wait_shape(n) for n, state in enumerate(self.shared.states) if not state.waiting.final}
        )
        return RowLevels(self.sites, tuple(self.keys), descents, self._waits(index.value, depths), index)

    def _waits(self, index: Mapping[int, int], depths: Sequence[int]) -> Words:
        """The sites by whose profiles runs are found. The rows of a run lie in the order of the profiles if it is the
        next that they may differ in, or they agree on it."""
        waits = np.full((len(self.shared.states), 2), NONE, np.uint64)
        for state, site in index.items():
            waits[state] = site, self.keys[self._of_site(site)] <= depths[state]
        return waits

    def _wait_shape(self, number: int) -> WaitShape:
        """The sites that decide which events concern the runs at a state."""
        waiting = self.shared.states[number].waiting
        kinds = {thread.kind for thread in waiting.threads}
        if NEXT in kinds:
            return WaitShape(frozenset(), "the very next event concerns all of them")
        if waiting.waits or waiting.counters:
            return WaitShape(frozenset(), "they wait for time to pass, or count events")
        asked = [thread.where for thread in waiting.threads if thread.kind == WHERE]
        asked += [absent for thread in waiting.threads for absent in thread.absent]
        by_where = {n for n, thread in enumerate(waiting.threads) if thread.kind == WHERE}
        asked += [e.guard for e in self.edges if e.source == number and e.thread not in by_where]
        if any(guard.profile < 0 for guard in asked):
            return WaitShape(frozenset(), "conditions without parameters, or on bound events, decide alone")
        sites = frozenset(guard.profile for guard in asked)
        return WaitShape(sites, None if len(sites) == 1 else "profiles of several steps decide")

    def _asked(self) -> tuple[list[set[int]], list[set[int]]]:
        """The levels that each state and each edge asks about, numbered in the order in which runs meet them."""
        leaving: defaultdict[int | None, list[int]] = defaultdict(list)
        for number, edge in enumerate(self.edges):
            leaving[edge.source].append(number)
        at_state: list[set[int]] = [set() for _ in self.shared.states]
        by_edge: list[set[int]] = [set() for _ in self.edges]
        met, todo = set(), list(leaving[None])
        for number in todo:
            edge = self.edges[number]
            codes = [edge.guard.code, *(update.code for update in edge.updates)]
            by_edge[number] = set(self._numbers([edge.guard], codes))
            if edge.target not in met:
                met.add(edge.target)
                guards = list(self._guards(edge.target))
                at_state[edge.target] = set(self._numbers(guards, [guard.code for guard in guards]))
                todo += leaving[edge.target]
        return at_state, by_edge

    def _guards(self, state: int) -> Iterator[Guard]:
        """The guards of the events that the runs of a state do not bind."""
        waiting = self.shared.states[state].waiting
        for thread in waiting.threads:
            yield from (thread.where, *thread.absent)
        yield from (counter.counted for counter in waiting.counters)

    def _numbers(self, guards: Iterable[Guard], codes: Iterable[int]) -> Iterator[int]:
        wanted = [self._of_site(guard.profile) for guard in guards if guard.profile >= 0]
        for code in codes:
            names = self._parameters(code)
            wanted += [RowLevel(-1, names)] if names else []
        for level in wanted:
            yield self.keys.setdefault(level, len(self.keys))

    def _of_site(self, site: int) -> RowLevel:
        return RowLevel(site, self.sites[site].parameters)

    def _parameters(self, code: int) -> tuple[str, ...]:
        """The parameters that a code reads."""
        ops, names = self.shared.symbols.codes[code].ops, list(self.shared.parameters or ())
        loaded = ops[np.isin(ops[:, 0], (Op.LOAD_PARAMETER_F, Op.LOAD_PARAMETER_I)), 1]
        compared = ops[np.isin(ops[:, 0], (Op.COMPARE_COLUMN_PARAMETER_F, Op.COMPARE_COLUMN_PARAMETER_I)), 2]
        return tuple(names[number] for number in sorted({*loaded.tolist(), *compared.tolist()}))

    def _depths(self, asked_at: Sequence[set[int]], asked_by: Sequence[set[int]]) -> list[int]:
        """How far down the trie the rows of the runs at each state are: all that the way there asked about is known."""
        depths = [max((number + 1 for number in asked), default=0) for asked in asked_at]
        changed = True
        while changed:
            changed = False
            for edge, asked in zip(self.edges, asked_by, strict=True):
                source = 0 if edge.source is None else depths[edge.source]
                depth = max([source, depths[edge.target], *(number + 1 for number in asked)])
                changed |= depth > depths[edge.target]
                depths[edge.target] = depth
        return depths
