"""The merged automaton of P-ToPSS (section 4.3): the number of its states, and how often they are entered.

The paper merges all subscriptions into one graph. The engine has several NFAs, each for subscriptions that begin alike,
and merges as many states unless more begin alike than an NFA takes. The paper's graph is counted here for sequences of
`,` and `;`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.bench.workloads.planted_patterns import Composites
from foretell.jit import compiled


@dataclass(frozen=True)
class MergedGraph:
    """`unmerged` states without merging and `states` with it, of which `shared` belong to several subscriptions.

    State 0 is the start, which is not counted. Edge i goes from `source[i]` to state i + 1 on an event `kind[i]`;
    `waits` flags the states that survive events which do not concern them.
    """

    unmerged: int
    shared: int
    source: Ints
    kind: Ints
    waits: NDArray[np.bool_]

    @property
    def states(self) -> int:
        return len(self.source)


def merged(subscriptions: Composites) -> MergedGraph:
    """States are equivalent if equal edges lead to them from equivalent states, and both wait or neither does.

    (A waiting state has one more edge, to itself.) In Figure 6 of the paper, `a ; b ; c` and `a ; b ; d`, six states
    are merged into four, of which two are shared.

    >>> subscriptions = Composites(np.array([[0, 1, 2], [0, 1, 3]]), np.ones((2, 2), bool), 4)
    >>> graph = merged(subscriptions)
    >>> graph.unmerged, graph.states, graph.shared
    (6, 4, 2)
    """
    count, length = subscriptions.kinds.shape
    waits = np.hstack([subscriptions.later, np.zeros((count, 1), np.bool_)])
    at = np.zeros(count, np.int64)
    first, shared = 1, 0
    levels = []
    for step in range(length):
        edges = np.stack([at, subscriptions.kinds[:, step], waits[:, step]], axis=1)
        distinct, place, several = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
        levels.append(distinct)
        shared += int((several > 1).sum())
        at = first + place.reshape(-1)
        first += len(distinct)
    source, kind, waiting = np.concatenate(levels).T
    return MergedGraph(count * length, shared, source, kind, np.concatenate([[False], waiting]).astype(np.bool_))


def transitions(graph: MergedGraph, kinds: Ints) -> int:
    """The number of edges that events take. Partial matches in one state count once; waiting states wait forever."""
    # By event, the furthest edges first: a state is left before it is entered again.
    order = np.lexsort((-np.arange(graph.states), graph.kind))
    most = int(max(kinds.max(initial=0), graph.kind.max(initial=0))) + 1
    begins = np.searchsorted(graph.kind[order], np.arange(most + 1))
    taken: int = _taken(kinds, begins, graph.source[order], order + 1, graph.waits)
    return taken


@compiled
def _taken(kinds: Any, begins: Any, source: Any, target: Any, waits: Any) -> int:
    entered = np.full(waits.size, -2, np.int64)  # the event that entered each state last
    taken = 0
    for i in range(kinds.size):
        for edge in range(begins[kinds[i]], begins[kinds[i] + 1]):
            since = entered[source[edge]]
            if source[edge] == 0 or since == i - 1 or (waits[source[edge]] and since >= 0):
                entered[target[edge]] = i
                taken += 1
    return taken
