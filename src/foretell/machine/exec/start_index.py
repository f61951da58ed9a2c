"""The index of starts: the edges that each event of a batch begins runs along, in an NFA that many statements share.

Edges whose conditions differ in constants alone are profiles of one index (Cayuga's FR-index, for separate statements);
the predicates of the others are evaluated as columns.
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column, dtype_of, no_nulls
from foretell.filter.planned_index import planned_index
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import ProfileComparison, ProfileIndex
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.kernels.layout import EDGE_PREDICATE, NONE
from foretell.machine.kernels.structs import StartHits
from foretell.plan.lower.program import CompiledNfa
from foretell.plan.lower.start_profiles import StartProfiles

#: An NFA that begins along fewer edges asks all of them.
FEWEST_STARTS = 16

#: So many edges for each event are written down; where events begin more runs, all starts are asked.
MOST_HITS = 2

_NO_HITS = StartHits(np.zeros(0, np.int64), np.zeros(0, np.uint64))


class StartIndex:
    """Finds the hits of batches. The predicates that are `indexed` need no flags where the hits are found."""

    def __init__(self, nfa: CompiledNfa, strings: StringDictionary) -> None:
        edges: Ints = nfa.tables.starts.astype(np.int64)
        predicates = nfa.tables.edges[edges, EDGE_PREDICATE].astype(np.int64)
        few = len(edges) < FEWEST_STARTS or not nfa.strict or nfa.lockstep or nfa.rows is not None
        self.applies = not few and not (predicates == int(NONE)).any()
        self.begins = int(nfa.tables.begins)
        self.indexed: frozenset[int] = frozenset()
        self.asked_later: frozenset[int] = frozenset()  # those of them that later steps ask, too
        self._parts: list[tuple[ProfileIndex, Ints]] = []
        self._size = len(nfa.tables.edges)
        if not self.applies:
            return
        asked_later = set(np.delete(nfa.tables.edges[:, EDGE_PREDICATE].astype(np.int64), edges).tolist())
        by_edge = dict(zip(edges.tolist(), predicates.tolist(), strict=True))
        for profiles in nfa.starts:
            self._parts.append((_index(profiles, strings), np.array(profiles.edges, np.int64)))
            self.indexed |= {by_edge.pop(edge) for edge in profiles.edges}
        self._columns = by_edge
        self.asked_later = self.indexed & asked_later

    def arrays(self, size: int) -> StartHits:
        """Room for the hits of so many events."""
        if not self.applies:
            return _NO_HITS
        return StartHits(np.zeros(size + 1, np.int64), np.zeros(MOST_HITS * size, np.uint64))

    def write(self, hits: StartHits, holds: Flags, events: EventColumns, strings: StringDictionary) -> int | None:
        """Write the hits of a batch, and the flags of the events that begin a run; return how many hits there are, None
        if too many. `holds` has the flags of the predicates that are not indexed."""
        hits.offsets[0] = -1
        count, most = len(events), len(hits.edges) * len(events) // max(1, len(hits.offsets) - 1)
        found: list[Ints] = []
        for index, edges in self._parts:
            for first, part in _with_first(index, events, strings):
                found.append((part[0] + first) * self._size + edges[part[1]])
                most -= len(found[-1])
                if most < 0:
                    return None
        rows: dict[int, Ints] = {}
        for edge, predicate in self._columns.items():
            if predicate not in rows:
                rows[predicate] = np.flatnonzero(holds[predicate, :count])
            found.append(rows[predicate] * self._size + edge)
            most -= len(found[-1])
            if most < 0:
                return None
        return self._written(hits, holds, count, np.sort(np.concatenate([np.zeros(0, np.int64), *found])))

    def _written(self, hits: StartHits, holds: Flags, count: int, found: Ints) -> int:
        row, edge = np.divmod(found, self._size)
        hits.edges[: len(found)] = edge
        per_row = np.bincount(row, minlength=count)
        hits.offsets[0] = 0
        np.cumsum(per_row, out=hits.offsets[1 : count + 1])
        if self.begins != int(NONE):
            holds[self.begins, :count] = per_row != 0
        return len(found)


def _with_first(
    index: ProfileIndex, events: EventColumns, strings: StringDictionary
) -> list[tuple[int, tuple[Ints, Ints]]]:
    """The matches of an index in parts: the first event of each, and the event and profile of each match."""
    parts, first = [], 0
    for matches in index.slices(events, strings):
        parts.append((first, (matches.events(), matches.profiles)))
        first += len(matches)
    return parts


def _index(profiles: StartProfiles, strings: StringDictionary) -> ProfileIndex:
    names = [f"constant {number}" for number in range(len(profiles.comparisons))]
    comparisons = [
        ProfileComparison(c.expression, c.kind, c.operator, name)
        for c, name in zip(profiles.comparisons, names, strict=True)
    ]
    values = zip(*profiles.constants, strict=True)
    columns = {
        name: _column(constants, c.constant_kind, strings)
        for name, c, constants in zip(names, profiles.comparisons, values, strict=True)
    }
    return planned_index(comparisons, columns)


def _column(constants: tuple[Scalar, ...], kind: Type, strings: StringDictionary) -> Column:
    known = [strings.constant(value) if isinstance(value, str) else value for value in constants]
    return Column(kind, np.array(known, dtype_of(kind)), no_nulls(len(known)))
