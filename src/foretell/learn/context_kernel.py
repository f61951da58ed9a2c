"""From event to event through the automaton of contexts: one look-up each."""

from __future__ import annotations

from typing import Any

from foretell.arrays import Ints
from foretell.jit import compiled


@compiled
def follow(symbol: Ints, process: Ints, nodes: Ints, following: Any, context: Any, found: Ints) -> None:
    for i in range(symbol.size):
        node = 0
        if 0 <= symbol[i] < following.shape[1]:
            node = following[nodes[process[i]], symbol[i]]
        nodes[process[i]] = node
        found[i] = context[node]
