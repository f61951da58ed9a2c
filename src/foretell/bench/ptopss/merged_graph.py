"""The machines of P-ToPSS for many composite subscriptions: how many states there are, and how often one is entered.

The engine shares within machines of some 64 states, since it looks at each of them on every event; the paper merges all
subscriptions into one graph (section 4.3). That graph is counted here, for sequences of `,` and `;`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.bench.workloads.planted import Composites
from foretell.jit import compiled


@dataclass(frozen=True)
class Merged:
    """`alone` states without merging, `states` with it, of which `serving` serve several subscriptions.

    State 0 is the beginning, which is not counted. Edge i goes from `source[i]` to state i + 1 on an event `kind[i]`;
    `waits` tells which states outlast events that do not concern them.
    """

    alone: int
    serving: int
    source: Ints
    kind: Ints
    waits: NDArray[np.bool_]

    @property
    def states(self) -> int:
        return len(self.source)


def merged(subscriptions: Composites) -> Merged:
    """States are equivalent where equal edges lead to them from equivalent states, and both wait or neither does.

    A state that waits has a further edge, to itself, so it is none that does not. Figure 6 of the paper, `a ; b ; c`
    and `a ; b ; d`: of six states four are left, and two serve both.

    >>> both = Composites(np.array([[0, 1, 2], [0, 1, 3]]), np.ones((2, 2), bool), 4)
    >>> found = merged(both)
    >>> found.alone, found.states, found.serving
    (6, 4, 2)
    """
    count, length = subscriptions.kinds.shape
    waits = np.hstack([subscriptions.later, np.zeros((count, 1), np.bool_)])
    at = np.zeros(count, np.int64)
    first, serving = 1, 0
    levels = []
    for step in range(length):
        ways = np.stack([at, subscriptions.kinds[:, step], waits[:, step]], axis=1)
        distinct, place, several = np.unique(ways, axis=0, return_inverse=True, return_counts=True)
        levels.append(distinct)
        serving += int((several > 1).sum())
        at = first + place.reshape(-1)
        first += len(distinct)
    source, kind, waiting = np.concatenate(levels).T
    return Merged(count * length, serving, source, kind, np.concatenate([[False], waiting]).astype(np.bool_))


def transitions(machine: Merged, kinds: Ints) -> int:
    """How many edges events take, where partial matches in one state are one and a state that waits waits for ever."""
    # By event; the furthest first, so that a state that is entered has been left before.
    order = np.lexsort((-np.arange(machine.states), machine.kind))
    most = int(max(kinds.max(initial=0), machine.kind.max(initial=0))) + 1
    begins = np.searchsorted(machine.kind[order], np.arange(most + 1))
    taken: int = _taken(kinds, begins, machine.source[order], order + 1, machine.waits)
    return taken


@compiled
def _taken(kinds: Any, begins: Any, source: Any, target: Any, waits: Any) -> int:
    entered = np.full(waits.size, -2, np.int64)  # by which event each state was entered last
    taken = 0
    for i in range(kinds.size):
        for edge in range(begins[kinds[i]], begins[kinds[i] + 1]):
            since = entered[source[edge]]
            if source[edge] == 0 or since == i - 1 or (waits[source[edge]] and since >= 0):
                entered[target[edge]] = i
                taken += 1
    return taken
