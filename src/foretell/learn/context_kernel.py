"""The kernel that follows events through the automaton of contexts."""

from __future__ import annotations

from typing import Any

from foretell.arrays import Ints
from foretell.jit import compiled


@compiled
def advance_contexts(symbol: Ints, process: Ints, nodes: Ints, next_node: Any, context: Any, contexts: Ints) -> None:
    """Writes the context after each event to `contexts`; `nodes` holds the automaton's node of each process."""
    for i in range(symbol.size):
        node = 0
        if 0 <= symbol[i] < next_node.shape[1]:
            node = next_node[nodes[process[i]], symbol[i]]
        nodes[process[i]] = node
        contexts[i] = context[node]
